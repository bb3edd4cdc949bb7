/** One button per class, each with its key; with many classes also a search field. */
import { el, bdi, setText } from "./dom.js";
import { percent } from "./format.js";
import { distance } from "./fuzzy.js";
import { CLASS_KEYS } from "./keys.js";

const COLOURS = 9;
const SEARCH_FROM = 20; // with more classes than this there is a search field

/** The colour number of a class. */
export const colourOf = (index) => index % COLOURS;

export class ClassButtons {
  #buttons = [];
  #finder = null;
  #found = el("span", { class: "unseen", role: "status" });
  #predicted = -1;

  /**
   * @param {HTMLElement} root
   * @param {(name: string) => void} pick
   */
  constructor(root, pick) {
    this.root = root;
    this.legend = root.querySelector("legend");
    this.pick = pick;
  }

  /** @param {{name: string, description: string}[]} classes in their order */
  show(classes) {
    const focused = this.root.contains(document.activeElement) ? document.activeElement : null;
    const at = this.#buttons.indexOf(focused);
    this.classes = classes;
    this.#buttons = classes.map((each, index) => this.#button(each, index));
    this.#finder = classes.length > SEARCH_FROM ? (this.#finder ?? this.#field()) : null;
    const finder = this.#finder && el("div", { class: "finder" }, this.#finder, this.#found);
    this.root.replaceChildren(...[this.legend, finder, ...this.#buttons].filter(Boolean));
    (this.#buttons[at] ?? focused)?.focus({ preventScroll: true }); // keep the focus on the class or the search field
  }

  /** Marks the class chosen before an undo, and shows the model's prediction and the file's suggestion, if any. */
  mark(before, prediction, suggestion) {
    this.#buttons.forEach((button, index) => {
      const { name } = this.classes[index];
      button.classList.toggle("chosen", name === before);
      const notes =
        prediction?.class === name
          ? [el("span", { class: "unseen" }, "the model's prediction: "), percent(prediction.probability)]
          : [];
      if (name === suggestion) notes.push(notes.length ? " · suggested" : "suggested");
      button.querySelector(".prediction").replaceChildren(...notes);
    });
    this.#predicted = this.classes.findIndex(({ name }) => name === prediction?.class);
    this.#arrange();
  }

  /** Picks the class with this key. @returns {boolean} whether there is one */
  press(key) {
    const found = this.classes[CLASS_KEYS.indexOf(key)];
    if (found) this.pick(found.name);
    return Boolean(found);
  }

  find() {
    this.#finder?.focus();
  }

  set disabled(off) {
    this.#buttons.forEach((button) => (button.disabled = off));
  }

  #button({ name, description }, index) {
    const key = CLASS_KEYS[index];
    return el(
      "button",
      {
        type: "button",
        "data-colour": colourOf(index),
        title: description || null,
        "aria-keyshortcuts": key,
        onclick: () => this.pick(name),
      },
      el("kbd", { "aria-hidden": "true" }, key ?? "·"),
      bdi(name),
      el("span", { class: "prediction" }),
    );
  }

  #field() {
    const field = el("input", {
      type: "search",
      placeholder: "Find a class; Enter picks the first",
      "aria-label": "Find a class; Enter picks the first",
      "aria-keyshortcuts": "/",
      dir: "auto",
      autocomplete: "off",
    });
    field.addEventListener("input", () => this.#arrange());
    field.addEventListener("keydown", (event) => {
      if (event.key === "Escape") return this.#leave();
      if (event.key !== "Enter" || event.repeat) return;
      // With nothing typed, Enter picks the first class only if it is the predicted one.
      const first = field.value.trim() || this.#predicted >= 0 ? this.#matches()[0] : undefined;
      if (first === undefined) return;
      this.#leave();
      this.#buttons[first].click();
    });
    return field;
  }

  #leave() {
    this.#finder.value = "";
    this.#finder.blur();
    this.#arrange();
  }

  /** Indices of the classes that match the typed text, the best first; of equal matches, the predicted class first. */
  #matches() {
    const far = this.classes.map(({ name }) => distance(this.#finder.value, name));
    const rank = (index) => [far[index], index !== this.#predicted, index];
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
    const first = matches.length ? `Enter picks ${this.classes[matches[0]].name}, the first of ${matches.length}` : "No class matches";
    setText(this.#found, this.#finder.value.trim() && first);
    const focused = document.activeElement;
    for (const index of [...matches, ...others]) this.root.append(this.#buttons[index]);
    focused.focus(); // a moved element loses the focus
  }
}
