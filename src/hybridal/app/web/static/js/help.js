/** The list of keys, what the classes mean, and the switch for those who type with something else. */
import { byId, el, named } from "./dom.js";
import { CLASS_KEYS, keysAreOn, switchKeys } from "./keys.js";

/** @param {() => {name: string, description: string}[]} classes */
export function helpDialog(classes) {
  const dialog = byId("help-dialog");
  const list = byId("key-list");
  const fixed = [...list.children];
  const toggle = byId("use-keys");
  toggle.addEventListener("change", () => switchKeys(toggle.checked));
  return () => {
    const rows = classes().flatMap(({ name, description }, index) => [
      el("dt", {}, el("kbd", {}, CLASS_KEYS[index] ?? "·")),
      el("dd", {}, named(name), description ? el("p", { class: "small muted written", dir: "auto" }, description) : null),
    ]);
    list.replaceChildren(...fixed, ...rows);
    toggle.checked = keysAreOn();
    dialog.showModal();
  };
}
