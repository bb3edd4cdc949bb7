/** The dialog that defines a new class on the page Label. */
import { post } from "./api.js";
import { onPress, onSubmit } from "./controls.js";
import { byId } from "./dom.js";

/** @param {() => Promise<void>} added */
export function newClassDialog(added) {
  const dialog = byId("class-dialog");
  const form = byId("class-form");
  const problem = form.querySelector(".problem");
  onPress(byId("class-cancel"), () => dialog.close());
  onSubmit(form, async () => {
    const { name, description } = Object.fromEntries(new FormData(form));
    try {
      await post("/api/classes", { name: name.trim(), description: description.trim() });
    } catch (error) {
      problem.textContent = error.message;
      form.elements.name.ariaInvalid = "true";
      form.elements.name.focus();
      return;
    }
    dialog.close();
    await added();
  });
  return () => {
    form.reset();
    problem.textContent = "";
    form.elements.name.ariaInvalid = "false";
    dialog.showModal();
  };
}
