/** How much the model changed in each round, and the threshold below which it counts as settled. */
import { svg } from "../dom.js";
import { figure as digits } from "../format.js";
import { t, tn } from "../i18n.js";
import { axes, MARGIN, marker, path } from "./axes.js";
import { figure } from "./figure.js";
import { legend, mark } from "./mark.js";
import { linear, logarithmic, wholeTicks } from "./scale.js";

const HEIGHT = 250;

/** @param {{round: number, signal: number | null, stable: boolean, update: string}[]} rounds @param {{name: string, epsilon: number}} signal */
export function signalChart(rounds, signal, switched) {
  const measured = rounds.filter((r) => r.signal != null);
  const stable = measured.filter((r) => r.stable).length;
  const below = tn(
    "{n} of {rounds} rounds lies below the threshold of {epsilon}.",
    "{n} of {rounds} rounds lie below the threshold of {epsilon}.",
    stable,
    { rounds: measured.length, epsilon: signal.epsilon },
  );
  return figure({
    title: t("Is the model settling?"),
    about: t(
      "The change of ‘{signal}’ since the previous round, on a logarithmic scale. After enough rounds below ε the model counts as settled and is fine-tuned instead of retrained.",
      { signal: signal.name },
    ),
    summary: [below, switched ? t("The model settled in round {round}.", { round: switched }) : t("The model has not settled yet.")].join(" "),
    legend: legend(measured.map(({ update }) => update)),
    draw: (width) => ({ height: HEIGHT, parts: drawing(measured, signal.epsilon, switched, width) }),
    columns: [t("Round"), t("Change"), t("Below ε")],
    rows: rounds.map((r) => [r.round, digits(r.signal, 4), r.signal == null ? "–" : r.stable ? t("yes") : t("no")]),
  });
}

function drawing(rounds, epsilon, switched, width) {
  const numbers = rounds.map((r) => r.round);
  const seen = [epsilon, ...rounds.map((r) => Math.abs(r.signal))].filter((value) => value > 0);
  const powers = [Math.floor(Math.log10(Math.min(...seen) * 0.9)), Math.ceil(Math.log10(Math.max(...seen) * 1.1))];
  const x = linear([Math.min(...numbers) - 0.5, Math.max(...numbers) + 0.5], [MARGIN.left, width - MARGIN.right]);
  const y = logarithmic([10 ** powers[0], 10 ** powers[1]], [HEIGHT - MARGIN.bottom, MARGIN.top]);
  const tens = Array.from({ length: powers[1] - powers[0] + 1 }, (_, i) =>
    Number((10 ** (powers[0] + i)).toPrecision(1)),
  );
  const place = (r) => [x(r.round), y(Math.abs(r.signal))];
  return [
    axes({
      width,
      height: HEIGHT,
      x,
      y,
      xs: wholeTicks(Math.min(...numbers), Math.max(...numbers), width / 50),
      ys: tens,
      xName: t("round"),
      yName: t("change"),
    }),
    svg("line", { class: "threshold", x1: MARGIN.left, x2: width - MARGIN.right, y1: y(epsilon), y2: y(epsilon) }),
    svg("text", { class: "strong", x: MARGIN.left + 6, y: y(epsilon) - 6 }, `ε = ${epsilon}`),
    svg("path", { class: "line", d: path(rounds.map(place)) }),
    numbers.includes(switched) ? marker(x(switched), HEIGHT, t("settled"), width) : null,
    ...rounds.map((r) => mark(...place(r), r.update, t("Round {round}: changed by {change}", { round: r.round, change: r.signal }))),
  ].filter(Boolean);
}
