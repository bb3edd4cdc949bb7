/** The dialog that changes one's own password or, for owners, resets that of another person. */
import { post } from "./api.js";
import { onSubmit } from "./controls.js";
import { el } from "./dom.js";
import { t } from "./i18n.js";
import { toast } from "./toast.js";

/** @param {{number: number, name: string}} [person] whose password to reset; by default one's own is changed */
export function passwordDialog(person) {
  const field = (name, label, autocomplete) =>
    el("label", {}, label, el("input", { name, type: "password", autocomplete, required: true, maxlength: 200, "aria-describedby": "password-problem" }));
  const problem = el("p", { class: "problem", role: "alert", id: "password-problem" });
  const form = el(
    "form",
    { class: "stack" },
    el("h2", { id: "password-title" }, person ? t("A new password for {name}", person) : t("Change your password")),
    person
      ? el("p", { class: "muted" }, t("Give them this password; they can change it later. They are signed out everywhere, and their API tokens stop working."))
      : field("old", t("Old password"), "current-password"),
    field("new", t("New password (8 characters or more)"), "new-password"),
    problem,
    el("div", { class: "row" }, el("button", { class: "main" }, t("Save")), closing()),
  );
  const dialog = el("dialog", { "aria-labelledby": "password-title", onclose: () => dialog.remove() }, form);
  onSubmit(form, async () => {
    try {
      await post("/api/password", { ...Object.fromEntries(new FormData(form)), number: person?.number });
      dialog.close();
      toast(t("Password changed."));
    } catch (error) {
      problem.textContent = error.message;
    }
  });
  document.body.append(dialog);
  dialog.showModal();
}

function closing() {
  return el("button", { type: "button", class: "plain", onclick: ({ target }) => target.closest("dialog").close() }, t("Cancel"));
}
