/** Shows how well people agree, as Krippendorff's α and in one sentence. */
import { get } from "./api.js";
import { table } from "./charts/figure.js";
import { el, replaceContent } from "./dom.js";
import { figure, percent } from "./format.js";
import { t, tn } from "./i18n.js";

/** @param {HTMLElement} place */
export async function agreement(place) {
  const found = await get("/api/agreement");
  const wasOpen = place.querySelector("details")?.open;
  replaceContent(place, [el("h2", {}, t("Agreement")), ...(found.alpha == null ? nothingYet(found) : summary(found, wasOpen))]);
}

function nothingYet({ note }) {
  return [
    el("p", { class: "muted" }, note ? t("Not enough data yet: {note}.", { note }) : t("Not enough data yet.")),
    explained(),
  ];
}

function summary({ alpha, low, high, texts, pairs, note, between, classes }, open) {
  const interval = low == null ? note : t("between {low} and {high} with 95% confidence", { low: figure(low, 2), high: figure(high, 2) });
  return [
    el(
      "p",
      {},
      el("span", { class: "figure-number" }, `α = ${figure(alpha, 2)}`),
      interval ? el("span", { class: "muted" }, ` ${interval}`) : null,
    ),
    el("p", {}, interpretation(alpha)),
    el(
      "p",
      { class: "muted small" },
      classes ? t("Krippendorff's α of whole sets of classes, with MASI distance.") : t("Krippendorff's α."),
      " ",
      tn("{n} text was labelled by two or more people.", "{n} texts were labelled by two or more people.", texts),
      " ",
      tn("{n} pair of annotations was compared.", "{n} pairs of annotations were compared.", pairs),
      " ",
      t("1 is perfect agreement, 0 is agreement by chance."),
    ),
    el(
      "details",
      { open },
      el("summary", {}, t("Who agrees with whom")),
      table(t("Pairs of people"), [t("Person"), t("Other person"), t("Texts"), t("Agreement"), classes ? t("Most often contested") : t("Most often confused")], between.map(row)),
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
    el("summary", {}, t("Agreement on each class")),
    table(t("Agreement on each class"), [t("Class"), "α", t("95% interval"), t("Texts"), t("Given")], rows),
  );
}

/** 0.417, 0.81 -> "0.42 to 0.81"; a dash if there is no interval. */
const range = (low, high) => (low == null ? "–" : t("{low} to {high}", { low: figure(low, 2), high: figure(high, 2) }));

function row({ one, other, texts, agreed, confused: [most], contested }) {
  return [one, other, texts, percent(agreed), contested ? contestedMost(contested) : confusedMost(most)];
}

function confusedMost(most) {
  return most ? tn("{one} and {other}, {n} time", "{one} and {other}, {n} times", most.times, most) : "–";
}

function contestedMost([most]) {
  return most ? tn("{name}, {n} time", "{name}, {n} times", most.one + most.other, { name: most.name }) : "–";
}

function interpretation(alpha) {
  if (alpha >= 0.8) return t("People agree reliably.");
  return alpha >= 0.667
    ? t("Good enough for tentative conclusions.")
    : t("Too low to rely on: discuss the disagreements and describe the classes better.");
}

function explained() {
  return el(
    "p",
    { class: "muted small" },
    t("Agreement is measured on texts that several people label. An owner sets their share in Settings."),
  );
}
