/* The colour theme: light, dark or the system's. Not a module: it must run before the first paint. */
(() => {
  const root = document.documentElement;
  const names = { "": "same as system", light: "light", dark: "dark" };
  const stored = () => localStorage.getItem("hybridal.theme") ?? "";
  const apply = (theme) => (theme ? root.setAttribute("data-theme", theme) : root.removeAttribute("data-theme"));
  apply(stored());
  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    if (!button) return;
    const showName = () => {
      button.setAttribute("aria-label", `Colour theme: ${names[stored()]}`);
      button.title = `Colour theme: ${names[stored()]}`;
    };
    button.addEventListener("click", () => {
      const order = Object.keys(names);
      const next = order[(order.indexOf(stored()) + 1) % order.length];
      localStorage.setItem("hybridal.theme", next);
      apply(next);
      showName();
    });
    button.disabled = false;
    showName();
  });
})();
