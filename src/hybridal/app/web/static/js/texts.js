/** The page Texts: search, filters, paging. The query is kept in the URL, so that it can be shared. */
import { acceptButton, acceptByKey, isAcceptable } from "./accept-in-list.js";
import { get } from "./api.js";
import { facts } from "./badges.js";
import { Bulk } from "./bulk.js";
import { singleFlight, onPress, onSubmit } from "./controls.js";
import { byId, el, replaceContent } from "./dom.js";
import { frame } from "./frame.js";
import { t, tn, whole } from "./i18n.js";
import { scoreFirst } from "./score-first.js";
import { deleteFoundButtons } from "./delete-texts.js";
import { openText } from "./text-dialog.js";
import { showErrors } from "./toast.js";

const TYPING_MS = 250;
const HIDDEN = ["given", "withheld", "one", "other"]; // conditions of links from the page Progress

const { project } = await frame;
const form = byId("filters");
for (const select of [form.elements.class, form.elements.lacks, form.elements.predicted].filter(Boolean))
  select.append(...project.classes.map(({ name }) => el("option", { value: name }, name)));
const groups = new Set(project.classes.map(({ group }) => group).filter(Boolean));
form.elements.class_group.append(...[...groups].map((group) => el("option", { value: group }, group)));
byId("class-group").hidden = !groups.size;
for (const [name, value] of new URLSearchParams(location.search)) {
  const control = form.elements[name];
  // A link from another page may name an archived class.
  if (control?.type === "select-one" && ![...control.options].some((option) => option.value === value)) control.append(el("option", { value }, value));
  if (control) control.value = value;
}
const bulk = new Bulk(project, () => showErrors(load));
let page = Number(new URLSearchParams(location.search).get("page")) || 1;
let typing = 0;
let latestRequest = 0;

onSubmit(form, () => showPage(1));
onPress(byId("like").querySelector("button"), () => showLike(""));
onPress(byId("conditions").querySelector("button"), () => showLike(""));
form.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => showPage(1), TYPING_MS);
});
acceptByKey();
await showErrors(load);

function showPage(number) {
  clearTimeout(typing);
  page = number;
  return showErrors(load);
}

/** Shows a page of the list from its beginning, with the focus on the list. */
async function showPageFromTop(number) {
  scrollTo(0, 0);
  await showPage(number);
  byId("items").focus({ preventScroll: true });
}

/** Lists the unlabelled texts most similar to one text; with an empty id, all texts. */
function showLike(id) {
  form.reset();
  for (const name of HIDDEN) form.elements[name].value = "";
  form.elements.like.value = id;
  form.elements.state.value = id ? "unlabelled" : "";
  return showPageFromTop(1);
}

async function showLikeHeading(id) {
  byId("like").hidden = !id;
  if (form.elements.order) form.elements.order.disabled = Boolean(id); // similar texts are sorted by similarity
  if (id) byId("like").querySelector("q").textContent = (await get(`/api/texts/${encodeURIComponent(id)}`)).text;
}

/** States the conditions that no field shows. */
function showConditions({ given, withheld, one, other }) {
  const stated = [
    given && t("The model gives them “{name}”.", { name: given }),
    withheld && t("The model does not give them “{name}”.", { name: withheld }),
    one && other && t("One person gave them “{one}”, another person “{other}”.", { one, other }),
  ].filter(Boolean);
  byId("conditions").hidden = !stated.length;
  byId("conditions").querySelector("span").textContent = stated.join(" ");
}

