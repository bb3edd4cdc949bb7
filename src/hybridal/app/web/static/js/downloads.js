/** Files to take away. Asked for by script, so that a refusal is a sentence on the page and not a broken file. */
import { getFile } from "./api.js";
import { el } from "./dom.js";
import { showErrors } from "./toast.js";

/** @param {(act: () => Promise<void>) => Promise<unknown>} [run] runs an action and shows its error */
export function downloads(run = showErrors) {
  for (const link of document.querySelectorAll("a[download]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      link.ariaBusy = "true";
      run(() => save(link.pathname)).finally(() => (link.ariaBusy = "false"));
    });
  }
}

async function save(path) {
  const address = URL.createObjectURL(await getFile(path));
  el("a", { href: address, download: path.split("/").at(-1) }).click();
  URL.revokeObjectURL(address);
}
