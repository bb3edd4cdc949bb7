/** Shows whether the model is finished, and the button that finishes it. */
import { post } from "./api.js";
import { onPress } from "./controls.js";
import { byId } from "./dom.js";
import { t } from "./i18n.js";
import { toast, showErrors } from "./toast.js";

let known = { finished: null, advised: false, sentence: "" };
let isRunning = false;

/** @param {import("./trainer-bar.js").TrainerBar} trainer */
export function bindFinishButton(trainer) {
  trainer.addEventListener("status", ({ detail: { request, phase } }) => {
    isRunning = request === "finish" && phase !== "failed";
    draw();
  });
  if (byId("finish")) onPress(byId("finish"), () =>
    showErrors(async () => {
      await post("/api/trainer", { request: "finish" });
      await trainer.poll();
      toast(t("The model is trained once more on all labels. The bar above shows the progress."));
    }),
  );
}

/** @param {{finished: boolean | null, advised: boolean, sentence: string}} finish `finished` is null without a model */
export function showFinish(finish) {
  known = finish;
  draw();
}

function draw() {
  const isHidden = known.finished !== false || isRunning;
  byId("finish-state").textContent = isRunning ? t("The model is trained once more on all labels.") : known.sentence;
  const button = byId("finish");
  if (!button) return; // annotators have none
  if (isHidden && button === document.activeElement) byId("main").focus({ preventScroll: true });
  button.hidden = isHidden;
  button.classList.toggle("main", known.advised);
}
