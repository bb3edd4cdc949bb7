/** Reliability diagram: predicted confidence against accuracy. */
import { svg } from "../dom.js";
import { figure as digits, percent } from "../format.js";
import { t, tn } from "../i18n.js";
import { axes, MARGIN } from "./axes.js";
import { figure } from "./figure.js";
import { linear, ticks } from "./scale.js";

const HEIGHT = 250;

const ABOUT_TEXTS =
  t("Of the validation texts that the model predicts with, say, 80% confidence, 80% should be right. Points on the line are well calibrated, points below it over-confident. Larger points stand for more texts.");
const ABOUT_DECISIONS =
  t("Of the decisions, one class of one validation text each, to which the model gives a probability of, say, 80%, 80% should be yes. Points on the line are well calibrated, points below it over-confident. Larger points stand for more decisions.");

/**
 * @param {{low: number, high: number, confidence: number, accuracy: number, n: number}[]} bins
 * @param {{ece: number | null, micro_f1?: number | null}} last the last round
 */
export function calibration(bins, last) {
  const several = last && "micro_f1" in last;
  const ece = last?.ece;
  const filled = bins.filter((bin) => bin.n > 0);
  return figure({
    title: t("Calibration"),
    about: several ? ABOUT_DECISIONS : ABOUT_TEXTS,
    summary: ece == null ? t("There are too few validation labels for the calibration error.") : t("The expected calibration error is {error}.", { error: digits(ece) }),
    draw: (width) => ({ height: HEIGHT, parts: drawing(filled, width, several) }),
    columns: [t("Confidence"), several ? t("Decisions") : t("Texts"), t("Mean confidence"), several ? t("Yes") : t("Right")],
    rows: bins.map((bin) => [
      `${percent(bin.low)}–${percent(bin.high)}`,
      bin.n,
      bin.n ? digits(bin.confidence) : "–",
      bin.n ? digits(bin.accuracy) : "–",
    ]),
  });
}

function drawing(bins, width, several) {
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
    xName: t("confidence"),
    yName: several ? t("share of yes") : t("accuracy"),
    yText: percent,
  });
  const numbers = ticks(0, 1, 4).map((v) =>
    svg("text", { x: x(v), y: HEIGHT - MARGIN.bottom + 18, "text-anchor": "middle" }, percent(v)),
  );
  const points = bins.map((bin) => {
    const shares = { confidence: percent(bin.confidence), right: percent(bin.accuracy) };
    const tooltip = several
      ? tn("{n} decision: {confidence} confidence, {right} yes", "{n} decisions: {confidence} confidence, {right} yes", bin.n, shares)
      : tn("{n} text: {confidence} confidence, {right} right", "{n} texts: {confidence} confidence, {right} right", bin.n, shares);
    return svg(
      "circle",
      { class: "mark", cx: x(bin.confidence), cy: y(bin.accuracy), r: 4 + 9 * Math.sqrt(bin.n / most) },
      svg("title", {}, tooltip),
    );
  });
  return [frame, ...numbers, svg("line", { class: "threshold", x1: x(0), x2: x(1), y1: y(0), y2: y(1) }), ...points];
}
