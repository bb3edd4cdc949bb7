/** The page for taking everything away. */
import { get } from "./api.js";
import { downloads } from "./downloads.js";
import { servesFinish, showFinish } from "./finish.js";
import { frame } from "./frame.js";
import { servesScoring } from "./scoring.js";
import { told } from "./toast.js";

downloads();
const { trainer } = await frame;
servesFinish(trainer);
trainer.addEventListener("round", () => told(draw));
await told(servesScoring);
await told(draw);

async function draw() {
  showFinish((await get("/api/progress")).finish);
}
