/** What the model predicts for a text, and what its file suggests, whether a text has one class or several. */

/**
 * The predicted classes with their probabilities; null while those of a new model are being written.
 * @param {import("./queue.js").Item} item @returns {Map<string, number | null>}
 */
export function predicted({ prediction }) {
  if (!prediction) return new Map();
  if (!prediction.classes) return new Map([[prediction.class, prediction.probability]]);
  return new Map(prediction.classes.map((name) => [name, prediction.probabilities[name] ?? null]));
}

/** The classes suggested by the file. @param {import("./queue.js").Item} item @returns {string[]} */
export function suggested({ suggestion, suggestions }) {
  return suggestions ?? (suggestion ? [suggestion] : []);
}

/**
 * The classes that the model predicts, else those suggested by the file. Several may be none, `[]`.
 * @param {import("./queue.js").Item | undefined} item
 * @returns {string[] | null} null if nothing is proposed
 */
export function proposed(item) {
  if (item?.prediction) return [...predicted(item).keys()];
  return item?.suggestions ?? (item?.suggestion ? [item.suggestion] : null);
}
