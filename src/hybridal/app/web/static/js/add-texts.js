/** More texts out of a file: its columns are guessed, and confirmed on a look at its first rows. */
import { getProject, post } from "./api.js";
import { onSubmit } from "./controls.js";
import { byId, el } from "./dom.js";
import { count, whole } from "./format.js";

const COLUMNS = ["text", "label", "id"];
let asked = 0;

export function addTexts() {
  const form = byId("upload");
  onSubmit(form, () => send(form));
  form.elements.file.addEventListener("change", () => look(form, true));
  for (const name of COLUMNS) form.elements[name].addEventListener("change", () => look(form, false));
  if (form.elements.file.files.length) look(form, true); // chosen while the page was loading
  else enable(form, false);
}

async function look(form, guess) {
  const mine = ++asked;
  if (guess) byId("preview").hidden = true;
  enable(form, false);
  if (!form.elements.file.files.length) return say("");
  say("Reading …");
  const body = new FormData(form);
  if (guess) for (const name of COLUMNS) body.delete(name);
  try {
    const found = await post("/api/texts/preview", body);
    const { classes } = await getProject();
    if (mine !== asked) return; // another file or column was chosen meanwhile
    show(form, found, classes);
    say(found.problem, true);
    enable(form, !found.problem);
  } catch (error) {
    if (mine === asked) say(error.message, true);
  }
}

function show(form, found, classes) {
  byId("preview").hidden = false;
  for (const name of COLUMNS) {
    const options = found.columns.map((column) => el("option", { value: column }, column));
    if (name !== "text") options.unshift(el("option", { value: "" }, "none"));
    form.elements[name].replaceChildren(...options);
    form.elements[name].value = found[name] ?? "";
  }
  const head = found.columns.map((column) => el("th", { scope: "col", dir: "auto" }, column));
  const rows = found.first.map((row) => el("tr", {}, ...row.map((cell) => el("td", { dir: "auto" }, cell))));
  byId("first-rows").replaceChildren(el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows));
  byId("preview-facts").textContent = found.problem ? "" : facts(found, classes).join(" ");
  byId("choose-suggested").hidden = !found.label;
  choice("empty", found.empty, (n) => `Leave out ${count(n, "row")} without a text`);
  choice("duplicates", found.duplicates, (n) => `Leave out ${count(n, "text")} that the file has already`);
}

function facts({ rows, labels }, classes) {
  const names = Object.keys(labels);
  if (!names.length) return [`${count(rows, "row")}.`];
  const known = new Set(classes.map(({ name }) => name));
  const fresh = names.filter((name) => !known.has(name));
  const total = Object.values(labels).reduce((sum, n) => sum + n, 0);
  const said = [`${count(rows, "row")}, ${whole(total)} with a label.`];
  if (fresh.length) said.push(`New classes: ${fresh.slice(0, 10).join(", ")}${fresh.length > 10 ? ", …" : ""}.`);
  for (const name of fresh) {
    const twin = classes.find((other) => other.name.toLowerCase() === name.toLowerCase());
    if (twin) said.push(`“${name}” would be another class than “${twin.name}”.`);
  }
  return said;
}

function choice(name, n, sentence) {
  byId(`choose-${name}`).hidden = !n;
  byId(`choose-${name}`).querySelector("span").textContent = sentence(n);
}

async function send(form) {
  const button = form.querySelector("button");
  button.ariaBusy = "true"; // not disabled: it would lose the keyboard
  say("Sending …");
  try {
    const { added, known, empty, duplicates } = await post("/api/texts", new FormData(form));
    const left = empty + duplicates;
    say(`${count(added, "text")} added, ${whole(known)} known already${left ? `, ${whole(left)} left out` : ""}.`);
    form.reset();
    form.elements.file.focus();
    enable(form, false);
    byId("preview").hidden = true;
    document.dispatchEvent(new Event("texts-added"));
  } catch (error) {
    say(error.message, true);
  }
  button.ariaBusy = "false";
}

function say(sentence, wrong = false) {
  byId("upload-said").textContent = sentence;
  byId("upload-said").className = wrong ? "small problem" : "small";
}

function enable(form, on) {
  form.querySelector("button").disabled = !on;
}
