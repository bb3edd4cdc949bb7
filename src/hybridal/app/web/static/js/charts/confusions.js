/** Which classes people confuse with each other. */
import { link } from "../api.js";
import { bdi, el } from "../dom.js";
import { percent } from "../format.js";
import { t, whole } from "../i18n.js";
import { table } from "./figure.js";

const MAX_PAIRS = 30;

/** @param {{one: string, other: string, texts: number, of: number, low: number, high: number}[]} pairs */
export function confusions(pairs) {
  const title = t("Classes that people confuse");
  const rows = pairs.slice(0, MAX_PAIRS).map(({ one, other, texts, of, low, high }) => [
    bdi(one),
    bdi(other),
    el(
      "a",
      { href: link(`/texts?${new URLSearchParams({ one, other })}`), "aria-label": t("{part} of {whole} between {one} and {other}", { part: whole(texts), whole: whole(of), one, other }) },
      t("{part} of {whole}", { part: whole(texts), whole: whole(of) }),
    ),
    el("span", {}, t("{share} ({low} to {high})", { share: percent(texts / of), low: percent(low), high: percent(high) })),
  ]);
  return el(
    "figure",
    { class: "card" },
    el(
      "figcaption",
      {},
      el("h2", {}, title),
      el("p", {}, t("Of the texts that several people labelled and at least one gave one of the two classes: how many got one class from one person and the other class from another. Describe such classes better, or merge them.")),
    ),
    table(title, [t("Class"), t("Other class"), t("Texts"), t("Share")], rows),
  );
}
