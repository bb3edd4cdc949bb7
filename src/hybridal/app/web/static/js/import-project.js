/** Imports an exported project on the start page. The file is sent once, also if the import has to be tried otherwise. */
import { post } from "./api.js";
import { onSubmit } from "./controls.js";
import { byId, setText } from "./dom.js";
import { percent } from "./format.js";
import { t, whole } from "./i18n.js";
import { sendFile } from "./send-file.js";
import { watchProgress } from "./upload-progress.js";

const IMPORT_SECONDS = 3600; // of a large project, and of a model whose encoder is downloaded

/** @param {() => Promise<void>} refresh shows the new project in the list */
export function importProject(refresh) {
  const form = byId("import");
  const { file, title, model } = form.elements;
  const button = form.querySelector("button");
  const withModel = byId("import-model");
  const say = (sentence) => setText(byId("import-status"), sentence);
  const complain = (sentence) => setText(form.querySelector(".problem"), sentence);
  let uploaded = null; // a promise of the file's token

  file.addEventListener("change", () => (uploaded = send()));
  if (file.files.length) uploaded = send(); // chosen while the page was loading
  onSubmit(form, async () => {
    button.ariaBusy = "true"; // not disabled: it would lose the focus
    const token = await uploaded;
    if (token) await take(token);
    button.ariaBusy = "false";
  });

  async function send() {
    const [chosen] = file.files;
    complain("");
    withModel.hidden = true;
    if (!chosen) return null;
    try {
      const body = new FormData();
      body.set("file", chosen);
      const found = await sendFile(form, "/api/projects/archives", body, showSent);
      if (file.files[0] !== chosen) return null;
      say(t("“{project}” can be imported.", { project: found.title }));
      withModel.hidden = !found.model_bytes;
      withModel.querySelector("span").textContent = t("Import its model too ({size} MB)", { size: whole(Math.ceil(found.model_bytes / 1e6)) });
      return found.upload;
    } catch (error) {
      if (file.files[0] !== chosen) return null;
      say("");
      complain(error.message);
      return null;
    }
  }

  /** Says how much was sent, in steps of a tenth, which screen readers announce. */
  function showSent(share) {
    say(share < 1 ? t("Uploading: {share}", { share: percent(Math.floor(share * 10) / 10) }) : t("Reading …"));
  }

  async function take(upload) {
    complain("");
    say(t("Importing …"));
    const stop = watchProgress(byId("import-progress"), upload);
    try {
      const given = { upload, title: title.value, model: !withModel.hidden && model.checked };
      const made = await post("/api/projects/import", given, IMPORT_SECONDS);
      form.reset();
      uploaded = null;
      withModel.hidden = true;
      await refresh();
      say(t("“{project}” is imported.", { project: made.title }));
    } catch (error) {
      say("");
      complain(error.message);
    }
    stop();
  }
}
