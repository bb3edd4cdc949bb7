// The controls that a screen reader could not name.
() => {
  const isNamed = (control) =>
    control.getAttribute("aria-label") || control.textContent.trim() || control.labels?.length;
  const controls = [...document.querySelectorAll("button, input, select, textarea, a, progress")];
  return controls
    .filter((control) => control.checkVisibility() && !isNamed(control))
    .map((control) => control.outerHTML);
};
