/** Shows the alternative-annotator test: whether the language model can replace people. */
import { get } from "./api.js";
import { table } from "./charts/figure.js";
import { el } from "./dom.js";
import { figure, percent } from "./format.js";

/** @param {HTMLElement} place */
export async function llmTrial(place) {
  const trial = await get("/api/llm/evaluation");
  const about =
    "On texts that both have labelled, the test compares how often the language model and each person agree with the other people.";
  place.replaceChildren(
    el("h3", {}, "Is it as good as a person?"),
    el("p", {}, result(trial)),
    el("p", { class: "small muted" }, about),
  );
  const rows = trial.kappas.map((found) =>
    row(
      found,
      trial.people.find(({ person }) => person === found.person),
    ),
  );
  if (rows.length)
    place.append(
      table(
        "The language model and each person",
        ["Person", "Texts", "Agreement", "κ", "95% interval", "LLM wins", "Person wins", "LLM passes"],
        rows,
      ),
    );
  const decided = trial.classes?.filter(({ texts }) => texts) ?? [];
  if (decided.length) place.append(classTable(decided));
}

/** Where a text may have several classes: how often the language model and people decide each class alike. */
function classTable(classes) {
  const rows = classes.map((found) => [found.class, found.texts, percent(found.agreed), figure(found.kappa, 2), found.llm, found.people, found.both]);
  return el(
    "details",
    {},
    el("summary", {}, "The language model on each class"),
    table("The language model on each class", ["Class", "Decisions", "Agreement", "κ", "Given by the LLM", "By people", "By both"], rows),
  );
}

function result({ passes, winning_rate: rate, advantage, note }) {
  if (passes == null) return `Not known yet: the test ${note}.`;
  const more = `It passes against ${percent(rate)} of the people and is as good as a person on ${percent(advantage)} of the texts${note ? `; ${note}` : ""}.`;
  return `${passes ? "Yes." : "No. Let people label the texts."} ${more}`;
}

function row(found, compared) {
  const interval = found.low == null ? "–" : `${figure(found.low, 2)} to ${figure(found.high, 2)}`;
  const test = compared
    ? [percent(compared.llm_wins), percent(compared.person_wins), compared.llm_holds ? "yes" : "no"]
    : ["–", "–", "too few texts"];
  return [
    found.person,
    found.texts,
    found.agreed == null ? "–" : percent(found.agreed),
    figure(found.kappa, 2),
    interval,
    ...test,
  ];
}
