/**
 * Controls wait disabled in the page until a script serves them: no press is lost while a page loads,
 * and a browser never sends a form by itself, which would put a password into the address.
 */

/** @param {HTMLFormElement} form @param {(form: HTMLFormElement) => unknown} act */
export function onSubmit(form, act) {
  form.addEventListener("submit", (event) => (event.preventDefault(), act(form)));
  for (const button of form.querySelectorAll("button")) button.disabled = false;
}

/** @param {HTMLButtonElement} button @param {() => unknown} act */
export function onPress(button, act) {
  button.addEventListener("click", () => act());
  button.disabled = false;
}
