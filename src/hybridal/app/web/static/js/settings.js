/** The page Settings: classes, guidelines, plan, model, uploads. */
import { addTexts } from "./add-texts.js";
import { classEditor } from "./class-editor.js";
import { onSubmit } from "./controls.js";
import { byId } from "./dom.js";
import { frame } from "./frame.js";
import { t, tn } from "./i18n.js";
import { guidelines, plan } from "./plan.js";
import { prices } from "./prices.js";
import { sendFile } from "./send-file.js";
import { showErrors } from "./toast.js";

await frame;
addTexts();
guidelines();
onSubmit(byId("import"), importLabelStudio);
await Promise.all([classEditor, plan, prices].map(showErrors));

async function importLabelStudio(form) {
  const status = byId("import-status");
  const button = form.querySelector("button");
  button.ariaBusy = "true"; // not disabled: it would lose the focus
  status.className = "small";
  status.textContent = t("Uploading …");
  try {
    const { added, labelled, unchanged } = await sendFile(form, "/api/import/label-studio");
    status.textContent = [
      tn("{n} text added.", "{n} texts added.", added),
      tn("{n} label imported.", "{n} labels imported.", labelled),
      tn("{n} already there.", "{n} already there.", unchanged),
    ].join(" ");
    form.reset();
  } catch (error) {
    status.textContent = error.message;
    status.className = "small problem";
  }
  button.ariaBusy = "false";
}
