/** The page Codebook: groups, splits and new definitions of classes, the labels that they touch, and all versions. */
import { get, link, patch, post } from "./api.js";
import { colourOf } from "./class-buttons.js";
import { operationSentence, versionRow } from "./codebook-versions.js";
import { onPress, singleFlight } from "./controls.js";
import { byId, bdi, el, replaceContent } from "./dom.js";
import { frame } from "./frame.js";
import { t, tn } from "./i18n.js";
import { redefineDialog, splitDialog } from "./codebook-dialogs.js";
import { showErrors, toast } from "./toast.js";

const FILTER_FROM = 12; // with more classes than this there is a search field

const { project } = await frame;
const isOwner = project.me.role === "owner";
const split = splitDialog(changed);
const redefine = redefineDialog(changed);
let next = null;

onPress(byId("older"), () => showErrors(older));
byId("class-filter").addEventListener("input", filter);
await showErrors(show);

async function show() {
  const [{ items: classes }, versions] = await Promise.all([get("/api/classes"), get("/api/codebook/versions")]);
  const book = await codebookAt(versions.items[0]?.number ?? 0);
  const names = namesOf(book);
  showClasses(classes);
  replaceContent(byId("versions"), versions.items.map((version) => versionRow(version, names)));
  const unlearnt = new Set(book.filter(({ archived }) => archived === "out").map(({ number }) => number));
  showQueues(versions.items.filter(({ rechecks }) => rechecks.open), names, unlearnt);
  showMore(versions.next);
}

/** All classes of a version, merged and deleted ones included. */
async function codebookAt(version) {
  return (await get(`/api/codebook/versions/${version}`)).items;
}

/** The names of these classes by number. */
function namesOf(classes) {
  return new Map(classes.map(({ number, name }) => [number, name]));
}

async function older() {
  const versions = await get("/api/codebook/versions", { before: next });
  const names = namesOf(await codebookAt(versions.items[0].number));
  byId("versions").append(...versions.items.map((version) => versionRow(version, names)));
  showMore(versions.next);
}

function showMore(before) {
  next = before;
  byId("older").hidden = next === null;
}

async function changed({ queued }) {
  toast(queued ? tn("Saved. {n} label is to be looked at again.", "Saved. {n} labels are to be looked at again.", queued) : t("Saved."));
  await showErrors(show);
}

function showClasses(classes) {
  const groups = new Set(classes.map(({ group }) => group).filter(Boolean));
  byId("groups").replaceChildren(...[...groups].map((group) => el("option", { value: group })));
  replaceContent(byId("class-list"), classes.map(classRow));
  byId("class-filter").hidden = classes.length <= FILTER_FROM;
  filter();
}

function classRow(each, index) {
  const put = async ({ target }) => {
    const group = target.value.trim();
    if (await showErrors(() => patch(`/api/classes/${each.number}`, { group }))) toast(t("Saved."));
    await showErrors(show);
  };
  const group = el("input", {
    value: each.group,
    list: "groups",
    maxlength: 200,
    "aria-label": t("Group of {name}", each),
    placeholder: t("Group"),
    dir: "auto",
    autocomplete: "off",
    onchange: put,
  });
  const act = (label, spoken, open) =>
    el("button", { type: "button", "aria-label": spoken, onclick: singleFlight(() => showErrors(() => open(each))) }, label);
  const actions = [
    group,
    act(t("New definition"), t("New definition of {name}", each), redefine),
    act(t("Split"), t("Split {name}", each), split),
  ];
  return el(
    "li",
    { "data-find": `${each.name} ${each.group}`.toLowerCase() },
    el("span", { class: "swatch", "data-colour": colourOf(index) }),
    el("div", {}, el("b", {}, bdi(each.name)), el("p", { class: "muted small", dir: "auto" }, each.description)),
    isOwner ? el("span", { class: "row" }, ...actions) : el("span", { class: "badge", hidden: !each.group }, bdi(each.group)),
  );
}

function filter() {
  const wanted = byId("class-filter").querySelector("input").value.trim().toLowerCase();
  for (const row of byId("class-list").children) row.hidden = !row.dataset.find.includes(wanted);
}

/** @param {Set<number>} unlearnt the classes that are archived and whose labels the model does not learn */
function showQueues(versions, names, unlearnt) {
  byId("queues").hidden = !versions.length;
  replaceContent(byId("queue-list"), versions.map((version) => queueRow(version, names, unlearnt)));
}

function queueRow(version, names, unlearnt) {
  const { open, done } = version.rechecks;
  const sentence = operationSentence(version, names);
  const dismiss = async () => {
    const question = tn("Keep the old answer of {n} text? It is not asked about any more.", "Keep the old answers of {n} texts? They are not asked about any more.", open);
    const split = version.changes.find(({ number, after }) => after.archived === "out" && unlearnt.has(number));
    const consequence = split ? t("“{name}” stays archived, and the model no longer learns these labels.", { name: names.get(split.number) }) : "";
    if (!confirm(`${question} ${consequence}`.trim())) return;
    await post(`/api/codebook/versions/${version.number}/dismiss`);
    await show();
  };
  const keep = el("button", { type: "button", "aria-label": t("Keep the rest: {sentence}", { sentence }), onclick: singleFlight(() => showErrors(dismiss)) }, t("Keep the rest"));
  return el(
    "li",
    {},
    el("div", {}, el("p", {}, sentence), el("p", { class: "muted small" }, tn("{n} label left", "{n} labels left", open))),
    el("progress", { max: open + done, value: done, "aria-label": t("Labels looked at again: {sentence}", { sentence }) }),
    el("span", { class: "row" }, el("a", { class: "button", href: link(`/?check=${version.number}`), "aria-label": t("Look at them: {sentence}", { sentence }) }, t("Look at them")), isOwner ? keep : null),
  );
}
