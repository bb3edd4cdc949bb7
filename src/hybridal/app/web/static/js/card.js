/** The card with the text to label, its flag and its comment. */
import { Addressee } from "./addressee.js";
import { onPress } from "./controls.js";
import { byId, el, bdi } from "./dom.js";
import { t, tParts } from "./i18n.js";

export class Card {
  /** @param {(to: number | null, comment: string) => boolean} send sends a comment; returns whether it is on its way */
  constructor(send) {
    this.send = send;
    this.body = byId("body");
    this.text = byId("text");
    this.empty = byId("empty");
    this.flag = byId("flag");
    this.note = byId("note");
    this.commentButton = byId("comment");
    this.commentField = byId("comment-text");
    this.reasonField = byId("reason");
    this.addressee = new Addressee(this.commentField, byId("comment-to"), byId("mentions"));
    this.addressee.addEventListener("ready", () => (byId("addressed").hidden = false));
    this.addressee.addEventListener("change", () => this.#showAddressee());
    onPress(byId("comment-send"), () => this.sendComment() && this.#leaveNote());
    onPress(this.flag, () => this.toggleFlag());
    onPress(this.commentButton, () => this.toggleComment());
    for (const field of [this.commentField, this.reasonField]) field.addEventListener("keydown", (event) => this.#leaveComment(event));
  }

  /**
   * @param {import("./queue.js").Item} item
   * @param {string} [before] the label that this person gave and then undid
   */
  show(item, before) {
    this.#toggle(true);
    this.empty.replaceChildren();
    const unread = item.read_to == null ? null : el("span", { class: "unread", "data-note": t("the model reads to here") }, item.text.slice(item.read_to));
    this.text.replaceChildren(item.text.slice(0, item.read_to ?? undefined), ...(unread ? [unread] : []));
    this.body.dataset.length = item.text.length < 160 ? "short" : item.text.length < 700 ? "middle" : "long";
    this.body.scrollTop = 0;
    byId("validation").hidden = item.split !== "validation";
    this.showBefore(before);
    this.#arrive();
    this.#note("", false);
  }

  /** @param {string} [before] the answer that this person undid */
  showBefore(before) {
    byId("before").hidden = !before;
    byId("before").replaceChildren(...tParts("Your previous label: {name}", { name: bdi(before ?? "") }));
  }

  /** @param {string} title @param {string} sentence @param {...HTMLElement} actions */
  showEmpty(title, sentence, ...actions) {
    this.#toggle(false);
    this.text.textContent = "";
    byId("validation").hidden = byId("before").hidden = true;
    const parts = [title && el("h2", {}, title), el("p", { class: "muted" }, sentence), el("div", { class: "row" }, ...actions)];
    const message = el("div", {}, ...parts.filter(Boolean));
    // An unchanged message stays in place: screen readers do not repeat it, and its links keep the focus.
    if (message.textContent !== this.empty.textContent) this.empty.replaceChildren(...message.childNodes);
    this.#note("", false);
  }

  /** The flag and comment that are sent with the annotation; an addressed comment is not. */
  get remarks() {
    const flagged = this.flag.getAttribute("aria-pressed") === "true";
    const comment = this.addressee.to === undefined ? this.commentField.value.trim() : "";
    return { flagged, comment, ...(this.reasonField.value && { reason: this.reasonField.value }) };
  }

  /** Whether the person has entered something that replacing the text would discard. */
  get isRemarked() {
    return this.remarks.flagged || this.commentField.value.trim() !== "" || this.reasonField.value !== "" || !this.note.hidden;
  }

  /** Sends an addressed comment, if there is one. @returns {boolean} whether none is left to send */
  sendComment() {
    const comment = this.commentField.value.trim();
    const { to, name } = this.addressee;
    if (to === undefined || !comment) return true;
    if (!this.send(to, comment)) return false;
    byId("last").textContent = t("Sent to {name}", { name });
    this.commentField.value = "";
    return true;
  }

  clearRemarks() {
    this.#note("", false);
  }

  toggleFlag() {
    this.flag.setAttribute("aria-pressed", String(!this.remarks.flagged));
    byId("last").textContent = this.remarks.flagged ? t("Flagged") : t("Flag removed");
  }

  toggleComment() {
    this.note.hidden = !this.note.hidden;
    this.commentButton.setAttribute("aria-expanded", String(!this.note.hidden));
    if (this.note.hidden) return;
    this.cameFrom = document.activeElement;
    this.commentField.focus();
    this.addressee.load().catch(() => {}); // without a connection, comments can only be saved with a label
  }

  #leaveComment(event) {
    if (event.key !== "Escape" && (event.key !== "Enter" || event.shiftKey)) return;
    event.preventDefault();
    if (event.key === "Escape" || event.target !== this.commentField || this.sendComment()) this.#leaveNote();
  }

  #leaveNote() {
    this.#note(this.commentField.value, this.remarks.flagged, this.reasonField.value);
    // Return the focus. If a key opened the comment, nothing had the focus, and single keys work again.
    document.activeElement.blur();
    this.cameFrom.focus();
  }

  #showAddressee() {
    const isAddressed = this.addressee.to !== undefined;
    byId("comment-send").hidden = !isAddressed;
    byId("comment-label").textContent = isAddressed ? t("Comment") : t("Comment, saved with your label");
  }

  #note(comment, flagged, reason = "") {
    this.commentField.value = comment;
    if (!comment) this.addressee.clear();
    this.reasonField.value = reason;
    this.note.hidden = true;
    this.commentButton.setAttribute("aria-expanded", "false");
    this.commentButton.setAttribute("aria-pressed", String(comment.trim() !== "" || reason !== ""));
    this.flag.setAttribute("aria-pressed", String(flagged));
  }

  #toggle(hasText) {
    this.text.hidden = !hasText;
    this.empty.hidden = hasText;
    this.flag.disabled = this.commentButton.disabled = !hasText;
  }

  #arrive() {
    this.text.classList.remove("fresh");
    void this.text.offsetWidth; // force a layout without the class, so that the animation restarts
    this.text.classList.add("fresh");
  }
}
