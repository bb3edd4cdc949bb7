/** The list of all texts: search, filters, paging. Where one stands is in the address, so that it can be shared. */
import { get } from "./api.js";
import { facts } from "./badges.js";
import { Bulk } from "./bulk.js";
import { once, onPress, onSubmit } from "./controls.js";
import { byId, el, redraw } from "./dom.js";
import { count, whole } from "./format.js";
import { frame } from "./frame.js";
import { newestFirst } from "./newest.js";
import { removeAll } from "./removal.js";
import { openText } from "./text-dialog.js";
import { told } from "./toast.js";

const PAUSE = 250;

const { project } = await frame;
const form = byId("filters");
for (const select of [form.elements.class, form.elements.predicted].filter(Boolean))
  select.append(...project.classes.map(({ name }) => el("option", { value: name }, name)));
for (const [name, value] of new URLSearchParams(location.search))
  if (form.elements[name]) form.elements[name].value = value;
const bulk = new Bulk(project.classes, () => told(load));
let page = Number(new URLSearchParams(location.search).get("page")) || 1;
let typing = 0;
let asked = 0;

onSubmit(form, () => turnTo(1));
onPress(byId("like").querySelector("button"), () => showLike(""));
form.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => turnTo(1), PAUSE);
});
await told(load);

function turnTo(number) {
  clearTimeout(typing);
  page = number;
  return told(load);
}

/** Another part of the list, read from its beginning. */
async function leafTo(number) {
  scrollTo(0, 0);
  await turnTo(number);
  byId("items").focus({ preventScroll: true });
}

/** Lists the texts that are most like one, of those without a label; or all texts again. */
function showLike(id) {
  form.reset();
  form.elements.like.value = id;
  form.elements.state.value = id ? "unlabelled" : "";
  return leafTo(1);
}

async function sayLike(id) {
  byId("like").hidden = !id;
  if (form.elements.order) form.elements.order.disabled = Boolean(id); // they have an order of their own
  if (id) byId("like").querySelector("q").textContent = (await get(`/api/texts/${encodeURIComponent(id)}`)).text;
}

async function load() {
  const query = { ...Object.fromEntries(new FormData(form)), page };
  const mine = ++asked;
  const [found] = await Promise.all([get("/api/texts", query), sayLike(query.like)]);
  if (mine !== asked) return; // a later question has overtaken this one
  const given = Object.entries(query).filter(([name, value]) => value && !(name === "page" && value === 1));
  history.replaceState(null, "", given.length ? `?${new URLSearchParams(given)}` : location.pathname);
  byId("found").textContent = (found.more ? "more than " : "") + count(found.total, "text");
  if (project.me.role === "owner") byId("removal").replaceChildren(...removeAll(found, query, () => told(load)));
  bulk.begin();
  const none = el("li", { class: "nothing" }, "No texts found. Try fewer words or another state.");
  redraw(byId("items"), found.items.length ? found.items.map(row) : [none]);
  pager(found);
  const again = async () => redress(found.items, (await get("/api/texts", { id: found.items.map(({ id }) => id) })).items);
  if (form.elements.predicted) told(() => newestFirst(found.items, () => mine === asked, again));
}

/**
 * Says again what is known of the texts on the page, each in its place: nothing moves under somebody's hands, also where
 * it would not be listed any more.
 */
function redress(before, items) {
  const shown = (id) => byId("items").querySelector(`[data-id="${CSS.escape(id)}"] .facts`);
  const alike = new Map(before.map(({ id, similarity }) => [id, similarity]));
  for (const item of items) {
    shown(item.id)?.replaceWith(facts({ ...item, similarity: alike.get(item.id) }, project.classes));
    bulk.renew(item);
  }
  return items;
}

function row(item) {
  const open = once(() => told(() => openText(item.id, project, () => told(load))));
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
        el("button", { type: "button", class: "plain", onclick: () => showLike(item.id) }, "More like this"),
        el("button", { type: "button", class: "plain", onclick: open }, "Open"),
      ),
    ),
  );
}

function pager({ pages, more }) {
  const step = (name, to, off) =>
    el("button", { type: "button", disabled: off, onclick: () => leafTo(to) }, name);
  const place = `Page ${whole(page)} of ${more ? "more than " : ""}${whole(pages)}`;
  byId("items").ariaLabel = pages > 1 ? `Texts, ${place}` : "Texts"; // told to who comes to it by the buttons below
  byId("pager").replaceChildren(
    ...(pages > 1 ? [step("Back", page - 1, page <= 1), el("span", { class: "small muted" }, place), step("Next", page + 1, page >= pages && !more)] : []),
  );
}
