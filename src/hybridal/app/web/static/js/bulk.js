/** Labels several selected texts of a list at once, each as predicted or all as one class; with undo. */
import { post } from "./api.js";
import { onPress } from "./controls.js";
import { byId, el } from "./dom.js";
import { count, whole } from "./format.js";
import { newKey } from "./idempotency-key.js";
import { toast, showErrors } from "./toast.js";

export class Bulk {
  /** @type {Map<string, {item: any, box: HTMLInputElement}>} */
  #boxes = new Map();

  /** @param {{name: string}[]} classes @param {() => Promise<unknown>} changed */
  constructor(classes, changed) {
    this.changed = changed;
    this.all = byId("select-all");
    this.class = byId("bulk-class");
    this.class.append(...classes.map(({ name }) => el("option", { value: name }, name)));
    this.all.addEventListener("change", () => {
      for (const { box } of this.#boxes.values()) box.checked = this.all.checked;
      this.#show();
    });
    this.class.addEventListener("change", () => this.#show());
    onPress(byId("confirm"), () => this.#label((item) => item.prediction?.class));
    onPress(byId("label-all"), () => this.#label(() => this.class.value));
    this.begin();
  }

  /** Clears the selection for another page of the list. */
  begin() {
    this.#boxes.clear();
    this.all.checked = false;
    this.#show();
  }

  /** The checkbox of a text; none if it is labelled or a validation text. */
  box(item) {
    if (item.class || item.split === "validation") return null;
    const box = el("input", { type: "checkbox", "aria-label": `Select “${item.text.slice(0, 60)}”`, onchange: () => this.#show() });
    this.#boxes.set(item.id, { item, box });
    this.#show();
    return el("label", { class: "select" }, box);
  }

  /** Updates a text. Deselects it if its prediction changed, because the person selected it for the other one. */
  renew(item) {
    const known = this.#boxes.get(item.id);
    if (known) {
      if (known.item.prediction?.class !== item.prediction?.class) known.box.checked = false;
      known.item = item;
    }
    this.#show();
  }

  get #selected() {
    return [...this.#boxes.values()].filter(({ box }) => box.checked).map(({ item }) => item);
  }

  #show() {
    const n = this.#selected.length;
    byId("bulk").hidden = !this.#boxes.size;
    this.all.nextElementSibling.textContent = n ? `${whole(n)} selected` : "Select all on this page";
    this.all.indeterminate = n > 0 && n < this.#boxes.size;
    byId("confirm").disabled = !this.#selected.some(({ prediction }) => prediction);
    this.class.disabled = !n;
    byId("label-all").hidden = !this.class.value;
    byId("label-all").disabled = !n;
  }

  #label(classOf) {
    const labels = Object.fromEntries(this.#selected.map((item) => [item.id, classOf(item)]).filter(([, name]) => name));
    return showErrors(async () => {
      const key = newKey();
      const { n } = await post("/api/annotations/many", { key, labels });
      const left = Object.keys(labels).length - n;
      const sentence = `${count(n, "text")} labelled${left ? `; ${whole(left)} skipped, because ${left === 1 ? "it has" : "they have"} been labelled meanwhile` : ""}.`;
      this.class.value = "";
      toast(sentence, n ? { stays: true, undo: () => this.#undo(key) } : {});
      await this.changed();
      // The pressed button is now disabled, so move the focus.
      (byId("bulk").hidden ? byId("items") : this.all).focus({ preventScroll: true });
    });
  }

  async #undo(undoes) {
    const { n } = await post("/api/undo/many", { key: newKey(), undoes });
    toast(`${count(n, "label")} undone.`);
    this.changed();
  }
}
