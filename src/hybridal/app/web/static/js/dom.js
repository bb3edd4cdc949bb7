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

/** A name that people gave to something, kept from turning the line around it. */
export function named(name) {
  return el("bdi", {}, name);
}
