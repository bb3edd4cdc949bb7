/** One button per class, each with its key; with many classes also a search field. Where several may be chosen, they toggle. */
import { el, bdi, setText } from "./dom.js";
import { percent } from "./format.js";
import { distance } from "./fuzzy.js";
import { t, tn } from "./i18n.js";
import { keysOf } from "./keys.js";
import { ownKeys } from "./own-keys.js";

export const COLOURS = 9;
const SEARCH_FROM = 20; // with more classes than this there is a search field

/** The colour number of a class. */
export const colourOf = (index) => index % COLOURS;

/** Fires `change` when the chosen classes change. */
export class ClassButtons extends EventTarget {
  #buttons = [];
  #keys = [];
  #finder = null;
  #found = el("span", { class: "unseen", role: "status" });
  #predicted = new Set();
  #chosen = new Set();
  #order = [];
  #headings = new Map();

  /**
   * @param {HTMLElement} root
   * @param {(name: string) => void} pick
   * @param {(() => void) | null} send if several classes may be chosen: sends them from the search field
   */
  constructor(root, pick, send = null) {
    super();
    this.root = root;
    this.legend = root.querySelector("legend");
    this.pick = pick;
    this.send = send;
    this.classes = [];
    /** @type {Map<string, number | null>} */
    this.predicted = new Map();
    /** Whether the person has changed the choice since `choose`. */
    this.isTouched = false;
  }

