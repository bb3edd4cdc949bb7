/** Classes: rename, describe, reorder, merge, archive, delete, add. */
import { get, patch, post } from "./api.js";
import { colourOf } from "./class-buttons.js";
import { onSubmit } from "./controls.js";
import { byId, el, named, redraw } from "./dom.js";
import { count } from "./format.js";
import { toast, told } from "./toast.js";

const AGAIN = 1000;
let asked = 0;

export async function classEditor() {
  onSubmit(byId("add-class"), () => told(add));
  document.addEventListener("texts-added", () => told(show)); // with labels of classes that were not there
  await Promise.all([show(), sayLeft()]);
}

async function add() {
  const form = byId("add-class");
  const { name } = await post("/api/classes", Object.fromEntries(new FormData(form)));
  toast(`“${name}” is added.`);
  form.reset();
  await show();
}

async function show() {
  const mine = ++asked;
  const { items: all } = await get("/api/classes", { archived: true });
  if (mine !== asked) return; // a later change has overtaken this one
  const items = all.filter(({ archived }) => !archived);
  redraw(
    byId("class-list"),
    items.map((each, index) => row(each, index, items)),
  );
  byId("twins").replaceChildren(...twins(items));
  redraw(byId("archived"), all.filter(({ archived }) => archived).map(archivedRow));
}

function archivedRow(each) {
  const learnt = each.archived === "kept" ? "its labels are still learnt" : "its labels are left out of training";
  const back = () => told(() => patch(`/api/classes/${each.number}`, { archived: "" })).then(() => told(show));
  return el(
    "li",
    { class: "row" },
    el("span", {}, named(each.name), ` is archived; ${learnt}.`),
    el("button", { type: "button", "aria-label": `Bring back ${each.name}`, onclick: back }, "Bring back"),
  );
}

/** Classes whose names differ in capitals alone, as files make them, each with an offer to merge it. */
function twins(all) {
  return all.flatMap((each, index) => {
    const first = all.find(({ name }) => name.toLowerCase() === each.name.toLowerCase());
    if (all.indexOf(first) === index) return [];
    const button = el("button", { type: "button", onclick: () => merge(each, first) }, `Merge into “${first.name}”`);
    return [el("p", { class: "row" }, `“${each.name}” and “${first.name}” are two classes.`, button)];
  });
}

function row(each, index, all) {
  const change = async (what) => {
    if (await told(() => patch(`/api/classes/${each.number}`, what))) toast("Saved.");
    await told(show);
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
      placeholder: "Examples, one a line",
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

/** What cannot be done by a mere change of a field. */
function more(each, all) {
  const others = all.filter(({ number }) => number !== each.number);
  const acts = [
    ["Archive", "and go on learning its labels", () => archive(each, "kept")],
    ["Archive", "and leave its labels out", () => archive(each, "out")],
    ["Delete", "so that its texts are unlabelled again", () => remove(each)],
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
  // Not at once: arrow keys walk through a list by choosing each of its entries.
  select.addEventListener("change", () => {
    go.hidden = !chosen();
    go.textContent = chosen()?.[0].split(" ")[0] ?? "";
    go.ariaLabel = `${go.textContent} ${each.name}`;
  });
  return el("span", { class: "pick" }, select, go);
}

async function archive(each, archived) {
  if (await told(() => patch(`/api/classes/${each.number}`, { archived }))) toast(`“${each.name}” is archived.`);
  await told(show);
}

async function remove(each) {
  const question = `Delete “${each.name}”? The texts that have it are unlabelled again; what people said stays in the record.`;
  if (confirm(`${question} To keep its labels, merge it into another class instead.`)) {
    await told(async () => {
      setTimeout(() => told(sayLeft), AGAIN); // it takes a while where many texts have it
      const { texts } = await post(`/api/classes/${each.number}/delete`);
      toast(`“${each.name}” is deleted; ${count(texts, "text")} had it.`);
    });
  }
  await told(show);
}

/** How far the deletion or merging of a class is, until it is done: what was cut off goes on by itself. */
async function sayLeft() {
  const { texts } = await get("/api/classes/deletion");
  byId("deletion").hidden = !texts;
  byId("deletion").textContent = `A class is being deleted or merged: ${count(texts, "text")} left. Labelling goes on meanwhile.`;
  if (texts) setTimeout(() => told(sayLeft), AGAIN);
}

async function merge(each, { name: into, number }) {
  if (confirm(`Merge “${each.name}” into “${into}”? All its labels become “${into}”; this cannot be undone.`)) {
    setTimeout(() => told(sayLeft), AGAIN);
    if (await told(() => post(`/api/classes/${each.number}/merge`, { into: number }))) toast(`“${each.name}” is “${into}” now.`);
  }
  await told(show);
}
