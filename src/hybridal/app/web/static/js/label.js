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
import { listed, t } from "./i18n.js";
import { NextChoice } from "./next-choice.js";
import { newKey } from "./idempotency-key.js";
import { markKeywords } from "./keywords.js";
import { listen } from "./keys.js";
import { LookAlikes } from "./look-alikes.js";
import { newClassDialog } from "./new-class.js";
import { predicted, proposed, suggested } from "./proposals.js";
import { OfflineCopy } from "./offline-copy.js";
import { OfflineNote } from "./offline-note.js";
import { answeredText, COMMENTS_PATH } from "./outbox.js";
import { useOwnKeys, usualKey } from "./own-keys.js";
import { Question } from "./question.js";
import { ReasonsToggle } from "./reasons-toggle.js";
import { Queue } from "./queue.js";
import { recallDialog } from "./recall.js";
import { RecheckMode } from "./recheck-mode.js";
import { SetAnswer } from "./set-answer.js";
import { TextThreads } from "./text-threads.js";
import { toast, showErrors } from "./toast.js";

const RETRY_MS = 4000;
const REFRESH_MS = 20_000;
const SPARE_MS = 300_000;
const HTTP_GONE = 410; // the text was deleted
// An identical answer this soon is a bouncing key or a double click. Any answer this soon after the text changed
// without one was meant for the text before.
const MIN_READING_MS = 250;

const { project, outbox, trainer, kept } = await frame;
await useOwnKeys(project);
const { role } = project.me;
const mayDefine = role === "owner" || (role === "reviewer" && project.settings.open_classes);
const card = new Card((to, comment) => store({ path: COMMENTS_PATH, body: { key: newKey(), text: queue.current.id, to, comment } }));
const threads = new TextThreads(outbox, (message) => store(message));
const sidePanel = new SidePanel();
const lookAlikes = new LookAlikes();
const several = project.multi_label;
const buttons = new ClassButtons(byId("classes"), several ? toggle : label, several ? () => setAnswer.give() : null);
const setAnswer = several ? new SetAnswer(buttons, labelSet) : null;
const question = several ? new Question(answerQuestion, () => whenNotRemarking(() => queue.restart())) : null;
const nextChoice = new NextChoice(() => project.classes, () => whenNotRemarking(() => queue.restart()));
const recheck = new RecheckMode(project, outbox);
const fetchNext = async (n, afresh) => {
  if (recheck.isOn) return recheck.fetchNext(n);
  const likely = nextChoice.class;
  const found = await get("/api/next", { n, likely, ...(afresh && { afresh }), ...(question?.isOn && { questions: true }) });
  nextChoice.showNote(likely, found.known);
  return found;
};
const fetchSpare = (n) => get("/api/next/spare", { n });
const queue = recheck.isOn ? new Queue(fetchNext, outbox.texts) : new Queue(fetchNext, outbox.texts, fetchSpare, kept);
const offline = new OfflineNote(outbox, queue);
const copy = recheck.isOn ? null : new OfflineCopy(project, queue);
recallDialog(nextChoice, role !== "annotator", () => whenNotRemarking(() => queue.restart()));
const reasons = byId("why") && project.settings.show_predictions ? new ReasonsToggle(byId("why"), () => card.text.firstChild, () => project.classes) : null;
const defineClass = newClassDialog(() => showErrors(refresh));
const help = helpDialog(() => project.classes, () => (showClasses(), saveCopy()));
/**
 * Annotations since the page opened, newest last; `names` are the classes of a label, `asked` the place of a question.
 * @type {{item: import("./queue.js").Item, key: string, names: string[] | null, at: number, asked: number}[]}
 */
const done = [];
/** Changes of the text, postponed until its flag or comment is sent. @type {(() => void)[]} */
const postponed = [];
let onPage = null;
let changedAt = -Infinity;
let retryTimer = 0;
let lastFocused = null;
let asked = 0; // the place of the question on the page
let toggled = { name: "", at: -Infinity };

function label(name) {
  annotate({ action: "label", class: name }, [name], t("Labelled “{name}”", { name }));
}

/** @param {string[]} names all classes of the text */
function labelSet(names) {
  annotate({ action: "label", classes: names }, names, t("Labelled {names}", { names: inWords(names) }));
}

function inWords(names) {
  return names.length ? listed(names.map((name) => t("“{name}”", { name }))) : t("none of these");
}

