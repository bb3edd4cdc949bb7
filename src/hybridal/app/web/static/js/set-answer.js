/** The answer to a text that may have several classes: the chosen ones as chips, and the buttons that send it. */
import { onPress } from "./controls.js";
import { byId, el, bdi } from "./dom.js";
import { count } from "./format.js";

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
    else byId("last").textContent = "Choose classes first, or press 0 for none of these";
  }

  set disabled(off) {
    byId("send").disabled = byId("none").disabled = off;
  }

  show() {
    const { chosen, classes } = this.buttons;
    const chip = (name) =>
      el(
        "button",
        {
          type: "button",
          class: "chip",
          "aria-label": `Remove ${name}`,
          "data-colour": this.buttons.colourOf(name),
          onclick: () => (this.buttons.toggle(name), byId("send").focus()),
        },
        bdi(name),
        el("span", { "aria-hidden": "true" }, "✕"),
      );
    byId("chosen").replaceChildren(...chosen.map(chip));
    byId("send-label").textContent = chosen.length ? `Save ${count(chosen.length, "class", "classes")}` : "Save";
    byId("none").hidden = byId("send").hidden = !classes.length;
  }
}
