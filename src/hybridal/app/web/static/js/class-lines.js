/** Classes as lines of text: typed, or pasted from a spreadsheet, whose columns are separated by tabs. */

/**
 * Reads one class per line: a name, and after a tab, a colon with a blank or a full-width colon its description.
 * @param {string} text @param {string[]} known names that may contain a colon themselves
 * @returns {{name: string, description: string}[]} each name once
 */
export function readClassLines(text, known = []) {
  const found = new Map();
  for (const line of text.split(/\r?\n/)) {
    const { name, description } = line.includes("\t") ? parted(line, "\t") : readLine(line.trim(), known);
    if (name && !found.get(name)) found.set(name, description);
  }
  return [...found].map(([name, description]) => ({ name, description }));
}

// Chinese and Japanese people type no blank after their colon.
const COLON = /:\s|：/;

function readLine(line, known) {
  const begins = (name) => line.startsWith(name) && (line === name || line.slice(name.length).search(COLON) === 0);
  const whole = known.filter(begins).sort((one, other) => other.length - one.length)[0];
  if (whole) return { name: whole, description: line.slice(whole.length + 1).trim() };
  const [colon] = COLON.exec(line) ?? [];
  return parted(line, colon);
}

function parted(line, separator) {
  const [name, ...rest] = line.split(separator);
  return { name: unquoted(name), description: unquoted(rest.join(separator === "\t" ? " " : separator)) };
}

/** A cell without the quotes that spreadsheets put around some. */
function unquoted(cell) {
  const inside = /^"(.*)"$/.exec(cell.trim());
  return (inside ? inside[1].replaceAll('""', '"') : cell).trim();
}