/** Chooses a class, or no longer. A key that bounces counts once. */
function toggle(name) {
  const now = performance.now();
  if (!queue.current || now - changedAt < MIN_READING_MS || (toggled.name === name && now - toggled.at < MIN_READING_MS)) return;
  toggled = { name, at: now };
  byId("last").textContent = buttons.toggle(name) ? t("Chose “{name}”", { name }) : t("Removed “{name}”", { name });
}

function proposal(item) {
  const names = [...predicted(item)].map(([name, probability]) => `${name}, ${percent(probability)}`);
  const given = suggested(item);
  const none = t("none of these");
  const sentence =
    (item.prediction && t("Predicted: {names}", { names: names.join("; ") || none })) ??
    ((item.suggestions || given.length) && t("Suggested by the file: {names}", { names: given.join("; ") || none }));
  return el("p", { id: "proposed", class: "unseen", hidden: !sentence }, sentence || null);
}

function accept() {
  const names = proposed(queue.current);
  if (!names || askedClass()) return;
  if (several) labelSet(names);
  else label(names[0]);
}

/** The class of the question on the page; undefined if all classes are asked for at once. */
function askedClass() {
  return queue.current?.questions?.[asked];
}

/** @param {boolean | null} has whether the text has the class in question; null if the person cannot say */
function answerQuestion(has) {
  const name = askedClass();
  const word = { true: t("Yes"), false: t("No"), null: t("Skipped") }[has];
  annotate({ action: "label", decisions: { [name]: has } }, [word, name], t("{answer}: “{name}”", { answer: word, name }));
}

function skip() {
  if (recheck.isOn) return postpone();
  if (askedClass()) return answerQuestion(null);
  annotate({ action: "skip", class: null }, null, t("Skipped"));
}

/** Leaves the old answer for now, and goes on with the next text to look at again. */
function postpone() {
  if (performance.now() - changedAt < MIN_READING_MS) return;
  if (!store({ path: "/api/codebook/rechecks/postpone", body: { text: queue.current.id } })) return;
  byId("last").textContent = t("Left for later");
  queue.advance();
  show();
}

function annotate(what, names, sentence) {
  const [key, at, last, remarks] = [newKey(), performance.now(), done.at(-1), card.remarks];
  const copies = what.action === "label" && !what.decisions ? lookAlikes.request : {};
  const isSame = last && JSON.stringify(last.names) === JSON.stringify(names);
  // Where classes are chosen first, a label so soon without a choice is a bounce.
  const isBounce = last && at - last.at < MIN_READING_MS && (isSame || (several && names && !buttons.isTouched));
  if (isBounce && !isRemarked()) return;
  if (at - changedAt < MIN_READING_MS) return;
  // Store first: if the browser cannot store the annotation, stay on this text.
  if (!card.sendComment() || !threads.sendDrafts()) return;
  const body = { key, text: queue.current.id, ...what, ...copies, ...remarks, codebook: project.codebook };
  if (!store({ path: "/api/annotations", body })) return;
  done.push({ item: queue.current, key, names, at, asked });
  byId("last").textContent = copies.look_alikes ? `${sentence}. ${lookAlikes.sentence}` : sentence; // before the text, so that screen readers announce it first
  if (asked + 1 < queue.current.questions?.length) return askNext();
  recheck.answered(queue.current);
  queue.advance();
  asked = 0;
  for (const change of postponed.splice(0)) change();
  show();
}

/** Asks the next question about the same text. */
function askNext() {
  asked += 1;
  queue.keep();
  card.clearRemarks();
  card.showBefore();
  showQuestion();
}

function showQuestion() {
  const name = askedClass();
  const known = project.classes.find((one) => one.name === name);
  question?.show(name ? (known ?? { name, description: "" }) : null, asked, queue.current?.questions?.length);
}

function undo() {
  const last = done.at(-1);
  // Send the key if it is known: the same person may have labelled another text in another tab since.
  if (!store({ path: "/api/undo", body: { key: newKey(), undoes: last?.key } }) || !last) return;
  done.pop();
  recheck.undone(last.item);
  showUndone(last.item, last.names, last.asked);
}

function store(message) {
  try {
    outbox.add(message);
    return true;
  } catch {
    toast(t("This browser cannot store data for this page, so your label could be lost. Allow storage or free some space."), {
      stays: true,
    });
    return false;
  }
}

function showUndone(item, names, place) {
  queue.putBack(item);
  asked = place;
  byId("last").textContent = t("Undone");
  show({ names });
}

/** Whether the person has entered something that replacing the text would discard. */
function isRemarked() {
  return card.isRemarked || threads.isDrafted;
}

