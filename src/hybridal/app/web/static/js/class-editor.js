/** The list of classes on the page Settings: rename, describe, reorder, merge, archive, delete, add. */
import { get, patch, post } from "./api.js";
import { colourOf } from "./class-buttons.js";
import { onSubmit } from "./controls.js";
import { byId, el, bdi, replaceContent } from "./dom.js";
import { count } from "./format.js";
import { toast, showErrors } from "./toast.js";

const POLL_MS = 1000;
let latestRequest = 0;

export async function classEditor() {
  onSubmit(byId("add-class"), () => showErrors(add));
  document.addEventListener("texts-added", () => showErrors(show)); // their labels may add classes
  await Promise.all([show(), showDeletion()]);
}

async function add() {
  const form = byId("add-class");
  const { name } = await post("/api/classes", Object.fromEntries(new FormData(form)));
  toast(`“${name}” is added.`);
  form.reset();
  await show();
}

async function show() {
  const request = ++latestRequest;
  const { items: all } = await get("/api/classes", { archived: true });
  if (request !== latestRequest) return; // superseded by a later request
  const items = all.filter(({ archived }) => !archived);
  replaceContent(
    byId("class-list"),
    items.map((each, index) => row(each, index, items)),
  );
  byId("twins").replaceChildren(...twins(items));
  replaceContent(byId("archived"), all.filter(({ archived }) => archived).map(archivedRow));
}

function archivedRow(each) {
  const effect = each.archived === "kept" ? "the model still learns its labels" : "the model does not learn its labels";
  const back = () => showErrors(() => patch(`/api/classes/${each.number}`, { archived: "" })).then(() => showErrors(show));
  return el(
    "li",
    { class: "row" },
    el("span", {}, bdi(each.name), ` is archived; ${effect}.`),
    el("button", { type: "button", "aria-label": `Restore ${each.name}`, onclick: back }, "Restore"),
  );
}

/** Classes whose names differ only in capitals, as often happens in files, each with a button to merge it. */
function twins(all) {
  return all.flatMap((each, index) => {
    const first = all.find(({ name }) => name.toLowerCase() === each.name.toLowerCase());
    if (all.indexOf(first) === index) return [];
    const button = el("button", { type: "button", onclick: () => merge(each, first) }, `Merge into “${first.name}”`);
    return [el("p", { class: "row" }, `“${each.name}” and “${first.name}” differ only in capitals.`, button)];
  });
}

function row(each, index, all) {
  const change = async (what) => {
    if (await showErrors(() => patch(`/api/classes/${each.number}`, what))) toast("Saved.");
    await showErrors(show);
  };
  const field = (name, label) =>
    el("input", {
      value: each[name],
      "aria-label": `${label} of ${each.name}`,
      dir: "auto",
      autocomplete: "off",
      placeholder: label,
      required: name === "name",
      onchange: ({ target }) => change({ [name]: target.value.trim() }),
    });
  const examples = el(
    "textarea",
    {
      rows: 1,
      maxlength: 5000,
      "aria-label": `Examples of ${each.name}`,
      dir: "auto",
      placeholder: "Examples, one per line",
      onchange: ({ target }) => change({ examples: target.value.trim() }),
    },
    each.examples,
  );
  const move = (name, by, off) =>
    el(
      "button",
      {
        type: "button",
        class: "plain square",
        disabled: off,
        "aria-label": `Move ${each.name} ${name}`,
        onclick: () => change({ position: index + by }),
      },
      by < 0 ? "↑" : "↓",
    );
  return el(
    "li",
    {},
    el("span", { class: "swatch", "data-colour": colourOf(index) }),
    field("name", "Name"),
    el("div", { class: "stack" }, field("description", "What belongs here"), examples),
    el(
      "span",
      { class: "actions" },
      move("up", -1, index === 0),
      move("down", 1, index === all.length - 1),
      more(each, all),
    ),
  );
}

/** The menu of a class: archive, delete, merge. */
function more(each, all) {
  const others = all.filter(({ number }) => number !== each.number);
  const acts = [
    ["Archive", "and keep learning its labels", () => archive(each, "kept")],
    ["Archive", "and stop learning its labels", () => archive(each, "out")],
    ["Delete", "and make its texts unlabelled again", () => remove(each)],
    ...others.map((other) => ["Merge into", other.name, () => merge(each, other)]),
  ];
  const option = ([, name, act]) => el("option", { value: acts.findIndex((one) => one[2] === act) }, name);
  const groups = ["Archive", "Delete", "Merge into"].map((label) => {
    const mine = acts.filter(([group]) => group === label);
    return mine.length ? el("optgroup", { label }, ...mine.map(option)) : null;
  });
  const select = el("select", { "aria-label": `More for ${each.name}` }, el("option", { value: "" }, "more …"), ...groups);
  const chosen = () => acts[select.value || -1];
  const go = el("button", { type: "button", class: "main", hidden: true, onclick: () => chosen()[2]() });
  // Act only on a click: arrow keys select each entry on the way to the wanted one.
  select.addEventListener("change", () => {
    go.hidden = !chosen();
    go.textContent = chosen()?.[0].split(" ")[0] ?? "";
    go.ariaLabel = `${go.textContent} ${each.name}`;
  });
  return el("span", { class: "pick" }, select, go);
}

async function archive(each, archived) {
  if (await showErrors(() => patch(`/api/classes/${each.number}`, { archived }))) toast(`“${each.name}” is archived.`);
  await showErrors(show);
}

async function remove(each) {
  const question = `Delete “${each.name}”? Its texts become unlabelled; the labels are kept in the history.`;
  if (confirm(`${question} To keep its labels, merge it into another class instead.`)) {
    await showErrors(async () => {
      setTimeout(() => showErrors(showDeletion), POLL_MS); // takes a while if it has many labels
      const { texts } = await post(`/api/classes/${each.number}/delete`);
      toast(`“${each.name}” is deleted; ${count(texts, "text")} became unlabelled.`);
    });
  }
  await showErrors(show);
}

/** Shows the progress of deleting or merging a class until it is complete; an interrupted one is resumed by the server. */
async function showDeletion() {
  const { texts } = await get("/api/classes/deletion");
  byId("deletion").hidden = !texts;
  byId("deletion").textContent = `A class is being deleted or merged: ${count(texts, "text")} left. You can keep labelling.`;
  if (texts) setTimeout(() => showErrors(showDeletion), POLL_MS);
}

async function merge(each, { name: into, number }) {
  if (confirm(`Merge “${each.name}” into “${into}”? All its labels become “${into}”. This cannot be undone.`)) {
    setTimeout(() => showErrors(showDeletion), POLL_MS);
    if (await showErrors(() => post(`/api/classes/${each.number}/merge`, { into: number }))) toast(`“${each.name}” is merged into “${into}”.`);
  }
  await showErrors(show);
}
