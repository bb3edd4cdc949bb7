/** Deleting texts, one or all that a search finds, with a way back. */
import { get, post } from "./api.js";
import { onPress } from "./controls.js";
import { el } from "./dom.js";
import { count } from "./format.js";
import { toast, told } from "./toast.js";

/** A button that deletes all texts that were found; none where nobody looked for some of them by words, class or state. */
export function removeAll({ total, more }, query, changed) {
  const asked = query.search.trim() || query.class || query.state;
  if (!total || !asked || query.predicted || query.like || query.state === "deleted") return [];
  const found = { search: query.search, class: query.class, state: query.state || null };
  const act = async () => {
    // Very many are not counted before somebody wants to delete them.
    const expected = more ? (await get("/api/texts", { ...found, exact: true })).total : total;
    const what = expected === 1 ? "the text that was found" : `all ${count(expected, "text")} that were found`;
    const why = "Nobody is asked for them any more, and nothing learns, shows or exports them. Their labels stay in the record.";
    if (confirm(`Delete ${what}? ${why}`)) await remove({ found: { ...found, expected } }, changed);
  };
  const name = total === 1 ? "Delete it" : more ? "Delete all that were found" : `Delete all ${count(total, "text")}`;
  return [button(name, () => told(act))];
}

/** A button that deletes one text, or brings it back; `tried` runs it, and tells what goes wrong. */
export function removeOne(item, done, tried) {
  return item.deleted
    ? button("Restore", () => tried(() => restore({ ids: [item.id] }, done)))
    : button("Delete", () => tried(() => remove({ ids: [item.id] }, done)));
}

async function remove(wanted, done) {
  const { deleted, at } = await post("/api/texts/delete", wanted);
  toast(`${count(deleted, "text")} deleted. Labels stay in the record.`, { undo: () => restore({ at }, done) });
  done();
}

async function restore(wanted, done) {
  const { restored } = await post("/api/texts/restore", wanted);
  toast(`${count(restored, "text")} restored.`);
  done();
}

function button(name, act) {
  const made = el("button", { type: "button" }, name);
  onPress(made, act);
  return made;
}
