/** The page for taking everything away. */
import { get, post } from "./api.js";
import { onPress } from "./controls.js";
import { byId } from "./dom.js";
import { downloads } from "./downloads.js";
import { servesFinish, showFinish } from "./finish.js";
import { frame } from "./frame.js";
import { toast, told } from "./toast.js";

downloads();
const { trainer } = await frame;
onPress(byId("predict"), () =>
  told(async () => {
    await post("/api/trainer", { asked: "predict" });
    await trainer.poll();
    toast("The model scores all texts; the bar above shows how far it is.");
  }),
);
servesFinish(trainer);
trainer.addEventListener("round", () => told(draw));
await told(draw);

async function draw() {
  showFinish((await get("/api/progress")).finish);
}
