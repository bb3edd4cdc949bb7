/**
 * The answer to a text that may have several classes: the chosen ones as chips, and the buttons that send it. If some
 * classes are out of sight, the predicted ones are chips too, which choose them.
 */
import { onPress } from "./controls.js";
import { byId, el, bdi } from "./dom.js";
import { percent } from "./format.js";
import { t, tn } from "./i18n.js";

export class SetAnswer {
  /**
   * @param {import("./class-buttons.js").ClassButtons} buttons
   * @param {(names: string[]) => void} send
   */
  constructor(buttons, send) {
    this.buttons = buttons;
    this.send = send;
    onPress(byId("send"), () => this.give());
    onPress(byId("none"), () => send([]));
    buttons.addEventListener("change", () => this.show());
    this.show();
  }

  /** Sends the chosen classes. Without any, explains what to press: an empty answer needs its own key. */
  give() {
    const { chosen } = this.buttons;
    if (chosen.length) this.send(chosen);
    else byId("last").textContent = t("Choose classes first, or press 0 for none of these");
  }

  set disabled(off) {
    byId("send").disabled = byId("none").disabled = off;
  }

  show() {
    const { chosen, classes, predicted, isScrolled } = this.buttons;
    const chip = (name, label, ...parts) =>
      el(
        "button",
        {
          type: "button",
          class: chosen.includes(name) ? "chip" : "chip open",
          "aria-label": label,
          "data-colour": this.buttons.colourOf(name),
          onclick: () => (this.buttons.toggle(name), byId("send").focus()),
        },
        bdi(name),
        el("span", { "aria-hidden": "true" }, ...parts),
      );
    const open = isScrolled ? [...predicted].filter(([name]) => !chosen.includes(name)) : [];
    byId("chosen").replaceChildren(
      ...chosen.map((name) => chip(name, t("Remove {name}", { name }), "✕")),
      ...open.map(([name, probability]) => chip(name, t("Predicted: choose {name}", { name }), percent(probability), " +")),
    );
    byId("send-label").textContent = chosen.length ? tn("Save {n} class", "Save {n} classes", chosen.length) : t("Save");
    byId("none").hidden = byId("send").hidden = !classes.length;
  }
}
