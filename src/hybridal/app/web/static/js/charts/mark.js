/** The mark of a round: a circle for retraining, a square for fine-tuning, a diamond for other updates. */
import { el, svg } from "../dom.js";
import { t } from "../i18n.js";

const NAMES = { retrain: t("Retrained"), finetune: t("Fine-tuned"), other: t("Otherwise updated") };

/** The kind of an update, without its setting: "finetune" for "finetune:3". @param {string} update */
export function kindOf(update) {
  const [kind] = update.split(":");
  return kind in NAMES ? kind : "other";
}

/** @param {string} update @param {string} [tooltip] */
export function mark(x, y, update, tooltip = "") {
  const kind = kindOf(update);
  const title = tooltip ? svg("title", {}, tooltip) : null;
  if (kind === "retrain") return svg("circle", { class: `mark ${kind}`, cx: x, cy: y, r: 5.5 }, title);
  const turned = kind === "other" ? `rotate(45 ${x} ${y})` : null;
  return svg("rect", { class: `mark ${kind}`, x: x - 5, y: y - 5, width: 10, height: 10, transform: turned }, title);
}

/** The legend of the marks that occur among these updates. */
export function legend(updates) {
  const kinds = Object.keys(NAMES).filter((kind) => updates.some((update) => kindOf(update) === kind));
  const sample = (kind) => svg("svg", { viewBox: "0 0 14 14", "aria-hidden": "true" }, mark(7, 7, kind));
  return el("ul", { class: "legend" }, ...kinds.map((kind) => el("li", {}, sample(kind), NAMES[kind])));
}
