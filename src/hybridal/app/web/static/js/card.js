/** The text in the middle of the page, with its flag and its comment. */
import { onPress } from "./controls.js";
import { byId, el, named } from "./dom.js";

export class Card {
  constructor() {
    this.body = byId("body");
    this.text = byId("text");
    this.empty = byId("empty");
    this.flag = byId("flag");
    this.note = byId("note");
    this.commentButton = byId("comment");
    this.commentField = byId("comment-text");
    onPress(this.flag, () => this.toggleFlag());
    onPress(this.commentButton, () => this.toggleComment());
    this.commentField.addEventListener("keydown", (event) => this.#leaveComment(event));
  }

  /**
   * @param {import("./queue.js").Item} item
   * @param {string} [before] what this person had said of it, when they took that back
   */
  show(item, before) {
    this.#toggle(true);
    this.empty.replaceChildren();
    const unread = item.read_to == null ? null : el("span", { class: "unread" }, item.text.slice(item.read_to));
    this.text.replaceChildren(item.text.slice(0, item.read_to ?? undefined), ...(unread ? [unread] : []));
    this.body.dataset.length = item.text.length < 160 ? "short" : item.text.length < 700 ? "middle" : "long";
    this.body.scrollTop = 0;
    byId("validation").hidden = item.split !== "validation";
    byId("before").hidden = !before;
    byId("before").replaceChildren("Your previous label: ", named(before ?? ""));
    this.#arrive();
    this.#note("", false);
  }

  /** @param {string} title @param {string} sentence @param {...HTMLElement} actions */
  showEmpty(title, sentence, ...actions) {
    this.#toggle(false);
    this.text.textContent = "";
    byId("validation").hidden = byId("before").hidden = true;
    const words = [title && el("h2", {}, title), el("p", { class: "muted" }, sentence), el("div", { class: "row" }, ...actions)];
    const said = el("div", {}, ...words.filter(Boolean));
    // What is said again and again stays as it is, for who listens and for who is on one of its links.
    if (said.textContent !== this.empty.textContent) this.empty.replaceChildren(...said.childNodes);
    this.#note("", false);
  }

  /** What goes along with an answer. */
  get remarks() {
    return { flagged: this.flag.getAttribute("aria-pressed") === "true", comment: this.commentField.value.trim() };
  }

  /** Whether there is something that would be lost with the text. */
  get isRemarked() {
    return this.remarks.flagged || this.remarks.comment !== "" || !this.note.hidden;
  }

  toggleFlag() {
    this.flag.setAttribute("aria-pressed", String(!this.remarks.flagged));
    byId("last").textContent = this.remarks.flagged ? "Flagged" : "Not flagged";
  }

  toggleComment() {
    this.note.hidden = !this.note.hidden;
    this.commentButton.setAttribute("aria-expanded", String(!this.note.hidden));
    if (this.note.hidden) return;
    this.cameFrom = document.activeElement;
    this.commentField.focus();
  }

  #leaveComment(event) {
    if (event.key !== "Escape" && (event.key !== "Enter" || event.shiftKey)) return;
    event.preventDefault();
    this.#note(this.commentField.value, this.remarks.flagged);
    // Back to where they were: who pressed a key was nowhere, and goes on with keys.
    this.commentField.blur();
    this.cameFrom.focus();
  }

  #note(comment, flagged) {
    this.commentField.value = comment;
    this.note.hidden = true;
    this.commentButton.setAttribute("aria-expanded", "false");
    this.commentButton.setAttribute("aria-pressed", String(comment.trim() !== ""));
    this.flag.setAttribute("aria-pressed", String(flagged));
  }

  #toggle(hasText) {
    this.text.hidden = !hasText;
    this.empty.hidden = hasText;
    this.flag.disabled = this.commentButton.disabled = !hasText;
  }

  #arrive() {
    this.text.classList.remove("fresh");
    void this.text.offsetWidth; // the animation starts again only after a layout without it
    this.text.classList.add("fresh");
  }
}
