/** A list of texts that others change while somebody works in it. */

/** What each row was drawn from. @type {WeakMap<HTMLElement, string>} */
const sources = new WeakMap();

/**
 * Lists these texts, in their order. A row that nothing happened to stays as it is. So does one that somebody is in, or
 * has chosen something in: where it is not listed any more, it says so.
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
  keepingStill(whereTheyAre(rows.filter((row) => next.includes(row))), (fixed) => {
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

/** Who has a dialog open comes back to one of the rows. */
function isInUse(row) {
  if (row.dataset.id === "") return false;
  const isChosen = [...row.querySelectorAll("select")].some(({ value }) => value);
  return isChosen || row.matches(":hover, :focus-within") || Boolean(document.querySelector("dialog[open]"));
}

/** The row that somebody is in, or else the first that they see. */
function whereTheyAre(rows) {
  const isSeen = (row) => row.getBoundingClientRect().bottom > 0 && row.getBoundingClientRect().top < innerHeight;
  return [(row) => row.matches(":focus-within"), (row) => row.matches(":hover"), isSeen].map((is) => rows.find(is)).find(Boolean);
}

/** Changes what is around a row, which stays at its place on the screen. */
function keepingStill(row, change) {
  const top = row?.getBoundingClientRect().top;
  change(row);
  if (row) scrollBy({ top: row.getBoundingClientRect().top - top, behavior: "instant" });
}

/** Puts everything else around one row, which is not moved itself: it would lose the focus. */
function replaceAround(list, fixed, next) {
  if (!fixed) return list.replaceChildren(...next);
  for (const row of [...list.children]) if (row !== fixed) row.remove();
  fixed.before(...next.slice(0, next.indexOf(fixed)));
  fixed.after(...next.slice(next.indexOf(fixed) + 1));
}
