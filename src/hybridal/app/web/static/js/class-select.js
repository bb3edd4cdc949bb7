/** A select element with the classes. */
import { el } from "./dom.js";

/** @param {{name: string}[]} classes @param {string} label @param {string | null} [chosen] */
export function classSelect(classes, label, chosen = null) {
  const none = el("option", { value: "", disabled: true, selected: !chosen }, label);
  const options = classes.map(({ name }) => el("option", { value: name, selected: name === chosen }, name));
  return el("select", { "aria-label": label }, none, ...options);
}
