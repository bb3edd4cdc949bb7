/**
 * Creates a project on the start page of a server: a file is uploaded and read, its columns, the classes and people are chosen,
 * and all is created at once. The server keeps the file meanwhile; only its token is sent again.
 */
import { post, upload } from "./api.js";
import { readClassLines } from "./class-lines.js";
import { onPress, onSubmit } from "./controls.js";
import { bindCopyButton } from "./copy-button.js";
import { byId, el, setText } from "./dom.js";
import { percent } from "./format.js";
import { listed, t, tn } from "./i18n.js";
import { columnsOf, previewTable, showColumns } from "./preview-table.js";
import { sendFile } from "./send-file.js";
import { watchProgress } from "./upload-progress.js";

const SHOWN_NAMES = 10;
const form = byId("create");
const fields = form.elements;
let latestRequest = 0;
let token = "";
let fileClasses = [];
let unlabelled = 0;
let isKindChosen = false;
let areClassesTyped = false;

export function newProject() {
  fields.file.addEventListener("change", () => read(true));
  for (const name of ["text", "label", "id", "description", "label_separator"]) fields[name].addEventListener("change", () => read(false));
  for (const radio of fields.kind) radio.addEventListener("change", changeKind);
  fields.classes.addEventListener("input", () => ((areClassesTyped = true), showClasses()));
  fields.language.addEventListener("change", () => (fields.backbone.value = fields.language.value || fields.backbone.options[0].value));
  onPress(byId("without-file"), () => showSteps(false));
  onSubmit(form, create);
  fields.suggested.addEventListener("change", showAllLabelled);
  bindDrop();
  showKind();
  fields.file.disabled = false;
  if (fields.file.files.length) read(true); // chosen while the page was loading
}

function bindDrop() {
  const place = byId("new-project");
  const hold = (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    byId("drop").classList.toggle("over", event.type !== "dragleave" && event.type !== "drop");
  };
  for (const type of ["dragenter", "dragover", "dragleave", "drop"]) place.addEventListener(type, hold);
  place.addEventListener("drop", ({ dataTransfer }) => {
    if (!dataTransfer.files.length) return;
    fields.file.files = dataTransfer.files;
    read(true);
  });
}

/** Reads the file with the chosen columns, or another file with those that the server guesses. */
async function read(isNew) {
  const request = ++latestRequest;
  enable(false);
  if (!fields.file.files.length) return showStatus("");
  showStatus(isNew ? t("Uploading …") : t("Reading …"));
  try {
    const found = isNew ? await sendFile(form, "/api/uploads", body(true), showUploaded) : await upload("/api/uploads", body(false), () => {});
    if (request !== latestRequest) return; // another file or column was chosen meanwhile
    show(found, isNew);
  } catch (error) {
    if (request !== latestRequest) return;
    if (isNew) {
      byId("steps").hidden = true;
      byId("without-file").hidden = false;
    }
    showStatus(error.message, true);
  }
}

/** Says how much was sent, in steps of a tenth, which screen readers announce. */
function showUploaded(share) {
  showStatus(share < 1 ? t("Uploading: {share}", { share: percent(Math.floor(share * 10) / 10) }) : t("Reading …"));
}

function body(isNew) {
  const given = new FormData();
  if (isNew) given.set("file", fields.file.files[0]);
  else {
    given.set("upload", token);
    for (const name of ["text", "id", "description", "label_separator"]) given.set(name, fields[name].value);
    for (const label of labels()) given.append("label", label);
  }
  if (isKindChosen || !isNew) given.set("multi_label", isSeveral());
  return given;
}

function show(found, isNew) {
  token = found.upload;
  fileClasses = Object.keys(found.labels);
  if (isNew) {
    if (!isKindChosen) fields.kind.value = found.multi_label ? "several" : "one";
    showKind();
    if (!fields.name.value) fields.name.value = titleOf(fields.file.files[0].name);
    byId("file-notices").textContent = found.notices.join(" ");
    byId("file-notices").hidden = !found.notices.length;
    showColumns(form, found);
  }
  byId("first-rows").replaceChildren(...previewTable(found));
  setText(byId("file-facts"), found.problem ? "" : facts(found));
  byId("choose-suggested").hidden = !columnsOf(found, "label").length;
  unlabelled = found.rows - found.empty - found.duplicates - found.labelled;
  showAllLabelled();
  choice("empty", found.empty, tn("Skip {n} row without a text", "Skip {n} rows without a text", found.empty));
  choice("duplicates", found.duplicates, tn("Skip {n} duplicate text", "Skip {n} duplicate texts", found.duplicates));
  if (!areClassesTyped) fields.classes.value = fileClasses.map((name) => [name, found.descriptions[name]].filter(Boolean).join(": ")).join("\n");
  showClasses();
  showStatus(found.problem, true);
  if (isNew) showSteps(true);
  enable(!found.problem);
}

function facts({ rows, empty, duplicates, labelled }) {
  const counted = tn("{n} row", "{n} rows", rows);
  const texts = tn("{n} different text", "{n} different texts", rows - empty - duplicates);
  const given = tn("{n} with a label", "{n} with a label", labelled);
  return labelled
    ? t("{rows}, {texts}, {labelled}.", { rows: counted, texts, labelled: given })
    : t("{rows}, {texts}.", { rows: counted, texts });
}