/** Applies a change of the queue that no answer caused; postpones it while the text has an unsent flag, comment or choice. */
function whenNotRemarking(change) {
  if (isRemarked() || buttons.isTouched) return void postponed.push(change);
  change();
  showIfChanged();
}

function showIfChanged() {
  if (onPage && queue.current === onPage) return;
  if (onPage) changedAt = performance.now();
  asked = 0;
  show();
}

/** @param {{names: string[] | null}} [before] the answer to this text that was undone */
function show(before) {
  const item = (onPage = queue.current);
  const focused = document.activeElement;
  byId("skip").disabled = !item;
  sidePanel.showContext(item?.context ?? {});
  lookAlikes.show(item);
  threads.show(item);
  if (item) card.show(item, before && sentenceOf(before.names));
  else card.showEmpty("", t("Loading texts …"));
  recheck.show(item);
  buttons.choose((!item?.questions && before?.names) || (item && several ? preselected(item) : []));
  updateButtons();
  showQuestion();
  restoreFocus(focused);
  markKeywords(item ? card.text.firstChild : null, project.classes);
  reasons?.show(item);
  goal();
  saveCopy();
  refill();
}

/** Keeps the texts for a reload without a connection. A browser that cannot keep them works as before. */
function saveCopy() {
  copy?.save().catch(() => {});
}

function sentenceOf(names) {
  if (askedClass()) return names[0]; // the answer to the question
  return names ? (several ? inWords(names) : names[0]) : t("skipped");
}

/** The classes that this person has given already, and those proposed if the owner wants them preselected. */
function preselected(item) {
  if (item.old) return item.old;
  const decided = Object.entries(item.decisions ?? {});
  const open = ((project.settings.preselect && proposed(item)) || []).filter((name) => item.decisions?.[name] == null);
  return [...decided.filter(([, has]) => has).map(([name]) => name), ...open];
}

/** Controls are disabled while there is no text, and lose the focus; gives it back with the next text. */
function restoreFocus(focused) {
  if (focused.disabled) lastFocused = focused;
  if (!queue.current) return;
  if (document.activeElement === document.body) lastFocused?.focus();
  lastFocused = null;
}

function updateButtons() {
  const item = queue.current;
  byId("first").hidden = project.classes.length > 0;
  buttons.disabled = !item;
  buttons.mark(predicted(item ?? {}), suggested(item ?? {}));
  if (setAnswer) {
    setAnswer.disabled = !item;
    setAnswer.show();
  }
  const acceptable = !item?.questions && proposed(item);
  byId("accept").hidden = !acceptable && (!project.settings.show_predictions || Boolean(item?.questions));
  byId("accept").disabled = !acceptable;
  // A new element, so that screen readers read it also if it equals the one before.
  byId("proposed").replaceWith(proposal(item ?? {}));
}

async function refill() {
  clearTimeout(retryTimer);
  const empty = !queue.current;
  const problem = await queue.refill(outbox.waiting.length).then(
    () => null,
    (error) => error,
  );
  lookAlikes.refresh();
  if (problem?.status === 0 && !queue.current) queue.takeSpare();
  offline.show(problem?.status === 0);
  if (!empty) return;
  if (queue.current) return showIfChanged();
  if (problem)
    card.showEmpty(
      problem.status ? t("No texts available") : t("No connection"),
      t("{problem} Your labels are kept on this device and will be sent later.", { problem: problem.message }),
    );
  else showDone();
  retryTimer = setTimeout(refill, RETRY_MS);
}

function showDone() {
  if (recheck.isOn) return card.showEmpty(t("Nothing left to look at again"), t("All these labels were looked at, or other people are looking at them now."), recheck.leaveLink());
  if (!project.counts.texts) return showNoTexts();
  const links = [el("a", { class: "button", href: link("/progress") }, t("See progress"))];
  if (role !== "annotator") links.push(el("a", { class: "button", href: link("/export") }, t("Export the labels")));
  card.showEmpty(
    t("Nothing to label"),
    t("Every text is labelled or assigned to another person. New texts appear here automatically."),
    ...links,
  );
}

function showNoTexts() {
  const links = role === "owner" ? [el("a", { class: "button", href: link("/settings#upload-title") }, t("Add texts"))] : [];
  card.showEmpty(t("No texts yet"), t("They appear here as soon as they are added."), ...links);
}

function goal() {
  const coming = new Set(outbox.waiting.filter(({ body }) => body.action === "label").map(({ body }) => body.text)).size;
  // A label that is copied to look-alikes is one label of the plan.
  const { labelled, copied, texts } = project.counts;
  showGoal(labelled - copied + coming, project.budget, texts - copied);
}

