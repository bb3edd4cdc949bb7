/** Why people skip or flag a text. */
import { el } from "./dom.js";
import { t } from "./i18n.js";

const NAMES = {
  unclear: t("The text is unclear"),
  none_fits: t("No class fits"),
  several_fit: t("Several classes fit"),
  guidelines: t("The guidelines do not say"),
  wrong_text: t("The text is broken or does not belong here"),
  other: t("Another reason"),
};

/** The name of a reason. @param {string} reason */
export const reasonName = (reason) => NAMES[reason] ?? reason;

/** A select element for a reason. @param {string} [chosen] */
export function reasonSelect(chosen = "") {
  const options = [["", t("no reason")], ...Object.entries(NAMES)];
  const select = el("select", {}, ...options.map(([value, name]) => el("option", { value }, name)));
  select.value = chosen;
  return select;
}
