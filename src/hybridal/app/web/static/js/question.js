/** Asks whether a text has one class; shown in place of the classes if the person answers by yes/no questions. */
import { onPress } from "./controls.js";
import { bdi, byId, el } from "./dom.js";
import { t, tParts } from "./i18n.js";

const SETTING = "hybridal.questions";

export class Question {
  /**
   * @param {(has: boolean | null) => void} answer null skips the question
   * @param {() => void} changed the person answers by questions from now on, or no longer
   */
  constructor(answer, changed) {
    this.root = byId("question");
    this.mode = byId("answer-mode");
    this.mode.value = localStorage.getItem(SETTING) ?? "";
    this.mode.addEventListener("change", () => {
      localStorage.setItem(SETTING, this.mode.value);
      this.mode.blur(); // so that keys answer again
      changed();
    });
    this.mode.disabled = false;
    onPress(byId("yes"), () => answer(true));
    onPress(byId("no"), () => answer(false));
  }

  /** Whether the person answers by yes/no questions. */
  get isOn() {
    return this.mode.value !== "";
  }

  /**
   * Shows a question about a class, or none.
   * @param {{name: string, description: string} | null} asked @param {number} at @param {number} of
   */
  show(asked, at = 0, of = 0) {
    for (const place of [byId("classes"), byId("answer")]) place.hidden = Boolean(asked);
    this.root.hidden = !asked;
    if (!asked) return;
    const place = of > 1 ? el("span", { class: "muted small" }, t("{place} of {count}", { place: at + 1, count: of })) : null;
    // New elements, so that screen readers read also an equal question about another text.
    byId("asked").replaceChildren(
      el("p", {}, ...tParts("Does this text have the class {name}?", { name: el("b", {}, bdi(asked.name)) }), " ", place),
      asked.description ? el("p", { class: "muted small written", dir: "auto" }, asked.description) : "",
    );
  }
}
