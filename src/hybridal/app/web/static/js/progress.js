/** The page Progress: figures, redrawn whenever there is a new model. */
import { get, getProject } from "./api.js";
import { labelsPerDay, timePerLabel } from "./charts/activity.js";
import { balance } from "./charts/balance.js";
import { calibration } from "./charts/calibration.js";
import { confusions } from "./charts/confusions.js";
import { curve, scoreOf } from "./charts/curve.js";
import { confusionMatrix, groupQuality, quality } from "./charts/quality.js";
import { signalChart } from "./charts/signal.js";
import { updates } from "./charts/updates.js";
import { byId, el } from "./dom.js";
import { duration, figure, percent } from "./format.js";
import { bindFinishButton, showFinish } from "./finish.js";
import { frame } from "./frame.js";
import { goalOf } from "./goal.js";
import { t, tn, whole } from "./i18n.js";
import { showErrors } from "./toast.js";

const TOO_FEW = t("too few validation labels");

const { project: opened, trainer } = await frame;
const isReviewer = opened.me.role !== "annotator";
const isOwner = opened.me.role === "owner";
bindFinishButton(trainer);
trainer.addEventListener("round", () => showErrors(draw));
document.addEventListener("visibilitychange", () => document.hidden || showErrors(draw));
await showErrors(draw);

async function draw() {
  const [project, progress, measured, confused, work, spending] = await Promise.all([
    getProject(),
    get("/api/progress"),
    get("/api/quality"),
    isReviewer ? get("/api/confusions") : { items: [] },
    get("/api/activity", { offset: -new Date().getTimezoneOffset() }),
    isOwner ? get("/api/spending") : { sentences: [] },
  ]);
  byId("story").textContent = story(progress);
  byId("spending").hidden = !spending.sentences.length;
  byId("spending").querySelector("ul").replaceChildren(...spending.sentences.map((sentence) => el("li", {}, sentence)));
  showFinish(progress.finish);
  byId("tiles").replaceChildren(...tiles(project, progress));
  const unfolded = titles("details[open]");
  byId("figures").replaceChildren(...figures(progress), ...classFigures(project, measured, confused.items), ...workFigures(work));
  for (const details of document.querySelectorAll("figure details")) details.open = unfolded.includes(titleOf(details));
}

/** The titles of the figures that contain such elements. */
function titles(selector) {
  return [...document.querySelectorAll(`figure ${selector}`)].map(titleOf);
}

function titleOf(element) {
  return element.closest("figure").querySelector("h2").textContent;
}

function story({ rounds, switch: switched, advice, signal, encoder, answers }) {
  if (!rounds.length) return t("There is no model yet. Figures appear here after the first training.");
  return [updateHistory(rounds, switched, signal), encoder, advice, answers].filter(Boolean).join(" ");
}

/** How the model has been updated so far. */
function updateHistory(rounds, switched, signal) {
  if (switched)
    return t("The model settled in round {round}: since then each update continues from the previous weights, which takes less time.", {
      round: switched,
    });
  if (signal)
    return tn(
      "After {n} round the model is still changing, so every update retrains it from scratch.",
      "After {n} rounds the model is still changing, so every update retrains it from scratch.",
      rounds.length,
    );
  const retrained = rounds.filter((r) => r.update === "retrain").length;
  const refitted = rounds.filter((r) => r.update.startsWith("refit")).length;
  const others = rounds.length - retrained - refitted;
  const kinds = [
    retrained && tn("{n} update retrained the model from scratch.", "{n} updates retrained the model from scratch.", retrained),
    others && tn("{n} update continued from the previous weights.", "{n} updates continued from the previous weights.", others),
    refitted &&
      tn(
        "{n} update only fitted the model's last layer to the new labels.",
        "{n} updates only fitted the model's last layer to the new labels.",
        refitted,
      ),
  ];
  return kinds.filter(Boolean).join(" ");
}

function between(low, high) {
  return t("between {low} and {high}", { low, high });
}

/** The interval of the last macro-F1 and the number of classes it covers. */
function f1Note({ f1, f1_low: low, f1_high: high, f1_classes: supported }, classes) {
  if (f1 == null) return TOO_FEW;
  if (supported >= classes) return between(figure(low, 2), figure(high, 2));
  return tn("between {low} and {high}, over {supported} of {n} class", "between {low} and {high}, over {supported} of {n} classes", classes, {
    low: figure(low, 2),
    high: figure(high, 2),
    supported: whole(supported),
  });
}

function tiles({ counts, budget }, { rounds, saved, balance: classes }) {
  const several = rounds.findLast((r) => r.exact_match != null);
  const last = rounds.findLast((r) => r.accuracy != null);
  const all = [
    [
      t("Labels"),
      whole(counts.labelled),
      tn("of {planned} planned, {n} for validation", "of {planned} planned, {n} for validation", counts.validation, {
        planned: whole(goalOf(budget, counts.texts)),
      }),
    ],
  ];
  if (last) {
    all.push([t("Accuracy"), percent(last.accuracy), between(percent(last.low), percent(last.high))]);
    all.push([t("Macro-F1"), figure(last.f1), f1Note(last, classes.length)]);
    all.push([t("Negative log-likelihood"), figure(last.nll), t("of the calibrated probabilities; lower is better")]);
    all.push([t("Calibration error"), figure(last.ece), last.ece == null ? TOO_FEW : t("0 is perfectly calibrated")]);
  }
  if (several) {
    const { micro_f1: micro, exact_match: exact, low, high, nll, ece } = several;
    all.push([t("Micro-F1"), figure(micro), micro == null ? TOO_FEW : t("over all decisions; between {low} and {high}", { low: figure(low, 2), high: figure(high, 2) })]);
    all.push([t("Macro-F1"), figure(several.f1), f1Note(several, classes.length)]);
    all.push([t("Exactly right"), percent(exact), t("of the validation texts have exactly the predicted classes")]);
    all.push([t("Negative log-likelihood"), figure(nll), t("of the calibrated decisions; lower is better")]);
    all.push([t("Calibration error"), figure(ece), ece == null ? TOO_FEW : t("0 is perfectly calibrated")]);
  }
  if (saved?.seconds > 0)
    all.push([
      t("Training time saved"),
      duration(saved.seconds),
      t("{share} fewer steps than always retraining", { share: percent(saved.share) }),
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

/** What the model and people find hard. */
function classFigures(project, measured, confused) {
  const shown = measured.texts ? [quality(measured), groupQuality(measured), confusionMatrix(measured, project.multi_label, isReviewer)].filter(Boolean) : [];
  return confused.length ? [...shown, confusions(confused)] : shown;
}

/** What people have done; annotators see only themselves. */
function workFigures(work) {
  return work.people.length ? [labelsPerDay(work), timePerLabel(work)] : [];
}