/** Fetches the project again. With `keepKeys`, ignores changes that would give a class another key during the work. */
async function refresh(keepKeys = false) {
  const before = project.classes;
  Object.assign(project, await getProject());
  goal();
  recheck.showNote();
  if (keepKeys && before.some(({ number }, at) => project.classes[at]?.number !== number)) project.classes = before;
  if (JSON.stringify(project.classes) !== JSON.stringify(before)) showClasses();
}

function showClasses() {
  buttons.show(project.classes);
  nextChoice.show();
  updateButtons();
}

async function renewLeases() {
  const gone = await queue.renew(outbox.waiting.length);
  lookAlikes.refresh();
  whenNotRemarking(() => queue.remove(gone));
  await refresh();
}

async function recountLookAlikes() {
  await queue.renew(outbox.waiting.length);
  lookAlikes.refresh();
}

outbox.addEventListener("acknowledged", ({ detail: { message, reply } }) => {
  if (message.path === "/api/undo") {
    if (!reply.item) byId("last").textContent = t("Nothing to undo");
    else if (!message.body.undoes) {
      byId("last").textContent = t("Undone"); // if this page knew the key, `undo` has shown it already
      whenNotRemarking(() => queue.putBack(reply.item));
    }
  }
  // Texts may have been fetched before the answer was copied to their look-alikes.
  if (reply.copies && queue.held.some(({ look_alikes }) => look_alikes)) recountLookAlikes().catch(() => {});
  if (!reply.counts) return; // a text was left for later
  project.counts = reply.counts;
  goal();
  saveCopy();
  if (reply.counts.labelled === reply.counts.texts) showErrors(advise);
});
outbox.addEventListener("refused", ({ detail: { message, status } }) => {
  const at = done.findIndex(({ key }) => key === message.body.key);
  const [refused] = at < 0 ? [] : done.splice(at, 1);
  if (refused) recheck.undone(refused.item);
  if (refused && status !== HTTP_GONE) whenNotRemarking(() => queue.putBack(refused.item));
  showErrors(refresh);
});
document.addEventListener("visibilitychange", () => document.hidden || showErrors(renewLeases));
// A page that stays open for hours gets new classes too. Ignore errors: the trainer's bar reports a lost connection.
setInterval(() => document.hidden || refresh(true).then(() => offline.isUnreachable && refill()).catch(() => {}), REFRESH_MS);
const fillSpare = () => document.hidden || queue.fillSpare().then(saveCopy).catch(() => {});
setInterval(fillSpare, SPARE_MS);
addEventListener("online", () => (fillSpare(), refill(), refresh(true).catch(() => {})));
addEventListener("storage", ({ key, newValue }) => {
  // The same person answered in another tab.
  if (newValue && key.startsWith(outbox.prefix)) whenNotRemarking(() => queue.drop(answeredText(JSON.parse(newValue))));
});

onPress(byId("accept"), accept);
onPress(byId("skip"), skip);
onPress(byId("undo"), undo);
for (const button of [byId("define"), byId("define-first")].filter(Boolean)) {
  button.hidden = !mayDefine;
  onPress(button, defineClass);
}
onPress(byId("help"), help);
const always = {
  u: undo,
  undo,
  "?": help,
  [several ? "," : "0"]: () => sidePanel.toggle(),
  ...(mayDefine && { "+": defineClass }),
};
const onText = {
  ".": accept,
  s: skip,
  f: () => card.toggleFlag(),
  c: () => card.toggleComment(),
  "=": () => lookAlikes.compare(),
  "/": () => buttons.find(),
  ...(reasons && { ";": () => reasons.toggle() }),
};
const onSet = { 0: () => labelSet([]), enter: () => setAnswer.give() };
const onQuestion = { y: () => answerQuestion(true), n: () => answerQuestion(false) };
listen((key) => {
  const special = askedClass() ? onQuestion : several ? onSet : {};
  const act = always[key] ?? (queue.current && (special[key] ?? onText[key]));
  if (act) act();
  return Boolean(act) || Boolean(queue.current && !askedClass() && buttons.press(key));
}, usualKey);

buttons.show(project.classes);
if (kept) queue.takeSpare();
show();
if (kept) offline.show(true); // before the first request fails, which may take long
fillSpare();
copy?.start().catch(() => {});

const advise = async () => showAdvice(await get("/api/progress"));
trainer.addEventListener("round", () => showErrors(advise));
// After the first text, which must not wait for the advice.
if (!kept) await showErrors(advise);
