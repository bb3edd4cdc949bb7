/** Keys that a person has chosen for the functions of the page Label; kept with their account. */
import { put } from "./api.js";
import { byId, el } from "./dom.js";
import { t } from "./i18n.js";

const BEFORE_ACCOUNTS = "hybridal.own-keys"; // where this browser kept keys before accounts did
const TAKEN_OVER_BY = "hybridal.own-keys/taken-over-by";
const ALLOWED = /^[^\s\d]$/u; // digits stay those of the classes

/** @type {Record<string, string>} */
let keys = {};

/** @returns {Record<string, string>} the chosen key of each function that has one, by its usual key */
export const ownKeys = () => keys;

/**
 * Uses the keys of a person. One who never chose any takes over those of this browser, once per project.
 * @param {{own_keys: Record<string, string> | null, me: {name: string}}} project
 */
export async function useOwnKeys({ own_keys: chosen, me }) {
  keys = chosen ?? (await takeOver(me.name).catch(() => ({})));
}

async function takeOver(name) {
  const kept = JSON.parse(localStorage.getItem(BEFORE_ACCOUNTS));
  // The other people of this browser begin with the usual keys.
  if (!kept || (localStorage.getItem(TAKEN_OVER_BY) ?? name) !== name) return {};
  const reply = await put("/api/own-keys", { keys: kept });
  localStorage.setItem(TAKEN_OVER_BY, name);
  return reply.keys;
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
  let saving = Promise.resolve();
  const use = (own) => {
    keys = own;
    showOwnKeys();
    changed();
    for (const [field, shown] of fields) field.value = shown.textContent;
  };
  const store = (own) => {
    const before = keys;
    use(own);
    byId("keys-problem").textContent = "";
    saving = saving
      .then(() => put("/api/own-keys", { keys: own }))
      .catch((error) => {
        use(before);
        byId("keys-problem").textContent = error.message;
      });
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
