/** The comments on a text that are addressed to a person: threads with answers, and a form for a new one. */
import { post } from "./api.js";
import { Addressee } from "./addressee.js";
import { onPress, onSubmit, singleFlight } from "./controls.js";
import { el, bdi } from "./dom.js";
import { ago } from "./format.js";
import { t, tParts } from "./i18n.js";
import { idempotentPost } from "./idempotent-post.js";
import { ANSWERS_PATH } from "./outbox.js";
import { refreshUnread } from "./unread.js";

const LONGEST = 2000;

/** Who addressed a comment to whom. @returns {(string | Node)[]} */
export function fromTo({ person, to }) {
  const name = to === null ? t("the reviewers") : bdi(to);
  return tParts("{person} to {to}", { person: el("b", {}, bdi(person)), to: name });
}

/** The badges of a thread. */
export const threadBadges = ({ unread, done }) => [
  unread ? el("span", { class: "badge strong" }, t("unread")) : null,
  done ? el("span", { class: "badge" }, t("done")) : null,
];

/**
 * The comments of a text, with a form to write one.
 * @param {{id: string, deleted: boolean, threads: any[]}} item
 */
export function commentSection(item) {
  const problem = el("p", { class: "problem", role: "alert" });
  /** Shows errors below the comments. */
  const attempt = async (act) => {
    problem.textContent = "";
    await act().catch((error) => (problem.textContent = error.message));
  };
  /** A row whose answers are sent at once. */
  const row = (thread) => {
    const send = idempotentPost();
    let shown;
    const reply = (answer) =>
      attempt(async () => {
        const next = row(await send(ANSWERS_PATH, answer));
        shown.replaceWith(next);
        next.querySelector("textarea").focus();
      });
    return (shown = threadRow(thread, reply));
  };
  const list = el("ul", { class: "threads" }, ...item.threads.map(row));
  const form = item.deleted ? null : newCommentForm(item.id, (thread) => list.append(row(thread)), attempt);
  const section = el("section", { class: "stack", "aria-label": t("Comments"), hidden: !item.threads.length }, el("h3", {}, t("Comments")), list, form, problem);
  form?.addEventListener("ready", () => (section.hidden = false));
  return section;
}

/** Notes that the threads of a text were read. */
export async function markThreadsRead(threads) {
  const unread = threads.filter((thread) => thread.unread);
  await Promise.all(unread.map(({ comments }) => post("/api/comments/read", { comment: comments.at(-1).number })));
  if (unread.length) await refreshUnread();
}

/**
 * A thread with a form to answer it.
 * @param {any} thread @param {(answer: {thread: number, comment: string, done: boolean}) => Promise<unknown>} reply
 */
export function threadRow(thread, reply) {
  const field = el("textarea", { rows: 1, maxlength: LONGEST, dir: "auto" });
  const answer = singleFlight((done) => reply({ thread: thread.number, comment: field.value, done }));
  const done = el("button", { type: "button" }, t("Mark as done"));
  onPress(done, () => answer(true));
  const form = el("form", { class: "stack" }, el("label", {}, t("Answer"), field), el("div", { class: "row" }, el("button", {}, t("Send")), thread.done ? null : done));
  onSubmit(form, () => answer(false));
  return el(
    "li",
    { "data-thread": thread.number },
    el("p", { class: "facts" }, el("span", {}, ...fromTo(thread)), ...threadBadges(thread)),
    el("ul", { class: "history" }, ...thread.comments.map(commentRow)),
    form,
  );
}

function commentRow({ person, comment, done, at }) {
  const name = el("b", {}, bdi(person));
  const who = done ? tParts("{person} marked it as done", { person: name }) : [name];
  return el("li", {}, ...who, el("span", { class: "muted" }, ` · ${ago(at)}`), comment ? el("p", { class: "written", dir: "auto" }, comment) : null);
}

/** A folded form for a new comment. Fires `ready` if there are people to address it to; is hidden without them. */
function newCommentForm(id, added, attempt) {
  const field = el("textarea", { rows: 2, maxlength: LONGEST, dir: "auto", required: true, placeholder: t("Type @ to choose a person") });
  const select = el("select", { required: true }, el("option", { value: "" }, "–"));
  const menu = el("ul", { class: "mentions", id: "text-mentions", role: "listbox", "aria-label": t("People"), hidden: true });
  const addressee = new Addressee(field, select, menu);
  const send = idempotentPost();
  const form = el(
    "form",
    { class: "stack" },
    el("label", {}, t("New comment"), field),
    menu,
    el("label", {}, t("Addressed to"), select),
    el("div", { class: "row" }, el("button", {}, t("Send"))),
  );
  const details = el("details", { hidden: true }, el("summary", {}, t("New comment")), form);
  onSubmit(form, () =>
    attempt(async () => {
      added(await send("/api/comments", { text: id, to: addressee.to, comment: field.value }));
      field.value = "";
      addressee.clear();
      details.open = false;
    }),
  );
  addressee.addEventListener("ready", () => {
    details.hidden = false;
    details.dispatchEvent(new Event("ready"));
  });
  attempt(() => addressee.load());
  return details;
}
