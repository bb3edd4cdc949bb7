/** The page Comments: unread ones, those that are addressed to the person, those by the person, and for reviewers all. */
import { get } from "./api.js";
import { fromTo, threadBadges } from "./comment-threads.js";
import { onPress, singleFlight } from "./controls.js";
import { byId, el, replaceContent } from "./dom.js";
import { ago } from "./format.js";
import { frame } from "./frame.js";
import { t } from "./i18n.js";
import { openText } from "./text-dialog.js";
import { showErrors } from "./toast.js";

const { project } = await frame;
let next = null;
if (project.unread) byId("box").value = "unread"; // answers to the person's own comments are among them
onPress(byId("older"), () => showErrors(() => load(next)));
for (const control of [byId("box"), byId("also-done")]) {
  control.addEventListener("change", () => showErrors(() => load()));
  control.disabled = false;
}
document.addEventListener("visibilitychange", () => document.hidden || document.querySelector("dialog") || showErrors(() => load()));
await showErrors(() => load());

/** @param {number | null} [before] the place from which older comments follow those that are shown */
async function load(before = null) {
  const found = await get("/api/comments", { before, box: byId("box").value, done: byId("also-done").checked });
  const rows = found.items.map(row);
  if (before !== null) byId("items").append(...rows);
  else replaceContent(byId("items"), rows.length ? rows : [el("li", { class: "nothing" }, byId("box").value === "unread" ? t("Nothing unread.") : t("Nothing yet."))]);
  next = found.next;
  byId("older").hidden = next === null;
}

function row(thread) {
  const [first, newest] = [thread.comments[0], thread.comments.at(-1)];
  const open = async () => {
    const dialog = await openText(thread.text, project, () => {}, thread.number);
    dialog.addEventListener("close", () => showErrors(() => load()));
  };
  return el(
    "li",
    { class: "item card" },
    el("p", { class: "written brief", dir: "auto" }, thread.excerpt),
    el("p", { class: "remark", dir: "auto" }, first.comment),
    newest === first || !newest.comment ? null : el("p", { class: "remark", dir: "auto" }, newest.comment),
    el(
      "div",
      { class: "row", role: "group", "aria-label": first.comment },
      el("span", { class: "facts" }, el("span", {}, ...fromTo(thread), el("span", { class: "muted" }, ` · ${ago(newest.at)}`)), ...threadBadges(thread)),
      el("span", { class: "actions" }, el("button", { type: "button", class: "plain", onclick: singleFlight(() => showErrors(open)) }, t("Open"))),
    ),
  );
}
