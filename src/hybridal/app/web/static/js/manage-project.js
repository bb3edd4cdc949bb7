/** The dialog of the start page that renames, duplicates, exports, archives and deletes a project. */
import { patch, post } from "./api.js";
import { onPress, onSubmit } from "./controls.js";
import { byId, el, setText } from "./dom.js";
import { downloads } from "./downloads.js";
import { t, tParts } from "./i18n.js";

const dialog = byId("manage");
const forms = { rename: byId("rename"), duplicate: byId("duplicate"), remove: byId("delete") };
let project = null;
let onChange = async () => {};

onSubmit(forms.rename, (form) => change(() => patch("/api/projects", { name: project.name, title: form.elements.title.value })));
onSubmit(forms.duplicate, duplicate);
downloads(showProblem);
onPress(byId("archive"), () => change(() => patch("/api/projects", { name: project.name, archived: !project.archived })));
onSubmit(forms.remove, (form) => change(() => post("/api/projects/delete", { name: project.name, title: form.elements.title.value })));
for (const button of dialog.querySelectorAll("[data-close]")) onPress(button, () => dialog.close());
forms.remove.elements.title.addEventListener("input", enableDelete);

/** Opens the dialog for a project. @param {object} given @param {() => Promise<unknown>} refresh runs after a change */
export function manageProject(given, refresh) {
  project = given;
  onChange = refresh;
  const isOpen = Boolean(project.trainer);
  byId("manage-title").textContent = project.title;
  byId("manage-problem").textContent = "";
  forms.rename.hidden = !isOpen;
  forms.rename.elements.title.value = project.title;
  forms.duplicate.hidden = byId("export-part").hidden = !isOpen;
  forms.duplicate.reset();
  forms.duplicate.elements.title.value = t("Copy of {project}", { project: project.title }).slice(0, 100);
  byId("export").href = `/api/projects/export/${encodeURIComponent(project.name)}.zip`;
  byId("archive-part").hidden = !isOpen && !project.archived;
  byId("archive-about").textContent = project.archived
    ? t("Restore the project, and people can label again.")
    : t("Archive the project: nobody can label, no model is trained, and its folder can be moved or copied. Nothing is lost.");
  byId("archive").textContent = project.archived ? t("Restore") : t("Archive");
  byId("delete-label").replaceChildren(...tParts("Type the name {project} to delete it", { project: el("strong", { dir: "auto" }, project.title) }));
  forms.remove.reset();
  enableDelete();
  dialog.showModal();
}

function enableDelete() {
  forms.remove.querySelector("button").disabled = forms.remove.elements.title.value.trim() !== project.title.trim();
}

async function duplicate({ elements: { title, labels } }) {
  const button = forms.duplicate.querySelector("button");
  button.ariaBusy = "true";
  setText(byId("duplicate-status"), t("Copying …"));
  await change(() => post("/api/projects/duplicate", { name: project.name, title: title.value, labels: labels.checked }));
  setText(byId("duplicate-status"), "");
  button.ariaBusy = "false";
}

/** Runs a change and closes the dialog; an error is shown in it. */
function change(act) {
  return showProblem(async () => {
    await act();
    dialog.close();
    await onChange();
  });
}

async function showProblem(act) {
  setText(byId("manage-problem"), "");
  try {
    await act();
  } catch (error) {
    setText(byId("manage-problem"), error.message);
    byId("manage-problem").scrollIntoView({ block: "nearest" });
  }
}
