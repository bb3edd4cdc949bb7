/** Shares with their intervals: a bar for each group, with the naive count beside it. */
import { svg } from "../dom.js";
import { t } from "../i18n.js";
import { figure } from "./figure.js";
import { linear, ticks } from "./scale.js";

const ROW = 26;
const MARGIN = { top: 8, bottom: 30, end: 16 };
const LONGEST = 24; // letters of a name beside the axis

/** @typedef {{value: number, low: number, high: number}} Interval */
/** @typedef {{kind: string, group: string, other: string, name: string, labels: number, texts: number, count: number, alone: Interval | null, estimate: Interval | null, sentence: string}} Line */

/** The shares of one class in all groups, or of all classes. @param {string} title @param {Line[]} lines @param {(line: Line) => string} nameOf */
export function shareChart(title, lines, nameOf) {
  return figure({
    title,
    about: t("Lines are 95% intervals by random labels and the model's predictions. Diamonds are the model's answers counted, which is biased."),
    summary: lines.map(({ sentence }) => sentence).join(" "),
    draw: (width) => drawn(width, lines, nameOf),
    columns: tableColumns(),
    rows: lines.map((line) => tableRow(line, nameOf)),
  });
}

/** The columns of the table of numbers. */
export const tableColumns = () => [
  t("Texts"),
  t("Number of texts"),
  t("Random labels"),
  t("Counted by the model"),
  t("Random labels alone (95%)"),
  t("Estimate (95%)"),
];

/** @param {Line} line @param {(line: Line) => string} nameOf */
export function tableRow(line, nameOf) {
  return [nameOf(line), line.texts, line.labels, shown(line.count, line.kind), interval(line.alone, line.kind), interval(line.estimate, line.kind)];
}

/** 0.312 -> "31.2%"; differences and trends in percentage points */
export function shown(value, kind) {
  const digits = Math.abs(value) < 0.001 && value !== 0 ? 3 : 1;
  const number = (100 * value).toFixed(digits).replace("-", "−");
  return kind === "share" ? `${number}%` : value > 0 ? `+${number}` : number;
}

function interval(found, kind) {
  if (!found) return t("too few random labels");
  return t("{value} ({low} to {high})", { value: shown(found.value, kind), low: shown(found.low, kind), high: shown(found.high, kind) });
}

function drawn(width, lines, nameOf) {
  const names = lines.map((line) => shortened(nameOf(line)));
  const start = Math.min(width * 0.4, 12 + 7 * Math.max(...names.map((name) => name.length)));
  const highest = Math.max(0.02, ...lines.map((line) => Math.max(line.count, line.estimate?.high ?? 0)));
  const x = linear([0, highest], [start, width - MARGIN.end]);
  const bottom = MARGIN.top + ROW * lines.length;
  const parts = ticks(0, highest, width < 420 ? 3 : 6).flatMap((tick) => [
    svg("line", { class: "grid", x1: x(tick), x2: x(tick), y1: MARGIN.top, y2: bottom }),
    svg("text", { x: x(tick), y: bottom + 16, "text-anchor": "middle" }, `${Number((100 * tick).toPrecision(6))}%`),
  ]);
  for (const [at, line] of lines.entries()) {
    const y = MARGIN.top + ROW * (at + 0.5);
    parts.push(svg("text", { x: start - 8, y: y + 4, "text-anchor": "end" }, names[at]));
    parts.push(svg("path", { class: "mark other", d: diamond(x(line.count), y + 6) }));
    if (line.estimate) {
      parts.push(svg("line", { class: "line", x1: x(line.estimate.low), x2: x(line.estimate.high), y1: y - 3, y2: y - 3 }));
      parts.push(svg("circle", { class: "mark", cx: x(line.estimate.value), cy: y - 3, r: 5 }));
    }
  }
  return { height: bottom + MARGIN.bottom, parts };
}

const diamond = (x, y) => `M${x} ${y - 5}l5 5l-5 5l-5-5z`;
const shortened = (name) => (name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name);
