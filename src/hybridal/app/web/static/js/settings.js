/** The page of settings: classes, plan, texts in. */
import { post } from "./api.js";
import { classEditor } from "./class-editor.js";
import { onSubmit } from "./controls.js";
import { byId } from "./dom.js";
import { count } from "./format.js";
import { frame } from "./frame.js";
import { plan } from "./plan.js";
import { told } from "./toast.js";

await frame;
sends("upload", "/api/texts", ({ added, known }) => `${count(added, "text")} added, ${known} known already.`);
sends(
  "import",
  "/api/import/label-studio",
  ({ added, labelled, unchanged }) =>
    `${count(added, "text")} added, ${count(labelled, "label")} taken over, ${unchanged} there already.`,
);
await Promise.all([classEditor, plan].map(told));

/** A form whose file goes to the server; what came of it is said beside the button. */
function sends(id, path, sentence) {
  const said = byId(`${id}-said`);
  onSubmit(byId(id), async (form) => {
    const button = form.querySelector("button");
    button.disabled = true;
    said.textContent = "Sending …";
    try {
      said.textContent = sentence(await post(path, new FormData(form)));
      said.className = "small";
      form.reset();
    } catch (error) {
      said.textContent = error.message;
      said.className = "small problem";
    }
    button.disabled = false;
  });
}
