/** A secret that is shown once, with a button that copies it. */
import { onPress } from "./controls.js";

/** @param {HTMLButtonElement} button @param {HTMLInputElement} field */
export function copies(button, field) {
  onPress(button, async () => {
    field.select();
    // The clipboard is closed to pages over plain http; the old command still works there.
    await (navigator.clipboard?.writeText(field.value) ?? document.execCommand("copy"));
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
}
