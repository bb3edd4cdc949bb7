/** Describes the trainer's state in one sentence. */
import { ago, count, duration } from "./format.js";

const SILENT_SECONDS = 60;

/**
 * @typedef {{phase: string, update: string, round: number, done: number, total: number, seconds_left: number | null,
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
    return { mood: "quiet", sentence: `The trainer last responded ${ago(trainer.heartbeat, now)}. Your labels are safe.` };
  }
  if (busy) return { mood: "busy", ...inUse(trainer, busy(trainer)) };
  if (trainer.phase === "failed") {
    return {
      mood: "failed",
      sentence: `The trainer failed. ${trainer.error} Your labels are safe.`,
      ask: ["Retry", "retry"],
    };
  }
  if (trainer.phase === "queued") return { mood: "busy", sentence: `Training waits for ${others(trainer)}.` };
  if (trainer.request) return { mood: "busy", sentence: "The trainer is about to start." };
  if (trainer.phase === "stopped")
    return { mood: "quiet", sentence: "The trainer is not running yet. Your labels are saved and will be used when it starts." };
  return marked(trainer, waiting(trainer));
}

/** Says that predictions come from a model without labels. */
function marked({ from_names: fromNames }, status) {
  if (!fromNames) return status;
  return { ...status, sentence: `Predictions are from the class names and descriptions alone; no label learned yet. ${status.sentence}` };
}

/** With few labels, a model is published before its round is complete. */
function inUse({ published, round }, doing) {
  if (!round || published !== round) return doing;
  return { ...doing, sentence: `The new model is in use. ${doing.sentence}` };
}

function training(trainer) {
  const how =
    { retrain: "Retraining the model", finetune: "Fine-tuning the model" }[trainer.update] ?? "Training the model";
  return { sentence: `${how}, round ${trainer.round}${far(trainer, "epoch")}.`, share: share(trainer) };
}

function scoring(trainer) {
  return { sentence: `Choosing the most useful texts${left(trainer)}.`, share: share(trainer) };
}

function loading() {
  return { sentence: "Loading the model." };
}

function waiting(trainer) {
  const { round, new_labels: fresh, needed, obstacle } = trainer;
  if (obstacle) return { mood: "quiet", sentence: obstacle };
  const next = round ? "The model learns again" : "The model starts learning";
  const upToDate = round ? "The model has learned from all labels" : "The model is waiting for the first labels";
  const more = `${count(needed - fresh, "more label")} (validation texts not counted)`;
  const when = needed > fresh ? `after ${more}` : "in a moment";
  let sentence = needed ? `${next} ${when}.` : `${upToDate}.`;
  // All labels are used: say so first, so that the sentence does not ask for more.
  if (round && !fresh && needed) sentence = `${upToDate} and learns again ${when}.`;
  return { mood: "quiet", sentence, ask: round && fresh ? ["Train now", "train"] : undefined };
}

function others({ done }) {
  return `${count(done, "other project")} on this server`;
}

function far(trainer, unit) {
  return trainer.total ? `: ${unit} ${trainer.done} of ${trainer.total}${left(trainer)}` : "";
}

function left({ seconds_left: seconds }) {
  return seconds == null ? "" : `, about ${duration(Math.max(1, seconds))} left`;
}

function share({ done, total }) {
  return total ? done / total : undefined;
}
