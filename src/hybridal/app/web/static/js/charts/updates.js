/** A bar for each round: whether it retrained or fine-tuned the model, and how long it took. */
import { svg } from "../dom.js";
import { duration, figure as digits } from "../format.js";
import { t, tn } from "../i18n.js";
import { figure } from "./figure.js";
import { kindOf, legend } from "./mark.js";
import { linear } from "./scale.js";

const HEIGHT = 190;
const FOOT = 40;
const LETTER = 7;
const LETTERS = { retrain: "R", finetune: "F", other: "·" };

const took = (seconds) => (seconds < 10 ? t("{seconds} s", { seconds: digits(seconds, 1) }) : duration(seconds));

/** @param {{round: number, update: string, seconds: number}[]} rounds @param {{sentence: string}} saved */
export function updates(rounds, saved) {
  const times = (kind) => rounds.filter((r) => kindOf(r.update) === kind).length;
  return figure({
    title: t("Updates and training time saved"),
    about: saved?.sentence || t("Each bar is a round; its height is the training time."),
    summary: [
      tn("{n} round retrained the model.", "{n} rounds retrained the model.", times("retrain")),
      tn("{n} round fine-tuned the model.", "{n} rounds fine-tuned the model.", times("finetune")),
    ].join(" "),
    legend: legend(rounds.map(({ update }) => update)),
    draw: (width) => ({ height: HEIGHT, parts: drawing(rounds, width) }),
    columns: [t("Round"), t("Update"), t("Seconds")],
    rows: rounds.map((r) => [r.round, r.update, digits(r.seconds, 1)]),
  });
}

function drawing(rounds, width) {
  const slot = Math.min(64, width / rounds.length);
  const gap = slot > 12 ? 4 : 1;
  const height = linear([0, Math.max(...rounds.map((r) => r.seconds))], [3, HEIGHT - FOOT - 22]);
  const everyNth = Math.ceil(22 / slot);
  const labels = new Map(timesThatFit(rounds, slot, width, gap).map(({ at, ...label }) => [at, label]));
  return rounds.flatMap((r, i) => {
    const [kind, left, tall] = [kindOf(r.update), i * slot, height(r.seconds)];
    const middle = left + (slot - gap) / 2;
    const bar = svg(
      "rect",
      { class: kind, x: left, y: HEIGHT - FOOT - tall, width: slot - gap, height: tall, rx: 3 },
      svg("title", {}, t("Round {round}: {update}, {time}", { round: r.round, update: r.update, time: took(r.seconds) })),
    );
    const label = labels.get(i);
    const time = label ? [svg("text", { class: "time", x: label.middle, y: HEIGHT - FOOT - tall - 6, "text-anchor": "middle" }, label.words)] : [];
    if (i % everyNth) return [bar, ...time];
    return [
      bar,
      ...time,
      svg("text", { class: "strong", x: middle, y: HEIGHT - FOOT + 16, "text-anchor": "middle" }, LETTERS[kind]),
      svg("text", { x: middle, y: HEIGHT - FOOT + 33, "text-anchor": "middle" }, r.round),
    ];
  });
}

/** The times that are written above bars: that of the tallest bar, and those that fit their slot beside it. */
function timesThatFit(rounds, slot, width, gap) {
  const seconds = rounds.map((r) => r.seconds);
  const tallest = seconds.indexOf(Math.max(...seconds));
  const labels = rounds.map((r, at) => {
    const words = took(r.seconds);
    const half = (words.length * LETTER) / 2;
    const middle = Math.max(half, Math.min(at * slot + (slot - gap) / 2, width - half)); // inside the drawing
    return { at, words, half, middle };
  });
  const { half: wide, middle: peak } = labels[tallest];
  const fits = ({ at, half, middle }) => at === tallest || (2 * half < slot && Math.abs(middle - peak) > half + wide);
  return labels.filter(fits);
}
