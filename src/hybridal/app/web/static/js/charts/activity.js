/** Who labelled how many texts on which day, and how long a label takes. */
import { bdi, el, svg } from "../dom.js";
import { duration, figure as digits } from "../format.js";
import { language, t, tn, whole } from "../i18n.js";
import { figure, table } from "./figure.js";
import { linear } from "./scale.js";

const HEIGHT = 170;
const FOOT = 24;
const LETTER = 8;
const DAY = new Intl.DateTimeFormat(language, { day: "numeric", month: "numeric", timeZone: "UTC" });

const named = (day) => DAY.format(new Date(`${day}T00:00:00Z`));
const took = (seconds) => (seconds < 10 ? t("{seconds} s", { seconds: digits(seconds, 1) }) : duration(seconds));

/**
 * @typedef {{timed: number, median: number | null, low: number | null, high: number | null}} Duration
 * @typedef {{days: string[], people: {name: string, texts: number, by_day: number[], duration: Duration}[],
 *   classes: {name: string, duration: Duration}[]}} Activity
 */

/** A bar for each day, and a table of people and days. @param {Activity} found */
export function labelsPerDay({ days, people }) {
  const totals = days.map((_, at) => people.reduce((sum, { by_day }) => sum + by_day[at], 0));
  const total = totals.reduce((sum, n) => sum + n, 0);
  return figure({
    title: t("Labels per day"),
    about: t("Texts that people labelled on each of the last {n} days.", { n: whole(days.length) }),
    summary: tn("{n} text was labelled.", "{n} texts were labelled.", total),
    draw: (width) => ({ height: HEIGHT, parts: bars(days, totals, width) }),
    columns: [t("Day"), ...people.map(({ name }) => name)],
    rows: days.map((day, at) => [named(day), ...people.map(({ by_day }) => by_day[at])]).filter((_, at) => totals[at]).reverse(),
  });
}

function bars(days, totals, width) {
  const slot = width / days.length;
  const gap = slot > 12 ? 4 : 1;
  const height = linear([0, Math.max(1, ...totals)], [0, HEIGHT - FOOT - 20]);
  const everyNth = Math.ceil((6 * LETTER) / slot);
  return days.flatMap((day, at) => {
    const [left, tall, n] = [at * slot, height(totals[at]), totals[at]];
    const middle = left + (slot - gap) / 2;
    const bar = svg(
      "rect",
      { class: "retrain", x: left, y: HEIGHT - FOOT - tall, width: slot - gap, height: tall, rx: 3 },
      svg("title", {}, t("{day}: {n}", { day: named(day), n: whole(n) })),
    );
    const above = n && whole(n).length * LETTER <= slot ? [svg("text", { x: middle, y: HEIGHT - FOOT - tall - 6, "text-anchor": "middle" }, whole(n))] : [];
    const below = (days.length - 1 - at) % everyNth ? [] : [svg("text", { x: Math.min(Math.max(middle, 18), width - 18), y: HEIGHT - 6, "text-anchor": "middle" }, named(day))];
    return [bar, ...above, ...below];
  });
}

/** How long labels take: of each person, and of each class. @param {Activity} found */
export function timePerLabel({ days, people, classes }) {
  const title = t("Time per label");
  const cells = ({ timed, median, low, high }) => [
    timed,
    median == null ? el("span", { class: "muted" }, t("too few labels to tell")) : took(median),
    median == null ? "" : t("{low} to {high}", { low: took(low), high: took(high) }),
  ];
  const columns = [t("Timed labels"), t("Median"), t("Middle half")];
  return el(
    "figure",
    { class: "card" },
    el(
      "figcaption",
      {},
      el("h2", {}, title),
      el("p", {}, t("From one answer of a person to the next, in the last {n} days. Pauses of more than five minutes and labels of several texts at once are left out.", { n: whole(days.length) })),
    ),
    table(title, [t("Person"), ...columns], people.map(({ name, duration: found }) => [bdi(name), ...cells(found)])),
    classes.length
      ? el(
          "details",
          {},
          el("summary", {}, t("Time per label of each class")),
          table(t("Time per label of each class"), [t("Class"), ...columns], classes.map(({ name, duration: found }) => [bdi(name), ...cells(found)])),
        )
      : null,
  );
}
