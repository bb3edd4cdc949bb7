/** The page of settings: classes, plan, texts in, everything out. */
import { post } from "./api.js";
import { classEditor } from "./class-editor.js";
import { byId } from "./dom.js";
import { downloads } from "./downloads.js";
import { count } from "./format.js";
import { frame } from "./frame.js";
import { plan } from "./plan.js";
import { toast, told } from "./toast.js";

const { trainer } = await frame;
downloads();
await Promise.all([classEditor, plan].map(told));
sends("upload", "/api/texts", ({ added, known }) => `${count(added, "text")} added, ${known} known already.`);
sends(
  "import",
  "/api/import/label-studio",
  ({ added, labelled }) => `${count(added, "text")} added, ${count(labelled, "label")} taken over.`,
);
byId("predict").addEventListener("click", () =>
  told(async () => {
    await post("/api/trainer", { asked: "predict" });
    await trainer.poll();
    toast("The model scores all texts; the bar above shows how far it is.");
  }),
);

/** A form whose file goes to the server; what came of it is said beside the button. */
function sends(id, path, sentence) {
  const form = byId(id);
  const said = byId(`${id}-said`);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
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
