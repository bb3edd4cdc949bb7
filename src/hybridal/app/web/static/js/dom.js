/** Elements without a word of HTML: whatever a text contains, it stays text. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element. Functions become listeners (`onclick`), booleans switch attributes, everything else is an attribute's value.
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Node | string | number | null | undefined)} children
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for drawings. @returns {SVGElement} */
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

/** A name that people gave to something, kept from turning the line around it; it may break after an underscore. */
export function named(name) {
  const parts = name.split(/(?<=[_/.])/).flatMap((part) => [el("wbr"), part]);
  return el("bdi", {}, ...parts.slice(1));
}

/** Says something in a place, unless it says so already: whoever listens would hear it again. */
export function say(place, sentence) {
  if (place.textContent !== sentence) place.textContent = sentence;
}

/** Puts other children into a place. Who was on a control of it stays there, by its name or else near its place. */
export function redraw(root, children) {
  const all = () => [...root.querySelectorAll("a[href], input, textarea, select, button, summary")];
  const controls = () => all().filter((control) => !control.disabled && control.checkVisibility());
  const nameOf = (control) => control.ariaLabel ?? `${control.closest("[role=group]")?.ariaLabel} ${control.textContent}`;
  const had = root.contains(document.activeElement) ? document.activeElement : null;
  // Who is typing keeps their words; what comes of them draws it all again.
  if (had && had.value !== had.defaultValue && ["INPUT", "TEXTAREA"].includes(had.tagName)) return;
  const at = controls().indexOf(had);
  root.replaceChildren(...children);
  if (!had) return;
  const now = controls();
  const same = [now[at], ...now].find((control) => control && nameOf(control) === nameOf(had));
  (same ?? now[at] ?? now.at(-1) ?? root.closest("[tabindex]")).focus({ preventScroll: true });
}
