/** A button that copies a field with a secret. */
import { onPress } from "./controls.js";
import { t } from "./i18n.js";

/** @param {HTMLButtonElement} button @param {HTMLInputElement} field */
export function bindCopyButton(button, field) {
  onPress(button, async () => {
    field.select();
    // Browsers offer the clipboard API only over https and on localhost; the older command works without.
    await (navigator.clipboard?.writeText(field.value) ?? document.execCommand("copy"));
    button.textContent = t("Copied");
    setTimeout(() => (button.textContent = t("Copy")), 2000);
  });
}
