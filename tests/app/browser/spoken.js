// Notes in `spoken` what a screen reader reads out by itself: of a live region what is new, or all of it where it is atomic.
window.spoken = [];
const LIVE = "[aria-live], [role=status], [role=alert]";
const isChange = ({ type, target, oldValue }) => type !== "attributes" || oldValue !== target.getAttribute("hidden");
const read = ({ target, addedNodes }) => {
  const place = target.closest ? target : target.parentElement;
  const [live, whole] = [place?.closest(LIVE), place?.closest("[aria-atomic=true], [role=status], [role=alert]")];
  if (!live || live.ariaLive === "off") return [];
  return whole && live.contains(whole) ? [whole] : addedNodes.length ? [...addedNodes] : [place];
};
new MutationObserver((changes) => {
  for (const place of new Set(changes.filter(isChange).flatMap(read))) {
    if (place.checkVisibility && !place.checkVisibility()) continue;
    const words = (place.innerText ?? place.data).replace(/\s+/g, " ").trim();
    if (words) window.spoken.push(words);
  }
}).observe(document, { subtree: true, childList: true, characterData: true, attributeOldValue: true, attributeFilter: ["hidden"] });
