/** Describes the trainer's state in one sentence. */
import { ago, duration } from "./format.js";
import { t, tn, whole } from "./i18n.js";

const SILENT_SECONDS = 60;

/**
 * @typedef {{phase: string, update: string, round: number, step: string, done: number, total: number, seconds_left: number | null,
 *   error: string, request: string, heartbeat: number, new_labels: number, needed: number, published: number,
 *   obstacle: string, from_names: boolean}} Trainer
 * @param {Trainer} trainer
 * @param {number} now seconds since 1970
 * @returns {{mood: "quiet" | "busy" | "failed", sentence: string, share?: number, ask?: [string, string]}}
 *   `share` done, if it is known; `ask` is the button's label and the request that it sends
 */
export function trainerStatus(trainer, now) {
  const busy = { training, scoring, loading }[trainer.phase];
  if (busy && now - trainer.heartbeat > SILENT_SECONDS) {
    return { mood: "quiet", sentence: t("The trainer last responded {ago}. Your labels are safe.", { ago: ago(trainer.heartbeat, now) }) };
  }
  if (busy) return { mood: "busy", ...inUse(trainer, busy(trainer)) };
  if (trainer.phase === "failed") {
    return {
      mood: "failed",
      sentence: t("The trainer failed. {error} Your labels are safe.", trainer),
      ask: [t("Retry"), "retry"],
    };
  }
  if (trainer.phase === "queued") return { mood: "busy", sentence: others(trainer) };
  if (trainer.request) return { mood: "busy", sentence: t("The trainer is about to start.") };
  if (trainer.phase === "stopped")
    return { mood: "quiet", sentence: t("The trainer is not running yet. Your labels are saved and will be used when it starts.") };
  return marked(trainer, waiting(trainer));
}

/** Says that predictions come from a model without labels. */
function marked({ from_names: fromNames }, status) {
  if (!fromNames) return status;
  return { ...status, sentence: t("Predictions are from the class names and descriptions alone; no label learned yet. {status}", { status: status.sentence }) };
}

/** With few labels, a model is published before its round is complete. */
function inUse({ published, round }, doing) {
  if (!round || published !== round) return doing;
  return { ...doing, sentence: t("The new model is in use. {doing}", { doing: doing.sentence }) };
}

function training(trainer) {
  const { update, round } = trainer;
  const how = { retrain: t("Retraining the model, round {round}.", { round }), finetune: t("Fine-tuning the model, round {round}.", { round }) };
  const parts = [how[update] ?? t("Training the model, round {round}.", { round })];
  return { sentence: inSequence(...parts, step(trainer), left(trainer)), share: share(trainer) };
}

function scoring(trainer) {
  return { sentence: inSequence(t("Choosing the most useful texts."), left(trainer)), share: share(trainer) };
}

function loading(trainer) {
  return { sentence: inSequence(t("Loading the model."), step(trainer), left(trainer)), share: share(trainer) };
}

/** Says how far a step is that takes long with many texts or classes. */
function step({ step: what, done, total }) {
  if (!total) return "";
  if (what === "texts") return t("{done} of {total} texts are read.", { done: whole(done), total: whole(total) });
  if (what === "fits") return t("Fitting the classifier, step {done} of {total}.", { done, total });
  return what === "epochs" ? t("Epoch {done} of {total}.", { done, total }) : "";
}

function waiting(trainer) {
  const { round, new_labels: fresh, needed, obstacle } = trainer;
  if (obstacle) return { mood: "quiet", sentence: obstacle };
  const missing = needed - fresh;
  const isCurrent = round && !fresh && needed; // all labels are used: say so first, so that the sentence does not ask for more
  const sentence = isCurrent ? learnedAll(missing) : !needed ? noNeed(round) : round ? learnsAgain(missing) : startsLearning(missing);
  return { mood: "quiet", sentence, ask: round && fresh ? [t("Train now"), "train"] : undefined };
}

function noNeed(round) {
  return round ? t("The model has learned from all labels.") : t("The model is waiting for the first labels.");
}

function learnedAll(missing) {
  return tn(
    "The model has learned from all labels and learns again after {n} more label (validation texts not counted).",
    "The model has learned from all labels and learns again after {n} more labels (validation texts not counted).",
    missing,
  );
}

function learnsAgain(missing) {
  if (missing <= 0) return t("The model learns again in a moment.");
  return tn(
    "The model learns again after {n} more label (validation texts not counted).",
    "The model learns again after {n} more labels (validation texts not counted).",
    missing,
  );
}

function startsLearning(missing) {
  if (missing <= 0) return t("The model starts learning in a moment.");
  return tn(
    "The model starts learning after {n} more label (validation texts not counted).",
    "The model starts learning after {n} more labels (validation texts not counted).",
    missing,
  );
}

function others({ done }) {
  return tn("Training waits for {n} other project on this server.", "Training waits for {n} other projects on this server.", done);
}

function left({ seconds_left: seconds }) {
  return seconds == null ? "" : t("About {time} left.", { time: duration(Math.max(1, seconds)) });
}

/** Whole sentences one after the other; a space between them suits all languages of the pages. */
function inSequence(...sentences) {
  return sentences.filter(Boolean).join(" ");
}

function share({ done, total }) {
  return total ? done / total : undefined;
}
