/** The page for labelling: an answer is kept and the next text is there at once; the network follows. */
import { get, getProject } from "./api.js";
import { Card } from "./card.js";
import { ClassButtons } from "./class-buttons.js";
import { byId, el } from "./dom.js";
import { frame } from "./frame.js";
import { showGoal } from "./goal.js";
import { helpDialog } from "./help.js";
import { drawKey } from "./key.js";
import { listen } from "./keys.js";
import { newClassDialog } from "./new-class.js";
import { Queue } from "./queue.js";
import { toast, told } from "./toast.js";

const AGAIN = 4000;

const { project, outbox } = await frame;
const mayDefine = project.me.role === "owner";
const card = new Card();
const buttons = new ClassButtons(byId("classes"), label);
const queue = new Queue((n) => get("/api/next", { n }), outbox.waiting.map(({ body }) => body.text).filter(Boolean));
const defineClass = newClassDialog(() => refresh().then(() => show()));
const help = helpDialog(() => project.classes);
/** What was answered since the page opened, newest last. @type {{item: import("./queue.js").Item, key: string, said: string}[]} */
const done = [];
let again = 0;

function label(name) {
  answer({ action: "label", class: name }, name, `Labelled “${name}”`);
}

function skip() {
  answer({ action: "skip", class: null }, "skip", "Skipped");
}

function answer(what, said, sentence) {
  const key = drawKey();
  // Kept first: a browser that can keep nothing does not go on to the next text.
  if (!keep({ path: "/api/answers", body: { key, text: queue.current.id, ...what, ...card.remarks } })) return;
  done.push({ item: queue.advance(), key, said });
  show();
  byId("last").textContent = sentence;
}

function undo() {
  const last = done.at(-1);
  if (!keep({ path: "/api/undo", body: { key: drawKey() }, undoes: last?.key }) || !last) return;
  done.pop();
  takeBack(last.item, last.said);
}

function keep(message) {
  try {
    outbox.add(message);
    return true;
  } catch {
    toast("This browser keeps nothing for this page, so your answer would not be safe. Allow it, or make room.", {
      stays: true,
    });
    return false;
  }
}

function takeBack(item, said) {
  queue.putBack(item);
  show(said === "skip" ? "skipped" : said);
  byId("last").textContent = "Taken back";
}

function show(before) {
  const item = queue.current;
  byId("skip").disabled = !isReady();
  if (!project.classes.length) askForClasses();
  else if (item) card.show(item, before);
  else card.showEmpty("", "Fetching texts …");
  dressButtons(before);
  goal();
  refill();
}

/** Whether there is a text on the page that could be answered. */
function isReady() {
  return Boolean(queue.current && project.classes.length);
}

function dressButtons(before) {
  buttons.disabled = !isReady();
  buttons.mark(before, queue.current?.guess);
}

async function refill() {
  clearTimeout(again);
  const empty = !queue.current;
  const problem = await queue.refill(outbox.waiting.length).then(
    () => null,
    (error) => error,
  );
  if (!empty || !project.classes.length) return;
  if (queue.current) return show();
  if (problem)
    card.showEmpty("No connection", `${problem.message} Your answers are kept on this device and will be sent.`);
  else showDone();
  again = setTimeout(refill, AGAIN);
}

function showDone() {
  const links = [el("a", { class: "button", href: "/progress" }, "See the progress")];
  if (project.me.role === "owner") links.push(el("a", { class: "button", href: "/settings" }, "Export the labels"));
  card.showEmpty(
    "Nothing waits for you",
    "Every text is labelled, or in somebody else's hands. New ones appear here by themselves.",
    ...links,
  );
}

function askForClasses() {
  const start = el("button", { type: "button", class: "main", onclick: defineClass }, "Define the first class");
  if (mayDefine)
    card.showEmpty(
      "What shall texts be sorted into?",
      "Define a class or two to begin with; more can follow as you read.",
      start,
    );
  else card.showEmpty("No classes yet", "An owner of the project has to define them first.");
}

function goal() {
  const coming = outbox.waiting.filter(({ body }) => body.action === "label").length;
  showGoal(project.counts.labelled + coming, project.budget);
}

/** What others may have changed meanwhile. */
async function refresh() {
  const before = JSON.stringify(project.classes);
  Object.assign(project, await getProject());
  goal();
  if (JSON.stringify(project.classes) === before) return;
  buttons.show(project.classes);
  dressButtons();
}

async function comeBack() {
  const had = queue.current;
  await queue.renew(outbox.waiting.length);
  if (queue.current !== had) show(); // before anybody can answer a text that is not on the page
  await refresh();
}

outbox.addEventListener("acknowledged", ({ detail: { message, reply } }) => {
  if (message.path === "/api/undo") {
    if (!reply.item) byId("last").textContent = "There is nothing to take back";
    else if (!message.undoes) takeBack(reply.item);
  }
  project.counts = reply.counts;
  goal();
});
outbox.addEventListener("refused", ({ detail: { message, reason } }) => {
  toast(reason, { stays: true });
  const at = done.findIndex(({ key }) => key === message.body.key);
  if (at >= 0) queue.putBack(done.splice(at, 1)[0].item);
  show();
  told(refresh);
});
document.addEventListener("visibilitychange", () => document.hidden || told(comeBack));

byId("skip").addEventListener("click", skip);
byId("undo").addEventListener("click", undo);
byId("define")?.addEventListener("click", defineClass);
byId("help").addEventListener("click", help);
const always = { u: undo, undo, "?": help, ...(mayDefine && { "+": defineClass }) };
const onText = { s: skip, f: () => card.toggleFlag(), c: () => card.toggleComment(), "/": () => buttons.find() };
listen((key) => {
  const act = always[key] ?? (isReady() && onText[key]);
  if (act) act();
  return Boolean(act) || (isReady() && buttons.press(key));
});

buttons.show(project.classes);
show();
