/** Single-key shortcuts. They are off where people type and in dialogs, and can be switched off on this device. */

/** Keys of the classes in their order: digits, then the letters without another meaning. */
export const CLASS_KEYS = [..."123456789abdeghijklmnopqrtvwxyz"];

/**
 * The key of each class: its own, or the one by its place, or else one that is left; null for those without one.
 * @param {{key?: string}[]} classes @param {string[]} others keys that have another function
 * @returns {(string | null)[]}
 */
export function keysOf(classes, others = []) {
  const taken = new Set([...classes.map(({ key }) => key), ...others]);
  const byPlace = (index) => (taken.has(CLASS_KEYS[index]) ? null : (CLASS_KEYS[index] ?? null));
  const placed = classes.map(({ key }, index) => (key && !others.includes(key) ? key : byPlace(index)));
  const left = CLASS_KEYS.filter((key) => !placed.includes(key) && !others.includes(key));
  return placed.map((key) => key ?? left.shift() ?? null);
}

const SETTING = "hybridal.keys";
const CLICKED = '[type="checkbox"], [type="radio"], [type="button"], [type="submit"], [type="reset"], [type="file"]';

export const keysAreOn = () => localStorage.getItem(SETTING) !== "off";
export const switchKeys = (on) => localStorage.setItem(SETTING, on ? "on" : "off");

/**
 * @param {(key: string) => boolean} act runs a key's action; returns whether the key has one
 * @param {(typed: string) => string} usual the key by which `act` knows a typed one
 */
export function listen(act, usual = (typed) => typed) {
  document.addEventListener("keydown", (event) => {
    // A key that is held down counts once.
    if (event.repeat || event.altKey || event.metaKey || isBusy(event.target)) return;
    if (event.key === "Enter" && event.target.closest("button, a, summary, input")) return; // it presses them
    const key = event.ctrlKey ? { z: "undo" }[event.key] : keysAreOn() && usual(meant(event));
    if (key && act(key)) event.preventDefault();
  });
}

function isBusy(target) {
  // Until the next frame after a dialog was closed, the focus is still inside it.
  const isInClosedDialog = target.closest("dialog:not([open])");
  const isClicked = target.matches(CLICKED);
  return (
    (!isInClosedDialog && target.closest("input, textarea, select, dialog") && !isClicked) ||
    document.querySelector("dialog[open], [popover]:popover-open")
  );
}

/** The typed letter; on non-Latin keyboards, and where digits need Shift, the key's position instead. */
function meant(event) {
  if (/^Digit[0-9]$/.test(event.code) && !event.shiftKey) return event.code.slice(5);
  if (event.code === "NumpadDecimal") return ".";
  if (/^Key[A-Z]$/.test(event.code) && event.key > "~") return event.code.slice(3).toLowerCase();
  return event.key.toLowerCase();
}
