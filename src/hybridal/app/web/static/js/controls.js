/**
 * Binds actions to controls. Controls are disabled in the HTML until their script has bound them: no click is lost while
 * the page loads, and the browser never submits a form by itself, which would put a password into the URL.
 */

// A key that is held down counts once; the repeats would hit the next text.
document.addEventListener("keydown", (event) => {
  if (event.repeat && event.key === "Enter" && event.target.closest("button")) event.preventDefault();
});

/** Wraps an action so that calls during a run join that run: a second click on a slow network has no effect. */
export function singleFlight(act) {
  let running = null;
  return (...given) => (running ??= Promise.resolve(act(...given)).finally(() => (running = null)));
}

/** @param {HTMLFormElement} form @param {(form: HTMLFormElement) => unknown} act */
export function onSubmit(form, act) {
  const acting = singleFlight(act);
  form.addEventListener("submit", (event) => (event.preventDefault(), acting(form)));
  for (const button of form.querySelectorAll("button")) button.disabled = false;
}

/** @param {HTMLButtonElement} button @param {() => unknown} act */
export function onPress(button, act) {
  const acting = singleFlight(act);
  button.addEventListener("click", () => acting());
  button.disabled = false;
}
