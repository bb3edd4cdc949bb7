/** The page Label: an annotation is stored in the browser and the next text shown immediately; the outbox sends it. */
import { get, getProject, link } from "./api.js";
import { SidePanel } from "./side-panel.js";
import { Card } from "./card.js";
import { ClassButtons } from "./class-buttons.js";
import { onPress } from "./controls.js";
import { byId, el } from "./dom.js";
import { percent } from "./format.js";
import { frame } from "./frame.js";
import { showAdvice, showGoal } from "./goal.js";
import { helpDialog } from "./help.js";
import { NextChoice } from "./next-choice.js";
import { newKey } from "./idempotency-key.js";
import { listen } from "./keys.js";
import { newClassDialog } from "./new-class.js";
import { Queue } from "./queue.js";
import { toast, showErrors } from "./toast.js";

const RETRY_MS = 4000;
const REFRESH_MS = 20_000;
const HTTP_GONE = 410; // the text was deleted
// An identical answer this soon is a bouncing key or a double click. Any answer this soon after the text changed
// without one was meant for the text before.
const MIN_READING_MS = 250;

const { project, outbox, trainer } = await frame;
const { role } = project.me;
const mayDefine = role === "owner" || (role === "reviewer" && project.settings.open_classes);
const card = new Card();
const sidePanel = new SidePanel();
const buttons = new ClassButtons(byId("classes"), label);
const nextChoice = new NextChoice(() => project.classes, () => whenNotRemarking(() => queue.restart()));
const fetchNext = async (n, afresh) => {
  const likely = nextChoice.class;
  const found = await get("/api/next", { n, likely, ...(afresh && { afresh }) });
  nextChoice.showNote(likely, found.known);
  return found;
};
const queue = new Queue(fetchNext, outbox.waiting.map(({ body }) => body.text).filter(Boolean));
const defineClass = newClassDialog(() => showErrors(refresh));
const help = helpDialog(() => project.classes);
/** Annotations since the page opened, newest last. @type {{item: import("./queue.js").Item, key: string, answer: string, at: number}[]} */
const done = [];
/** Changes of the text, postponed until its flag or comment is sent. @type {(() => void)[]} */
const postponed = [];
let onPage = null;
let changedAt = -Infinity;
let retryTimer = 0;
let lastFocused = null;

function label(name) {
  annotate({ action: "label", class: name }, name, `Labelled “${name}”`);
}

/** The class that the model predicts, else the one suggested by the file. */
function proposed() {
  return queue.current?.prediction?.class ?? queue.current?.suggestion;
}

function proposal({ prediction, suggestion }) {
  const predicted = prediction && `Predicted: ${prediction.class}, ${percent(prediction.probability)}`;
  const sentence = predicted ?? (suggestion && `Suggested by the file: ${suggestion}`);
  return el("p", { id: "proposed", class: "unseen", hidden: !sentence }, sentence);
}

function accept() {
  if (proposed()) label(proposed());
}

function skip() {
  annotate({ action: "skip", class: null }, "skip", "Skipped");
}

function annotate(what, answer, sentence) {
  const [key, at, last, remarks] = [newKey(), performance.now(), done.at(-1), card.remarks];
  if (last?.answer === answer && at - last.at < MIN_READING_MS && !card.isRemarked) return;
  if (at - changedAt < MIN_READING_MS) return;
  // Store first: if the browser cannot store the annotation, stay on this text.
  if (!store({ path: "/api/annotations", body: { key, text: queue.current.id, ...what, ...remarks } })) return;
  done.push({ item: queue.advance(), key, answer, at });
  for (const change of postponed.splice(0)) change();
  byId("last").textContent = sentence; // before the text, so that screen readers announce it first
  show();
}

function undo() {
  const last = done.at(-1);
  // Send the key if it is known: the same person may have labelled another text in another tab since.
  if (!store({ path: "/api/undo", body: { key: newKey(), undoes: last?.key } }) || !last) return;
  done.pop();
  showUndone(last.item, last.answer);
}

function store(message) {
  try {
    outbox.add(message);
    return true;
  } catch {
    toast("This browser cannot store data for this page, so your label could be lost. Allow storage or free some space.", {
      stays: true,
    });
    return false;
  }
}

function showUndone(item, answer) {
  queue.putBack(item);
  byId("last").textContent = "Undone";
  show(answer === "skip" ? "skipped" : answer);
}

/** Applies a change of the queue that no answer caused; postpones it while the text has an unsent flag or comment. */
function whenNotRemarking(change) {
  if (card.isRemarked) return void postponed.push(change);
  change();
  showIfChanged();
}

function showIfChanged() {
  if (onPage && queue.current === onPage) return;
  if (onPage) changedAt = performance.now();
  show();
}

function show(before) {
  const item = (onPage = queue.current);
  const focused = document.activeElement;
  byId("skip").disabled = !item;
  sidePanel.showContext(item?.context ?? {});
  if (item) card.show(item, before);
  else card.showEmpty("", "Loading texts …");
  updateButtons(before);
  restoreFocus(focused);
  goal();
  refill();
}

