/** A bar for each class with its number of labels. */
import { colourOf } from "../class-buttons.js";
import { el, bdi } from "../dom.js";
import { figure as digits, percent } from "../format.js";
import { t, whole } from "../i18n.js";
import { table } from "./figure.js";

/** @param {{class: string, n: number, threshold?: number | null, texts?: number, given?: number, hits?: number}[]} classes */
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
    classes.some(({ texts }) => texts !== undefined) ? errors(classes) : null,
  );
}

/** Where a text may have several classes: how well the newest model finds each on the validation texts. */
function errors(classes) {
  const share = (part, whole) => (whole ? percent(part / whole) : "–");
  const rows = classes.map(({ class: name, threshold, texts, given, hits }) => [
    name,
    digits(threshold, 2),
    texts,
    given,
    share(hits, given),
    share(hits, texts),
  ]);
  const columns = [t("Class"), t("Threshold"), t("Texts"), t("Given"), t("Precision"), t("Recall")];
  return el(
    "details",
    {},
    el("summary", {}, t("Errors per class")),
    el("p", {}, t("On the validation texts: how many have the class, how many the newest model gives it, how many of those are right (precision), and how many of its texts are found (recall). A class is given from its threshold on.")),
    table(t("Errors per class"), columns, rows),
  );
}
