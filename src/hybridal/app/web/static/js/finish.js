/** Whether the model is finished, and the button that finishes it. */
import { post } from "./api.js";
import { onPress } from "./controls.js";
import { byId } from "./dom.js";
import { toast, told } from "./toast.js";

/** @param {import("./trainer-bar.js").TrainerBar} trainer */
export function servesFinish(trainer) {
  if (byId("finish")) onPress(byId("finish"), () =>
    told(async () => {
      await post("/api/trainer", { asked: "finish" });
      await trainer.poll();
      toast("The model trains once more on all labels; the bar above shows how far it is.");
    }),
  );
}

/** @param {{finished: boolean | null, advised: boolean, sentence: string}} finish `finished` is null without a model */
export function showFinish({ finished, advised, sentence }) {
  byId("finish-state").textContent = sentence;
  if (!byId("finish")) return; // annotators only read how far the model is
  byId("finish").hidden = finished !== false;
  byId("finish").classList.toggle("main", advised);
}
