/** Files to take away. Asked for by script, so that a refusal is a sentence on the page and not a broken file. */
import { getFile } from "./api.js";
import { byId, el, setText } from "./dom.js";
import { t, whole } from "./i18n.js";
import { showErrors } from "./toast.js";

/**
 * A link may name a checkbox in `data-option`, which adds its name to the address.
 * @param {(act: () => Promise<void>) => Promise<unknown>} [run] runs an action and shows its error
 */
export function downloads(run = showErrors) {
  for (const link of document.querySelectorAll("a[download]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      link.ariaBusy = "true";
      run(() => save(link)).finally(() => (link.ariaBusy = "false"));
    });
  }
}

async function save(link) {
  const option = link.dataset.option && byId(link.dataset.option);
  const received = link.parentElement.querySelector(".received");
  const show = (bytes) => received && setText(received, bytes < 1e6 ? "" : t("{size} MB received", { size: whole(Math.floor(bytes / 1e6)) }));
  try {
    const address = URL.createObjectURL(await getFile(link.pathname + (option?.checked ? `?${option.name}=true` : ""), show));
    el("a", { href: address, download: link.pathname.split("/").at(-1) }).click();
    URL.revokeObjectURL(address);
  } finally {
    show(0);
  }
}
