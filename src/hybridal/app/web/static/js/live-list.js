/** Updates a list of texts without disturbing the row a person is working in. */

/** The data that each row was drawn from. @type {WeakMap<HTMLElement, string>} */
const sources = new WeakMap();

/**
 * Shows these texts in this order. Unchanged rows stay as they are. So does a row that is hovered, focused or has a
 * chosen class: if it is no longer listed, it gets the class `unlisted`, which shows a note.
 * @param {HTMLElement} list
 * @param {{id: string, source: string, draw: () => HTMLElement}[]} wanted
 * @returns {boolean} whether anything changed
 */
export function renewList(list, wanted) {
  const rows = [...list.children];
  const there = new Map(rows.map((row) => [row.dataset.id, row]));
  const listed = wanted.map(({ id, source, draw }) => {
    const row = there.get(id);
    return row && (sources.get(row) === source || isInUse(row)) ? row : drawn(id, source, draw);
  });
  const next = [...listed];
  for (const [at, row] of rows.entries()) if (!listed.includes(row) && isInUse(row)) next.splice(at, 0, row);
  const isSame = next.length === rows.length && next.every((row, at) => row === rows[at]);
  withoutScrolling(anchorRow(rows.filter((row) => next.includes(row))), (fixed) => {
    for (const row of next) row.classList.toggle("unlisted", !listed.includes(row));
    if (!isSame) replaceAround(list, fixed, next);
  });
  return !isSame;
}

function drawn(id, source, draw) {
  const row = draw();
  row.dataset.id = id;
  sources.set(row, source);
  return row;
}

function isInUse(row) {
  if (row.dataset.id === "") return false;
  const isChosen = [...row.querySelectorAll("select")].some(({ value }) => value);
  // A dialog was opened from one of the rows and returns to it.
  return isChosen || row.matches(":hover, :focus-within") || Boolean(document.querySelector("dialog[open]"));
}

/** The row that must not move: the focused one, else the hovered one, else the first visible one. */
function anchorRow(rows) {
  const isSeen = (row) => row.getBoundingClientRect().bottom > 0 && row.getBoundingClientRect().top < innerHeight;
  return [(row) => row.matches(":focus-within"), (row) => row.matches(":hover"), isSeen].map((is) => rows.find(is)).find(Boolean);
}

/** Runs `change` and scrolls so that `row` stays at its place on the screen. */
function withoutScrolling(row, change) {
  const top = row?.getBoundingClientRect().top;
  change(row);
  if (row) scrollBy({ top: row.getBoundingClientRect().top - top, behavior: "instant" });
}

/** Replaces all rows except `fixed`, which is not moved: it would lose the focus. */
function replaceAround(list, fixed, next) {
  if (!fixed) return list.replaceChildren(...next);
  for (const row of [...list.children]) if (row !== fixed) row.remove();
  fixed.before(...next.slice(0, next.indexOf(fixed)));
  fixed.after(...next.slice(next.indexOf(fixed) + 1));
}
