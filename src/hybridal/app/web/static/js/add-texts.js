/**
 * Adds texts from a file: guesses its columns and shows its first rows before anything is added.
 *
 * The file is sent for the first preview; after that, the server keeps it and only its token is sent.
 */
import { get, getProject, upload } from "./api.js";
import { onSubmit } from "./controls.js";
import { byId, el } from "./dom.js";
import { listed, t, tn } from "./i18n.js";
import { sendFile } from "./send-file.js";

const PREVIEW = "/api/texts/preview";
const COLUMNS = ["text", "label", "id"];
const POLL_MS = 500;
const NAMES_SHOWN = 10; // of new classes
let latestRequest = 0;
let token = "";

export function addTexts() {
  const form = byId("upload");
  onSubmit(form, () => send(form));
  form.elements.file.addEventListener("change", () => preview(form, true));
  for (const name of [...COLUMNS, "label_separator"]) form.elements[name]?.addEventListener("change", () => preview(form, false));
  if (form.elements.file.files.length) preview(form, true); // chosen while the page was loading
  else enable(form, false);
}

async function preview(form, guess) {
  const request = ++latestRequest;
  if (guess) byId("preview").hidden = true;
  enable(form, false);
  if (!form.elements.file.files.length) return showStatus("");
  showStatus(t("Reading …"));
  try {
    const found = guess ? await sendFile(form, PREVIEW, fileOf(form)) : await sendChoices(form, PREVIEW);
    const project = await getProject();
    if (request !== latestRequest) return; // another file or column was chosen meanwhile
    token = found.upload;
    if (guess) showNotices(found.notices); // a file is warned of once
    if (guess) showColumns(form, found);
    show(found, project);
    showStatus(found.problem, true);
    enable(form, !found.problem);
  } catch (error) {
    if (request === latestRequest) showStatus(error.message, true);
  }
}

function fileOf(form) {
  const body = new FormData();
  body.set("file", form.elements.file.files[0]);
  return body;
}

/** Sends the choices for the file that the server keeps; sends the file again if it no longer does. */
async function sendChoices(form, path) {
  const attempt = () => {
    const body = new FormData(form);
    body.delete("file");
    body.set("upload", token);
    return upload(path, body, () => {});
  };
  try {
    return await attempt();
  } catch (error) {
    if (error.status !== 404) throw error;
  }
  token = (await sendFile(form, PREVIEW, fileOf(form))).upload;
  return attempt();
}

function showNotices(notices) {
  byId("preview-notices").textContent = notices.join(" ");
  byId("preview-notices").hidden = !notices.length;
}

/** Lists the columns of another file with the guessed ones chosen; of labels, several can be chosen where a text may have several classes. */
function showColumns(form, found) {
  for (const name of COLUMNS) {
    const select = form.elements[name];
    const chosen = columnsOf(found, name);
    const options = found.columns.map((column) => el("option", { value: column, selected: chosen.includes(column) }, column));
    const none = el("option", { value: "", selected: !chosen.length }, t("none"));
    select.replaceChildren(...(name === "text" || select.multiple ? [] : [none]), ...options);
  }
}

/** The columns chosen for texts, labels or ids. */
function columnsOf(found, name) {
  return [found[name] ?? []].flat();
}

function show(found, project) {
  byId("preview").hidden = false;
  // Texts first: with many other columns they would be off the screen.
  const order = [...found.columns.keys()].sort((one, other) => rank(found, one) - rank(found, other));
  const head = order.map((at) => el("th", { scope: "col", dir: "auto" }, found.columns[at]));
  const cell = (row, at) => el("td", { dir: "auto", class: rank(found, at) ? null : "long" }, row[at]);
  const rows = found.first.map((row) => el("tr", {}, ...order.map((at) => cell(row, at))));
  byId("first-rows").replaceChildren(el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...rows));
  byId("preview-facts").textContent = found.problem ? "" : facts(found, project).join(" ");
  byId("choose-suggested").hidden = !found.label;
  choice("empty", found.empty, (n) => tn("Skip {n} row without a text", "Skip {n} rows without a text", n));
  choice("duplicates", found.duplicates, (n) => tn("Skip {n} duplicate text", "Skip {n} duplicate texts", n));
}

