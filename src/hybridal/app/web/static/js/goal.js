/** How many labels there are, how many were planned, and what the next ones would bring. */
import { link } from "./api.js";
import { byId, el } from "./dom.js";
import { whole } from "./format.js";

/** How many labels are planned: there can be no more than texts. */
export const goalOf = (budget, texts) => (texts ? Math.min(budget, texts) : budget);

let isReached = false;
/** @type {{advice: string | null, finish: {advised: boolean}}} */
let known = { advice: null, finish: { advised: false } };

/** @param {number} labelled @param {number} budget @param {number} texts */
export function showGoal(labelled, budget, texts) {
  const [done, far, bar] = byId("goal").children;
  const goal = goalOf(budget, texts);
  done.replaceChildren(el("b", {}, whole(labelled)), ` of ${whole(goal)} labels`);
  isReached = labelled >= goal;
  far.textContent = isReached ? "All planned labels are given" : `${whole(goal - labelled)} to go`;
  bar.max = goal;
  bar.value = Math.min(labelled, goal);
  draw();
}

/** @param {typeof known} progress what the model's rounds say of more labels */
export function showAdvice(progress) {
  known = progress;
  draw();
}

/** The plan and the advice may differ: then the sentence says what both mean. */
function draw() {
  const { advice, finish } = known;
  const place = byId("advice");
  const beyond = "The plan is complete, but the model would gain from more labels: an owner can plan more in Settings.";
  const shown = advice && isReached && !finish.advised ? beyond : advice;
  place.classList.toggle("strong", finish.advised);
  if (place.textContent !== (shown ?? ""))
    place.replaceChildren(shown ? el("a", { href: link("/progress"), title: advice }, shown) : "");
}
