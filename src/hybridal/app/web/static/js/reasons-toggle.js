/** The button on the page Label that shows why the model predicts a class; the choice is remembered on this device. */
import { onPress } from "./controls.js";
import { byId } from "./dom.js";
import { Reasons } from "./reasons.js";
import { showErrors } from "./toast.js";

const SETTING = "hybridal.reasons";

export class ReasonsToggle {
  #item = null;

  /** @param {HTMLButtonElement} button @param {() => Node | null} textNode @param {() => {name: string}[]} classes */
  constructor(button, textNode, classes) {
    this.button = button;
    this.root = byId("reasons");
    this.reasons = new Reasons(this.root, textNode, classes);
    button.hidden = false;
    onPress(button, () => this.toggle());
  }

  /** Whether the person wants to see reasons. */
  get isOpen() {
    return localStorage.getItem(SETTING) === "open";
  }

  toggle() {
    localStorage.setItem(SETTING, this.isOpen ? "closed" : "open");
    this.show(this.#item);
  }

  /** @param {import("./queue.js").Item | undefined} item the text on the page */
  show(item) {
    this.#item = item;
    const isShown = this.isOpen && Boolean(item?.prediction);
    this.button.disabled = !item?.prediction;
    this.button.setAttribute("aria-expanded", String(isShown));
    this.root.hidden = !isShown;
    if (isShown) showErrors(() => this.reasons.show(item.id));
    else this.reasons.clear();
  }
}
