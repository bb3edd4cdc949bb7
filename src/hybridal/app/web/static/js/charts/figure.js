/** A chart with its title, a description, and a table of its numbers that can be opened. */
import { el, svg } from "../dom.js";
import { t } from "../i18n.js";

/**
 * @param {{title: string, about: string, summary: string, wide?: boolean, legend?: HTMLElement,
 *   draw: (width: number) => {height: number, parts: Node[]},
 *   columns: string[], rows: (string | number)[][]}} options `summary` is the text alternative of the chart
 */
export function figure({ title, about, summary, wide = false, legend, draw, columns, rows }) {
  const place = svg("svg", { role: "img", "aria-label": `${title}. ${summary}` });
  let drawn = 0;
  new ResizeObserver(() => {
    const width = Math.round(place.parentElement?.clientWidth ? place.getBoundingClientRect().width : 0);
    if (!width || width === drawn) return;
    drawn = width;
    const { height, parts } = draw(width);
    place.setAttribute("viewBox", `0 0 ${width} ${height}`);
    place.setAttribute("height", height);
    place.replaceChildren(...parts);
  }).observe(place);
  const numbers = el("details", {}, el("summary", {}, t("The numbers")), table(title, columns, rows));
  return el(
    "figure",
    { class: `card${wide ? " wide" : ""}` },
    el("figcaption", {}, el("h2", {}, title), el("p", {}, about)),
    place,
    legend,
    numbers,
  );
}

const isNumber = (value) => typeof value === "number" || /^[\p{Nd}.–+−-]/u.test(value);

/**
 * A table; columns with mostly numbers are aligned like numbers, with their heading.
 * @param {string} caption @param {string[]} columns @param {(string | number | Node)[][]} rows
 */
export function table(caption, columns, rows) {
  const kinds = columns.map((_, at) => (2 * rows.filter((row) => isNumber(row[at])).length > rows.length ? "number" : null));
  const cell = (value, at) => el("td", { class: kinds[at] }, value);
  const head = el("tr", {}, ...columns.map((name, at) => el("th", { scope: "col", class: kinds[at] }, name)));
  const body = rows.map((row) => el("tr", {}, ...row.map(cell)));
  return el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    el("table", {}, el("thead", {}, head), el("tbody", {}, ...body)),
  );
}
