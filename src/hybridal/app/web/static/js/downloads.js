/** Files to take away. Asked for by script, so that a refusal is a sentence on the page and not a broken file. */
import { getFile } from "./api.js";
import { el } from "./dom.js";
import { showErrors } from "./toast.js";

export function downloads() {
  for (const link of document.querySelectorAll("a[download]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      link.ariaBusy = "true";
      showErrors(() => save(link.pathname)).finally(() => (link.ariaBusy = "false"));
    });
  }
}

async function save(path) {
  const address = URL.createObjectURL(await getFile(path));
  el("a", { href: address, download: path.split("/").at(-1) }).click();
  URL.revokeObjectURL(address);
}
