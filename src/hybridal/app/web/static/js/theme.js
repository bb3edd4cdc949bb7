/* The colour theme: light, dark or the system's. Not a module: it must run before the first paint. */
(() => {
  const root = document.documentElement;
  const themes = ["", "light", "dark"]; // "" is the system's
  const stored = () => localStorage.getItem("hybridal.theme") ?? "";
  const apply = (theme) => (theme ? root.setAttribute("data-theme", theme) : root.removeAttribute("data-theme"));
  apply(stored());
  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    if (!button) return;
    const showName = () => {
      button.title = button.dataset[stored() || "system"]; // in the language of the page
      button.setAttribute("aria-label", button.title);
    };
    button.addEventListener("click", () => {
      const next = themes[(themes.indexOf(stored()) + 1) % themes.length];
      localStorage.setItem("hybridal.theme", next);
      apply(next);
      showName();
    });
    button.disabled = false;
    showName();
  });
})();