/** Controls are disabled while there is no text, and lose the focus; gives it back with the next text. */
function restoreFocus(focused) {
  if (focused.disabled) lastFocused = focused;
  if (!queue.current) return;
  if (document.activeElement === document.body) lastFocused?.focus();
  lastFocused = null;
}

function updateButtons(before) {
  byId("first").hidden = project.classes.length > 0;
  buttons.disabled = !queue.current;
  buttons.mark(before, queue.current?.prediction, queue.current?.suggestion);
  byId("accept").hidden = !project.settings.show_predictions && !proposed();
  byId("accept").disabled = !proposed();
  // A new element, so that screen readers read it also if it equals the one before.
  byId("proposed").replaceWith(proposal(queue.current ?? {}));
}

async function refill() {
  clearTimeout(retryTimer);
  const empty = !queue.current;
  const problem = await queue.refill(outbox.waiting.length).then(
    () => null,
    (error) => error,
  );
  if (!empty) return;
  if (queue.current) return showIfChanged();
  if (problem)
    card.showEmpty(problem.status ? "No texts available" : "No connection", `${problem.message} Your labels are kept on this device and will be sent later.`);
  else showDone();
  retryTimer = setTimeout(refill, RETRY_MS);
}

function showDone() {
  if (!project.counts.texts) return showNoTexts();
  const links = [el("a", { class: "button", href: link("/progress") }, "See progress")];
  if (role !== "annotator") links.push(el("a", { class: "button", href: link("/export") }, "Export the labels"));
  card.showEmpty(
    "Nothing to label",
    "Every text is labelled or assigned to another person. New texts appear here automatically.",
    ...links,
  );
}

function showNoTexts() {
  const links = role === "owner" ? [el("a", { class: "button", href: link("/settings#upload-title") }, "Add texts")] : [];
  card.showEmpty("No texts yet", "They appear here as soon as they are added.", ...links);
}

function goal() {
  const coming = outbox.waiting.filter(({ body }) => body.action === "label").length;
  showGoal(project.counts.labelled + coming, project.budget, project.counts.texts);
}

/** Fetches the project again. With `keepKeys`, ignores changes that would give a class another key during the work. */
async function refresh(keepKeys = false) {
  const before = project.classes;
  Object.assign(project, await getProject());
  goal();
  if (keepKeys && before.some(({ number }, at) => project.classes[at]?.number !== number)) project.classes = before;
  if (JSON.stringify(project.classes) === JSON.stringify(before)) return;
  buttons.show(project.classes);
  nextChoice.show();
  updateButtons();
}

async function renewLeases() {
  const gone = await queue.renew(outbox.waiting.length);
  whenNotRemarking(() => queue.remove(gone));
  await refresh();
}

outbox.addEventListener("acknowledged", ({ detail: { message, reply } }) => {
  if (message.path === "/api/undo") {
    if (!reply.item) byId("last").textContent = "Nothing to undo";
    else if (!message.body.undoes) {
      byId("last").textContent = "Undone"; // if this page knew the key, `undo` has shown it already
      whenNotRemarking(() => queue.putBack(reply.item));
    }
  }
  project.counts = reply.counts;
  goal();
  if (reply.counts.labelled === reply.counts.texts) showErrors(advise);
});
outbox.addEventListener("refused", ({ detail: { message, status } }) => {
  const at = done.findIndex(({ key }) => key === message.body.key);
  const [refused] = at < 0 ? [] : done.splice(at, 1);
  if (refused && status !== HTTP_GONE) whenNotRemarking(() => queue.putBack(refused.item));
  showErrors(refresh);
});
document.addEventListener("visibilitychange", () => document.hidden || showErrors(renewLeases));
// A page that stays open for hours gets new classes too. Ignore errors: the trainer's bar reports a lost connection.
setInterval(() => document.hidden || refresh(true).catch(() => {}), REFRESH_MS);
addEventListener("storage", ({ key, newValue }) => {
  // The same person answered in another tab.
  if (newValue && key.startsWith(outbox.prefix)) whenNotRemarking(() => queue.drop(JSON.parse(newValue).body.text));
});

onPress(byId("accept"), accept);
onPress(byId("skip"), skip);
onPress(byId("undo"), undo);
for (const button of [byId("define"), byId("define-first")].filter(Boolean)) {
  button.hidden = !mayDefine;
  onPress(button, defineClass);
}
onPress(byId("help"), help);
const always = { u: undo, undo, "?": help, 0: () => sidePanel.toggle(), ...(mayDefine && { "+": defineClass }) };
const onText = { ".": accept, s: skip, f: () => card.toggleFlag(), c: () => card.toggleComment(), "/": () => buttons.find() };
listen((key) => {
  const act = always[key] ?? (queue.current && onText[key]);
  if (act) act();
  return Boolean(act) || Boolean(queue.current && buttons.press(key));
});

buttons.show(project.classes);
show();

const advise = async () => showAdvice(await get("/api/progress"));
trainer.addEventListener("round", () => showErrors(advise));
// After the first text, which must not wait for the advice.
await showErrors(advise);
