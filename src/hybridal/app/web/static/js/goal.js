/** The bar with labels given and planned, and the advice on further labels. */
import { link } from "./api.js";
import { byId, el } from "./dom.js";
import { t, tn, tnParts, whole } from "./i18n.js";

/** The number of planned labels, at most the number of texts. */
export const goalOf = (budget, texts) => (texts ? Math.min(budget, texts) : budget);

let isReached = false;
/** @type {{advice: string | null, finish: {advised: boolean}}} */
let known = { advice: null, finish: { advised: false } };

/** @param {number} labelled @param {number} budget @param {number} texts */
export function showGoal(labelled, budget, texts) {
  const [done, far, bar] = byId("goal").children;
  const goal = goalOf(budget, texts);
  done.replaceChildren(...tnParts("{labelled} of {n} label", "{labelled} of {n} labels", goal, { labelled: el("b", {}, whole(labelled)) }));
  isReached = labelled >= goal;
  far.textContent = isReached ? t("All planned labels given") : tn("{n} to go", "{n} to go", goal - labelled);
  bar.max = goal;
  bar.value = Math.min(labelled, goal);
  draw();
}

/** @param {typeof known} progress the advice of the last round */
export function showAdvice(progress) {
  known = progress;
  draw();
}

/** Shows the advice; if the plan is complete but the advice is not to stop, says that instead. */
function draw() {
  const { advice, finish } = known;
  const place = byId("advice");
  const beyond = t("All planned labels are given, but the model may need more. An owner can plan more in Settings.");
  const shown = advice && isReached && !finish.advised ? beyond : advice;
  place.classList.toggle("strong", finish.advised);
  if (place.textContent !== (shown ?? ""))
    place.replaceChildren(shown ? el("a", { href: link("/progress"), title: advice }, shown) : "");
}
