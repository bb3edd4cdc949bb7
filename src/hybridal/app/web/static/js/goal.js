/** How many labels there are, and how many were planned. */
import { byId, el } from "./dom.js";
import { whole } from "./format.js";

/** @param {number} labelled @param {number} budget */
export function showGoal(labelled, budget) {
  const [done, far, bar] = byId("goal").children;
  done.replaceChildren(el("b", {}, whole(labelled)), ` of ${whole(budget)} labels`);
  far.textContent = labelled < budget ? `${whole(budget - labelled)} to go` : "Goal reached";
  bar.max = budget;
  bar.value = Math.min(labelled, budget);
}
