/** Marks words of a text by the CSS Custom Highlight API, which leaves the text as it is; without it nothing is marked. */

const CAN_MARK = "highlights" in CSS;

/**
 * Replaces the marks of this name.
 * @param {string} name as in `::highlight(name)` @param {Node | null} node a text node
 * @param {{start: number, end: number}[]} spans
 */
export function markRanges(name, node, spans) {
  if (!CAN_MARK) return;
  const length = node?.textContent.length ?? 0;
  const ranges = spans.filter(({ end }) => end <= length).map(({ start, end }) => new StaticRange({ startContainer: node, startOffset: start, endContainer: node, endOffset: end }));
  if (ranges.length) CSS.highlights.set(name, new Highlight(...ranges));
  else CSS.highlights.delete(name);
}

/** @param {...string} names */
export function clearMarks(...names) {
  if (CAN_MARK) for (const name of names) CSS.highlights.delete(name);
}
