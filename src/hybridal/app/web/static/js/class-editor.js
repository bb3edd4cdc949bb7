/** The table of classes on the page Settings: rename, describe, reorder, merge, archive, delete, add. */
import { get, patch, post } from "./api.js";
import { colourOf } from "./class-buttons.js";
import { classPaste } from "./class-paste.js";
import { classSelect } from "./class-select.js";
import { onSubmit } from "./controls.js";
import { byId, el, bdi, replaceContent, setText } from "./dom.js";
import { distance, fold } from "./fuzzy.js";
import { t, tn, tParts, whole } from "./i18n.js";
import { keysOf } from "./keys.js";
import { toast, showErrors } from "./toast.js";

const POLL_MS = 1000;
const FILTER_FROM = 12; // with more classes than this there is a field that filters them
let latestRequest = 0;
let known = [];

export async function classEditor() {
  onSubmit(byId("add-class"), () => showErrors(add));
  classPaste(() => known, show);
  byId("class-filter").addEventListener("input", filter);
  byId("class-list").addEventListener("keydown", enterMovesDown);
  document.addEventListener("texts-added", () => showErrors(show)); // their labels may add classes
  await Promise.all([show(), showDeletion()]);
}

async function add() {
  const form = byId("add-class");
  const { name } = await post("/api/classes", Object.fromEntries(new FormData(form)));
  toast(t("“{name}” is added.", { name }));
  form.reset();
  await show();
}

async function show() {
  const request = ++latestRequest;
  const { items: all } = await get("/api/classes", { archived: true });
  if (request !== latestRequest) return; // superseded by a later request
  const items = all.filter(({ archived }) => !archived);
  known = items;
  const keys = keysOf(items);
  replaceContent(
    byId("class-list"),
    items.map((each, index) => row(each, index, items, keys)),
  );
  byId("class-filter").parentElement.hidden = items.length <= FILTER_FROM;
  filter();
  byId("twins").replaceChildren(...twins(items));
  replaceContent(byId("archived"), all.filter(({ archived }) => archived).map(archivedRow));
}

/** Shows only the classes whose name or description matches what is typed above the table. */
function filter() {
  const field = byId("class-filter");
  const typed = field.parentElement.hidden ? "" : field.value.trim();
  const rows = [...byId("class-list").children];
  for (const each of rows) {
    const [name, description] = each.querySelectorAll("input, textarea");
    each.hidden = distance(typed, name.value) === null && !fold(description.value).includes(fold(typed));
  }
  const shown = rows.filter((each) => !each.hidden).length;
  setText(byId("classes-shown"), typed ? tn("{shown} of {n} class", "{shown} of {n} classes", rows.length, { shown: whole(shown) }) : tn("{n} class", "{n} classes", rows.length));
}

/** Enter saves a cell and goes on with the one below it. */
function enterMovesDown(event) {
  const { target, key } = event;
  if (key !== "Enter" || event.isComposing || !target.matches("[data-cell]")) return;
  event.preventDefault();
  const column = [...byId("class-list").querySelectorAll(`tr:not([hidden]) [data-cell="${target.dataset.cell}"]`)];
  const below = column[column.indexOf(target) + 1];
  if (below) below.focus();
  else target.blur();
}

function archivedRow(each) {
  const name = bdi(each.name);
  const effect =
    each.archived === "kept"
      ? tParts("{name} is archived; the model still learns its labels.", { name })
      : tParts("{name} is archived; the model does not learn its labels.", { name });
  const back = () => showErrors(() => patch(`/api/classes/${each.number}`, { archived: "" })).then(() => showErrors(show));
  return el(
    "li",
    { class: "row" },
    el("span", {}, ...effect),
    el("button", { type: "button", "aria-label": t("Restore {name}", each), onclick: back }, t("Restore")),
  );
}

/** Classes whose names differ only in capitals, as often happens in files, each with a button to merge it. */
function twins(all) {
  return all.flatMap((each, index) => {
    const first = all.find(({ name }) => name.toLowerCase() === each.name.toLowerCase());
    if (all.indexOf(first) === index) return [];
    const button = el("button", { type: "button", onclick: () => merge(each, first) }, t("Merge into “{name}”", first));
    return [el("p", { class: "row" }, t("“{one}” and “{other}” differ only in capitals.", { one: each.name, other: first.name }), button)];
  });
}

function row(each, index, all, keys) {
  const change = async (what) => {
    if (await showErrors(() => patch(`/api/classes/${each.number}`, what))) setText(byId("class-saved"), t("“{name}” is saved.", { name: what.name ?? each.name }));
    await showErrors(show);
  };
  const cell = (tag, name, spoken, options) =>
    el(tag, { ...options, "aria-label": spoken, dir: "auto", autocomplete: "off", onchange: ({ target }) => change({ [name]: target.value.trim() }) });
  const name = cell("input", "name", t("Name of {name}", each), { value: each.name, required: true, maxlength: 200, "data-cell": "name" });
  const description = cell("textarea", "description", t("What belongs in {name}", each), { rows: 1, maxlength: 2000, placeholder: t("What belongs here"), "data-cell": "description" });
  const examples = cell("textarea", "examples", t("Examples of {name}", each), { rows: 1, maxlength: 5000, placeholder: t("Examples, one per line") });
  const keywords = cell("textarea", "keywords", t("Keywords of {name}", each), { rows: 1, maxlength: 5000, placeholder: t("Highlighted words, one per line") });
  for (const [field, text] of [[description, each.description], [examples, each.examples], [keywords, each.keywords]]) {
    field.defaultValue = text;
    field.title = text; // a cell shows only the first words
  }
  const move = (label, by, off) =>
    el(
      "button",
      {
        type: "button",
        class: "plain square",
        disabled: off,
        "aria-label": label,
        onclick: () => change({ position: index + by }),
      },
      by < 0 ? "↑" : "↓",
    );
  const key = cell("input", "key", t("Key of {name}", each), { value: each.key, maxlength: 1, placeholder: keys[index] ?? "·", "data-cell": "key" });
  const actions = el(
    "span",
    { class: "actions" },
    move(t("Move {name} up", each), -1, index === 0),
    move(t("Move {name} down", each), 1, index === all.length - 1),
    more(each, index, all, change),
  );
  return el(
    "tr",
    {},
    el("td", { class: "swatch-cell" }, el("span", { class: "swatch", "data-colour": colourOf(index) })),
    ...[name, description, examples, key, keywords, actions].map((content) => el("td", {}, content)),
  );
}

