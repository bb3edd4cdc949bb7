/** Classes as lines of text: typed, or pasted from a spreadsheet, whose columns are separated by tabs. */

const HEAD = /^"?(name|class|label)"?\t"?description"?(\t|$)/i;

/**
 * Reads one class per line: a name, and after a tab, a colon with a blank or a full-width colon its description.
 * A third column of one character is the key of the class. A first line "name, description" is skipped.
 * @param {string} text @param {string[]} known names that may contain a colon themselves
 * @returns {{name: string, description: string, key: string}[]} each name once
 */
export function readClassLines(text, known = []) {
  const found = new Map();
  for (const line of text.replace(HEAD, "\t").split(/\r?\n/)) {
    const row = line.includes("\t") ? readRow(line) : readLine(line.trim(), known);
    if (row.name && !found.get(row.name)?.description) found.set(row.name, row);
  }
  return [...found.values()];
}

// Chinese and Japanese people type no blank after their colon.
const COLON = /:\s|：/;

function readRow(line) {
  const [name, ...rest] = line.split("\t").map(unquoted);
  const key = rest[1]?.length === 1 ? rest.splice(1, 1)[0] : "";
  return { name, description: rest.join(" ").trim(), key };
}

function readLine(line, known) {
  const begins = (name) => line.startsWith(name) && (line === name || line.slice(name.length).search(COLON) === 0);
  const whole = known.filter(begins).sort((one, other) => other.length - one.length)[0];
  if (whole) return { name: whole, description: line.slice(whole.length + 1).trim(), key: "" };
  const [colon] = COLON.exec(line) ?? [];
  const [name, ...rest] = line.split(colon);
  return { name: unquoted(name), description: unquoted(rest.join(colon)), key: "" };
}

/** A cell without the quotes that spreadsheets put around some. */
function unquoted(cell) {
  const inside = /^"(.*)"$/.exec(cell.trim());
  return (inside ? inside[1].replaceAll('""', '"') : cell).trim();
}
