/** The learning curve: accuracy, or micro-F1 with several classes per text, by number of labels, with its band. */
import { svg } from "../dom.js";
import { count, figure as digits, percent } from "../format.js";
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
  const name = last.micro_f1 == null ? "Accuracy" : "Micro-F1";
  return figure({
    title: "Learning curve",
    about: `${name} on the validation texts. The band is the 95% confidence interval.`,
    summary: `After ${count(last.labels, "label")} the ${inSentence(name)} is ${percent(scoreOf(last))}, between ${percent(last.low)} and ${percent(last.high)}.`,
    wide: true,
    legend: legend(rounds.map(({ update }) => update)),
    draw: (width) => ({ height: HEIGHT, parts: drawing(rounds, switched, width, inSentence(name)) }),
    columns: ["Round", "Update", "Labels", name, "Low", "High", "Macro-F1"],
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

const inSentence = (name) => (name === "Accuracy" ? "accuracy" : "micro-F1");

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
      xName: "labels the model learned from",
      yName: name,
      yText: percent,
    }),
    svg("path", { class: "band", d: `${path(band)}Z` }),
    svg("path", { class: "line", d: path(rounds.map((r) => [x(r.labels), y(scoreOf(r))])) }),
    turn ? marker(x(turn.labels), HEIGHT, "settled", width) : null,
    ...rounds.map((r) =>
      mark(x(r.labels), y(scoreOf(r)), r.update, `Round ${r.round}: ${percent(scoreOf(r))} with ${count(r.labels, "label")}`),
    ),
  ].filter(Boolean);
}
