/** A select element with the classes. */
import { el } from "./dom.js";

/**
 * @param {{name: string}[]} classes @param {string} label the first entry, selected unless a class is
 * @param {string | null} [chosen] may be missing among the classes, for example because it is archived
 */
export function classSelect(classes, label, chosen = null) {
  const none = el("option", { value: "", disabled: true, selected: !classes.some(({ name }) => name === chosen) }, label);
  const options = classes.map(({ name }) => el("option", { value: name, selected: name === chosen }, name));
  return el("select", { "aria-label": label }, none, ...options);
}
