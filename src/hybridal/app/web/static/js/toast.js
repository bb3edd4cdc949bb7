/** A sentence at the head of the page that goes away by itself, unless it is bad news. */
import { Refusal } from "./api.js";
import { once } from "./controls.js";
import { byId, el } from "./dom.js";

/** @param {string} sentence @param {{stays?: boolean, undo?: () => Promise<unknown>}} [options] @returns {HTMLElement} */
export function toast(sentence, { stays = false, undo = null } = {}) {
  const close = el("button", { type: "button", onclick: () => box.remove() }, "Close");
  const back = once(async () => (await told(undo)) && box.remove());
  const box = el("div", { class: "toast" }, sentence, undo && el("button", { type: "button", onclick: back }, "Undo"), close);
  byId("toasts").append(box);
  // Not under somebody's hands; and whoever may want it back needs a while to come here by keyboard.
  const leave = () => (box.matches(":hover, :focus-within") ? setTimeout(leave, 1000) : box.remove());
  if (!stays) setTimeout(leave, undo ? 30_000 : 6000);
  return box;
}

/** Runs an action; when it fails, its reason is shown. @returns whether it went well */
export async function told(action) {
  try {
    await action();
    return true;
  } catch (error) {
    toast(error.message, { stays: true });
    if (!(error instanceof Refusal)) reportError(error); // a mistake of ours, for the console too
    return false;
  }
}
