/** Names that people half remember: `card arr` finds `card_arrival`, `uber` finds `Über`. */

const fold = (words) => words.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

/**
 * How far a name is from what was typed; null where it does not fit.
 * Every typed word begins a word of the name (0), is any part of it (1), or begins as one of its words and has its letters in order (2).
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
