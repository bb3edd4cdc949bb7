/** Reliability diagram: predicted confidence against accuracy. */
import { svg } from "../dom.js";
import { count, figure as digits, percent } from "../format.js";
import { axes, MARGIN } from "./axes.js";
import { figure } from "./figure.js";
import { linear, ticks } from "./scale.js";

const HEIGHT = 250;

const ABOUT_TEXTS =
  "Of the validation texts that the model predicts with, say, 80% confidence, 80% should be right. Points on the line are well calibrated, points below it over-confident. Larger points stand for more texts.";
const ABOUT_DECISIONS =
  "Of the decisions, one class of one validation text each, to which the model gives a probability of, say, 80%, 80% should be yes. Points on the line are well calibrated, points below it over-confident. Larger points stand for more decisions.";

/**
 * @param {{low: number, high: number, confidence: number, accuracy: number, n: number}[]} bins
 * @param {{ece: number | null, micro_f1?: number | null}} last the last round
 */
export function calibration(bins, last) {
  const several = last && "micro_f1" in last;
  const ece = last?.ece;
  const [what, right] = several ? ["decision", "Yes"] : ["text", "Right"];
  const filled = bins.filter((bin) => bin.n > 0);
  return figure({
    title: "Calibration",
    about: several ? ABOUT_DECISIONS : ABOUT_TEXTS,
    summary: ece == null ? "There are too few validation labels for the calibration error." : `The expected calibration error is ${ece.toFixed(3)}.`,
    draw: (width) => ({ height: HEIGHT, parts: drawing(filled, width, what, right.toLowerCase()) }),
    columns: ["Confidence", several ? "Decisions" : "Texts", "Mean confidence", right],
    rows: bins.map((bin) => [
      `${percent(bin.low)}–${percent(bin.high)}`,
      bin.n,
      bin.n ? digits(bin.confidence) : "–",
      bin.n ? digits(bin.accuracy) : "–",
    ]),
  });
}

function drawing(bins, width, what, right) {
  const side = Math.min(width, 460);
  const x = linear([0, 1], [MARGIN.left, side - MARGIN.right]);
  const y = linear([0, 1], [HEIGHT - MARGIN.bottom, MARGIN.top]);
  const most = Math.max(...bins.map((bin) => bin.n));
  const frame = axes({
    width: side,
    height: HEIGHT,
    x,
    y,
    xs: [],
    ys: ticks(0, 1, 4),
    xName: "confidence",
    yName: right === "yes" ? "share of yes" : "accuracy",
    yText: percent,
  });
  const numbers = ticks(0, 1, 4).map((v) =>
    svg("text", { x: x(v), y: HEIGHT - MARGIN.bottom + 18, "text-anchor": "middle" }, percent(v)),
  );
  const points = bins.map((bin) => {
    const tooltip = `${count(bin.n, what)}: ${percent(bin.confidence)} confidence, ${percent(bin.accuracy)} ${right}`;
    return svg(
      "circle",
      { class: "mark", cx: x(bin.confidence), cy: y(bin.accuracy), r: 4 + 9 * Math.sqrt(bin.n / most) },
      svg("title", {}, tooltip),
    );
  });
  return [frame, ...numbers, svg("line", { class: "threshold", x1: x(0), x2: x(1), y1: y(0), y2: y(1) }), ...points];
}
