/** The page Review: one list of texts at a time, under tabs. */
import { getProject } from "./api.js";
import { singleFlight } from "./controls.js";
import { byId, el, setText } from "./dom.js";
import { t, whole } from "./i18n.js";
import { frame } from "./frame.js";
import { listen } from "./keys.js";
import { renewList } from "./live-list.js";
import { kinds } from "./review-kinds.js";
import { setKinds } from "./review-set-kinds.js";
import { openText } from "./text-dialog.js";
import { toast, showErrors } from "./toast.js";

const REFRESH_MS = 20_000;
// A click this soon after the list changed was aimed at the row that was there before.
const MIN_READING_MS = 250;
const UNLISTED = t("This text is no longer in the list: another person has decided it, or the model was updated.");

const { project, trainer } = await frame;
const all = project.multi_label ? setKinds(project, () => showErrors(() => load(all.find(isOpen)))) : kinds(project);
let changed = -Infinity;
let latestRequest = 0;
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
    // The second click of a double click would hit the next text, which has moved up.
    if (event.detail > 1 || (event.detail && performance.now() - changed < MIN_READING_MS)) event.stopPropagation();
  },
  true,
);
listen((key) => {
  if (performance.now() - changed < MIN_READING_MS) return false; // meant for another text, like a click
  const here = document.activeElement.closest(".item") ?? byId("items").querySelector(".item:not(.unlisted)");
  const pressed = here?.querySelector(`[aria-keyshortcuts="${CSS.escape(key)}"]`);
  pressed?.click();
  return Boolean(pressed);
});
await open(all.find(({ name }) => `#${name}` === location.hash) ?? all[0]);
showErrors(countOthers);
trainer.addEventListener("round", () => showErrors(refresh));
document.addEventListener("visibilitychange", () => document.hidden || showErrors(refresh));
// Other people decide and label meanwhile. Ignore errors: the trainer's bar reports a lost connection.
setInterval(() => document.hidden || refresh().catch(() => {}), REFRESH_MS);

function open(kind) {
  tabs.forEach((tab, index) => {
    tab.setAttribute("aria-selected", String(all[index] === kind));
    tab.tabIndex = all[index] === kind ? 0 : -1;
  });
  history.replaceState(null, "", `#${kind.name}`);
  byId("panel").setAttribute("aria-labelledby", `tab-${kind.name}`);
  const keys = (kind.keys ?? []).flatMap(([key, does]) => [" ", el("kbd", {}, key), ` ${does}`]);
  byId("about").replaceChildren(kind.about, ...keys);
  byId("review-tools").replaceChildren(...(kind.tools ? [kind.tools()] : []));
  byId("items").replaceChildren();
  byId("review-summary").hidden = !kind.showSummary;
  return showErrors(() => load(kind));
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
  const request = ++latestRequest;
  const items = await kind.load();
  if (request !== latestRequest) return; // another tab was opened, or a text was settled meanwhile
  tally(kind, items.length);
  const names = project.classes.map(({ name }) => name);
  const rows = items.map((item) => ({ id: item.key ?? item.id, source: JSON.stringify([item, names]), draw: () => row(kind, item) }));
  const none = { id: "", source: "", draw: () => el("li", { class: "nothing" }, kind.none) };
  const wasShown = byId("items").children.length > 0;
  const isChanged = renewList(byId("items"), rows.length ? rows : [none]);
  if (isChanged && wasShown) changed = performance.now();
  if (isChanged || isSettled) await kind.showSummary?.(byId("review-summary"));
}

function row(kind, item) {
  const settle = singleFlight(async (act) => {
    if (!(await showErrors(act))) return;
    toast(t("Saved."));
    leave();
  });
  const leave = () => {
    if (!isOpen(kind)) return; // another tab was opened meanwhile
    const next = place.nextElementSibling;
    place.remove();
    // Move the focus to the next text.
    (next?.querySelector("button, select") ?? byId("panel")).focus();
    showErrors(() => load(kind, true)); // the server cuts long lists, so more may follow
  };
  const openButton = el(
    "button",
    {
      type: "button",
      class: "plain",
      onclick: singleFlight(() => showErrors(() => openText(item.id, project, leave))),
    },
    t("Open"),
  );
  const [facts, actions] = kind.draw(item, settle);
  actions.append(openButton);
  const place = el(
    "li",
    { class: "item card" },
    el("p", { class: "written", dir: "auto" }, item.text),
    item.comment ? el("p", { class: "remark", dir: "auto" }, item.comment) : null,
    el("div", { class: "row", role: "group", "aria-label": item.text }, facts, actions),
    el("p", { class: "why-unlisted small muted" }, UNLISTED),
  );
  return place;
}

function tally(kind, n) {
  const number = n < kind.most ? whole(n) : `${n}+`;
  setText(tabs[all.indexOf(kind)].querySelector(".count"), n && kind.most ? number : "");
  showTab();
}

/** Scrolls the open tab to the middle; on a phone the row of tabs is wider than the page. */
function showTab() {
  const [row, tab] = [byId("tabs"), tabs.find(({ ariaSelected }) => ariaSelected === "true")];
  row.scrollLeft = tab.offsetLeft - row.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;
}
