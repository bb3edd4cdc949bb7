// Notes in `spoken` what a screen reader reads out by itself: all words of a live region that changed.
window.spoken = [];
const SPOKEN = "[aria-live], [role=status], [role=alert]";
const isChange = ({ type, target, oldValue }) => type !== "attributes" || oldValue !== target.getAttribute("hidden");
const placeOf = ({ target }) => (target.closest ? target : target.parentElement)?.closest(SPOKEN);
new MutationObserver((changes) => {
  for (const place of new Set(changes.filter(isChange).map(placeOf))) {
    if (!place || place.ariaLive === "off" || !place.checkVisibility()) continue;
    const words = place.innerText.replace(/\s+/g, " ").trim();
    if (words) window.spoken.push(words);
  }
}).observe(document, { subtree: true, childList: true, characterData: true, attributeOldValue: true, attributeFilter: ["hidden"] });
