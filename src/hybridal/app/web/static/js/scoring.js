/** How far the newest model has come with scoring all texts: its bar, and the buttons that pause and resume it. */
import { get, post } from "./api.js";
import { onPress } from "./controls.js";
import { byId } from "./dom.js";
import { duration, whole } from "./format.js";
import { told } from "./toast.js";

const AGAIN = 2000;
const LATER = 15_000;
let said = "";

/** @returns {() => Promise<void>} looks how far it is */
export function servesScoring() {
  let timer = 0;
  const show = (scoring) => {
    draw(scoring);
    clearTimeout(timer);
    const busy = scoring.state === "running" && scoring.done < scoring.total;
    timer = setTimeout(() => told(look), busy ? AGAIN : LATER);
  };
  const look = async () => document.hidden || show(await get("/api/scoring"));
  for (const asked of ["pause", "resume"])
    onPress(byId(`scoring-${asked}`), () =>
      told(async () => {
        show(await post("/api/scoring", { asked }));
        byId(`scoring-${asked === "pause" ? "resume" : "pause"}`).focus(); // which stands in its place
      }),
    );
  document.addEventListener("visibilitychange", () => told(look));
  return look;
}

/** @param {{state: string, done: number, total: number, seconds_left: number | null, error: string, round: number,
 *   has_model: boolean}} scoring */
function draw(scoring) {
  const { state, done, total, round, has_model: hasModel } = scoring;
  const left = round > 0 && done < total;
  byId("scoring-pause").hidden = !left || state !== "running";
  byId("scoring-resume").hidden = state !== "paused";
  byId("scoring-bar").hidden = !left;
  byId("scoring-bar").value = total ? done / total : 0;
  byId("model-folder").hidden = !hasModel;
  byId("no-model").hidden = hasModel;
  byId("scoring-state").textContent = sentence(scoring);
  // Spoken only when something begins or ends, not with every text that is scored.
  const news = `${state} ${round} ${left}`;
  if (said && news !== said) byId("scoring-news").textContent = sentence(scoring);
  said = news;
}

function sentence({ state, done, total, seconds_left: seconds, error, round }) {
  const far = `${whole(done)} of ${whole(total)} texts`;
  if (state === "paused") return `Paused at ${far}${error ? `: ${error}` : "."} What is scored is kept.`;
  if (!round) return "There is no model yet; label some texts first.";
  if (done >= total) return `All ${whole(total)} texts are scored by the model of round ${round}.`;
  const left = seconds == null ? "" : `, about ${duration(Math.max(1, seconds))} left`;
  return `${far} are scored by the model of round ${round}${left}. Learning goes first, and this continues after it.`;
}
