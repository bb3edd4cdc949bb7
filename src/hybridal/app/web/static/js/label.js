/** The page for labelling: an answer is kept and the next text is there at once; the network follows. */
import { get, getProject, link } from "./api.js";
import { Beside } from "./beside.js";
import { Card } from "./card.js";
import { ClassButtons } from "./class-buttons.js";
import { onPress } from "./controls.js";
import { byId, el } from "./dom.js";
import { percent } from "./format.js";
import { frame } from "./frame.js";
import { showAdvice, showGoal } from "./goal.js";
import { helpDialog } from "./help.js";
import { Hunt } from "./hunt.js";
import { drawKey } from "./key.js";
import { listen } from "./keys.js";
import { newClassDialog } from "./new-class.js";
import { Queue } from "./queue.js";
import { toast, told } from "./toast.js";

const AGAIN = 4000;
const NEWS = 20_000;
const DELETED = 410;
// Nobody reads a text in this time: the same answer again is a key that bounced, or a double click,
// and any answer right after the text changed by itself was meant for the one before.
const GLANCE = 250;

const { project, outbox, trainer } = await frame;
const { role } = project.me;
const mayDefine = role === "owner" || (role === "reviewer" && project.settings.open_classes);
const card = new Card();
const beside = new Beside();
const buttons = new ClassButtons(byId("classes"), label);
const hunt = new Hunt(() => project.classes, () => meanwhile(() => queue.restart()));
const fetchNext = async (n, afresh) => {
  const likely = hunt.class;
  const found = await get("/api/next", { n, likely, ...(afresh && { afresh }) });
  hunt.say(likely, found.known);
  return found;
};
const queue = new Queue(fetchNext, outbox.waiting.map(({ body }) => body.text).filter(Boolean));
const defineClass = newClassDialog(() => told(refresh));
const help = helpDialog(() => project.classes);
/** What was answered since the page opened, newest last. @type {{item: import("./queue.js").Item, key: string, said: string, at: number}[]} */
const done = [];
/** Changes of the text that came while somebody was remarking on it. @type {(() => void)[]} */
const later = [];
let onPage = null;
let turned = -Infinity;
let again = 0;
let left = null;

function label(name) {
  answer({ action: "label", class: name }, name, `Labelled “${name}”`);
}

/** The class that the model predicts, else the one that the file suggests. */
function proposed() {
  return queue.current?.prediction?.class ?? queue.current?.suggestion;
}

function proposal({ prediction, suggestion }) {
  const said = prediction && `Predicted: ${prediction.class}, ${percent(prediction.probability)}`;
  const words = said ?? (suggestion && `Suggested by the file: ${suggestion}`);
  return el("p", { id: "proposed", class: "unseen", hidden: !words }, words);
}

function accept() {
  if (proposed()) label(proposed());
}

function skip() {
  answer({ action: "skip", class: null }, "skip", "Skipped");
}

function answer(what, said, sentence) {
  const [key, at, last, remarks] = [drawKey(), performance.now(), done.at(-1), card.remarks];
  if (last?.said === said && at - last.at < GLANCE && !card.isRemarked) return;
  if (at - turned < GLANCE) return;
  // Kept first: a browser that can keep nothing does not go on to the next text.
  if (!keep({ path: "/api/annotations", body: { key, text: queue.current.id, ...what, ...remarks } })) return;
  done.push({ item: queue.advance(), key, said, at });
  for (const change of later.splice(0)) change();
  byId("last").textContent = sentence; // before the text: whoever listens hears it first
  show();
}

function undo() {
  const last = done.at(-1);
  // Named, where it is known: in another tab the same person may have said something since.
  if (!keep({ path: "/api/undo", body: { key: drawKey(), undoes: last?.key } }) || !last) return;
  done.pop();
  takeBack(last.item, last.said);
}

function keep(message) {
  try {
    outbox.add(message);
    return true;
  } catch {
    toast("This browser cannot store data for this page, so your label would not be safe. Allow storage or free some space.", {
      stays: true,
    });
    return false;
  }
}

function takeBack(item, said) {
  queue.putBack(item);
  byId("last").textContent = "Undone";
  show(said === "skip" ? "skipped" : said);
}

/** Lets something else than an answer change the text, but not under the hands of somebody who remarks on it. */
function meanwhile(change) {
  if (card.isRemarked) return void later.push(change);
  change();
  turn();
}

function turn() {
  if (onPage && queue.current === onPage) return;
  if (onPage) turned = performance.now();
  show();
}

