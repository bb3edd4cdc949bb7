/** A message at the top of the page that disappears after a while, unless it reports an error. */
import { ApiError } from "./api.js";
import { singleFlight } from "./controls.js";
import { byId, el } from "./dom.js";
import { t } from "./i18n.js";

/** @param {string} sentence @param {{stays?: boolean, undo?: () => Promise<unknown>}} [options] @returns {HTMLElement} */
export function toast(sentence, { stays = false, undo = null } = {}) {
  const close = el("button", { type: "button", onclick: () => box.remove() }, t("Close"));
  const back = singleFlight(async () => (await showErrors(undo)) && box.remove());
  const box = el("div", { class: "toast" }, sentence, undo && el("button", { type: "button", onclick: back }, t("Undo")), close);
  byId("toasts").append(box);
  // Not while it is hovered or focused. Undo stays longer, because reaching it by keyboard takes time.
  const leave = () => (box.matches(":hover, :focus-within") ? setTimeout(leave, 1000) : box.remove());
  if (!stays) setTimeout(leave, undo ? 30_000 : 6000);
  return box;
}

/** Runs an action and shows its error in a toast. @returns {Promise<boolean>} whether it succeeded */
export async function showErrors(action) {
  try {
    await action();
    return true;
  } catch (error) {
    toast(error.message, { stays: true });
    if (!(error instanceof ApiError)) reportError(error); // a bug in these scripts: log it to the console too
    return false;
  }
}
