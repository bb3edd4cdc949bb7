/** A button that copies a field with a secret. */
import { onPress } from "./controls.js";

/** @param {HTMLButtonElement} button @param {HTMLInputElement} field */
export function bindCopyButton(button, field) {
  onPress(button, async () => {
    field.select();
    // Browsers offer the clipboard API only over https and on localhost; the older command works without.
    await (navigator.clipboard?.writeText(field.value) ?? document.execCommand("copy"));
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
}
