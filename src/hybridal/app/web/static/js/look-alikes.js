/** Texts that are almost the same as the one on the page: one answer for all of them, without those that are excluded. */
import { get } from "./api.js";
import { singleFlight, onPress } from "./controls.js";
import { byId, el } from "./dom.js";
import { t, tn } from "./i18n.js";
import { showErrors } from "./toast.js";

export class LookAlikes {
  /** @type {import("./queue.js").Item | undefined} */
  #item;
  #without = new Set();
  /** What was chosen for each text, for when it comes back after an undo. @type {Map<string, {without: Set<string>, copies: boolean}>} */
  #choices = new Map();

  constructor() {
    this.root = byId("look-alikes");
    this.box = byId("with-look-alikes");
    this.button = byId("compare");
    this.compare = singleFlight(() => this.#item?.look_alikes && showErrors(() => this.#open(this.#item)));
    onPress(this.button, this.compare);
    this.box.addEventListener("change", () => this.#keep());
  }

  /** @param {import("./queue.js").Item | undefined} item */
  show(item) {
    this.#item = item?.questions ? undefined : item;
    const { without, copies } = this.#choices.get(item?.id) ?? { without: new Set(), copies: true };
    this.#without = without;
    this.box.checked = copies;
    this.refresh();
  }

  /** Shows the number of the item again, which changes when look-alikes get labels. */
  refresh() {
    this.root.hidden = this.button.disabled = !this.#item?.look_alikes;
    this.#count();
  }

  /** The part of an annotation that copies it; empty if it is for the text on the page alone. */
  get request() {
    return this.#n > 0 && this.box.checked ? { look_alikes: { without: [...this.#without] } } : {};
  }

  /** The sentence after an answer that is copied. */
  get sentence() {
    return tn("{n} text that is almost the same gets this label, too.", "{n} texts that are almost the same get this label, too.", this.#n);
  }

  #keep() {
    this.#choices.set(this.#item.id, { without: this.#without, copies: this.box.checked });
  }

  get #n() {
    return (this.#item?.look_alikes ?? 0) - this.#without.size;
  }

  #count() {
    this.box.disabled = this.#n <= 0;
    byId("look-alikes-count").textContent = tn(
      "Also label {n} text that is almost the same",
      "Also label {n} texts that are almost the same",
      Math.max(0, this.#n),
    );
  }

  async #open(item) {
    const { items } = await get("/api/look-alikes", { id: item.id });
    if (item !== this.#item) return; // the text was answered meanwhile
    const all = byId("all-look-alikes");
    const boxes = items.map(({ id }) => el("input", { type: "checkbox", checked: !this.#without.has(id), onchange: () => this.#choose(items, boxes, all) }));
    byId("differences").replaceChildren(...items.map(({ parts }, at) => el("li", {}, el("label", { class: "check" }, boxes[at], el("span", { class: "written", dir: "auto" }, ...parts.map(shown))))));
    all.onchange = () => {
      for (const box of boxes) box.checked = all.checked;
      this.#choose(items, boxes, all);
    };
    this.#choose(items, boxes, all);
    byId("look-alikes-dialog").showModal();
  }

  #choose(items, boxes, all) {
    this.#item.look_alikes = items.length; // other people have answered some since the text was fetched
    this.#without = new Set(items.filter((_, at) => !boxes[at].checked).map(({ id }) => id));
    this.#keep();
    all.checked = !this.#without.size;
    all.indeterminate = this.#without.size > 0 && this.#n > 0;
    this.#count();
  }
}

/** A part of a text; screen readers get words for what is underlined or crossed out. */
function shown({ text, kind }) {
  if (kind === "same") return text;
  const name = kind === "added" ? t("new: {words}", { words: text }) : t("missing: {words}", { words: text });
  return el(kind === "added" ? "ins" : "del", {}, el("span", { class: "unseen" }, name), el("span", { "aria-hidden": "true" }, text));
}
