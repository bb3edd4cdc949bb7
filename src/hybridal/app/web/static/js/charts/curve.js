/** The learning curve: accuracy, or micro-F1 with several classes per text, by number of labels, with its band. */
import { svg } from "../dom.js";
import { figure as digits, percent } from "../format.js";
import { t, tn } from "../i18n.js";
import { axes, MARGIN, marker, path } from "./axes.js";
import { figure } from "./figure.js";
import { legend, mark } from "./mark.js";
import { linear, ticks, wholeTicks } from "./scale.js";

const HEIGHT = 290;

/** The score that the curve shows. @returns {number | null} */
export const scoreOf = (round) => round.micro_f1 ?? round.accuracy;

/** @param {{labels: number, accuracy: number | null, micro_f1?: number, low: number, high: number, update: string, round: number, f1: number}[]} rounds */
export function curve(rounds, switched) {
  rounds = rounds.filter((r) => scoreOf(r) != null);
  const last = rounds.at(-1);
  const isAccuracy = last.micro_f1 == null;
  const scores = { score: percent(scoreOf(last)), low: percent(last.low), high: percent(last.high) };
  return figure({
    title: t("Learning curve"),
    about: isAccuracy
      ? t("Accuracy on the validation texts. The band is the 95% confidence interval.")
      : t("Micro-F1 on the validation texts. The band is the 95% confidence interval."),
    summary: isAccuracy
      ? tn("After {n} label the accuracy is {score}, between {low} and {high}.", "After {n} labels the accuracy is {score}, between {low} and {high}.", last.labels, scores)
      : tn("After {n} label the micro-F1 is {score}, between {low} and {high}.", "After {n} labels the micro-F1 is {score}, between {low} and {high}.", last.labels, scores),
    wide: true,
    legend: legend(rounds.map(({ update }) => update)),
    draw: (width) => ({ height: HEIGHT, parts: drawing(rounds, switched, width, isAccuracy ? t("accuracy") : t("micro-F1")) }),
    columns: [t("Round"), t("Update"), t("Labels"), isAccuracy ? t("Accuracy") : t("Micro-F1"), t("Low"), t("High"), t("Macro-F1")],
    rows: rounds.map((r) => [
      r.round,
      r.update,
      r.labels,
      digits(scoreOf(r)),
      digits(r.low),
      digits(r.high),
      digits(r.f1),
    ]),
  });
}

function drawing(rounds, switched, width, name) {
  const labels = rounds.map((r) => r.labels);
  const [first, last] = [Math.min(...labels), Math.max(...labels)];
  const room = Math.max(1, (last - first) * 0.02);
  const x = linear([first - room, last + room], [MARGIN.left, width - MARGIN.right]);
  const bottom = Math.max(0, Math.floor(Math.min(...rounds.map((r) => r.low)) * 10) / 10);
  const y = linear([bottom, 1], [HEIGHT - MARGIN.bottom, MARGIN.top]);
  const band = [
    ...rounds.map((r) => [x(r.labels), y(r.high)]),
    ...rounds.toReversed().map((r) => [x(r.labels), y(r.low)]),
  ];
  const turn = rounds.find((r) => r.round === switched);
  return [
    axes({
      width,
      height: HEIGHT,
      x,
      y,
      xs: wholeTicks(first, last, width / 80),
      ys: ticks(bottom, 1),
      xName: t("labels the model learned from"),
      yName: name,
      yText: percent,
    }),
    svg("path", { class: "band", d: `${path(band)}Z` }),
    svg("path", { class: "line", d: path(rounds.map((r) => [x(r.labels), y(scoreOf(r))])) }),
    turn ? marker(x(turn.labels), HEIGHT, t("settled"), width) : null,
    ...rounds.map((r) =>
      mark(x(r.labels), y(scoreOf(r)), r.update, tn("Round {round}: {score} with {n} label", "Round {round}: {score} with {n} labels", r.labels, { round: r.round, score: percent(scoreOf(r)) })),
    ),
  ].filter(Boolean);
}
