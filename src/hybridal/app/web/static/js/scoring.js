/** The job that scores all texts: its bar, and the buttons that start, pause, resume and cancel it. */
import { get, post } from "./api.js";
import { onPress } from "./controls.js";
import { byId } from "./dom.js";
import { duration, whole } from "./format.js";
import { told } from "./toast.js";

const AGAIN = 2000;
const BUTTONS = { none: ["start"], running: ["pause", "cancel"], paused: ["resume", "cancel"] };

export function servesScoring() {
  let timer = 0;
  const show = (job) => {
    draw(job);
    clearTimeout(timer);
    if (job.state === "running") timer = setTimeout(() => told(look), AGAIN);
  };
  const look = async () => show(await get("/api/scoring"));
  for (const asked of ["start", "pause", "resume", "cancel"])
    onPress(byId(`scoring-${asked}`), () => told(async () => show(await post("/api/scoring", { asked }))));
  document.addEventListener("visibilitychange", () => document.hidden || told(look));
  return look();
}

/** @param {{state: string, done: number, total: number, seconds_left: number | null, error: string, round: number}} job */
function draw(job) {
  for (const button of byId("scoring").querySelectorAll("button"))
    button.hidden = !BUTTONS[job.state].includes(button.id.replace("scoring-", ""));
  const bar = byId("scoring-bar");
  bar.hidden = job.state === "none";
  bar.value = job.total ? job.done / job.total : 0;
  byId("scoring-state").textContent = sentence(job);
}

function sentence({ state, done, total, seconds_left: seconds, error, round }) {
  const far = `${whole(done)} of ${whole(total)} texts`;
  if (state === "running") {
    const left = seconds == null ? "" : `, about ${duration(Math.max(1, seconds))} left`;
    return `${far} scored${left}. You can go on labelling: learning goes first, and this continues after it.`;
  }
  if (state === "paused") return `Paused at ${far}${error ? `: ${error}` : "."} What is scored is kept.`;
  return done && done === total ? `All ${whole(total)} texts were scored by the model of round ${round}.` : "";
}
