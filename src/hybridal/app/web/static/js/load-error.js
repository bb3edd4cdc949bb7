/* Shows a message if a script module fails to load. Not a module itself: it must run before them. */
addEventListener(
  "error",
  ({ target }) => {
    if (target.type === "module") document.getElementById("load-error").hidden = false;
  },
  true, // such events do not bubble
);
