/** Imports an exported project on the start page. */
import { onSubmit } from "./controls.js";
import { byId, setText } from "./dom.js";
import { t } from "./i18n.js";
import { sendFile } from "./send-file.js";

/** @param {() => Promise<void>} refresh shows the new project in the list */
export function importProject(refresh) {
  const form = byId("import");
  const button = form.querySelector("button");
  const problem = form.querySelector(".problem");
  onSubmit(form, async () => {
    button.ariaBusy = "true"; // not disabled: it would lose the focus
    setText(problem, "");
    setText(byId("import-status"), t("Importing …"));
    try {
      const { title } = await sendFile(form, "/api/projects/import");
      form.reset();
      await refresh();
      setText(byId("import-status"), t("“{project}” is imported.", { project: title }));
    } catch (error) {
      setText(problem, error.message);
      setText(byId("import-status"), "");
    }
    button.ariaBusy = "false";
  });
}
