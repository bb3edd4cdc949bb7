/** How far people agree, in one number and in words. */
import { get } from "./api.js";
import { table } from "./charts/figure.js";
import { el, redraw } from "./dom.js";
import { count, percent } from "./format.js";

/** @param {HTMLElement} place */
export async function agreement(place) {
  const found = await get("/api/agreement");
  const wasOpen = place.querySelector("details")?.open;
  redraw(place, [el("h2", {}, "Agreement"), ...(found.alpha == null ? nothingYet(found) : told(found, wasOpen))]);
}

function nothingYet({ note }) {
  return [
    el("p", { class: "muted" }, note ? `Not enough data yet: ${note}.` : "Not enough data yet."),
    explained(),
  ];
}

function told({ alpha, low, high, texts, pairs, note, between }, open) {
  const sure = low == null ? note : `between ${low.toFixed(2)} and ${high.toFixed(2)} with a confidence of 95%`;
  return [
    el(
      "p",
      {},
      el("span", { class: "figure-number" }, `α = ${alpha.toFixed(2)}`),
      sure ? el("span", { class: "muted" }, ` ${sure}`) : null,
    ),
    el("p", {}, inWords(alpha)),
    el(
      "p",
      { class: "muted small" },
      `Krippendorff's α on ${count(texts, "text")} that two or more people labelled (${count(pairs, "pair")} of annotations). 1 is perfect agreement, 0 what chance alone would give.`,
    ),
    el(
      "details",
      { open },
      el("summary", {}, "Who agrees with whom"),
      table("Pairs of people", ["One", "Other", "Texts", "Agreed", "Most often confused"], between.map(row)),
    ),
  ];
}

function row({ one, other, texts, agreed, confused: [most] }) {
  return [
    one,
    other,
    texts,
    percent(agreed),
    most ? `${most.one} and ${most.other}, ${count(most.times, "time")}` : "–",
  ];
}

function inWords(alpha) {
  if (alpha >= 0.8) return "People agree reliably.";
  return alpha >= 0.667
    ? "Good enough for tentative conclusions."
    : "Too low to rely on: discuss the disagreements and describe the classes better.";
}

function explained() {
  return el(
    "p",
    { class: "muted small" },
    "Agreement is measured on texts that several people label; an owner sets the share of them under Settings.",
  );
}
