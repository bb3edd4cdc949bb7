/** The page Progress: figures, redrawn whenever there is a new model. */
import { get, getProject } from "./api.js";
import { balance } from "./charts/balance.js";
import { calibration } from "./charts/calibration.js";
import { curve, scoreOf } from "./charts/curve.js";
import { signalChart } from "./charts/signal.js";
import { updates } from "./charts/updates.js";
import { byId, el } from "./dom.js";
import { count, duration, figure, percent, whole } from "./format.js";
import { bindFinishButton, showFinish } from "./finish.js";
import { frame } from "./frame.js";
import { goalOf } from "./goal.js";
import { showErrors } from "./toast.js";

const TOO_FEW = "too few validation labels";

const { trainer } = await frame;
bindFinishButton(trainer);
trainer.addEventListener("round", () => showErrors(draw));
document.addEventListener("visibilitychange", () => document.hidden || showErrors(draw));
await showErrors(draw);

async function draw() {
  const [project, progress] = await Promise.all([getProject(), get("/api/progress")]);
  byId("story").textContent = story(progress);
  showFinish(progress.finish);
  byId("tiles").replaceChildren(...tiles(project, progress));
  const opened = titles("details[open]");
  byId("figures").replaceChildren(...figures(progress));
  for (const details of document.querySelectorAll("figure details")) details.open = opened.includes(titleOf(details));
}

/** The titles of the figures that contain such elements. */
function titles(selector) {
  return [...document.querySelectorAll(`figure ${selector}`)].map(titleOf);
}

function titleOf(element) {
  return element.closest("figure").querySelector("h2").textContent;
}

function story({ rounds, switch: switched, advice, signal, encoder }) {
  if (!rounds.length) return "There is no model yet. Figures appear here after the first training.";
  return [updateHistory(rounds, switched, signal), encoder, advice].filter(Boolean).join(" ");
}

/** How the model has been updated so far. */
function updateHistory(rounds, switched, signal) {
  if (switched)
    return `The model settled in round ${switched}: since then each update continues from the previous weights, which takes less time.`;
  if (signal) return `After ${count(rounds.length, "round")} the model is still changing, so every update retrains it from scratch.`;
  const retrained = rounds.filter((r) => r.update === "retrain").length;
  const refitted = rounds.filter((r) => r.update.startsWith("refit")).length;
  const kinds = [
    [retrained, "retrained the model from scratch"],
    [rounds.length - retrained - refitted, "continued from the previous weights"],
    [refitted, "only fitted the model's last layer to the new labels"],
  ].filter(([number]) => number);
  if (rounds.length === 1) return `The only update so far ${kinds[0][1]}.`;
  const every = rounds.length === 2 ? "Both" : `All ${whole(rounds.length)}`;
  if (kinds.length === 1) return `${every} updates so far ${kinds[0][1]}.`;
  return `${count(rounds.length, "update")} so far: ${kinds.map(([number, what]) => `${whole(number)} ${what}`).join(", ")}.`;
}

/** The interval of the last macro-F1 and the number of classes it covers. */
function f1Note({ f1, f1_low: low, f1_high: high, f1_classes: supported }, classes) {
  if (f1 == null) return TOO_FEW;
  const over = supported < classes ? `, over ${whole(supported)} of ${count(classes, "class", "classes")}` : "";
  return `between ${figure(low, 2)} and ${figure(high, 2)}${over}`;
}

function tiles({ counts, budget }, { rounds, saved, balance: classes }) {
  const several = rounds.findLast((r) => r.exact_match != null);
  const last = rounds.findLast((r) => r.accuracy != null);
  const all = [
    [
      "Labels",
      whole(counts.labelled),
      `of ${whole(goalOf(budget, counts.texts))} planned, ${whole(counts.validation)} of them for validation`,
    ],
  ];
  if (last) {
    all.push(["Accuracy", percent(last.accuracy), `between ${percent(last.low)} and ${percent(last.high)}`]);
    all.push(["Macro-F1", figure(last.f1), f1Note(last, classes.length)]);
    all.push(["Negative log-likelihood", figure(last.nll), "of the calibrated probabilities; lower is better"]);
    all.push(["Calibration error", figure(last.ece), last.ece == null ? TOO_FEW : "0 is perfectly calibrated"]);
  }
  if (several) {
    const { micro_f1: micro, exact_match: exact, low, high, nll, ece } = several;
    all.push(["Micro-F1", figure(micro), micro == null ? TOO_FEW : `over all decisions; between ${figure(low, 2)} and ${figure(high, 2)}`]);
    all.push(["Macro-F1", figure(several.f1), f1Note(several, classes.length)]);
    all.push(["Exactly right", percent(exact), "of the validation texts have exactly the predicted classes"]);
    all.push(["Negative log-likelihood", figure(nll), "of the calibrated decisions; lower is better"]);
    all.push(["Calibration error", figure(ece), ece == null ? TOO_FEW : "0 is perfectly calibrated"]);
  }
  if (saved?.seconds > 0)
    all.push([
      "Training time saved",
      duration(saved.seconds),
      `${percent(saved.share)} fewer steps than always retraining`,
    ]);
  return all.map(([name, value, more]) =>
    el("div", { class: "card" }, el("dt", {}, name), el("dd", { class: "value" }, value), el("dd", {}, more)),
  );
}

function figures({ rounds, switch: switched, calibration: bins, saved, balance: classes, signal }) {
  const shown = [];
  if (rounds.some((r) => scoreOf(r) != null)) shown.push(curve(rounds, switched));
  if (rounds.length) shown.push(updates(rounds, saved));
  if (signal && rounds.some((r) => r.signal != null)) shown.push(signalChart(rounds, signal, switched));
  if (bins?.some((bin) => bin.n)) shown.push(calibration(bins, rounds.at(-1)));
  return [...shown, balance(classes)];
}
