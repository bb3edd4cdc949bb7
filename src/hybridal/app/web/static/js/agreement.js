/** How far people agree, in one number and in words. */
import { get } from "./api.js";
import { table } from "./charts/figure.js";
import { byId, el } from "./dom.js";
import { count, percent } from "./format.js";

export async function agreement() {
  const found = await get("/api/agreement");
  byId("agreement").replaceChildren(...(found.alpha == null ? nothingYet(found) : told(found)));
}

function nothingYet({ note }) {
  return [
    el("p", { class: "muted" }, note ? `Nothing can be said yet: ${note}.` : "Nothing can be said yet."),
    explained(),
  ];
}

function told({ alpha, low, high, texts, pairs, note, between }) {
  const sure = low == null ? note : `between ${low.toFixed(2)} and ${high.toFixed(2)} with a confidence of 95%`;
  return [
    el("p", { class: "figure-number" }, `α = ${alpha.toFixed(2)}`),
    el("p", {}, `${inWords(alpha)}${sure ? `, ${sure}` : ""}.`),
    el(
      "p",
      { class: "muted small" },
      `Krippendorff's α on ${count(texts, "text")} that two or more people labelled (${count(pairs, "pair")} of answers). 1 is perfect agreement, 0 what chance alone would give.`,
    ),
    el(
      "details",
      {},
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
  if (alpha >= 0.8) return "Reliable";
  return alpha >= 0.667
    ? "Good enough for tentative conclusions"
    : "Too low to rely on: describe the classes better, and settle disagreements";
}

function explained() {
  return el(
    "p",
    { class: "muted small" },
    "Agreement is measured on texts that two people label: set the share of them under Settings.",
  );
}
