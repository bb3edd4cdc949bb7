/** Whether the LLM may stand in for people: the alternative-annotator test, in words and numbers. */
import { get } from "./api.js";
import { table } from "./charts/figure.js";
import { el } from "./dom.js";
import { figure, percent } from "./format.js";

/** @param {HTMLElement} place */
export async function llmTrial(place) {
  const trial = await get("/api/llm/evaluation");
  const about =
    "On the texts that both label, the LLM is compared with each person by how often it agrees with the others.";
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
        "The LLM and each person",
        ["Person", "Texts", "Agreed", "κ", "95% interval", "LLM wins", "Person wins", "LLM holds"],
        rows,
      ),
    );
}

function result({ passes, winning_rate: rate, advantage, note }) {
  if (passes == null) return `Not known yet: the test ${note}.`;
  const more = `It holds against ${percent(rate)} of the people, and does as well as a person on ${percent(advantage)} of the texts${note ? `; ${note}` : ""}.`;
  return `${passes ? "Yes." : "No: let people label the texts."} ${more}`;
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
