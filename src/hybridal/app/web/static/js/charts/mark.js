/** A round's point: a circle where the model was retrained, a square where it was fine-tuned, a diamond where it was something else. */
import { el, svg } from "../dom.js";

const NAMES = { retrain: "Retrained", finetune: "Fine-tuned", other: "Otherwise updated" };

export const kindOf = (update) => (update in NAMES ? update : "other");

/** @param {string} update @param {string} [said] what the pointer is told */
export function mark(x, y, update, said = "") {
  const kind = kindOf(update);
  const title = said ? svg("title", {}, said) : null;
  if (kind === "retrain") return svg("circle", { class: `mark ${kind}`, cx: x, cy: y, r: 5.5 }, title);
  const turned = kind === "other" ? `rotate(45 ${x} ${y})` : null;
  return svg("rect", { class: `mark ${kind}`, x: x - 5, y: y - 5, width: 10, height: 10, transform: turned }, title);
}

/** Explains the points that appear among these updates. */
export function legend(updates) {
  const kinds = Object.keys(NAMES).filter((kind) => updates.some((update) => kindOf(update) === kind));
  const sample = (kind) => svg("svg", { viewBox: "0 0 14 14", "aria-hidden": "true" }, mark(7, 7, kind));
  return el("ul", { class: "legend" }, ...kinds.map((kind) => el("li", {}, sample(kind), NAMES[kind])));
}
