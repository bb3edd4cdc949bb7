/** How well the newest model finds each class, and which classes it takes for which. */
import { link } from "../api.js";
import { bdi, el } from "../dom.js";
import { figure as digits, percent } from "../format.js";
import { t, tn, whole } from "../i18n.js";
import { table } from "./figure.js";

const MAX_CLASSES = 30; // a larger matrix cannot be read
const SHADES = 5;

/**
 * @typedef {{part: number, of: number, value: number | null, low: number | null, high: number | null}} Share
 * @typedef {{label: string | null, predicted: string | null, texts: number}} Cell
 * @typedef {{texts: number, cells: Cell[],
 *   groups: {name: string, texts: number, given: number, precision: Share, recall: Share}[],
 *   classes: {name: string, threshold: number | null, texts: number, given: number, precision: Share, recall: Share}[]}} Quality
 */

/** Precision, recall and number of texts of each class. @param {Quality} found */
export function quality({ texts, classes }) {
  const several = classes.some(({ threshold }) => threshold != null);
  const columns = [t("Class"), several && t("Threshold"), t("Texts"), t("Predicted"), t("Precision"), t("Recall")];
  const rows = classes.map(({ name, threshold, texts, given, precision, recall }) =>
    [bdi(name), several && digits(threshold, 2), texts, given, shareOf(precision), shareOf(recall)].filter((cell) => cell !== false),
  );
  const title = t("Quality per class");
  return el(
    "figure",
    { class: "card wide" },
    el(
      "figcaption",
      {},
      el("h2", {}, title),
      el(
        "p",
        {},
        tn(
          "Measured on {n} validation text, which was drawn at random and is never learned.",
          "Measured on {n} validation texts, which were drawn at random and are never learned.",
          texts,
        ),
        " ",
        t("Precision: how many of the texts that the model gives the class have it. Recall: how many of the texts with the class the model finds. In brackets the 95% interval."),
      ),
    ),
    table(title, columns.filter(Boolean), rows),
  );
}

/** The same of each group of classes; null if there are none. @param {Quality} found */
export function groupQuality({ groups }) {
  if (!groups.length) return null;
  const title = t("Quality per group");
  const columns = [t("Group"), t("Texts"), t("Predicted"), t("Precision"), t("Recall")];
  const rows = groups.map(({ name, texts, given, precision, recall }) => [bdi(name), texts, given, shareOf(precision), shareOf(recall)]);
  const about = t("A text has a group if it has one of its classes; taking one class of a group for another is no error here.");
  return el("figure", { class: "card wide" }, el("figcaption", {}, el("h2", {}, title), el("p", {}, about)), table(title, columns, rows));
}

function shareOf({ value, low, high }) {
  if (value == null) return el("span", { class: "muted" }, t("too few labels to tell"));
  return el("span", {}, t("{share} ({low} to {high})", { share: percent(value), low: percent(low), high: percent(high) }));
}

/**
 * The confusion matrix. Its cells are links to their texts if the person may see all labels.
 * @param {Quality} found @param {boolean} several whether a text may have several classes @param {boolean} linked
 */
export function confusionMatrix({ cells, classes }, several, linked) {
  const errors = (name) => sum(cells.filter((cell) => cell.label !== cell.predicted && [cell.label, cell.predicted].includes(name)));
  const used = classes.map(({ name }) => name).filter((name) => cells.some((cell) => [cell.label, cell.predicted].includes(name)));
  const worst = new Set(used.toSorted((one, other) => errors(other) - errors(one)).slice(0, MAX_CLASSES));
  const names = used.filter((name) => worst.has(name));
  const withNone = (side) => (cells.some((cell) => cell[side] === null) ? [...names, null] : names);
  const [rows, columns] = [withNone("label"), withNone("predicted")];
  const most = Math.max(1, ...names.map((name) => sum(cells.filter(({ label }) => label === name))));
  const cell = (label, predicted) => {
    const n = cells.find((one) => one.label === label && one.predicted === predicted)?.texts ?? 0;
    if (!n) return el("td", {}, "");
    const shown = linked
      ? el("a", { href: link(`/texts?${new URLSearchParams(query(label, predicted, several))}`), "aria-label": sentence(label, predicted, n) }, whole(n))
      : whole(n);
    return el("td", { class: label === predicted ? "right" : null, "data-shade": Math.ceil((SHADES * n) / most) }, shown);
  };
  const nameOf = (name) => (name === null ? t("no other class") : bdi(name));
  const head = el("tr", {}, el("td", {}), ...columns.map((name) => el("th", { scope: "col", title: name }, el("span", {}, nameOf(name)))));
  const body = rows.map((label) => el("tr", {}, el("th", { scope: "row" }, nameOf(label)), ...columns.map((predicted) => cell(label, predicted))));
  const title = t("Confusion matrix");
  const only = t("Only the {n} classes with the most errors are shown.", { n: whole(MAX_CLASSES) });
  return el(
    "figure",
    { class: "card wide" },
    el("figcaption", {}, el("h2", {}, title), el("p", {}, about(several, linked), names.length < used.length ? ` ${only}` : "")),
    el(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": title },
      el("table", { class: "matrix" }, el("thead", {}, head), el("tbody", {}, ...body)),
    ),
  );
}

function about(several, linked) {
  const what = several
    ? t("A row for each class that texts have, a column for each class that the model gives them: on the diagonal the classes that it finds, elsewhere a class that it misses and one that it gives instead.")
    : t("A row for each label, a column for each class that the model predicts; right predictions are on the diagonal.");
  return linked ? `${what} ${t("A number opens its texts.")}` : what;
}

function sentence(label, predicted, n) {
  if (label === null) return tn("{n} text without {predicted}, predicted as {predicted}", "{n} texts without {predicted}, predicted as {predicted}", n, { predicted });
  if (predicted === null) return tn("{n} text with {label}, not found", "{n} texts with {label}, not found", n, { label });
  return tn("{n} text with {label}, predicted as {predicted}", "{n} texts with {label}, predicted as {predicted}", n, { label, predicted });
}

/** The texts of a cell, as a query of the page Texts. */
function query(label, predicted, several) {
  const found = { state: "validation" };
  if (label !== null) found.class = label;
  if (!several) return { ...found, predicted };
  if (label === predicted) return { ...found, given: predicted };
  if (label !== null) found.withheld = label;
  if (predicted !== null) Object.assign(found, { lacks: predicted, given: predicted });
  return found;
}

const sum = (cells) => cells.reduce((total, { texts }) => total + texts, 0);
