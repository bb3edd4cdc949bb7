/** What to label next: what teaches the model most, or what is most likely of one class. It is in the address. */
import { byId, el, say } from "./dom.js";

export class Hunt {
  /** @param {() => {name: string}[]} classes @param {() => void} changed */
  constructor(classes, changed) {
    this.classes = classes;
    this.select = byId("hunt"); // none for who does not see predictions
    if (!this.select) return;
    this.show(new URLSearchParams(location.search).get("likely") ?? "");
    let pointed = false;
    this.select.addEventListener("pointerdown", () => (pointed = true));
    this.select.addEventListener("keydown", ({ key }) => {
      pointed = false;
      if (key === "Escape") this.select.blur();
    });
    this.select.addEventListener("change", () => {
      const query = this.class ? `?${new URLSearchParams({ likely: this.class })}` : location.pathname;
      history.replaceState(null, "", query);
      if (pointed) this.select.blur(); // keys are for the text again; arrow keys still walk through the classes
      this.say(this.class, true);
      changed();
    });
    this.select.disabled = false;
  }

  /** The class that is hunted for; empty: none. */
  get class() {
    return this.select?.value ?? "";
  }

  /** Whether a model knows the class that was asked for; where none does, the usual texts come, and that is said. */
  say(asked, known) {
    if (asked !== this.class) return; // another one by now
    byId("unhunted").hidden = known;
    say(byId("unhunted"), known ? "" : `No model knows “${asked}” yet, so texts come as usual until some are labelled so.`);
  }

  /** The classes may be others by now. */
  show(chosen = this.class) {
    const [teaches] = this.select?.options ?? [];
    const option = ({ name }) => el("option", { value: name, selected: name === chosen }, `Most likely: ${name}`);
    this.select?.replaceChildren(teaches, ...this.classes().map(option));
  }
}
