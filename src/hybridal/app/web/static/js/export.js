/** The page for taking everything away. */
import { post } from "./api.js";
import { onPress } from "./controls.js";
import { byId } from "./dom.js";
import { downloads } from "./downloads.js";
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