function showAllLabelled() {
  const isDone = fileClasses.length > 0 && unlabelled <= 0 && !fields.suggested.value;
  setText(byId("all-labelled"), isDone ? t("All texts of the file have a label: the model is trained on them, and there is nothing to label.") : "");
}

function choice(name, n, sentence) {
  byId(`choose-${name}`).hidden = !n;
  byId(`choose-${name}`).querySelector("span").textContent = sentence;
}

/** Shows the steps after the file, or those of a project without one, and moves the focus to the first. */
function showSteps(hasFile) {
  if (!hasFile) {
    fields.file.value = token = "";
    fileClasses = [];
    showStatus("");
    enable(true);
  }
  byId("steps").hidden = false;
  byId("texts-step").hidden = !hasFile;
  byId("without-file").hidden = true;
  byId("steps").scrollIntoView({ block: "start" });
  (hasFile ? fields.text : fields.name).focus({ preventScroll: true });
}

function changeKind() {
  isKindChosen = true;
  showKind();
  if (token) read(false);
}

/** With several classes per text, there may be several columns of labels. */
function showKind() {
  fields.label.multiple = isSeveral();
  fields.label.size = isSeveral() ? 4 : 1;
  for (const each of form.querySelectorAll("[data-several]")) each.hidden = !isSeveral();
}

function showClasses() {
  const names = readClassLines(fields.classes.value, fileClasses).map(({ name }) => name);
  const more = fileClasses.filter((name) => !names.includes(name));
  const sentences = [
    names.length ? tn("{n} class: {names}.", "{n} classes: {names}.", names.length, { names: brief(names) }) : t("No class yet; you can add classes while you label."),
    more.length ? t("The file has also: {names}.", { names: brief(more) }) : "",
  ];
  setText(byId("classes-found"), sentences.join(" ").trim());
}

function brief(names) {
  const shown = listed(names.slice(0, SHOWN_NAMES));
  return names.length > SHOWN_NAMES ? t("{names} and {n} more", { names: shown, n: names.length - SHOWN_NAMES }) : shown;
}

async function create() {
  const button = form.querySelector("button.main");
  button.ariaBusy = "true"; // not disabled: it would lose the focus
  setText(byId("create-problem"), "");
  setText(byId("create-status"), t("Creating the project …"));
  const stop = watchProgress(byId("create-progress"), token);
  try {
    const made = await post("/api/projects", plan());
    if (made.problem) throw new Error(made.problem);
    const address = made.address.replace("/p/", "/open/");
    if (made.invitations.length) showLinks(made, address);
    else location.assign(address);
  } catch (error) {
    setText(byId("create-problem"), error.message);
  }
  stop();
  setText(byId("create-status"), "");
  button.ariaBusy = "false";
}

function plan() {
  const people = ["annotator", "reviewer"].flatMap((role) => Array(Number(fields[role]?.value ?? 0)).fill(role));
  const columns = { upload: token, text: fields.text.value, label: labels(), id: fields.id.value, label_separator: isSeveral() ? fields.label_separator.value : "" };
  return {
    name: fields.name.value,
    multi_label: isSeveral(),
    ...(token ? columns : {}),
    drop_empty: fields.drop_empty.checked,
    drop_duplicates: fields.drop_duplicates.checked,
    suggested: Boolean(fields.suggested.value),
    classes: readClassLines(fields.classes.value, fileClasses),
    invitations: people,
    backbone: fields.backbone.value,
    budget: Number(fields.budget.value),
    page_language: fields.page_language.value,
    validation_share: Number(fields.validation_share.value),
  };
}

/** Shows the links of the invited people before the operator goes on. */
function showLinks({ title, invitations }, address) {
  form.hidden = true;
  byId("created").hidden = false;
  byId("created-title").textContent = t("“{project}” is ready", { project: title });
  byId("created-links").replaceChildren(...invitations.map(invitation));
  byId("go-label").href = address;
  byId("created-title").focus();
}

function invitation({ role, path }, index) {
  const id = `new-link-${index}`;
  const link = el("input", { id, readonly: true, value: new URL(path, location.origin).href });
  const label = role === "reviewer" ? t("Link for a reviewer") : t("Link for an annotator");
  const copy = el("button", { type: "button" }, t("Copy"));
  bindCopyButton(copy, link);
  return el("li", {}, el("label", { for: id }, label), el("div", { class: "link" }, link, copy));
}

const hasFile = ({ dataTransfer }) => [...dataTransfer.items].some(({ kind }) => kind === "file");
const isSeveral = () => fields.kind.value === "several";
const labels = () => [...fields.label.selectedOptions].map(({ value }) => value).filter(Boolean);

/** "my_mails-2024.csv" -> "my mails 2024" */
const titleOf = (file) => file.replace(/\.[^.]+$/, "").replace(/[_-]+/g, " ").trim().slice(0, 100);

function showStatus(sentence, isProblem = false) {
  setText(byId("file-status"), sentence);
  byId("file-status").className = isProblem ? "small problem" : "small";
}

function enable(on) {
  form.querySelector("button.main").disabled = !on;
}
