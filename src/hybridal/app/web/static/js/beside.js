/** The panel beside the text: open on wide pages, a sheet on small ones, and as somebody left it on this device. */
import { onPress } from "./controls.js";
import { contextList } from "./context-list.js";
import { byId } from "./dom.js";

const SETTING = "hybridal.beside";
const WIDE = matchMedia("(min-width: 70rem)");

export class Beside {
  constructor() {
    this.panel = byId("beside");
    this.button = byId("beside-toggle");
    this.context = byId("context");
    onPress(this.button, () => this.toggle());
    onPress(byId("beside-close"), () => this.toggle());
    WIDE.addEventListener("change", () => this.#show()); // who zooms in has the text before them, not the panel
    this.panel.addEventListener("keydown", ({ key }) => key === "Escape" && this.toggle());
    this.#show();
  }

  /** Whether there is anything to read in it. */
  get isFilled() {
    return this.panel.querySelector("section") !== null;
  }

  /** What the file says of the text beside its words. @param {Record<string, string>} context */
  showContext(context) {
    this.context?.lastElementChild.replaceWith(contextList(context));
  }

  toggle() {
    if (!this.isFilled) return;
    const open = this.panel.hidden;
    localStorage.setItem(SETTING, open ? "open" : "closed");
    this.#show();
    // It is what is read now.
    if (open) this.panel.focus();
  }

  #show() {
    const wanted = localStorage.getItem(SETTING) ?? (WIDE.matches ? "open" : "closed");
    this.button.hidden = !this.isFilled;
    const open = this.isFilled && wanted === "open";
    const had = this.panel.contains(document.activeElement);
    this.panel.hidden = !open;
    this.button.setAttribute("aria-expanded", String(open));
    document.documentElement.dataset.beside = open ? "open" : "closed";
    if (had && !open) this.button.focus();
  }
}
