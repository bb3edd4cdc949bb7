/**
 * Controls wait disabled in the page until a script serves them: no press is lost while a page loads,
 * and a browser never sends a form by itself, which would put a password into the address.
 */

// A key that is held down is one press: the next text may be under it already.
document.addEventListener("keydown", (event) => {
  if (event.repeat && event.key === "Enter" && event.target.closest("button")) event.preventDefault();
});

/** An action that is not begun again before it is done: who presses twice on a slow network means it once. */
export function once(act) {
  let running = null;
  return (...given) => (running ??= Promise.resolve(act(...given)).finally(() => (running = null)));
}

/** @param {HTMLFormElement} form @param {(form: HTMLFormElement) => unknown} act */
export function onSubmit(form, act) {
  const acting = once(act);
  form.addEventListener("submit", (event) => (event.preventDefault(), acting(form)));
  for (const button of form.querySelectorAll("button")) button.disabled = false;
}

/** @param {HTMLButtonElement} button @param {() => unknown} act */
export function onPress(button, act) {
  const acting = once(act);
  button.addEventListener("click", () => acting());
  button.disabled = false;
}
