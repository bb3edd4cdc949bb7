/** The dialog that takes many classes at once, for example from a spreadsheet. */
import { post } from "./api.js";
import { readClassLines } from "./class-lines.js";
import { onPress, onSubmit } from "./controls.js";
import { byId, setText } from "./dom.js";
import { listed, t, tn } from "./i18n.js";
import { toast, showErrors } from "./toast.js";

const SHOWN_NAMES = 10;

/** @param {() => {name: string, description: string, key: string}[]} classes @param {() => Promise<void>} changed */
export function classPaste(classes, changed) {
  const dialog = byId("paste-dialog");
  const form = byId("paste-form");
  const field = form.elements.classes;
  const problem = form.querySelector(".problem");
  const read = () =>
    readClassLines(
      field.value,
      classes().map(({ name }) => name),
    );
  const preview = () => setText(byId("paste-found"), summary(read(), classes()));
  const open = (text) => {
    field.value = text;
    setText(problem, "");
    preview();
    dialog.showModal();
  };
  field.addEventListener("input", preview);
  onPress(byId("paste-classes"), () => open(""));
  onPress(byId("known-classes"), () => {
    field.value = table(classes());
    preview();
    field.select();
  });
  onPress(byId("paste-cancel"), () => dialog.close());
  // Where one class is expected, a pasted table is several.
  byId("add-class").addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text");
    if (!/[\t\n]/.test(text.trim())) return;
    event.preventDefault();
    open(text);
  });
  onSubmit(form, async () => {
    try {
      const { added, changed: updated } = await post("/api/classes/list", { classes: read() });
      toast([tn("{n} class added.", "{n} classes added.", added), tn("{n} changed.", "{n} changed.", updated)].join(" "));
    } catch (error) {
      setText(problem, error.message);
      return;
    }
    dialog.close();
    await showErrors(changed);
  });
}

function summary(rows, classes) {
  const there = new Set(classes.map(({ name }) => name));
  const added = rows.map(({ name }) => name).filter((name) => !there.has(name));
  const names = { names: listed(added.length > SHOWN_NAMES ? [...added.slice(0, SHOWN_NAMES), "…"] : added) };
  return [
    added.length ? tn("{n} new class: {names}.", "{n} new classes: {names}.", added.length, names) : "",
    rows.length > added.length ? tn("{n} known class.", "{n} known classes.", rows.length - added.length) : "",
  ]
    .join(" ")
    .trim();
}

/** Name, description and key of all classes, to be copied to a spreadsheet or edited here. */
function table(classes) {
  const cell = (text) => text.replace(/\s+/g, " ");
  return classes.map(({ name, description, key }) => [name, description, key].map(cell).join("\t").trimEnd()).join("\n");
}
