/** The page Label with labels to look at again after a change of the codebook: `?check=VERSION`, or `?check=all`. */
import { get, link } from "./api.js";
import { byId, bdi, el } from "./dom.js";
import { listed, t, tn, tParts, whole } from "./i18n.js";

export class RecheckMode {
  #changes = 0;
  #isUndone = false; // an undo that the server may not know yet

  /** @param {{rechecks: number}} project @param {import("./outbox.js").Outbox} outbox */
  constructor(project, outbox) {
    this.project = project;
    this.outbox = outbox;
    this.version = new URLSearchParams(location.search).get("check");
    this.left = project.rechecks;
    for (const id of ["next-choice", "answer-mode"]) if (this.isOn && byId(id)) byId(id).hidden = true;
    this.showNote();
  }

  /** Whether the page shows labels to look at again, and nothing else. */
  get isOn() {
    return this.version !== null;
  }

  /** @param {number} n */
  async fetchNext(n) {
    const [changes, unsent] = [this.#changes, this.outbox.waiting.length];
    const found = await get("/api/codebook/rechecks/next", { n, version: Number(this.version) || null });
    if (!unsent && changes === this.#changes) [this.left, this.#isUndone] = [found.left, false];
    // The server may have counted before it received answers that are subtracted here already.
    else if (!this.#isUndone) this.left = Math.min(this.left, found.left);
    this.showNote();
    return found;
  }

  /** Counts one text less after its answer. @param {import("./queue.js").Item} item */
  answered(item) {
    this.#count(item, -1);
  }

  /** Counts one text more after its answer was undone or refused. @param {import("./queue.js").Item} item */
  undone(item) {
    this.#isUndone = true;
    this.#count(item, 1);
  }

  #count(item, change) {
    if (!this.isOn || !item.old) return;
    this.#changes += 1;
    this.left += change;
    this.showNote();
  }

  /** Shows the old answer beside a text. @param {import("./queue.js").Item | undefined} item */
  show(item) {
    const place = byId("old-answer");
    place.hidden = !item?.old;
    if (!item?.old) return;
    const name = bdi(listed(item.old) || t("none of these"));
    place.replaceChildren(...tParts("Old answer: {name}", { name }));
  }

  /** Says how many labels are to be looked at again, with a link to them or back. */
  showNote() {
    const n = this.isOn ? this.left : this.project.rechecks;
    const place = byId("recheck-note");
    place.hidden = !this.isOn && !n;
    if (place.hidden) return;
    const sentence = this.isOn
      ? t("You look at labels again after a change of the codebook. Left: {n}", { n: whole(n) })
      : tn("The codebook has changed: {n} label to look at again.", "The codebook has changed: {n} labels to look at again.", n);
    const action = this.isOn ? this.leaveLink() : el("a", { href: link("/?check=all") }, t("Look at them"));
    const words = `${sentence} ${action.textContent}`;
    if (place.textContent !== words) place.replaceChildren(`${sentence} `, action);
  }

  leaveLink() {
    return el("a", { href: link("/") }, t("Back to new texts"));
  }
}
