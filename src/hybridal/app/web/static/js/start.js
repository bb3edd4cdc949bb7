/** The start page of a server with several projects; refreshes their state every few seconds. */
import { getProjects, patch, post } from "./api.js";
import { onPress, onSubmit } from "./controls.js";
import { byId, el, bdi, replaceContent, setText } from "./dom.js";
import { count, whole } from "./format.js";
import { trainerStatus } from "./trainer-status.js";

const POLL_MS = 3000;
let timer = 0;
let titles = new Map();

onSubmit(byId("create"), (form) => showProblem(() => create(form)));
if (byId("sign-out")) onPress(byId("sign-out"), () => showProblem(signOut));
await poll();

async function poll() {
  clearTimeout(timer);
  await showProblem(async () => {
    const { items } = await getProjects();
    titles = new Map(items.map(({ name, title }) => [name, title]));
    replaceContent(byId("projects"), items.length ? items.map(card) : [el("li", { class: "nothing" }, "No project yet.")]);
  });
  timer = setTimeout(poll, document.hidden ? 5 * POLL_MS : POLL_MS);
}

function card(project) {
  const { title, address, closed, problem, trainer } = project;
  const name = trainer ? el("a", { href: address.replace("/p/", "/open/") }, bdi(title)) : bdi(title);
  return el(
    "li",
    { class: "panel card", "aria-label": title },
    el("div", { class: "row spread" }, el("h2", {}, name), closeButton(project)),
    el("code", {}, address),
    problem ? el("p", { class: "problem" }, problem) : null,
    closed ? el("p", {}, "Closed: its folder can be moved or copied.") : null,
    ...(trainer ? status(project) : []),
  );
}

function status({ labelled, planned, texts, people, trainer, waits_for: before }) {
  const done = texts
    ? `${whole(labelled)} of ${count(planned, "label")}, ${count(texts, "text")}${trainer.round ? `, round ${whole(trainer.round)}` : ""}`
    : "No texts yet";
  const others = before.map((name) => `“${titles.get(name) ?? name}”`).join(", ");
  const training = others ? `Training waits for ${others}.` : trainerStatus(trainer, Date.now() / 1000).sentence;
  return [
    el("p", {}, done, texts ? el("progress", { value: labelled, max: planned, "aria-label": "Labels" }) : null),
    el("p", {}, training),
    el("p", { class: "facts" }, ...people.map((person) => el("span", { class: "badge" }, bdi(person)))),
  ];
}

function closeButton({ name, title, closed }) {
  const act = () => showProblem(() => patch("/api/projects", { name, closed: !closed }).then(poll));
  const label = closed ? "Reopen" : "Close";
  return el("button", { type: "button", class: "plain", "aria-label": `${label} ${title}`, onclick: act }, label);
}

async function create(form) {
  const { name, kind } = form.elements;
  const made = await post("/api/projects", { name: name.value, multi_label: kind.value === "several" });
  if (made.problem) throw new Error(made.problem);
  location.assign(made.address.replace("/p/", "/open/"));
}

async function signOut() {
  await post("/api/logout");
  location.assign("/login");
}

/** Runs an action; shows its error above the projects until an action succeeds. */
async function showProblem(act) {
  try {
    await act();
    setText(byId("problem"), "");
  } catch (error) {
    setText(byId("problem"), error.message);
  }
}
