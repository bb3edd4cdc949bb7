/** How many labels there are, how many were planned, and what the next ones would bring. */
import { link } from "./api.js";
import { byId, el } from "./dom.js";
import { whole } from "./format.js";

/** How many labels are planned: there can be no more than texts. */
export const goalOf = (budget, texts) => (texts ? Math.min(budget, texts) : budget);

/** @param {number} labelled @param {number} budget @param {number} texts */
export function showGoal(labelled, budget, texts) {
  const [done, far, bar] = byId("goal").children;
  const goal = goalOf(budget, texts);
  done.replaceChildren(el("b", {}, whole(labelled)), ` of ${whole(goal)} labels`);
  far.textContent = labelled < goal ? `${whole(goal - labelled)} to go` : "Goal reached";
  bar.max = goal;
  bar.value = Math.min(labelled, goal);
}

/** @param {{advice: string | null, finish: {advised: boolean}}} progress what the model's rounds say of more labels */
export function showAdvice({ advice, finish }) {
  const place = byId("advice");
  place.replaceChildren(advice ? el("a", { href: link("/progress"), title: advice }, advice) : "");
  place.classList.toggle("strong", finish.advised);
}
