/** The other columns of a text's row in the uploaded file. */
import { el } from "./dom.js";
import { t } from "./i18n.js";

/** @param {Record<string, string>} context */
export function contextList(context) {
  const rows = Object.entries(context).flatMap(([name, value]) => [
    el("dt", { dir: "auto" }, name),
    el("dd", { class: "written", dir: "auto" }, value),
  ]);
  if (!rows.length) return el("p", { class: "small muted" }, t("The file has no other columns for this text."));
  return el("dl", { class: "fact context" }, ...rows);
}