  /** The names of the chosen classes, in their order. */
  get chosen() {
    return this.classes.map(({ name }) => name).filter((name) => this.#chosen.has(name));
  }

  /** Replaces the choice. @param {string[]} names */
  choose(names) {
    this.isTouched = false;
    this.#setChosen(new Set(names));
  }

  /** Adds or removes a class. @returns {boolean} whether it is chosen now */
  toggle(name) {
    const names = new Set(this.#chosen);
    if (!names.delete(name)) names.add(name);
    this.isTouched = true;
    this.#setChosen(names);
    return names.has(name);
  }

  #setChosen(names) {
    this.#chosen = names;
    this.#buttons.forEach((button, index) => {
      const isChosen = names.has(this.classes[index].name);
      button.classList.toggle("chosen", isChosen);
      // Only changes: writing an attribute restyles the button, and there may be a thousand.
      if (this.send && button.ariaPressed !== String(isChosen)) button.ariaPressed = String(isChosen);
    });
    this.dispatchEvent(new Event("change"));
  }

  colourOf(name) {
    return colourOf(this.classes.findIndex((one) => one.name === name));
  }

  /** @param {{name: string, description: string, group?: string}[]} classes in their order; those of a group are neighbours */
  show(classes) {
    const focused = this.root.contains(document.activeElement) ? document.activeElement : null;
    const at = this.#buttons.indexOf(focused);
    this.classes = classes;
    this.#keys = keysOf(classes, Object.values(ownKeys()));
    this.#buttons = classes.map((each, index) => this.#button(each, index));
    this.#finder = classes.length > SEARCH_FROM ? (this.#finder ?? this.#field()) : null;
    const finder = this.#finder && el("div", { class: "finder" }, this.#finder, this.#found);
    this.#headings = headingsOf(classes);
    this.root.replaceChildren(...[this.legend, finder].filter(Boolean), ...this.#inOrder([...classes.keys()]));
    this.#order = [...classes.keys()];
    this.#setChosen(new Set(this.chosen));
    (this.#buttons[at] ?? focused)?.focus({ preventScroll: true }); // keep the focus on the class or the search field
  }

  /**
   * Marks the classes that the model predicts, with their probabilities, and those suggested by the file.
   * @param {Map<string, number>} predicted @param {string[]} suggested
   */
  mark(predicted, suggested) {
    this.#buttons.forEach((button, index) => {
      const { name } = this.classes[index];
      const notes = predicted.has(name)
        ? [el("span", { class: "unseen" }, t("the model's prediction:")), " ", percent(predicted.get(name))]
        : [];
      if (suggested.includes(name)) notes.push(notes.length ? ` · ${t("suggested")}` : t("suggested"));
      const place = button.querySelector(".prediction");
      if (notes.length || place.hasChildNodes()) place.replaceChildren(...notes);
    });
    this.predicted = predicted;
    // Where several may be predicted, moving all of them for each text would leave no class where it was.
    if (this.send) return;
    this.#predicted = new Set(this.classes.flatMap(({ name }, index) => (predicted.has(name) ? [index] : [])));
    this.#arrange();
  }

  /** Whether some classes are out of sight because there are many. */
  get isScrolled() {
    return this.#finder !== null;
  }

  /** Picks the class with this key. @returns {boolean} whether there is one */
  press(key) {
    const found = this.classes[this.#keys.indexOf(key)];
    if (found) this.pick(found.name);
    return Boolean(found);
  }

  find() {
    this.#finder?.focus();
  }

  set disabled(off) {
    this.#buttons.forEach((button) => (button.disabled = off));
  }

  /** The buttons in an order; with headings of groups if it is that of the classes. */
  #inOrder(order) {
    const isNatural = order.every((index, at) => index === at);
    for (const heading of this.#headings.values()) heading.remove();
    this.root.classList.toggle("ungrouped", !isNatural);
    return order.flatMap((index) => [isNatural && this.#headings.get(index), this.#buttons[index]].filter(Boolean));
  }

  #button({ name, description, group }, index) {
    const key = this.#keys[index];
    return el(
      "button",
      {
        type: "button",
        "data-colour": colourOf(index),
        title: description || null,
        "aria-keyshortcuts": key,
        onclick: ({ detail, currentTarget }) => {
          this.pick(name);
          if (this.send && detail) currentTarget.blur(); // after a click with the mouse, so that Enter sends
        },
      },
      el("kbd", { "aria-hidden": "true" }, key ?? "·"),
      group ? el("span", { class: "named" }, bdi(name), el("small", {}, bdi(group))) : bdi(name),
      el("span", { class: "prediction" }),
    );
  }

  #field() {
    const what = this.send ? t("Find a class; Enter chooses the first, Enter again saves") : t("Find a class; Enter picks the first");
    const field = el("input", {
      type: "search",
      placeholder: what,
      "aria-label": what,
      "aria-keyshortcuts": "/",
      dir: "auto",
      autocomplete: "off",
    });
    field.addEventListener("input", () => this.#arrange());
    field.addEventListener("keydown", (event) => {
      if (event.key === "Escape") return this.#leave();
      if (event.key !== "Enter" || event.repeat) return;
      if (this.send) return this.#chooseFound();
      // With nothing typed, Enter picks the first class only if it is the predicted one.
      const first = field.value.trim() || this.#predicted.size ? this.#matches()[0] : undefined;
      if (first === undefined) return;
      this.#leave();
      this.#buttons[first].click();
    });
    return field;
  }

  /** Chooses the first match and stays in the field for the next class; with nothing typed, sends the choice. */
  #chooseFound() {
    if (!this.#finder.value.trim()) {
      const { chosen } = this;
      if (chosen.length) this.#leave();
      return this.send();
    }
    const first = this.#matches()[0];
    if (first === undefined) return;
    this.#finder.value = "";
    this.#arrange();
    this.pick(this.classes[first].name);
  }

  #leave() {
    this.#finder.value = "";
    this.#finder.blur();
    this.#arrange();
  }

  /** Indices of the classes that match the typed text, the best first; of equal matches, the predicted ones first. */
  #matches() {
    const far = this.classes.map(({ name, group }) => distance(this.#finder.value, name) ?? (group ? distance(this.#finder.value, group) : null));
    const rank = (index) => [far[index], !this.#predicted.has(index), index];
    const matches = [...far.keys()].filter((index) => far[index] !== null);
    return matches.sort((one, other) => rank(one).reduce((less, value, at) => less || value - rank(other)[at], 0));
  }

  #arrange() {
    if (!this.#finder) return;
    const matches = this.#matches();
    const others = [...this.classes.keys()].filter((index) => !matches.includes(index));
    this.#buttons.forEach((button, index) => {
      button.hidden = !matches.includes(index);
      button.classList.toggle("first-found", this.#finder.value.trim() !== "" && index === matches[0]);
    });
    this.#finder.setAttribute("aria-invalid", String(!matches.length));
    const first = matches.length
      ? tn("Enter picks {name}, the only match", "Enter picks {name}, the first of {n}", matches.length, { name: this.classes[matches[0]].name })
      : t("No class matches");
    setText(this.#found, this.#finder.value.trim() && first);
    this.#reorder([...matches, ...others]);
  }

  #reorder(order) {
    if (order.every((index, at) => index === this.#order[at])) return;
    this.#order = order;
    const focused = document.activeElement;
    this.root.append(...this.#inOrder(order));
    if (document.activeElement !== focused) focused.focus(); // a moved element loses the focus
  }
}

/** The heading of each group by the index of its first class; classes without a group that follow one get one too. */
function headingsOf(classes) {
  const headings = new Map();
  classes.forEach(({ group }, index) => {
    const before = classes[index - 1]?.group;
    const title = group && group !== before ? group : !group && before ? t("Other classes") : "";
    if (title) headings.set(index, el("span", { class: "group-name" }, bdi(title)));
  });
  return headings;
}