/** The menu of a class: archive, delete, merge, move further. */
function more(each, index, all, change) {
  const others = all.filter(({ number }) => number !== each.number);
  const place = ({ number }) => others.findIndex((other) => other.number === number);
  const groups = {
    move: { title: t("Move"), button: t("Move"), spoken: t("Move {name}", each) },
    archive: { title: t("Archive"), button: t("Archive"), spoken: t("Archive {name}", each) },
    delete: { title: t("Delete"), button: t("Delete"), spoken: t("Delete {name}", each) },
    merge: { title: t("Merge"), button: t("Merge"), spoken: t("Merge {name}", each) },
  };
  const acts = [
    { group: "move", label: t("behind another class …"), target: t("Move {name} behind", each), act: (other) => change({ position: place(other) + 1 }) },
    { group: "move", label: t("to the top"), act: () => change({ position: 0 }) },
    { group: "move", label: t("to the end"), act: () => change({ position: others.length }) },
    { group: "archive", label: t("and keep learning its labels"), act: () => archive(each, "kept") },
    { group: "archive", label: t("and stop learning its labels"), act: () => archive(each, "out") },
    { group: "delete", label: t("and make its texts unlabelled again"), act: () => remove(each) },
    { group: "merge", label: t("into another class …"), target: t("Merge {name} into", each), act: (other) => merge(each, other) },
  ].filter(({ target }) => others.length || !target);
  const option = (one) => el("option", { value: acts.indexOf(one) }, one.label);
  const listed = Object.entries(groups).map(([group, { title }]) => {
    const mine = acts.filter((one) => one.group === group);
    return mine.length ? el("optgroup", { label: title }, ...mine.map(option)) : null;
  });
  const select = el("select", { "aria-label": t("More for {name}", each) }, el("option", { value: "" }, t("more …")), ...listed);
  const target = el("span", {});
  const chosen = () => acts[select.value || -1];
  const other = () => others.find(({ name }) => name === target.firstChild?.value);
  const go = el("button", { type: "button", class: "main", hidden: true, onclick: () => chosen().act(other()) });
  const enable = () => (go.disabled = Boolean(chosen()?.target) && !other());
  target.addEventListener("change", enable);
  // Act only on a click: arrow keys select each entry on the way to the wanted one.
  select.addEventListener("change", () => {
    go.hidden = !chosen();
    go.textContent = groups[chosen()?.group]?.button ?? "";
    go.ariaLabel = groups[chosen()?.group]?.spoken ?? "";
    // Listed only here: a list of all classes in each of their rows would be thousands of options.
    target.replaceChildren(...(chosen()?.target ? [classSelect(others, chosen().target)] : []));
    enable();
  });
  return el("span", { class: "pick" }, select, target, go);
}

async function archive(each, archived) {
  if (await showErrors(() => patch(`/api/classes/${each.number}`, { archived }))) toast(t("“{name}” is archived.", each));
  await showErrors(show);
}

async function remove(each) {
  const question = t(
    "Delete “{name}”? Its texts become unlabelled; the labels are kept in the history. To keep its labels, merge it into another class instead.",
    each,
  );
  if (confirm(question)) {
    await showErrors(async () => {
      setTimeout(() => showErrors(showDeletion), POLL_MS); // takes a while if it has many labels
      const { texts } = await post(`/api/classes/${each.number}/delete`);
      toast(tn("“{name}” is deleted; {n} text became unlabelled.", "“{name}” is deleted; {n} texts became unlabelled.", texts, each));
    });
  }
  await showErrors(show);
}

/** Shows the progress of deleting or merging a class until it is complete; an interrupted one is resumed by the server. */
async function showDeletion() {
  const { texts } = await get("/api/classes/deletion");
  byId("deletion").hidden = !texts;
  byId("deletion").textContent = tn(
    "A class is being deleted or merged: {n} text left. You can keep labelling.",
    "A class is being deleted or merged: {n} texts left. You can keep labelling.",
    texts,
  );
  if (texts) setTimeout(() => showErrors(showDeletion), POLL_MS);
}

async function merge(each, { name: into, number }) {
  if (confirm(t("Merge “{name}” into “{into}”? All its labels become “{into}”. This cannot be undone.", { name: each.name, into }))) {
    setTimeout(() => showErrors(showDeletion), POLL_MS);
    if (await showErrors(() => post(`/api/classes/${each.number}/merge`, { into: number }))) toast(t("“{name}” is merged into “{into}”.", { name: each.name, into }));
  }
  await showErrors(show);
}