function show(before) {
  const item = (onPage = queue.current);
  const had = document.activeElement;
  byId("skip").disabled = !item;
  beside.showContext(item?.context ?? {});
  if (item) card.show(item, before);
  else card.showEmpty("", "Fetching texts …");
  dressButtons(before);
  keepKeyboard(had);
  goal();
  refill();
}

/** Who was on a control that is off while there is no text is on it again with the next one. */
function keepKeyboard(had) {
  if (had.disabled) left = had;
  if (!queue.current) return;
  if (document.activeElement === document.body) left?.focus();
  left = null;
}

function dressButtons(before) {
  byId("first").hidden = project.classes.length > 0;
  buttons.disabled = !queue.current;
  buttons.mark(before, queue.current?.prediction, queue.current?.suggestion);
  byId("accept").hidden = !project.settings.show_predictions && !proposed();
  byId("accept").disabled = !proposed();
  // A new element, which is read out also where it says the same as with the text before.
  byId("proposed").replaceWith(proposal(queue.current ?? {}));
}

async function refill() {
  clearTimeout(again);
  const empty = !queue.current;
  const problem = await queue.refill(outbox.waiting.length).then(
    () => null,
    (error) => error,
  );
  if (!empty) return;
  if (queue.current) return turn();
  if (problem)
    card.showEmpty(problem.status ? "No texts for now" : "No connection", `${problem.message} Your labels are kept on this device and will be sent later.`);
  else showDone();
  again = setTimeout(refill, AGAIN);
}

function showDone() {
  if (!project.counts.texts) return showNoTexts();
  const links = [el("a", { class: "button", href: link("/progress") }, "See the progress")];
  if (role !== "annotator") links.push(el("a", { class: "button", href: link("/export") }, "Export the labels"));
  card.showEmpty(
    "Nothing to label",
    "Every text is labelled or assigned to somebody else. New texts appear here automatically.",
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

/** What others may have changed meanwhile. `gently`: no key gets another class under somebody's hands. */
async function refresh(gently = false) {
  const before = project.classes;
  Object.assign(project, await getProject());
  goal();
  if (gently && before.some(({ number }, at) => project.classes[at]?.number !== number)) project.classes = before;
  if (JSON.stringify(project.classes) === JSON.stringify(before)) return;
  buttons.show(project.classes);
  hunt.show();
  dressButtons();
}

async function comeBack() {
  const gone = await queue.renew(outbox.waiting.length);
  meanwhile(() => queue.lose(gone));
  await refresh();
}

outbox.addEventListener("acknowledged", ({ detail: { message, reply } }) => {
  if (message.path === "/api/undo") {
    if (!reply.item) byId("last").textContent = "Nothing to undo";
    else if (!message.body.undoes) {
      byId("last").textContent = "Undone"; // where this page knew what it undid, it has said so
      meanwhile(() => queue.putBack(reply.item));
    }
  }
  project.counts = reply.counts;
  goal();
  if (reply.counts.labelled === reply.counts.texts) told(advise);
});
outbox.addEventListener("refused", ({ detail: { message, status } }) => {
  const at = done.findIndex(({ key }) => key === message.body.key);
  const [refused] = at < 0 ? [] : done.splice(at, 1);
  if (refused && status !== DELETED) meanwhile(() => queue.putBack(refused.item));
  told(refresh);
});
document.addEventListener("visibilitychange", () => document.hidden || told(comeBack));
// Who does not leave the page for hours is offered new classes too; without a connection there is no news.
setInterval(() => document.hidden || refresh(true).catch(() => {}), NEWS);
addEventListener("storage", ({ key, newValue }) => {
  // What the same person answers in another tab.
  if (newValue && key.startsWith(outbox.prefix)) meanwhile(() => queue.drop(JSON.parse(newValue).body.text));
});

onPress(byId("accept"), accept);
onPress(byId("skip"), skip);
onPress(byId("undo"), undo);
for (const button of [byId("define"), byId("define-first")].filter(Boolean)) {
  button.hidden = !mayDefine;
  onPress(button, defineClass);
}
onPress(byId("help"), help);
const always = { u: undo, undo, "?": help, 0: () => beside.toggle(), ...(mayDefine && { "+": defineClass }) };
const onText = { ".": accept, s: skip, f: () => card.toggleFlag(), c: () => card.toggleComment(), "/": () => buttons.find() };
listen((key) => {
  const act = always[key] ?? (queue.current && onText[key]);
  if (act) act();
  return Boolean(act) || Boolean(queue.current && buttons.press(key));
});

buttons.show(project.classes);
show();

const advise = async () => showAdvice(await get("/api/progress"));
trainer.addEventListener("round", () => told(advise));
// After the first text: nobody waits for advice.
await told(advise);
