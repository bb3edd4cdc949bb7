/** The page Export: labels, predictions and the model. */
import { get } from "./api.js";
import { downloads } from "./downloads.js";
import { bindFinishButton, showFinish } from "./finish.js";
import { frame } from "./frame.js";
import { scoringPanel } from "./scoring.js";
import { showErrors } from "./toast.js";

downloads();
const { trainer } = await frame;
bindFinishButton(trainer);
const look = scoringPanel();
trainer.addEventListener("round", () => (showErrors(draw), showErrors(look)));
await showErrors(look);
await showErrors(draw);

async function draw() {
  showFinish((await get("/api/progress")).finish);
}
