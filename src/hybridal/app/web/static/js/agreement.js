/** Shows how well people agree, as Krippendorff's α and in one sentence. */
import { get } from "./api.js";
import { table } from "./charts/figure.js";
import { el, replaceContent } from "./dom.js";
import { count, figure, percent } from "./format.js";

/** @param {HTMLElement} place */
export async function agreement(place) {
  const found = await get("/api/agreement");
  const wasOpen = place.querySelector("details")?.open;
  replaceContent(place, [el("h2", {}, "Agreement"), ...(found.alpha == null ? nothingYet(found) : summary(found, wasOpen))]);
}

function nothingYet({ note }) {
  return [
    el("p", { class: "muted" }, note ? `Not enough data yet: ${note}.` : "Not enough data yet."),
    explained(),
  ];
}

function summary({ alpha, low, high, texts, pairs, note, between, classes }, open) {
  const interval = low == null ? note : `between ${low.toFixed(2)} and ${high.toFixed(2)} with 95% confidence`;
  return [
    el(
      "p",
      {},
      el("span", { class: "figure-number" }, `α = ${alpha.toFixed(2)}`),
      interval ? el("span", { class: "muted" }, ` ${interval}`) : null,
    ),
    el("p", {}, interpretation(alpha)),
    el(
      "p",
      { class: "muted small" },
      `Krippendorff's α${classes ? " of whole sets of classes, with MASI distance," : ""} on ${count(texts, "text")} that two or more people labelled (${count(pairs, "pair")} of annotations). 1 is perfect agreement, 0 is agreement by chance.`,
    ),
    el(
      "details",
      { open },
      el("summary", {}, "Who agrees with whom"),
      table("Pairs of people", ["Person", "Other person", "Texts", "Agreement", classes ? "Most often contested" : "Most often confused"], between.map(row)),
    ),
    classes ? classTable(classes) : null,
  ].filter(Boolean);
}

/** Where a text may have several classes: the agreement on each, also of answers about some of the classes. */
function classTable(classes) {
  const rows = classes.map(({ name, alpha, low, high, texts, given }) => [name, figure(alpha, 2), range(low, high), texts, given]);
  return el(
    "details",
    {},
    el("summary", {}, "Agreement on each class"),
    table("Agreement on each class", ["Class", "α", "95% interval", "Texts", "Given"], rows),
  );
}

/** 0.417, 0.81 -> "0.42 to 0.81"; a dash if there is no interval. */
const range = (low, high) => (low == null ? "–" : `${figure(low, 2)} to ${figure(high, 2)}`);

function row({ one, other, texts, agreed, confused: [most], contested }) {
  return [one, other, texts, percent(agreed), contested ? contestedMost(contested) : confusedMost(most)];
}

function confusedMost(most) {
  return most ? `${most.one} and ${most.other}, ${count(most.times, "time")}` : "–";
}

function contestedMost([most]) {
  return most ? `${most.name}, ${count(most.one + most.other, "time")}` : "–";
}

function interpretation(alpha) {
  if (alpha >= 0.8) return "People agree reliably.";
  return alpha >= 0.667
    ? "Good enough for tentative conclusions."
    : "Too low to rely on: discuss the disagreements and describe the classes better.";
}

function explained() {
  return el(
    "p",
    { class: "muted small" },
    "Agreement is measured on texts that several people label. An owner sets their share in Settings.",
  );
}
