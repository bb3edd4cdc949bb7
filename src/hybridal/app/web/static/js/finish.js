/** Shows whether the model is finished, and the button that finishes it. */
import { post } from "./api.js";
import { onPress } from "./controls.js";
import { byId } from "./dom.js";
import { toast, showErrors } from "./toast.js";

/** @param {import("./trainer-bar.js").TrainerBar} trainer */
export function bindFinishButton(trainer) {
  if (byId("finish")) onPress(byId("finish"), () =>
    showErrors(async () => {
      await post("/api/trainer", { request: "finish" });
      await trainer.poll();
      toast("The model is trained once more on all labels. The bar above shows the progress.");
    }),
  );
}

/** @param {{finished: boolean | null, advised: boolean, sentence: string}} finish `finished` is null without a model */
export function showFinish({ finished, advised, sentence }) {
  byId("finish-state").textContent = sentence;
  if (!byId("finish")) return; // annotators have no button
  byId("finish").hidden = finished !== false;
  byId("finish").classList.toggle("main", advised);
}