async function load() {
  const query = { ...Object.fromEntries(new FormData(form)), page };
  showConditions(query);
  const request = ++latestRequest;
  const [found] = await Promise.all([get("/api/texts", query), showLikeHeading(query.like)]);
  if (request !== latestRequest) return; // superseded by a later request
  const given = Object.entries(query).filter(([name, value]) => value && !(name === "page" && value === 1));
  history.replaceState(null, "", given.length ? `?${new URLSearchParams(given)}` : location.pathname);
  byId("found").textContent = found.more
    ? tn("more than {n} text", "more than {n} texts", found.total)
    : tn("{n} text", "{n} texts", found.total);
  if (project.me.role === "owner") byId("removal").replaceChildren(...deleteFoundButtons(found, query, () => showErrors(load)));
  bulk.begin(project.multi_label ? query.predicted : "");
  const none = el("li", { class: "nothing" }, t("No texts found. Try fewer words or another state."));
  replaceContent(byId("items"), found.items.length ? folded(found.items) : [none]);
  pager(found);
  const refresh = async () => updateFacts(found.items, (await get("/api/texts", { id: found.items.map(({ id }) => id) })).items);
  if (form.elements.predicted) showErrors(() => scoreFirst(found.items, () => request === latestRequest, refresh));
}

/** Updates the badges of the listed texts in place. Rows do not move, even if the query would no longer list them. */
function updateFacts(before, items) {
  const shown = (id) => byId("items").querySelector(`[data-id="${CSS.escape(id)}"] .facts`);
  const similarities = new Map(before.map(({ id, similarity }) => [id, similarity]));
  for (const item of items) {
    shown(item.id)?.replaceWith(facts({ ...item, similarity: similarities.get(item.id) }, project.classes));
    bulk.renew(item);
  }
  return items;
}

/** The rows of a page. Texts that are almost the same follow the first of them, folded. */
function folded(items) {
  const groups = new Map();
  for (const item of items) groups.set(item.group ?? item.id, [...(groups.get(item.group ?? item.id) ?? []), item]);
  return [...groups.values()].flatMap(([first, ...others]) => {
    const rows = others.map((item) => row(item));
    const own = row(first, others.length ? toggle(rows) : null);
    for (const each of rows) each.hidden = true;
    bulk.tie(first, others);
    return [own, ...rows];
  });
}

function toggle(rows) {
  const name = (isOpen) =>
    isOpen ? tn("Hide {n} text like it", "Hide {n} texts like it", rows.length) : tn("Show {n} text like it", "Show {n} texts like it", rows.length);
  const button = el("button", { type: "button", class: "plain", "aria-expanded": "false", onclick: () => {
    const isOpen = button.ariaExpanded !== "true";
    button.ariaExpanded = String(isOpen);
    button.textContent = name(isOpen);
    for (const each of rows) each.hidden = !isOpen;
  } }, name(false));
  return button;
}

/** Shows the label of one text again. */
async function renew(id) {
  updateFacts([], (await get("/api/texts", { id: [id] })).items);
}

function row(item, unfold = null) {
  const open = singleFlight(() => showErrors(() => openText(item.id, project, () => showErrors(load))));
  return el(
    "li",
    { class: "item card", "data-id": item.id },
    el("p", { class: "written brief", dir: "auto" }, item.text),
    item.comment ? el("p", { class: "remark", dir: "auto" }, item.comment) : null,
    el(
      "div",
      { class: "row", role: "group", "aria-label": item.text },
      bulk.box(item),
      facts(item, project.classes),
      el(
        "span",
        { class: "actions" },
        unfold,
        isAcceptable(item) ? acceptButton(item, () => renew(item.id)) : null,
        el("button", { type: "button", class: "plain", onclick: () => showLike(item.id) }, t("More like this")),
        el("button", { type: "button", class: "plain", onclick: open }, t("Open")),
      ),
    ),
  );
}

function pager({ pages, more }) {
  const step = (name, to, off) =>
    el("button", { type: "button", disabled: off, onclick: () => showPageFromTop(to) }, name);
  const at = { page: whole(page), pages: whole(pages) };
  const place = more ? t("Page {page} of more than {pages}", at) : t("Page {page} of {pages}", at);
  byId("items").ariaLabel = pages > 1 ? t("Texts, {place}", { place }) : t("Texts"); // announced when the buttons below move the focus here
  byId("pager").replaceChildren(
    ...(pages > 1 ? [step(t("Back"), page - 1, page <= 1), el("span", { class: "small muted" }, place), step(t("Next"), page + 1, page >= pages && !more)] : []),
  );
}
