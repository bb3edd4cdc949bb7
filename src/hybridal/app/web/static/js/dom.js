/** Creates elements without parsing HTML, so that the content of a text can never become markup. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Creates an element. Functions become listeners (`onclick`), booleans set or omit an attribute, null omits it.
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Node | string | number | null | undefined)} children
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for SVG. @returns {SVGElement} */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child != null).map(asNode));
  return element;
}

function asNode(child) {
  return child instanceof Node ? child : document.createTextNode(String(child));
}

/** The element with this id. */
export function byId(id) {
  return document.getElementById(id);
}

/** A name in a `<bdi>`, so that right-to-left names do not reorder the line; it may break after an underscore. */
export function bdi(name) {
  const parts = name.split(/(?<=[_/.])/).flatMap((part) => [el("wbr"), part]);
  return el("bdi", {}, ...parts.slice(1));
}

/** Sets the text of an element only if it differs, because screen readers announce every change. */
export function setText(place, sentence) {
  if (place.textContent !== sentence) place.textContent = sentence;
}

/** Replaces the children of an element. The focus moves to the new control with the same name, else to one nearby. */
export function replaceContent(root, children) {
  const all = () => [...root.querySelectorAll("a[href], input, textarea, select, button, summary")];
  const controls = () => all().filter((control) => !control.disabled && control.checkVisibility());
  const nameOf = (control) => control.ariaLabel ?? `${control.closest("[role=group]")?.ariaLabel} ${control.textContent}`;
  const focused = root.contains(document.activeElement) ? document.activeElement : null;
  // Keep unsaved input; saving it will replace the content.
  if (focused && focused.value !== focused.defaultValue && ["INPUT", "TEXTAREA"].includes(focused.tagName)) return;
  const at = controls().indexOf(focused);
  root.replaceChildren(...children);
  if (!focused) return;
  const now = controls();
  const same = [now[at], ...now].find((control) => control && nameOf(control) === nameOf(focused));
  (same ?? now[at] ?? now.at(-1) ?? root.closest("[tabindex]")).focus({ preventScroll: true });
}
