/** The start page of a server with several projects; refreshes their state every few seconds. */
import { getProjects, patch, post } from "./api.js";
import { onPress } from "./controls.js";
import { byId, el, bdi, replaceContent, setText } from "./dom.js";
import { ago } from "./format.js";
import { language, listed, t, tn, whole } from "./i18n.js";
import { importProject } from "./import-project.js";
import { manageProject } from "./manage-project.js";
import { newProject } from "./new-project.js";
import { trainerStatus } from "./trainer-status.js";

const POLL_MS = 3000;
let timer = 0;
let titles = new Map();

if (byId("sign-out")) onPress(byId("sign-out"), () => showProblem(signOut));
await poll(); // brings the CSRF token, which uploads need
newProject();
importProject(poll);

async function poll() {
  clearTimeout(timer);
  await showProblem(async () => {
    const { items } = await getProjects();
    titles = new Map(items.map(({ name, title }) => [name, title]));
    const shown = [...items.filter(({ archived }) => !archived), ...items.filter(({ archived }) => archived)];
    replaceContent(byId("projects"), shown.length ? shown.map(card) : [el("li", { class: "nothing" }, t("No project yet."))]);
  });
  timer = setTimeout(poll, document.hidden ? 5 * POLL_MS : POLL_MS);
}

function card(project) {
  const { title, address, archived, problem, trainer } = project;
  const name = trainer ? el("a", { href: address.replace("/p/", "/open/") }, bdi(title)) : bdi(title);
  return el(
    "li",
    { class: archived ? "panel card archived" : "panel card", "aria-label": title },
    el("div", { class: "row spread" }, el("h2", {}, name), badge(project), manageButton(project)),
    el("code", {}, address),
    problem ? el("p", { class: "problem" }, problem) : null,
    archived ? el("p", {}, t("Archived on {date}: nobody can label, and its folder can be moved or copied.", { date: day(archived) })) : null,
    ...(trainer ? status(project) : []),
  );
}

/** The state of a project in one or two words. */
function badge({ archived, problem, trainer, texts, labelled, planned }) {
  const words = archived
    ? t("Archived")
    : problem
      ? t("Cannot be opened")
      : !trainer
        ? t("Opening")
        : !texts
          ? t("No texts yet")
          : labelled >= planned
            ? t("All labels given")
            : labelled
              ? t("In progress")
              : t("Not started");
  return el("span", { class: "badge" }, words);
}

function status({ labelled, planned, texts, people, trainer, created, last_label: last, waits_for: before }) {
  const projects = listed(before.map((name) => `“${titles.get(name) ?? name}”`));
  const training = before.length ? t("Training waits for {projects}.", { projects }) : trainerStatus(trainer, Date.now() / 1000).sentence;
  return [
    el("p", {}, progress(labelled, planned, texts, trainer.round), texts ? el("progress", { value: labelled, max: planned, "aria-label": t("Labels") }) : null),
    el("p", {}, last ? t("Last label: {ago}.", { ago: ago(last) }) : t("No label yet; created: {ago}.", { ago: ago(created) })),
    el("p", {}, training),
    el("p", { class: "facts" }, ...people.map((person) => el("span", { class: "badge" }, bdi(person)))),
  ];
}

function progress(labelled, planned, texts, round) {
  if (!texts) return t("No texts yet");
  const given = { done: whole(labelled), labels: tn("{n} label", "{n} labels", planned), texts: tn("{n} text", "{n} texts", texts) };
  return round ? t("{done} of {labels}, {texts}, round {round}", { ...given, round: whole(round) }) : t("{done} of {labels}, {texts}", given);
}

/** "2024-01-31" as people write it. */
function day(date) {
  return new Date(`${date}T00:00`).toLocaleDateString(language, { dateStyle: "medium" });
}

function manageButton(project) {
  const act = () => manageProject(project, poll);
  return el("button", { type: "button", class: "plain", "aria-label": t("Manage {project}", { project: project.title }), onclick: act }, t("Manage"));
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
