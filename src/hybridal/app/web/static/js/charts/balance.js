/** How many labels each class has. */
import { colourOf } from "../class-buttons.js";
import { el, named } from "../dom.js";
import { percent, whole } from "../format.js";

/** @param {{class: string, n: number}[]} balance */
export function balance(classes) {
  const most = Math.max(1, ...classes.map(({ n }) => n));
  const all = classes.reduce((sum, { n }) => sum + n, 0);
  const row = ({ class: name, n }, index) => [
    el("dt", {}, named(name)),
    el(
      "dd",
      {},
      el("progress", { max: most, value: n, "data-colour": colourOf(index), "aria-label": `Labels of ${name}` }),
      el("span", {}, `${whole(n)} (${percent(n / (all || 1))})`),
    ),
  ];
  const about =
    "Labels of each class so far. The model asks for the texts that teach it most, so these numbers do not show how common the classes are.";
  return el(
    "figure",
    { class: "card" },
    el("figcaption", {}, el("h2", {}, "Classes"), el("p", {}, about)),
    el("dl", { class: "balance" }, ...classes.flatMap(row)),
  );
}
