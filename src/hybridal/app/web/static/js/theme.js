/* Light, dark or as the system says. Not a module: it must be done before the first paint. */
(() => {
  const root = document.documentElement;
  const names = { "": "as the system", light: "light", dark: "dark" };
  const kept = () => localStorage.getItem("hybridal.theme") ?? "";
  const apply = (theme) => (theme ? root.setAttribute("data-theme", theme) : root.removeAttribute("data-theme"));
  apply(kept());
  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    if (!button) return;
    const say = () => {
      button.setAttribute("aria-label", `Colours: ${names[kept()]}`);
      button.title = `Colours: ${names[kept()]}`;
    };
    button.addEventListener("click", () => {
      const order = Object.keys(names);
      const next = order[(order.indexOf(kept()) + 1) % order.length];
      localStorage.setItem("hybridal.theme", next);
      apply(next);
      say();
    });
    button.disabled = false;
    say();
  });
})();
