/** The page of settings: classes, plan, texts in. */
import { addTexts } from "./add-texts.js";
import { classEditor } from "./class-editor.js";
import { onSubmit } from "./controls.js";
import { byId } from "./dom.js";
import { count } from "./format.js";
import { frame } from "./frame.js";
import { guidelines, plan } from "./plan.js";
import { sendFile } from "./send-file.js";
import { told } from "./toast.js";

await frame;
addTexts();
guidelines();
onSubmit(byId("import"), importLabelStudio);
await Promise.all([classEditor, plan].map(told));

async function importLabelStudio(form) {
  const said = byId("import-said");
  const button = form.querySelector("button");
  button.ariaBusy = "true"; // not disabled: it would lose the keyboard
  said.className = "small";
  said.textContent = "Sending …";
  try {
    const { added, labelled, unchanged } = await sendFile(form, "/api/import/label-studio");
    said.textContent = `${count(added, "text")} added, ${count(labelled, "label")} taken over, ${unchanged} there already.`;
    form.reset();
  } catch (error) {
    said.textContent = error.message;
    said.className = "small problem";
  }
  button.ariaBusy = "false";
}
