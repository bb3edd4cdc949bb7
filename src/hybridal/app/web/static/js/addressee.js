/** Whom a comment is addressed to: a list of people, and completion of their names after @ in the comment. */
import { get } from "./api.js";
import { el, bdi } from "./dom.js";
import { distance } from "./fuzzy.js";
import { t } from "./i18n.js";

const REVIEWERS = "reviewers";
const MAX_SHOWN = 6;
const MENTION = /(?<=^|\s)@([^@\n]{0,40})$/u;

let people = null;

/** The people to whom comments can be addressed; requested once per page. */
const loadPeople = () =>
  (people ??= get("/api/comments/people").catch((error) => {
    people = null;
    throw error;
  }));

/** Fires `change` when another person is chosen, and `ready` once there are people to choose from. */
export class Addressee extends EventTarget {
  #shown = [];
  #at = 0;

  /** @param {HTMLTextAreaElement} field @param {HTMLSelectElement} select with an option for no one @param {HTMLElement} menu */
  constructor(field, select, menu) {
    super();
    [this.field, this.select, this.menu] = [field, select, menu];
    field.setAttribute("aria-autocomplete", "list");
    field.setAttribute("aria-controls", menu.id);
    field.addEventListener("input", () => this.#complete());
    field.addEventListener("keydown", (event) => this.#move(event));
    field.addEventListener("blur", () => this.#close());
    menu.addEventListener("pointerdown", (event) => {
      event.preventDefault(); // the focus stays in the field
      const at = [...menu.children].indexOf(event.target.closest("li"));
      if (at >= 0) this.#choose(at);
    });
    select.addEventListener("change", () => this.dispatchEvent(new Event("change")));
  }

  /** Loads the people. Without others, there is nothing to choose. */
  async load() {
    if (this.select.options.length > 1) return;
    const { people, reviewers } = await loadPeople();
    if (this.select.options.length > 1) return; // loaded twice at the same time
    if (reviewers) this.select.append(el("option", { value: REVIEWERS }, t("the reviewers")));
    this.select.append(...people.map(({ number, name }) => el("option", { value: number }, name)));
    if (people.length) this.dispatchEvent(new Event("ready"));
  }

  /** The number of the person, null for the reviewers, undefined for no one. @returns {number | null | undefined} */
  get to() {
    const { value } = this.select;
    return value === "" ? undefined : value === REVIEWERS ? null : Number(value);
  }

  /** The name of the person. */
  get name() {
    return this.select.selectedOptions[0].textContent;
  }

  clear() {
    this.#close();
    if (!this.select.value) return;
    this.select.value = "";
    this.dispatchEvent(new Event("change"));
  }

  #complete() {
    const typed = MENTION.exec(this.field.value.slice(0, this.field.selectionStart))?.[1];
    if (typed === undefined) return this.#close();
    const far = new Map([...this.select.options].slice(1).map((option) => [option, distance(typed, option.textContent)]));
    this.#shown = [...far.keys()].filter((option) => far.get(option) !== null).sort((one, other) => far.get(one) - far.get(other)).slice(0, MAX_SHOWN);
    this.menu.replaceChildren(...this.#shown.map((option, at) => el("li", { role: "option", id: `${this.menu.id}-${at}` }, bdi(option.textContent))));
    this.menu.hidden = !this.#shown.length;
    this.#mark(0);
  }

  #move(event) {
    if (this.menu.hidden || event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.#mark((this.#at + step + this.#shown.length) % this.#shown.length);
    else if (event.key === "Escape") this.#close();
    else if (event.key === "Enter" || event.key === "Tab") this.#choose(this.#at);
    else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  #mark(at) {
    this.#at = at;
    [...this.menu.children].forEach((one, index) => one.setAttribute("aria-selected", String(index === at)));
    if (this.#shown.length) this.field.setAttribute("aria-activedescendant", `${this.menu.id}-${at}`);
    else this.field.removeAttribute("aria-activedescendant");
  }

  /** The name moves from the comment to the list: people may be renamed. */
  #choose(at) {
    const { value } = this.#shown[at];
    const caret = this.field.selectionStart;
    const before = this.field.value.slice(0, caret).replace(MENTION, "");
    this.field.value = before + this.field.value.slice(caret);
    this.field.setSelectionRange(before.length, before.length);
    this.#close();
    this.select.value = value;
    this.dispatchEvent(new Event("change"));
  }

  #close() {
    this.#shown = [];
    this.menu.hidden = true;
    this.menu.replaceChildren();
    this.#mark(0);
  }
}
