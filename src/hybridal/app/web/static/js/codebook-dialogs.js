/** The dialogs of the page Codebook: split a class, and give it a new definition. */
import { get, post } from "./api.js";
import { onPress, onSubmit } from "./controls.js";
import { byId } from "./dom.js";
import { t, tn } from "./i18n.js";

/** @typedef {{number: number, name: string, description: string, examples: string}} ClassOfBook */

/**
 * Binds a dialog.
 * @param {string} name of the dialog and its form
 * @param {(form: HTMLFormElement, about: ClassOfBook) => Promise<object>} send
 * @param {(reply: object) => unknown} done
 * @param {(form: HTMLFormElement, about: ClassOfBook) => Promise<unknown>} fill
 * @returns {(about: ClassOfBook) => Promise<void>} opens it
 */
function dialogFor(name, send, done, fill) {
  const [dialog, form, problem] = [byId(`${name}-dialog`), byId(`${name}-form`), byId(`${name}-problem`)];
  let about = null;
  onPress(form.querySelector("[data-cancel]"), () => dialog.close());
  onSubmit(form, async () => {
    let reply = null;
    try {
      reply = await send(form, about);
    } catch (error) {
      problem.textContent = error.message;
      return;
    }
    dialog.close();
    await done(reply);
  });
  return async (chosen) => {
    about = chosen;
    form.reset();
    problem.textContent = "";
    await fill(form, about);
    dialog.showModal();
  };
}

/** @param {(reply: object) => unknown} done */
export function splitDialog(done) {
  const send = (form, { number, name, description }) => {
    const given = new FormData(form);
    const parts = partsOf(given.get("parts"));
    if (given.get("keep")) parts.unshift({ name, description });
    return post("/api/codebook/split", { class: number, parts });
  };
  const fill = async (form, { number, name }) => {
    byId("split-title").textContent = t("Split “{name}”", { name });
    byId("keep-label").textContent = t("Keep “{name}” for the rest", { name });
    byId("split-archived").textContent = t("Otherwise “{name}” is archived: it cannot be chosen any more, and the model no longer learns its labels.", { name });
    const { class: n } = await get("/api/codebook/touched", { class: number });
    byId("split-about").textContent = tn("Its {n} label is to be looked at again; until then the old answer stays.", "Its {n} labels are to be looked at again; until then the old answers stay.", n);
  };
  return dialogFor("split", send, done, fill);
}

/** "refund: money back" -> {name: "refund", description: "money back"}, for each line */
function partsOf(written) {
  const lines = written.split("\n").filter((line) => line.trim());
  return lines.map((line) => {
    const [name, ...description] = line.split(":");
    return { name: name.trim(), description: description.join(":").trim() };
  });
}

/** @param {(reply: object) => unknown} done */
export function redefineDialog(done) {
  const send = (form, { number }) => {
    const given = new FormData(form);
    const [description, examples] = ["description", "examples"].map((field) => given.get(field).trim());
    return post("/api/codebook/redefine", { class: number, description, examples, recheck: given.getAll("recheck") });
  };
  const fill = async (form, { number, name, description, examples }) => {
    byId("redefine-title").textContent = t("New definition of “{name}”", { name });
    form.elements.description.value = description;
    form.elements.examples.value = examples;
    const touched = await get("/api/codebook/touched", { class: number });
    byId("touched-class").textContent = tn("{n} label of this class", "{n} labels of this class", touched.class);
    byId("touched-model").textContent = tn("{n} label of another class where the model predicts this one", "{n} labels of other classes where the model predicts this one", touched.model);
    byId("touched-similar").textContent = tn("{n} label of another class whose text is similar to those of this one", "{n} labels of other classes whose texts are similar to those of this one", touched.similar);
  };
  return dialogFor("redefine", send, done, fill);
}
