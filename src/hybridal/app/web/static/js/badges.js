/** Badges with facts about a text: its class, prediction and state. */
import { colourOf } from "./class-buttons.js";
import { el, bdi } from "./dom.js";
import { percent } from "./format.js";

/** A class by its name and colour. @param {{name: string}[]} classes */
export function classBadge(name, classes, prefix = "", suffix = "") {
  const index = classes.findIndex((each) => each.name === name);
  const swatch = el("span", { class: "swatch", "data-colour": index < 0 ? null : colourOf(index) });
  return el("span", { class: "badge" }, swatch, prefix || null, bdi(name), suffix || null);
}

/** All badges of a text in a list. */
export function facts(item, classes) {
  const sources = { file: "from the file", llm: "by the LLM", adjudicated: "decided" };
  const all = [
    item.class ? classBadge(item.class, classes, "", sources[item.source]) : el("span", { class: "badge" }, "no label"),
  ];
  if (item.prediction && item.prediction.class !== item.class)
    all.push(classBadge(item.prediction.class, classes, "model:", percent(item.prediction.probability)));
  if (item.similarity != null) all.push(el("span", { class: "badge" }, `${percent(item.similarity)} similar`));
  if (item.split === "validation") all.push(el("span", { class: "badge strong" }, "validation"));
  if (item.deleted) all.push(el("span", { class: "badge strong" }, "deleted"));
  if (item.flagged) all.push(el("span", { class: "badge strong" }, "flagged"));
  return el("span", { class: "facts" }, ...all);
}
