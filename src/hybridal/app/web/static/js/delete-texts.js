/** Deletes one text, or all that a search finds; offers to restore them. */
import { get, post } from "./api.js";
import { onPress } from "./controls.js";
import { el } from "./dom.js";
import { t, tn } from "./i18n.js";
import { toast, showErrors } from "./toast.js";

/** A button that deletes all texts found; no button without a filter by words, class or state. */
export function deleteFoundButtons({ total, more }, query, changed) {
  const isFiltered = query.search.trim() || query.class || query.lacks || query.state;
  if (!total || !isFiltered || query.class_group || query.predicted || query.like || query.state === "deleted") return [];
  const found = { search: query.search, class: query.class, lacks: query.lacks ?? "", state: query.state || null };
  const act = async () => {
    // The list does not count very many texts exactly; count them now.
    const expected = more ? (await get("/api/texts", { ...found, exact: true })).total : total;
    const question = tn("Delete the text found?", "Delete all {n} texts found?", expected);
    const effect = t("Deleted texts are no longer labelled, learned from, shown or exported. Their labels are kept in the history.");
    if (confirm(`${question} ${effect}`)) await remove({ found: { ...found, expected } }, changed);
  };
  const name = more ? t("Delete all texts found") : tn("Delete this text", "Delete all {n} texts", total);
  return [button(name, () => showErrors(act))];
}

/** A button that deletes or restores one text; `showProblem` runs the action and shows its error. */
export function deleteButton(item, done, showProblem) {
  return item.deleted
    ? button(t("Restore"), () => showProblem(() => restore({ ids: [item.id] }, done)))
    : button(t("Delete"), () => showProblem(() => remove({ ids: [item.id] }, done)));
}

async function remove(wanted, done) {
  const { deleted, at } = await post("/api/texts/delete", wanted);
  const sentence = tn(
    "{n} text deleted. The labels are kept in the history.",
    "{n} texts deleted. The labels are kept in the history.",
    deleted,
  );
  toast(sentence, { undo: () => restore({ at }, done) });
  done();
}

async function restore(wanted, done) {
  const { restored } = await post("/api/texts/restore", wanted);
  toast(tn("{n} text restored.", "{n} texts restored.", restored));
  done();
}

function button(name, act) {
  const made = el("button", { type: "button" }, name);
  onPress(made, act);
  return made;
}
