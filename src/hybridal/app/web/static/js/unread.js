/** The number of unread comments, in the menu of every page. */
import { getProject } from "./api.js";
import { byId, el } from "./dom.js";
import { t, whole } from "./i18n.js";

const REFRESH_MS = 60_000;

/** @param {{unread: number}} project */
export function showUnread({ unread }) {
  const shown = unread ? [whole(unread), el("span", { class: "unseen" }, ` ${t("unread")}`)] : [];
  byId("unread").replaceChildren(...shown);
  document.querySelector(".menu-button").classList.toggle("has-unread", unread > 0);
}

export const refreshUnread = async () => showUnread(await getProject());

/** Shows the number, and what other people add to it. Ignores errors: the trainer's bar reports a lost connection. */
export function watchUnread(project) {
  showUnread(project);
  setInterval(() => document.hidden || refreshUnread().catch(() => {}), REFRESH_MS);
}
