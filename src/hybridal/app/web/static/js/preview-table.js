/** The first rows of a file, and the choice of its columns. */
import { el } from "./dom.js";
import { t } from "./i18n.js";

const COLUMNS = ["text", "label", "id", "description"];

/** Lists the columns of a file with the guessed ones chosen; there may be several columns of labels. No column of descriptions is guessed. */
export function showColumns(form, found) {
  for (const name of COLUMNS) {
    const select = form.elements[name];
    if (!select) continue; // only new projects take descriptions from a file
    const chosen = columnsOf(found, name);
    const options = found.columns.map((column) => el("option", { value: column, selected: chosen.includes(column) }, column));
    const none = el("option", { value: "", selected: !chosen.length }, t("none"));
    select.replaceChildren(...(name === "text" || select.multiple ? [] : [none]), ...options);
  }
}

/** The columns chosen for texts, labels or ids. */
export function columnsOf(found, name) {
  return [found[name] ?? []].flat();
}

/** The head and the body of a table; texts come first, because with many other columns they would be off the screen. */
export function previewTable(found) {
  const order = [...found.columns.keys()].sort((one, other) => rank(found, one) - rank(found, other));
  const head = order.map((at) => el("th", { scope: "col", dir: "auto" }, found.columns[at]));
  const cell = (row, at) => el("td", { dir: "auto", class: rank(found, at) ? null : "long" }, row[at]);
  const rows = found.first.map((row) => el("tr", {}, ...order.map((at) => cell(row, at))));
  return [el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows)];
}

/** Sort key of a column: texts, labels and ids before the others. */
function rank(found, at) {
  const chosen = COLUMNS.findIndex((name) => columnsOf(found, name).includes(found.columns[at]));
  return chosen < 0 ? COLUMNS.length : chosen;
}