/** Sort key of a column in the preview: texts, labels and ids before the others. */
function rank(found, at) {
  const chosen = COLUMNS.findIndex((name) => columnsOf(found, name).includes(found.columns[at]));
  return chosen < 0 ? COLUMNS.length : chosen;
}

function facts({ rows, empty, duplicates, labelled, labels, multi_label: several }, { classes, multi_label: maySeveral }) {
  const names = Object.keys(labels);
  const texts = rows - empty - duplicates;
  const sentences = [tn("{n} row.", "{n} rows.", rows)];
  if (texts < rows) sentences.push(tn("{n} different text.", "{n} different texts.", texts));
  if (!labelled) return sentences;
  const known = new Set(classes.map(({ name }) => name));
  const fresh = names.filter((name) => !known.has(name));
  sentences.push(tn("{n} with a label.", "{n} with a label.", labelled));
  if (fresh.length) sentences.push(newClasses(fresh));
  for (const name of fresh) {
    const twin = classes.find((other) => other.name.toLowerCase() === name.toLowerCase());
    if (twin) sentences.push(t("“{name}” differs from the existing class “{twin}” only in capitals and would become a separate class.", { name, twin: twin.name }));
  }
  if (several && !maySeveral)
    sentences.push(t("In this file a text may have several classes. In this project it has exactly one: make a new project, or read no labels."));
  return sentences;
}

function newClasses(names) {
  const [first, more] = [listed(names.slice(0, NAMES_SHOWN)), names.length - NAMES_SHOWN];
  if (more > 0) return tn("New classes: {names} and {n} more.", "New classes: {names} and {n} more.", more, { names: first });
  return names.length === 1 ? t("New class: {name}.", { name: first }) : t("New classes: {names}.", { names: first });
}

function choice(name, n, sentence) {
  byId(`choose-${name}`).hidden = !n;
  byId(`choose-${name}`).querySelector("span").textContent = sentence(n);
}

async function send(form) {
  const button = form.querySelector("button");
  button.ariaBusy = "true"; // not disabled: it would lose the focus
  showStatus(t("Adding texts …"));
  const stop = watchProgress(form);
  try {
    const { added, known, empty, duplicates } = await sendChoices(form, "/api/texts");
    const left = empty + duplicates;
    const sentences = [
      tn("{n} text added.", "{n} texts added.", added),
      tn("{n} already in the project.", "{n} already in the project.", known),
      left ? tn("{n} skipped.", "{n} skipped.", left) : "",
    ];
    showStatus(sentences.filter(Boolean).join(" "));
    form.reset();
    form.elements.file.focus();
    enable(form, false);
    byId("preview").hidden = true;
    document.dispatchEvent(new Event("texts-added"));
  } catch (error) {
    showStatus(error.message, true);
  }
  stop();
  button.ariaBusy = "false";
}

/** Shows in the bar how many texts were added so far. Returns a function that ends it. */
function watchProgress(form) {
  const bar = form.querySelector("progress");
  let isActive = true;
  const timer = setInterval(async () => {
    const { done, total } = await get(`/api/uploads/${token}`).catch(() => ({ total: 0 }));
    if (!isActive || !total) return;
    bar.hidden = false;
    bar.value = done / total;
  }, POLL_MS);
  return () => {
    isActive = false;
    clearInterval(timer);
    bar.hidden = true;
  };
}

function showStatus(sentence, isProblem = false) {
  byId("upload-status").textContent = sentence;
  byId("upload-status").className = isProblem ? "small problem" : "small";
}

function enable(form, on) {
  form.querySelector("button").disabled = !on;
}
