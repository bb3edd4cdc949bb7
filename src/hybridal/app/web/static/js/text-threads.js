/** The comments on the text of the page Label that the person sees: read, answered and marked as done beside it. */
import { markThreadsRead, threadRow } from "./comment-threads.js";
import { byId, el } from "./dom.js";
import { newKey } from "./idempotency-key.js";
import { t } from "./i18n.js";
import { ANSWERS_PATH } from "./outbox.js";
import { refreshUnread } from "./unread.js";

const READ_MS = 2000; // a text that is answered sooner was hardly read together with its comments

/** Whether a thread is done and read: it comes last and is folded, to leave space for the text. */
const isOver = ({ done, unread }) => done && !unread;

function folded(row) {
  const [facts, ...rest] = row.children;
  row.replaceChildren(el("details", { class: "stack" }, el("summary", {}, ...facts.childNodes), ...rest));
  return row;
}

export class TextThreads {
  #item = null;
  #timer = 0;

  /**
   * @param {import("./outbox.js").Outbox} outbox @param {(message: import("./outbox.js").Message) => boolean} store
   * adds a message to the outbox; returns whether it is on its way
   */
  constructor(outbox, store) {
    this.outbox = outbox;
    this.store = store;
    this.root = byId("threads");
    this.root.addEventListener("keydown", (event) => this.#leave(event));
  }

  /** @param {import("./queue.js").Item | undefined} item the text on the page */
  show(item) {
    clearTimeout(this.#timer);
    this.#item = item;
    const threads = item?.threads ?? [];
    this.root.hidden = !threads.length;
    const [done, open] = [threads.filter(isOver), threads.filter((thread) => !isOver(thread))];
    const rows = [...open.map((thread) => this.#row(thread)), ...done.map((thread) => folded(this.#row(thread)))];
    this.root.replaceChildren(el("ul", { class: "threads" }, ...rows));
    this.root.scrollTop = 0;
    // A new element, so that screen readers read it also if it equals the one before.
    const sentence = threads.length ? t("There are comments on this text.") : null;
    byId("commented").replaceWith(el("p", { id: "commented", class: "unseen", hidden: !sentence }, sentence));
    if (threads.some(({ unread }) => unread)) this.#timer = setTimeout(() => this.#read(), READ_MS);
  }

  /** Whether an answer was typed and not sent. */
  get isDrafted() {
    return this.#drafts.length > 0;
  }

  /** Sends answers that were typed and not sent. @returns {boolean} whether none is left to send */
  sendDrafts() {
    return this.#drafts.every((field) => {
      const [key, thread] = [newKey(), Number(field.closest("[data-thread]").dataset.thread)];
      if (!this.store({ path: ANSWERS_PATH, body: { key, thread, comment: field.value, done: false } })) return false;
      field.readOnly = true;
      this.#renewed(key); // the text may come back after an undo
      return true;
    });
  }

  get #drafts() {
    return [...this.root.querySelectorAll("textarea")].filter((field) => !field.readOnly && field.value.trim());
  }

  #row(thread) {
    const row = threadRow(thread, (answer) => this.#reply(row, answer));
    return row;
  }

  /** Sends an answer, then shows the thread with it; without a connection that takes until it is back. */
  async #reply(row, answer) {
    const [field, key] = [row.querySelector("textarea"), newKey()];
    if (!answer.done && !answer.comment.trim()) return;
    if (!this.store({ path: ANSWERS_PATH, body: { key, ...answer } })) return;
    field.readOnly = true; // it is on its way
    if (row.contains(document.activeElement)) byId("body").focus({ preventScroll: true });
    byId("last").textContent = answer.done ? t("Marked as done") : t("Answer sent");
    const thread = await this.#renewed(key);
    field.readOnly = false;
    if (!thread) return; // refused, which the frame reports; the answer can be changed and sent again
    row.replaceWith(this.#row(thread));
    refreshUnread().catch(() => {}); // it is read now; the next look at it is soon
  }

  /** The thread with an answer that is on its way; null if the answer is refused. */
  async #renewed(key) {
    const item = this.#item;
    const thread = await this.outbox.replyTo(key);
    if (thread) item.threads = item.threads.map((one) => (one.number === thread.number ? thread : one));
    return thread;
  }

  async #read() {
    const item = this.#item;
    await markThreadsRead(item.threads).catch(() => {}); // without a connection they stay unread
    item.threads = item.threads.map((thread) => ({ ...thread, unread: false }));
  }

  /** Enter sends the answer, as in the comment; Escape returns to the text. */
  #leave(event) {
    const { key, target } = event;
    if (key === "Escape") byId("body").focus({ preventScroll: true });
    else if (key !== "Enter" || event.shiftKey || target.tagName !== "TEXTAREA") return;
    else target.form.requestSubmit();
    event.preventDefault();
  }
}
