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
const look = servesScoring();
trainer.addEventListener("round", () => (told(draw), told(look)));
await told(look);
await told(draw);

async function draw() {
  showFinish((await get("/api/progress")).finish);
}
