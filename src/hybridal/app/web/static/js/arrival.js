/* Says so when the script of a page, or one that it needs, has not come. Not a module: it must be there before them. */
addEventListener(
  "error",
  ({ target }) => {
    if (target.type === "module") document.getElementById("not-all").hidden = false;
  },
  true, // such events do not bubble
);
