/** What to label next: what teaches the model most, or what is most likely of one class. It is in the address. */
import { byId, el } from "./dom.js";

export class Hunt {
  /** @param {() => {name: string}[]} classes @param {() => void} changed */
  constructor(classes, changed) {
    this.classes = classes;
    this.select = byId("hunt"); // none for who does not see predictions
    if (!this.select) return;
    this.show(new URLSearchParams(location.search).get("likely") ?? "");
    this.select.addEventListener("change", () => {
      const query = this.class ? `?${new URLSearchParams({ likely: this.class })}` : location.pathname;
      history.replaceState(null, "", query);
      this.select.blur(); // keys are for the text again
      changed();
    });
    this.select.disabled = false;
  }

  /** The class that is hunted for; empty: none. */
  get class() {
    return this.select?.value ?? "";
  }

  /** The classes may be others by now. */
  show(chosen = this.class) {
    const [teaches] = this.select?.options ?? [];
    const option = ({ name }) => el("option", { value: name, selected: name === chosen }, `Most likely: ${name}`);
    this.select?.replaceChildren(teaches, ...this.classes().map(option));
  }
}
