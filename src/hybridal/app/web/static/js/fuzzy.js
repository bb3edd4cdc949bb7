/** Fuzzy search for class names: `card arr` finds `card_arrival`, `uber` finds `Über`. */

/** The text without accents and in lower case. */
export const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

/**
 * The distance of a name from the typed text, or null if it does not match.
 * Each typed word adds 0 if it is a prefix of a word of the name, 1 if it is a substring of the name, and 2 if it shares
 * the first letter of a word that contains its letters in order.
 */
export function distance(typed, name) {
  const folded = fold(name);
  const parts = folded.split(/[^\p{L}\p{N}]+/u);
  let far = 0;
  for (const word of fold(typed).split(/\s+/).filter(Boolean)) {
    if (parts.some((part) => part.startsWith(word))) continue;
    if (folded.includes(word)) far += 1;
    else if (parts.some((part) => part[0] === word[0] && inOrder(word, part))) far += 2;
    else return null;
  }
  return far;
}

function inOrder(letters, word) {
  let at = -1;
  return [...letters].every((letter) => (at = word.indexOf(letter, at + 1)) >= 0);
}
