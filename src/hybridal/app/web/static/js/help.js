/** The help dialog: keys, the meaning of the classes, and the settings of keys. */
import { byId, el, bdi } from "./dom.js";
import { keysAreOn, keysOf, switchKeys } from "./keys.js";
import { keyFields, ownKeys, showOwnKeys } from "./own-keys.js";

/**
 * @param {() => {name: string, description: string, examples: string}[]} classes
 * @param {() => void} changed other keys were chosen
 */
export function helpDialog(classes, changed) {
  const dialog = byId("help-dialog");
  const list = byId("key-list");
  const fixed = [...list.children];
  const toggle = byId("use-keys");
  toggle.addEventListener("change", () => switchKeys(toggle.checked));
  const showClasses = () => {
    const keys = keysOf(classes(), Object.values(ownKeys()));
    const rows = classes().flatMap((each, index) => [
      el("dt", {}, el("kbd", {}, keys[index] ?? "·")),
      el("dd", {}, bdi(each.name), ...meaning(each)),
    ]);
    list.replaceChildren(...fixed, ...rows);
  };
  showOwnKeys();
  keyFields(() => {
    showClasses();
    changed();
  });
  return () => {
    showClasses();
    toggle.checked = keysAreOn();
    dialog.showModal();
  };
}

function* meaning({ description, examples }) {
  if (description) yield el("p", { class: "small written", dir: "auto" }, description);
  const lines = examples.split("\n").filter((line) => line.trim());
  if (lines.length)
    yield el("ul", { class: "small muted" }, ...lines.map((line) => el("li", { class: "written", dir: "auto" }, line)));
}
