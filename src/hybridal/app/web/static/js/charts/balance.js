/** A bar for each class with its number of labels. */
import { colourOf } from "../class-buttons.js";
import { el, bdi } from "../dom.js";
import { percent, whole } from "../format.js";

/** @param {{class: string, n: number}[]} balance */
export function balance(classes) {
  const most = Math.max(1, ...classes.map(({ n }) => n));
  const all = classes.reduce((sum, { n }) => sum + n, 0);
  const row = ({ class: name, n }, index) => [
    el("dt", {}, bdi(name)),
    el(
      "dd",
      {},
      el("progress", { max: most, value: n, "data-colour": colourOf(index), "aria-label": `Labels of ${name}` }),
      el("span", {}, `${whole(n)} (${percent(n / (all || 1))})`),
    ),
  ];
  const about =
    "Labels per class so far. The most useful texts are labelled first, so these numbers do not show how common the classes are.";
  return el(
    "figure",
    { class: "card" },
    el("figcaption", {}, el("h2", {}, "Classes"), el("p", {}, about)),
    el("dl", { class: "balance" }, ...classes.flatMap(row)),
  );
}
