/**
 * Labels several selected texts of a list at once, each as predicted or all as one class; with undo. Where a text may have
 * several classes, one class is decided for all of them and their other classes stay as they are.
 */
import { post } from "./api.js";
import { onPress } from "./controls.js";
import { byId, el } from "./dom.js";
import { t, tn } from "./i18n.js";
import { newKey } from "./idempotency-key.js";
import { proposed } from "./proposals.js";
import { toast, showErrors } from "./toast.js";

export class Bulk {
  /** @type {Map<string, {item: any, box: HTMLInputElement}>} */
  #boxes = new Map();

  /** @param {{classes: {name: string}[], multi_label: boolean}} project @param {() => Promise<unknown>} changed */
  constructor({ classes, multi_label: several }, changed) {
    this.changed = changed;
    this.several = several;
    this.savers = several ? [byId("has-class"), byId("lacks-class")] : [byId("label-all")];
    this.all = byId("select-all");
    this.class = byId("bulk-class");
    this.class.append(...classes.map(({ name }) => el("option", { value: name }, name)));
    this.all.addEventListener("change", () => {
      for (const { box } of this.#boxes.values()) box.checked = this.all.checked;
      this.#show();
    });
    this.class.addEventListener("change", () => this.#show());
    const labelOf = (item) => (several ? item.prediction && proposed(item) : item.prediction?.class);
    onPress(byId("confirm"), () => this.#label(labelOf));
    if (several) this.savers.forEach((button, at) => onPress(button, () => this.#decide(at === 0)));
    else onPress(byId("label-all"), () => this.#label(() => this.class.value));
    this.begin();
  }

  /** Clears the selection for another page of the list. @param {string} [name] the class to offer */
  begin(name = "") {
    this.#boxes.clear();
    this.all.checked = false;
    if (name) this.class.value = name;
    this.#show();
  }

  /** The checkbox of a text; none if it is a validation text, or has its only class. */
  box(item) {
    if (item.class || item.split === "validation") return null;
    const box = el("input", { type: "checkbox", "aria-label": t("Select “{text}”", { text: item.text.slice(0, 60) }), onchange: () => this.#show() });
    this.#boxes.set(item.id, { item, box });
    this.#show();
    return el("label", { class: "select" }, box);
  }

  /** Selects and deselects folded texts with the first of them. */
  tie(first, others) {
    const boxes = others.map(({ id }) => this.#boxes.get(id)?.box).filter(Boolean);
    const own = this.#boxes.get(first.id)?.box;
    own?.addEventListener("change", () => {
      for (const box of boxes) box.checked = own.checked;
      this.#show();
    });
  }

  /** Updates a text. Deselects it if its prediction changed, because the person selected it for the other one. */
  renew(item) {
    const known = this.#boxes.get(item.id);
    if (known) {
      if (String(proposed(known.item)) !== String(proposed(item))) known.box.checked = false;
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
    this.all.nextElementSibling.textContent = n ? tn("{n} selected", "{n} selected", n) : t("Select all on this page");
    this.all.indeterminate = n > 0 && n < this.#boxes.size;
    byId("confirm").disabled = !this.#selected.some(({ prediction }) => prediction);
    this.class.disabled = !n;
    for (const button of this.savers) {
      button.hidden = !this.class.value;
      button.disabled = !n;
    }
  }

  #label(labelOf) {
    const labels = Object.fromEntries(this.#selected.map((item) => [item.id, labelOf(item)]).filter(([, label]) => label));
    return this.#send("/api/annotations/many", { labels }, Object.keys(labels).length);
  }

  #decide(present) {
    const texts = this.#selected.map(({ id }) => id);
    return this.#send("/api/decisions/many", { class: this.class.value, present, texts }, texts.length);
  }

  #send(path, body, all) {
    return showErrors(async () => {
      const key = newKey();
      const { n } = await post(path, { key, ...body });
      const left = all - n;
      this.class.value = "";
      const sentence = [tn("{n} text labelled.", "{n} texts labelled.", n), left ? this.#skipped(left) : ""].filter(Boolean).join(" ");
      toast(sentence, n ? { stays: true, undo: () => this.#undo(key) } : {});
      await this.changed();
      // The pressed button is now disabled, so move the focus.
      (byId("bulk").hidden ? byId("items") : this.all).focus({ preventScroll: true });
    });
  }

  #skipped(n) {
    if (!this.several)
      return tn("{n} skipped, because it has been labelled meanwhile.", "{n} skipped, because they have been labelled meanwhile.", n);
    return tn(
      "{n} skipped: decided already, or another person is labelling.",
      "{n} skipped: decided already, or another person is labelling.",
      n,
    );
  }

  async #undo(undoes) {
    const { n } = await post("/api/undo/many", { key: newKey(), undoes });
    toast(tn("{n} label undone.", "{n} labels undone.", n));
    this.changed();
  }
}
