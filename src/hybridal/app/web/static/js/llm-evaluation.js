/** Shows the alternative-annotator test: whether the language model can replace people. */
import { get } from "./api.js";
import { table } from "./charts/figure.js";
import { el } from "./dom.js";
import { figure, percent } from "./format.js";
import { t } from "./i18n.js";

/** @param {HTMLElement} place */
export async function llmTrial(place) {
  const trial = await get("/api/llm/evaluation");
  const about =
    t("On texts that both have labelled, the test compares how often the language model and each person agree with the other people.");
  place.replaceChildren(
    el("h3", {}, t("Is it as good as a person?")),
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
        t("The language model and each person"),
        [t("Person"), t("Texts"), t("Agreement"), "κ", t("95% interval"), t("LLM wins"), t("Person wins"), t("LLM passes")],
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
    el("summary", {}, t("The language model on each class")),
    table(t("The language model on each class"), [t("Class"), t("Decisions"), t("Agreement"), "κ", t("Given by the LLM"), t("By people"), t("By both")], rows),
  );
}

function result({ passes, winning_rate: rate, advantage, note }) {
  if (passes == null) return note;
  const more = t("It passes against {rate} of the people and is as good as a person on {advantage} of the texts.", {
    rate: percent(rate),
    advantage: percent(advantage),
  });
  return [passes ? t("Yes.") : t("No. Let people label the texts."), more, note].filter(Boolean).join(" ");
}

function row(found, compared) {
  const interval = found.low == null ? "–" : t("{low} to {high}", { low: figure(found.low, 2), high: figure(found.high, 2) });
  const test = compared
    ? [percent(compared.llm_wins), percent(compared.person_wins), compared.llm_holds ? t("yes") : t("no")]
    : ["–", "–", t("too few texts")];
  return [
    found.person,
    found.texts,
    found.agreed == null ? "–" : percent(found.agreed),
    figure(found.kappa, 2),
    interval,
    ...test,
  ];
}
