/** A bar for each class with its number of labels. */
import { colourOf } from "../class-buttons.js";
import { el, bdi } from "../dom.js";
import { percent } from "../format.js";
import { t, whole } from "../i18n.js";

/** @param {{class: string, n: number, absent?: number}[]} classes */
export function balance(classes) {
  const most = Math.max(1, ...classes.map(({ n }) => n));
  // A text may have several classes; then the share is of the texts for which the class was decided.
  const all = classes.reduce((sum, { n }) => sum + n, 0);
  const row = ({ class: name, n, absent }, index) => [
    el("dt", {}, bdi(name)),
    el(
      "dd",
      {},
      el("progress", { max: most, value: n, "data-colour": colourOf(index), "aria-label": t("Labels of {name}", { name }) }),
      el("span", {}, `${whole(n)} (${percent(n / ((absent == null ? all : n + absent) || 1))})`),
    ),
  ];
  const about =
    t("Labels per class so far. The most useful texts are labelled first, so these numbers do not show how common the classes are.");
  return el(
    "figure",
    { class: "card" },
    el("figcaption", {}, el("h2", {}, t("Classes")), el("p", {}, about)),
    el("dl", { class: "balance" }, ...classes.flatMap(row)),
  );
}
