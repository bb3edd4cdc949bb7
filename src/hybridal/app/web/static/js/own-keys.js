/** Keys that a person has chosen for the functions of the page Label; kept on this device, for all projects. */
import { byId, el } from "./dom.js";
import { t } from "./i18n.js";

const SETTING = "hybridal.own-keys";
const ALLOWED = /^[^\s\d]$/u; // digits stay those of the classes

/** @returns {Record<string, string>} the chosen key of each function that has one, by its usual key */
export function ownKeys() {
  try {
    return JSON.parse(localStorage.getItem(SETTING)) ?? {};
  } catch {
    return {};
  }
}

/** The usual key of the function that a typed key has; "" if its function has another key now. @param {string} typed */
export function usualKey(typed) {
  const own = Object.entries(ownKeys());
  const found = own.find(([, chosen]) => chosen === typed);
  if (found) return found[0];
  return own.some(([usual]) => usual === typed) ? "" : typed;
}

/** Writes the keys of today on the buttons and in the help. */
export function showOwnKeys() {
  const own = ownKeys();
  for (const shown of document.querySelectorAll("kbd[data-key]")) {
    const [usual, before] = [shown.dataset.key, shown.textContent];
    shown.textContent = own[usual] ?? usual;
    const button = shown.closest("[aria-keyshortcuts]");
    const shortcuts = button?.getAttribute("aria-keyshortcuts").split(" ");
    button?.setAttribute("aria-keyshortcuts", shortcuts.map((key) => (key === before ? shown.textContent : key)).join(" "));
  }
}

/** Fills the part of the help in which keys are changed. @param {() => void} changed */
export function keyFields(changed) {
  const place = byId("key-fields");
  const functions = [...byId("key-list").querySelectorAll("dt > kbd[data-key]")];
  const store = (own) => {
    localStorage.setItem(SETTING, JSON.stringify(own));
    showOwnKeys();
    changed();
    for (const [field, shown] of fields) field.value = shown.textContent;
  };
  const fields = functions.map((shown) => {
    const field = el("input", { maxlength: 1, autocomplete: "off", autocapitalize: "off", value: shown.textContent });
    field.addEventListener("input", () => choose(field, shown));
    field.addEventListener("focus", () => field.select());
    place.append(el("label", {}, field, el("span", {}, shown.parentElement.nextElementSibling.textContent)));
    return [field, shown];
  });

  function choose(field, shown) {
    const key = field.value.toLowerCase();
    const taken = functions.some((other) => other !== shown && other.textContent === key);
    const problem = taken ? t("“{key}” has a function already.", { key }) : t("Type a letter or a sign; digits are keys of classes.");
    field.setCustomValidity(key === "" || (ALLOWED.test(key) && !taken) ? "" : problem);
    if (field.reportValidity() && key) store({ ...ownKeys(), [shown.dataset.key]: key });
  }
  const usual = byId("usual-keys");
  usual.addEventListener("click", () => store({}));
  usual.disabled = false;
}
