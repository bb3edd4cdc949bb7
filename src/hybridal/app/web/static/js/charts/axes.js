/** Axes, grid lines and labels of a chart. */
import { svg } from "../dom.js";

export const MARGIN = { top: 28, right: 14, bottom: 42, left: 44 };

/**
 * @param {{width: number, height: number, x: (v: number) => number, y: (v: number) => number, xs: number[], ys: number[],
 *   xName: string, yName: string, yText?: (v: number) => string}} options
 */
export function axes({ width, height, x, y, xs, ys, xName, yName, yText = String }) {
  const [left, right, bottom] = [MARGIN.left, width - MARGIN.right, height - MARGIN.bottom];
  return svg(
    "g",
    {},
    ...ys.map((v) => svg("line", { class: "grid", x1: left, x2: right, y1: y(v), y2: y(v) })),
    ...ys.map((v) => svg("text", { x: left - 8, y: y(v) + 4, "text-anchor": "end" }, yText(v))),
    svg("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }),
    ...xs.map((v) => svg("text", { x: x(v), y: bottom + 18, "text-anchor": "middle" }, v)),
    svg("text", { x: (left + right) / 2, y: height - 5, "text-anchor": "middle" }, xName),
    svg("text", { x: left - 36, y: 10 }, yName),
  );
}

/** @param {[number, number][]} points */
export function path(points) {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
}

/** A dashed vertical line with a label above the chart, such as the round of the switch. */
export function marker(at, height, name, width) {
  const middle = Math.min(at, width - MARGIN.right - 20);
  return svg(
    "g",
    {},
    svg("line", { class: "switch", x1: at, x2: at, y1: MARGIN.top - 4, y2: height - MARGIN.bottom }),
    svg("text", { class: "switch-name", x: middle, y: MARGIN.top - 9, "text-anchor": "middle" }, name),
  );
}
