/** The page for second looks: one list at a time, under tabs. */
import { once } from "./controls.js";
import { byId, el, redraw } from "./dom.js";
import { whole } from "./format.js";
import { frame } from "./frame.js";
import { kinds } from "./review-kinds.js";
import { openText } from "./text-dialog.js";
import { toast, told } from "./toast.js";

const { project } = await frame;
const all = kinds(project);
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
// The second half of a double click would meet the text that has moved up.
byId("items").addEventListener("click", (event) => event.detail > 1 && event.stopPropagation(), true);
const first = all.find(({ name }) => `#${name}` === location.hash) ?? all[0];
await open(first);
for (const kind of all) if (kind !== first) told(async () => tally(kind, (await kind.load()).length));

function open(kind) {
  tabs.forEach((tab, index) => {
    tab.setAttribute("aria-selected", String(all[index] === kind));
    tab.tabIndex = all[index] === kind ? 0 : -1;
  });
  history.replaceState(null, "", `#${kind.name}`);
  byId("panel").setAttribute("aria-labelledby", `tab-${kind.name}`);
  byId("about").textContent = kind.about;
  byId("items").replaceChildren();
  byId("beside").hidden = !kind.beside;
  return Promise.all([told(() => load(kind)), kind.beside && told(() => kind.beside(byId("beside")))]);
}

async function load(kind) {
  const items = await kind.load();
  if (location.hash !== `#${kind.name}`) return; // another tab was opened meanwhile
  tally(kind, items.length);
  redraw(byId("items"), items.length ? items.map((item) => row(kind, item)) : [el("li", { class: "nothing" }, kind.none)]);
}

function row(kind, item) {
  const settle = once(async (act) => {
    if (!(await told(act))) return;
    const next = place.nextElementSibling;
    place.remove();
    tally(kind, byId("items").children.length);
    toast("Saved.");
    if (kind.beside) told(() => kind.beside(byId("beside")));
    // The keyboard stays where the work is.
    (next?.querySelector("button, select") ?? byId("panel")).focus();
    if (!byId("items").children.length) told(() => load(kind)); // there may be more than one list's worth
  });
  const look = el(
    "button",
    {
      type: "button",
      class: "plain",
      onclick: once(() => told(() => openText(item.id, project, () => told(() => load(kind))))),
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
  );
  return place;
}

function tally(kind, n) {
  const number = n < kind.most ? whole(n) : `${n}+`;
  tabs[all.indexOf(kind)].querySelector(".count").textContent = n && kind.most ? number : "";
  showTab();
}

/** On a phone the row of tabs is wider than the page: the open one is in the middle, whatever numbers come to the others. */
function showTab() {
  const [row, tab] = [byId("tabs"), tabs.find(({ ariaSelected }) => ariaSelected === "true")];
  row.scrollLeft = tab.offsetLeft - row.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;
}
