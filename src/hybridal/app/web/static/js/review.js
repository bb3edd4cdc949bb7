/** The page for second looks: one list at a time, under tabs. */
import { getProject } from "./api.js";
import { once } from "./controls.js";
import { byId, el, say } from "./dom.js";
import { whole } from "./format.js";
import { frame } from "./frame.js";
import { listen } from "./keys.js";
import { renewList } from "./live-list.js";
import { kinds } from "./review-kinds.js";
import { openText } from "./text-dialog.js";
import { toast, told } from "./toast.js";

const NEWS = 20_000;
// Nobody reads a row in this time: what is clicked right after the list changed by itself was meant for another one.
const GLANCE = 250;
const UNLISTED = "This text is no longer in the list: somebody settled it, or the model was updated.";

const { project, trainer } = await frame;
const all = kinds(project);
let changed = -Infinity;
let asked = 0;
const tabs = all.map((kind) =>
  el(
    "button",
    { type: "button", role: "tab", id: `tab-${kind.name}`, "aria-controls": "panel", onclick: () => open(kind) },
    kind.title,
    el("span", { class: "count" }),
  ),
);
byId("tabs").append(...tabs);
byId("tabs").addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const at = tabs.indexOf(document.activeElement);
  const next = (at + step + tabs.length) % tabs.length;
  tabs[next].focus();
  open(all[next]);
});
byId("items").addEventListener(
  "click",
  (event) => {
    // The second half of a double click would meet the text that has moved up.
    if (event.detail > 1 || (event.detail && performance.now() - changed < GLANCE)) event.stopPropagation();
  },
  true,
);
listen((key) => {
  // Like a click, a key right after the list changed by itself was meant for another text.
  if (performance.now() - changed < GLANCE) return false;
  const here = document.activeElement.closest(".item") ?? byId("items").querySelector(".item:not(.unlisted)");
  const pressed = here?.querySelector(`[aria-keyshortcuts="${CSS.escape(key)}"]`);
  pressed?.click();
  return Boolean(pressed);
});
await open(all.find(({ name }) => `#${name}` === location.hash) ?? all[0]);
told(countOthers);
trainer.addEventListener("round", () => told(refresh));
document.addEventListener("visibilitychange", () => document.hidden || told(refresh));
// Others settle and label meanwhile; without a connection there is no news.
setInterval(() => document.hidden || refresh().catch(() => {}), NEWS);

function open(kind) {
  tabs.forEach((tab, index) => {
    tab.setAttribute("aria-selected", String(all[index] === kind));
    tab.tabIndex = all[index] === kind ? 0 : -1;
  });
  history.replaceState(null, "", `#${kind.name}`);
  byId("panel").setAttribute("aria-labelledby", `tab-${kind.name}`);
  const keys = (kind.keys ?? []).flatMap(([key, does]) => [" ", el("kbd", {}, key), ` ${does}`]);
  byId("about").replaceChildren(kind.about, ...keys);
  byId("items").replaceChildren();
  byId("beside").hidden = !kind.beside;
  return told(() => load(kind));
}

function isOpen(kind) {
  return location.hash === `#${kind.name}`;
}

async function refresh() {
  Object.assign(project, await getProject());
  await Promise.all([load(all.find(isOpen)), countOthers()]);
}

async function countOthers() {
  const counted = all.filter((kind) => kind.most && !isOpen(kind));
  await Promise.all(counted.map(async (kind) => tally(kind, (await kind.load()).length)));
}

async function load(kind, isSettled = false) {
  const mine = ++asked;
  const items = await kind.load();
  if (mine !== asked) return; // another tab was opened, or a text was settled meanwhile
  tally(kind, items.length);
  const names = project.classes.map(({ name }) => name);
  const rows = items.map((item) => ({ id: item.id, source: JSON.stringify([item, names]), draw: () => row(kind, item) }));
  const none = { id: "", source: "", draw: () => el("li", { class: "nothing" }, kind.none) };
  const wasShown = byId("items").children.length > 0;
  const isChanged = renewList(byId("items"), rows.length ? rows : [none]);
  if (isChanged && wasShown) changed = performance.now();
  if (isChanged || isSettled) await kind.beside?.(byId("beside"));
}

function row(kind, item) {
  const settle = once(async (act) => {
    if (!(await told(act))) return;
    toast("Saved.");
    leave();
  });
  const leave = () => {
    if (!isOpen(kind)) return; // somebody has gone to another tab meanwhile
    const next = place.nextElementSibling;
    place.remove();
    // The keyboard stays where the work is.
    (next?.querySelector("button, select") ?? byId("panel")).focus();
    told(() => load(kind, true)); // there may be more than one list's worth
  };
  const look = el(
    "button",
    {
      type: "button",
      class: "plain",
      onclick: once(() => told(() => openText(item.id, project, leave))),
    },
    "Open",
  );
  const [said, actions] = kind.draw(item, settle);
  actions.append(look);
  const place = el(
    "li",
    { class: "item card" },
    el("p", { class: "written", dir: "auto" }, item.text),
    item.comment ? el("p", { class: "remark", dir: "auto" }, item.comment) : null,
    el("div", { class: "row", role: "group", "aria-label": item.text }, said, actions),
    el("p", { class: "why-unlisted small muted" }, UNLISTED),
  );
  return place;
}

function tally(kind, n) {
  const number = n < kind.most ? whole(n) : `${n}+`;
  say(tabs[all.indexOf(kind)].querySelector(".count"), n && kind.most ? number : "");
  showTab();
}

/** On a phone the row of tabs is wider than the page: the open one is in the middle, whatever numbers come to the others. */
function showTab() {
  const [row, tab] = [byId("tabs"), tabs.find(({ ariaSelected }) => ariaSelected === "true")];
  row.scrollLeft = tab.offsetLeft - row.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;
}
