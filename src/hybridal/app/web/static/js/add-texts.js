/** More texts out of a file: its columns are guessed, and confirmed on a look at its first rows. */
import { getProject } from "./api.js";
import { onSubmit } from "./controls.js";
import { byId, el } from "./dom.js";
import { count, whole } from "./format.js";
import { sendFile } from "./send-file.js";

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
    const found = await sendFile(form, "/api/texts/preview", body);
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
  // Texts first: beside many other columns they would be off the screen.
  const order = [...found.columns.keys()].sort((one, other) => rank(found, one) - rank(found, other));
  const head = order.map((at) => el("th", { scope: "col", dir: "auto" }, found.columns[at]));
  const cell = (row, at) => el("td", { dir: "auto", class: rank(found, at) ? null : "long" }, row[at]);
  const rows = found.first.map((row) => el("tr", {}, ...order.map((at) => cell(row, at))));
  byId("first-rows").replaceChildren(el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows));
  byId("preview-facts").textContent = found.problem ? "" : facts(found, classes).join(" ");
  byId("choose-suggested").hidden = !found.label;
  choice("empty", found.empty, (n) => `Skip ${count(n, "row")} without a text`);
  choice("duplicates", found.duplicates, (n) => `Skip ${count(n, "duplicate text")}`);
}

/** The place of a column in the preview: texts, labels and ids before the others. */
function rank(found, at) {
  const chosen = COLUMNS.findIndex((name) => found[name] === found.columns[at]);
  return chosen < 0 ? COLUMNS.length : chosen;
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
    const { added, known, empty, duplicates } = await sendFile(form, "/api/texts");
    const left = empty + duplicates;
    say(`${count(added, "text")} added, ${whole(known)} known already${left ? `, ${whole(left)} skipped` : ""}.`);
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
