/** Checkboxes for the classes of a text that may have several; with many classes also a search field. */
import { bdi, el } from "./dom.js";
import { distance } from "./fuzzy.js";
import { t } from "./i18n.js";

const SEARCH_FROM = 20;

/**
 * @param {{name: string}[]} classes @param {string} label @param {string[]} chosen
 * @returns {{root: HTMLElement, chosen: () => string[]}}
 */
export function classChecks(classes, label, chosen) {
  const boxes = classes.map(({ name }) => el("input", { type: "checkbox", value: name, checked: chosen.includes(name) }));
  const rows = classes.map(({ name }, at) => el("label", { class: "check" }, boxes[at], bdi(name)));
  const field = el("input", { type: "search", placeholder: t("Find a class"), "aria-label": t("Find a class"), autocomplete: "off", dir: "auto" });
  field.addEventListener("input", () => rows.forEach((row, at) => (row.hidden = distance(field.value, classes[at].name) === null)));
  // Chosen classes first, so that none of many is overlooked.
  const order = [...rows.filter((_, at) => boxes[at].checked), ...rows.filter((_, at) => !boxes[at].checked)];
  const root = el(
    "fieldset",
    { class: "class-checks" },
    el("legend", {}, label),
    classes.length > SEARCH_FROM ? field : null,
    el("div", { class: "checks", tabindex: classes.length > SEARCH_FROM ? 0 : null, role: "group", "aria-label": label }, ...order),
  );
  return { root, chosen: () => boxes.filter(({ checked }) => checked).map(({ value }) => value) };
}
