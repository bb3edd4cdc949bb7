/** The newest model's progress in scoring all texts, with buttons to pause and resume. */
import { get, post } from "./api.js";
import { onPress } from "./controls.js";
import { byId } from "./dom.js";
import { duration } from "./format.js";
import { t, tn, whole } from "./i18n.js";
import { showErrors } from "./toast.js";

const BUSY_POLL_MS = 2000;
const IDLE_POLL_MS = 15_000;
let announced = "";

/** Binds the buttons. @returns {() => Promise<void>} fetches and shows the progress */
export function scoringPanel() {
  let timer = 0;
  const show = (scoring) => {
    draw(scoring);
    clearTimeout(timer);
    const busy = scoring.state === "running" && scoring.done < scoring.total;
    timer = setTimeout(() => showErrors(look), busy ? BUSY_POLL_MS : IDLE_POLL_MS);
  };
  const look = async () => document.hidden || show(await get("/api/scoring"));
  for (const request of ["pause", "resume"])
    onPress(byId(`scoring-${request}`), () =>
      showErrors(async () => {
        show(await post("/api/scoring", { request }));
        byId(`scoring-${request === "pause" ? "resume" : "pause"}`).focus(); // it replaces the pressed button
      }),
    );
  document.addEventListener("visibilitychange", () => showErrors(look));
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
  // Screen readers announce starts and ends, not every text.
  const news = `${state} ${round} ${left}`;
  if (announced && news !== announced) byId("scoring-news").textContent = sentence(scoring);
  announced = news;
}

function sentence({ state, done, total, seconds_left: seconds, error, round }) {
  const far = { done: whole(done), round };
  if (state === "paused") {
    const paused = tn("Paused at {done} of {n} text.", "Paused at {done} of {n} texts.", total, far);
    return [paused, error, t("The scores so far are kept.")].filter(Boolean).join(" ");
  }
  if (!round) return t("There is no model yet. Label some texts first.");
  if (done >= total) return tn("The model of round {round} has scored the only text.", "The model of round {round} has scored all {n} texts.", total, far);
  const scored = tn("The model of round {round} has scored {done} of {n} text.", "The model of round {round} has scored {done} of {n} texts.", total, far);
  const left = seconds == null ? "" : t("About {time} left.", { time: duration(Math.max(1, seconds)) });
  return [scored, left, t("Training takes precedence; scoring continues after it.")].filter(Boolean).join(" ");
}
