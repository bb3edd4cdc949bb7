/** The start page of a server of several projects: looks every few seconds how far they are. */
import { getProjects, patch, post } from "./api.js";
import { onPress, onSubmit } from "./controls.js";
import { byId, el, named, redraw, say } from "./dom.js";
import { count, whole } from "./format.js";
import { words } from "./trainer-words.js";

const PAUSE = 3000;
let timer = 0;
let titles = new Map();

onSubmit(byId("create"), (form) => tried(() => create(form)));
if (byId("sign-out")) onPress(byId("sign-out"), () => tried(signOut));
await poll();

async function poll() {
  clearTimeout(timer);
  await tried(async () => {
    const { items } = await getProjects();
    titles = new Map(items.map(({ name, title }) => [name, title]));
    redraw(byId("projects"), items.length ? items.map(card) : [el("li", { class: "nothing" }, "No project yet.")]);
  });
  timer = setTimeout(poll, document.hidden ? 5 * PAUSE : PAUSE);
}

function card(project) {
  const { title, address, closed, problem, trainer } = project;
  const name = trainer ? el("a", { href: address.replace("/p/", "/open/") }, named(title)) : named(title);
  return el(
    "li",
    { class: "panel card", "aria-label": title },
    el("div", { class: "row spread" }, el("h2", {}, name), closeButton(project)),
    el("code", {}, address),
    problem ? el("p", { class: "problem" }, problem) : null,
    closed ? el("p", {}, "Closed: its folder can be moved or copied.") : null,
    ...(trainer ? standing(project) : []),
  );
}

function standing({ labelled, planned, texts, people, trainer, waits_for: before }) {
  const done = texts
    ? `${whole(labelled)} of ${count(planned, "label")}, ${count(texts, "text")}${trainer.round ? `, round ${whole(trainer.round)}` : ""}`
    : "No texts yet";
  const others = before.map((name) => `“${titles.get(name) ?? name}”`).join(", ");
  const trains = others ? `The model's turn comes after ${others}.` : words(trainer, Date.now() / 1000).sentence;
  return [
    el("p", {}, done, texts ? el("progress", { value: labelled, max: planned, "aria-label": "Labels" }) : null),
    el("p", {}, trains),
    el("p", { class: "facts" }, ...people.map((person) => el("span", { class: "badge" }, named(person)))),
  ];
}

function closeButton({ name, title, closed }) {
  const act = () => tried(() => patch("/api/projects", { name, closed: !closed }).then(poll));
  const label = closed ? "Open again" : "Close";
  return el("button", { type: "button", class: "plain", "aria-label": `${label} ${title}`, onclick: act }, label);
}

async function create(form) {
  const made = await post("/api/projects", { name: form.elements.name.value });
  if (made.problem) throw new Error(made.problem);
  location.assign(made.address.replace("/p/", "/open/"));
}

async function signOut() {
  await post("/api/logout");
  location.assign("/login");
}

/** What goes wrong is told above the projects, until something works again. */
async function tried(act) {
  try {
    await act();
    say(byId("problem"), "");
  } catch (error) {
    say(byId("problem"), error.message);
  }
}
