/** Classes: rename, describe, reorder, merge, add. */
import { get, patch, post } from "./api.js";
import { colourOf } from "./class-buttons.js";
import { onSubmit } from "./controls.js";
import { byId, el, redraw } from "./dom.js";
import { toast, told } from "./toast.js";

let asked = 0;

export async function classEditor() {
  onSubmit(byId("add-class"), () => told(add));
  document.addEventListener("texts-added", () => told(show)); // with labels of classes that were not there
  await show();
}

async function add() {
  const form = byId("add-class");
  await post("/api/classes", Object.fromEntries(new FormData(form)));
  form.reset();
  await show();
}

async function show() {
  const mine = ++asked;
  const { items } = await get("/api/classes");
  if (mine !== asked) return; // a later change has overtaken this one
  redraw(
    byId("class-list"),
    items.map((each, index) => row(each, index, items)),
  );
  byId("twins").replaceChildren(...twins(items));
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
        onclick: () => change({ position: all[index + by].position }),
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
      merger(each, all),
    ),
  );
}

function merger(each, all) {
  const others = all.filter(({ number }) => number !== each.number);
  if (!others.length) return null;
  const options = others.map(({ name, number }) => el("option", { value: number }, name));
  return el(
    "select",
    { "aria-label": `Merge ${each.name} into another class`, onchange: ({ target }) => merge(each, others.find(({ number }) => number === Number(target.value))) },
    el("option", { value: "" }, "merge into …"),
    ...options,
  );
}

async function merge(each, { name: into, number }) {
  if (confirm(`Merge “${each.name}” into “${into}”? All its labels become “${into}”; this cannot be undone.`)) {
    await told(() => post(`/api/classes/${each.number}/merge`, { into: number }));
  }
  await told(show);
}
