/** Highlights the keywords that owners set for classes, in the colours of the classes. */
import { COLOURS, colourOf } from "./class-buttons.js";
import { markRanges } from "./highlights.js";

const WORD = "[\\p{L}\\p{N}_]";
const NO_SPACES = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u; // words are not separated there

/** @param {Node | null} node the text @param {{keywords: string}[]} classes in their order */
export function markKeywords(node, classes) {
  const text = node?.textContent ?? "";
  const spans = Array.from({ length: COLOURS }, () => []);
  classes.forEach(({ keywords }, index) => {
    const pattern = patternOf(keywords ?? "");
    if (!pattern) return;
    for (const { index: start, 0: found } of text.matchAll(pattern)) spans[colourOf(index)].push({ start, end: start + found.length });
  });
  spans.forEach((some, colour) => markRanges(`class-${colour}`, node, some));
}

/** Matches any of the words as a whole, in any case; a star at the end matches every ending. */
function patternOf(keywords) {
  const words = keywords.split("\n").filter(Boolean).map(wordPattern);
  return words.length ? new RegExp(words.join("|"), "giu") : null;
}

function wordPattern(word) {
  const isStem = word.endsWith("*") && word.length > 1;
  const escaped = (isStem ? word.slice(0, -1) : word).replace(/[.*+?^${}()|[\]\\/]/g, "\\$&").replaceAll(" ", "\\s+");
  if (NO_SPACES.test(word)) return escaped;
  return `(?<!${WORD})${escaped}${isStem ? `${WORD}*` : ""}(?!${WORD})`;
}
