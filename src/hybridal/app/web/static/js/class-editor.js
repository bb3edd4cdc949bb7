/** The list of classes on the page Settings: rename, describe, reorder, merge, archive, delete, add. */
import { get, patch, post } from "./api.js";
import { colourOf } from "./class-buttons.js";
import { onSubmit } from "./controls.js";
import { byId, el, bdi, replaceContent } from "./dom.js";
import { t, tn, tParts } from "./i18n.js";
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
  toast(t("“{name}” is added.", { name }));
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

function row(each, index, all) {
  const change = async (what) => {
    if (await showErrors(() => patch(`/api/classes/${each.number}`, what))) toast(t("Saved."));
    await showErrors(show);
  };
  const field = (name, label, spoken) =>
    el("input", {
      value: each[name],
      "aria-label": spoken,
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
      "aria-label": t("Examples of {name}", each),
      dir: "auto",
      placeholder: t("Examples, one per line"),
      onchange: ({ target }) => change({ examples: target.value.trim() }),
    },
    each.examples,
  );
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
  return el(
    "li",
    {},
    el("span", { class: "swatch", "data-colour": colourOf(index) }),
    field("name", t("Name"), t("Name of {name}", each)),
    el("div", { class: "stack" }, field("description", t("What belongs here"), t("What belongs in {name}", each)), examples),
    el(
      "span",
      { class: "actions" },
      move(t("Move {name} up", each), -1, index === 0),
      move(t("Move {name} down", each), 1, index === all.length - 1),
      more(each, all),
    ),
  );
}

/** The menu of a class: archive, delete, merge. */
function more(each, all) {
  const others = all.filter(({ number }) => number !== each.number);
  const groups = {
    archive: { title: t("Archive"), button: t("Archive"), spoken: t("Archive {name}", each) },
    delete: { title: t("Delete"), button: t("Delete"), spoken: t("Delete {name}", each) },
    merge: { title: t("Merge into"), button: t("Merge"), spoken: t("Merge {name}", each) },
  };
  const acts = [
    { group: "archive", label: t("and keep learning its labels"), act: () => archive(each, "kept") },
    { group: "archive", label: t("and stop learning its labels"), act: () => archive(each, "out") },
    { group: "delete", label: t("and make its texts unlabelled again"), act: () => remove(each) },
    ...others.map((other) => ({ group: "merge", label: other.name, act: () => merge(each, other) })),
  ];
  const option = (one) => el("option", { value: acts.indexOf(one) }, one.label);
  const listed = Object.entries(groups).map(([group, { title }]) => {
    const mine = acts.filter((one) => one.group === group);
    return mine.length ? el("optgroup", { label: title }, ...mine.map(option)) : null;
  });
  const select = el("select", { "aria-label": t("More for {name}", each) }, el("option", { value: "" }, t("more …")), ...listed);
  const chosen = () => acts[select.value || -1];
  const go = el("button", { type: "button", class: "main", hidden: true, onclick: () => chosen().act() });
  // Act only on a click: arrow keys select each entry on the way to the wanted one.
  select.addEventListener("change", () => {
    go.hidden = !chosen();
    go.textContent = groups[chosen()?.group]?.button ?? "";
    go.ariaLabel = groups[chosen()?.group]?.spoken ?? "";
  });
  return el("span", { class: "pick" }, select, go);
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
