/** Badges with facts about a text: its class, prediction and state. */
import { colourOf } from "./class-buttons.js";
import { el, bdi } from "./dom.js";
import { percent } from "./format.js";
import { listed, t } from "./i18n.js";
import { predicted } from "./proposals.js";
import { reasonName } from "./skip-reasons.js";

/** A class by its name and colour. @param {{name: string}[]} classes */
export function classBadge(name, classes, prefix = "", suffix = "") {
  const index = classes.findIndex((each) => each.name === name);
  const swatch = el("span", { class: "swatch", "data-colour": index < 0 ? null : colourOf(index) });
  return el("span", { class: "badge" }, swatch, prefix || null, bdi(name), suffix || null);
}

/**
 * The badges of a set of classes: those that the text has, and if only some are decided, those that it does not have and
 * those that are open.
 * @param {{classes: string[], decisions?: Record<string, boolean | null>}} answer
 */
export function setBadges({ classes: names, decisions }, classes, suffix = "") {
  const some = (what) => Object.entries(decisions ?? {}).filter(([, has]) => has === what).map(([name]) => name);
  const [absent, open] = [some(false), some(null)];
  const group = (prefix, some) => (some.length ? [el("span", { class: "badge", title: listed(some) }, prefix, bdi(listed(some)))] : []);
  const none = names.length || decisions ? [] : [el("span", { class: "badge" }, t("none of these"), suffix || null)];
  const present = names.map((name, at) => classBadge(name, classes, "", at === names.length - 1 ? suffix : ""));
  return [...present, ...none, ...group(t("not:"), absent), ...group(t("open:"), open)];
}

/** The badges of a label, and of the classes that the model predicts instead or in addition. */
function labelAndPrediction(item, classes) {
  const source = { file: t("from the file"), llm: t("by the LLM"), adjudicated: t("decided") }[item.source];
  const names = item.classes ?? (item.class ? [item.class] : null);
  const label = names ? setBadges({ ...item, classes: names }, classes, source) : [el("span", { class: "badge" }, t("no label"))];
  const others = [...predicted(item)].filter(([name]) => !names?.includes(name));
  const unlikely = Object.entries(item.prediction?.probabilities ?? {}).filter(([name]) => !item.prediction.classes.includes(name));
  return [
    ...label,
    ...others.map(([name, probability]) => classBadge(name, classes, t("model:"), percent(probability))),
    ...unlikely.map(([name, probability]) => classBadge(name, classes, t("model: not"), percent(probability))),
  ];
}

/** All badges of a text in a list. */
export function facts(item, classes) {
  const all = labelAndPrediction(item, classes);
  if (item.similarity != null) all.push(el("span", { class: "badge" }, t("{percent} similar", { percent: percent(item.similarity) })));
  if (item.split === "validation") all.push(el("span", { class: "badge strong" }, t("validation")));
  if (item.deleted) all.push(el("span", { class: "badge strong" }, t("deleted")));
  if (item.flagged) all.push(el("span", { class: "badge strong" }, t("flagged")));
  if (item.reason) all.push(el("span", { class: "badge" }, reasonName(item.reason)));
  return el("span", { class: "facts" }, ...all);
}
