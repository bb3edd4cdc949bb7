/** The classes as buttons, each with its key. */
import { el, named, say } from "./dom.js";
import { percent } from "./format.js";
import { distance } from "./fuzzy.js";
import { CLASS_KEYS } from "./keys.js";

const COLOURS = 9;
const MANY = 20;

/** Which of the colours a class has. */
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
    const had = this.root.contains(document.activeElement) ? document.activeElement : null;
    const at = this.#buttons.indexOf(had);
    this.classes = classes;
    this.#buttons = classes.map((each, index) => this.#button(each, index));
    this.#finder = classes.length > MANY ? (this.#finder ?? this.#field()) : null;
    const finder = this.#finder && el("div", { class: "finder" }, this.#finder, this.#found);
    this.root.replaceChildren(...[this.legend, finder, ...this.#buttons].filter(Boolean));
    (this.#buttons[at] ?? had)?.focus({ preventScroll: true }); // who is on a class, or looks for one, stays there
  }

  /** Marks the class that was said before, and shows the model's prediction and the file's suggestion, if there are any. */
  mark(before, prediction, suggestion) {
    this.#buttons.forEach((button, index) => {
      const { name } = this.classes[index];
      button.classList.toggle("chosen", name === before);
      const said =
        prediction?.class === name
          ? [el("span", { class: "unseen" }, "the model's prediction: "), percent(prediction.probability)]
          : [];
      if (name === suggestion) said.push(said.length ? " · suggested" : "suggested");
      button.querySelector(".prediction").replaceChildren(...said);
    });
    this.#predicted = this.classes.findIndex(({ name }) => name === prediction?.class);
    this.#arrange();
  }

  /** Picks the class of a key. @returns {boolean} whether there is one */
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
      named(name),
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
      // Nothing typed: the first is only meant where the model put it there.
      const first = field.value.trim() || this.#predicted >= 0 ? this.#fitting()[0] : undefined;
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

  /** The classes that fit what is typed, the best first; of equals, first the one that the model predicts. */
  #fitting() {
    const far = this.classes.map(({ name }) => distance(this.#finder.value, name));
    const rank = (index) => [far[index], index !== this.#predicted, index];
    const fitting = [...far.keys()].filter((index) => far[index] !== null);
    return fitting.sort((one, other) => rank(one).reduce((less, value, at) => less || value - rank(other)[at], 0));
  }

  #arrange() {
    if (!this.#finder) return;
    const fitting = this.#fitting();
    const others = [...this.classes.keys()].filter((index) => !fitting.includes(index));
    this.#buttons.forEach((button, index) => {
      button.hidden = !fitting.includes(index);
      button.classList.toggle("first-found", this.#finder.value.trim() !== "" && index === fitting[0]);
    });
    this.#finder.setAttribute("aria-invalid", String(!fitting.length));
    const first = fitting.length ? `Enter picks ${this.classes[fitting[0]].name}, the first of ${fitting.length}` : "No class fits";
    say(this.#found, this.#finder.value.trim() && first);
    const focused = document.activeElement;
    for (const index of [...fitting, ...others]) this.root.append(this.#buttons[index]);
    focused.focus(); // what is moved loses it
  }
}
