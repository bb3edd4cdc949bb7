/** Versions of the codebook in words, with what they changed and the agreement before and after. */
import { get } from "./api.js";
import { singleFlight } from "./controls.js";
import { bdi, el } from "./dom.js";
import { ago, figure } from "./format.js";
import { listed, t, tn } from "./i18n.js";
import { showErrors } from "./toast.js";

const quoted = (names) => listed(names.map((name) => t("“{name}”", { name })));

/**
 * What a version did, as a sentence.
 * @param {object} version @param {Map<number, string>} names the names of all classes by number
 */
export function operationSentence({ operation, changes, parts, class: about }, names) {
  const [{ name, before, after }] = changes;
  const sentences = {
    add: () =>
      changes.length === 1
        ? t("“{name}” was added.", { name })
        : tn("{n} class was added: {names}", "{n} classes were added: {names}", changes.length, { names: quoted(changes.map((one) => one.name)) }),
    rename: () => t("“{old}” was renamed to “{name}”.", { old: before.name, name }),
    describe: () => t("The description of “{name}” was changed.", { name }),
    group: () => (after.group ? t("“{name}” was put into the group “{group}”.", { name, group: after.group }) : t("“{name}” was taken out of its group.", { name })),
    archive: () => t("“{name}” was archived.", { name }),
    restore: () => t("“{name}” was restored.", { name }),
    delete: () => t("“{name}” was deleted.", { name: before.name ?? name }),
    merge: () => t("“{name}” was merged into “{into}”.", { name, into: names.get(after.merged_into) }),
    split: () => t("“{name}” was split into {parts}.", { name: about, parts: quoted(parts) }),
    redefine: () => t("“{name}” has a new definition.", { name: about }),
  };
  return (sentences[operation] ?? (() => t("“{name}” was changed.", { name })))();
}

/** A version in the list of all. */
export function versionRow(version, names) {
  const result = el("p", { class: "small", role: "status" });
  const compare = async () => {
    const { before, after } = await get(`/api/codebook/versions/${version.number}/agreement`);
    result.textContent = t("Agreement (α) before: {before}; after: {after}.", { before: inWords(before), after: inWords(after) });
  };
  const sentence = operationSentence(version, names);
  const button = el(
    "button",
    { type: "button", class: "plain", "aria-label": t("Agreement before and after: {sentence}", { sentence }), onclick: singleFlight(() => showErrors(compare)) },
    t("Agreement before and after"),
  );
  return el(
    "li",
    {},
    el("span", { class: "badge" }, t("Version {n}", { n: version.number })),
    el("div", {}, el("p", {}, sentence), el("p", { class: "muted small" }, version.person ? bdi(version.person) : t("on creation or import"), ` · ${ago(version.at)}`), details(version), result),
    ["split", "merge", "redefine"].includes(version.operation) ? button : null,
  );
}

function inWords({ alpha, texts }) {
  if (alpha === null) return t("not known");
  return tn("{alpha} on {n} text", "{alpha} on {n} texts", texts, { alpha: figure(alpha, 2) });
}

/** Descriptions and examples before and after; null if none of them changed. */
function details({ changes }) {
  const rows = changes.flatMap(({ name, before, after }) =>
    ["description", "examples"].filter((field) => before && field in after).map((field) => [name, before[field], after[field]]),
  );
  if (!rows.length) return null;
  const shown = rows.flatMap(([name, old, now]) => [
    el("dt", {}, t("Before: {name}", { name })),
    el("dd", { dir: "auto" }, old || "–"),
    el("dt", {}, t("After: {name}", { name })),
    el("dd", { dir: "auto" }, now || "–"),
  ]);
  return el("details", {}, el("summary", {}, t("What was changed")), el("dl", { class: "fact" }, ...shown));
}
