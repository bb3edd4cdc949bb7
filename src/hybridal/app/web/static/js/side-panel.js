/** The side panel with guidelines and columns: open by default on wide screens; the choice is remembered on this device. */
import { onPress } from "./controls.js";
import { contextList } from "./context-list.js";
import { byId } from "./dom.js";

const SETTING = "hybridal.side-panel";
const WIDE = matchMedia("(min-width: 70rem)");

export class SidePanel {
  constructor() {
    this.panel = byId("side-panel");
    this.button = byId("side-panel-toggle");
    this.context = byId("context");
    onPress(this.button, () => this.toggle());
    onPress(byId("side-panel-close"), () => this.toggle());
    WIDE.addEventListener("change", () => this.#show()); // zooming in closes it, because it would cover the text
    this.panel.addEventListener("keydown", ({ key }) => key === "Escape" && this.toggle());
    this.#show();
  }

  /** Whether it has any content. */
  get isFilled() {
    return this.panel.querySelector("section") !== null;
  }

  /** Shows the other columns of the text's row. @param {Record<string, string>} context */
  showContext(context) {
    this.context?.lastElementChild.replaceWith(contextList(context));
  }

  toggle() {
    if (!this.isFilled) return;
    const open = this.panel.hidden;
    localStorage.setItem(SETTING, open ? "open" : "closed");
    this.#show();
    if (open) this.panel.focus(); // so that arrow keys scroll it and screen readers read it
  }

  #show() {
    const wanted = localStorage.getItem(SETTING) ?? (WIDE.matches ? "open" : "closed");
    this.button.hidden = !this.isFilled;
    const open = this.isFilled && wanted === "open";
    const hadFocus = this.panel.contains(document.activeElement);
    this.panel.hidden = !open;
    this.button.setAttribute("aria-expanded", String(open));
    document.documentElement.dataset.sidePanel = open ? "open" : "closed";
    if (hadFocus && !open) this.button.focus();
  }
}
