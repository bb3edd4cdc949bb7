/** The help dialog: keys, the meaning of the classes, and the setting that switches single keys off. */
import { byId, el, bdi } from "./dom.js";
import { keysAreOn, keysOf, switchKeys } from "./keys.js";

/** @param {() => {name: string, description: string, examples: string}[]} classes */
export function helpDialog(classes) {
  const dialog = byId("help-dialog");
  const list = byId("key-list");
  const fixed = [...list.children];
  const toggle = byId("use-keys");
  toggle.addEventListener("change", () => switchKeys(toggle.checked));
  return () => {
    const keys = keysOf(classes());
    const rows = classes().flatMap((each, index) => [
      el("dt", {}, el("kbd", {}, keys[index] ?? "·")),
      el("dd", {}, bdi(each.name), ...meaning(each)),
    ]);
    list.replaceChildren(...fixed, ...rows);
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
