/** Accepts predictions in a list of texts, by a button or by the same key as on the page Label. */
import { post } from "./api.js";
import { singleFlight } from "./controls.js";
import { byId, el } from "./dom.js";
import { t } from "./i18n.js";
import { newKey } from "./idempotency-key.js";
import { listen } from "./keys.js";
import { toast, showErrors } from "./toast.js";

const KEY = ".";

/** Whether a prediction can be accepted: the text has no label, and is not for validation, which must stay independent. */
export const isAcceptable = ({ prediction, class: name, classes, split, deleted }) =>
  Boolean(prediction) && !name && !classes && split !== "validation" && !deleted;

/**
 * A button that labels a text as predicted, and moves the focus to that of the next text.
 * @param {any} item @param {() => Promise<unknown>} refresh shows the labels of the list again
 */
export function acceptButton(item, refresh) {
  const { prediction } = item;
  const answer = prediction.classes ? { classes: prediction.classes } : { class: prediction.class };
  const accept = async () => {
    const key = newKey();
    await post("/api/annotations", { key, text: item.id, action: "label", ...answer });
    const undo = async () => {
      await post("/api/undo", { key: newKey(), undoes: key });
      button.hidden = false;
      await refresh();
    };
    toast(t("Saved."), { undo });
    const buttons = [...byId("items").querySelectorAll(`[aria-keyshortcuts="${KEY}"]`)];
    buttons[buttons.indexOf(button) + 1]?.focus();
    button.hidden = true;
    await refresh();
  };
  const button = el("button", { type: "button", "aria-keyshortcuts": KEY, title: KEY, onclick: singleFlight(() => showErrors(accept)) }, t("Accept"));
  return button;
}

/** Presses the button of the row with the focus, else of the first row that has one. */
export function acceptByKey() {
  listen((key) => {
    if (key !== KEY) return false;
    const button = (root) => root?.querySelector(`[aria-keyshortcuts="${KEY}"]:not([hidden])`);
    const pressed = button(document.activeElement.closest(".item")) ?? button(byId("items"));
    pressed?.click();
    return Boolean(pressed);
  });
}
