/** The classes as buttons, each with its key. */
import { el, named } from "./dom.js";
import { percent } from "./format.js";
import { CLASS_KEYS } from "./keys.js";

const COLOURS = 9;
const MANY = 20;

/** Which of the colours a class has. */
export const colourOf = (index) => index % COLOURS;

export class ClassButtons {
  #buttons = [];

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
    this.classes = classes;
    this.#buttons = classes.map((each, index) => this.#button(each, index));
    const finder = classes.length > MANY ? this.#finder() : null;
    this.root.replaceChildren(...[this.legend, finder, ...this.#buttons].filter(Boolean));
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
  }

  /** Picks the class of a key. @returns {boolean} whether there is one */
  press(key) {
    const found = this.classes[CLASS_KEYS.indexOf(key)];
    if (found) this.pick(found.name);
    return Boolean(found);
  }

  find() {
    this.root.querySelector(".finder input")?.focus();
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

  #finder() {
    const field = el("input", {
      type: "search",
      placeholder: "Find a class",
      "aria-label": "Find a class; Enter picks the first",
      "aria-keyshortcuts": "/",
      autocomplete: "off",
    });
    const fits = () =>
      this.#buttons.filter((_, index) =>
        this.classes[index].name.toLowerCase().includes(field.value.trim().toLowerCase()),
      );
    field.addEventListener("input", () => {
      const shown = new Set(fits());
      this.#buttons.forEach((button) => (button.hidden = !shown.has(button)));
    });
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      const first = event.key === "Enter" && field.value.trim() ? fits()[0] : null;
      field.value = "";
      this.#buttons.forEach((button) => (button.hidden = false));
      field.blur();
      first?.click();
    });
    return el("div", { class: "finder" }, field);
  }
}
