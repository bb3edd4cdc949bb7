/** The choice of what to label next: the most useful texts, or those most likely of one class. Stored in the URL. */
import { byId, el, setText } from "./dom.js";
import { t } from "./i18n.js";

export class NextChoice {
  /** @param {() => {name: string}[]} classes @param {() => void} changed */
  constructor(classes, changed) {
    this.classes = classes;
    this.select = byId("next-choice"); // absent if predictions are hidden from this person
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
      if (pointed) this.select.blur(); // so that keys label again; keyboard users keep the focus and arrow keys
      this.showNote(this.class, true);
      changed();
    });
    this.select.disabled = false;
  }

  /** The chosen class, or "" for the most useful texts. */
  get class() {
    return this.select?.value ?? "";
  }

  /** Explains if no model knows the requested class yet, so that the server returned the most useful texts instead. */
  showNote(requested, known) {
    if (requested !== this.class) return; // the choice has changed meanwhile
    byId("next-choice-note").hidden = known;
    const note = t("The model does not know “{name}” yet. The most useful texts are shown until it has learned some examples.", { name: requested });
    setText(byId("next-choice-note"), known ? "" : note);
  }

  /** Lists the current classes. */
  show(chosen = this.class) {
    const [mostUseful] = this.select?.options ?? [];
    const option = ({ name }) => el("option", { value: name, selected: name === chosen }, t("Most likely: {name}", { name }));
    this.select?.replaceChildren(mostUseful, ...this.classes().map(option));
  }
}
