/** The lists of the page Review where a text may have several classes: decisions are about one class, or a whole set. */
import { agreement } from "./agreement.js";
import { get } from "./api.js";
import { classBadge, facts, setBadges } from "./badges.js";
import { contestedClasses } from "./contested-classes.js";
import { el, bdi } from "./dom.js";
import { percent } from "./format.js";
import { listed as inList, t, tParts } from "./i18n.js";
import { idempotentPost } from "./idempotent-post.js";
import { proposed } from "./proposals.js";

const [ACCEPT, KEEP] = [".", "k"];

/**
 * @param {{classes: {name: string}[]}} project its classes are read again for every row, because they may change
 * @param {() => void} reload shows the open list again
 * @returns {import("./review-kinds.js").Kind[]}
 */
export function setKinds(project, reload) {
  const send = idempotentPost();
  const decide = (item, answer) => send("/api/adjudications", { text: item.id, ...answer });
  const answer = (item, classes) =>
    send("/api/annotations", { text: item.id, action: "label", classes, flagged: false, comment: "" });
  const button = (name, act, key = null) =>
    el("button", { type: "button", "aria-keyshortcuts": key, onclick: act }, el("span", {}, ...name));
  const listed = (query) => async () => (await get("/api/texts", query)).items;
  const actions = (...all) => el("span", { class: "actions" }, ...all);
  const inWords = (names) => (names.length ? bdi(inList(names)) : t("none of these"));
  /** Whether people can give all these classes: archived ones they cannot. */
  const areOffered = (names) => names.every((name) => project.classes.some((one) => one.name === name));
  const accept = (item, settle) => {
    const names = item.prediction && proposed(item);
    return names && areOffered(names) ? button(tParts("Label as {name}", { name: inWords(names) }), () => settle(() => answer(item, names)), ACCEPT) : null;
  };
  const classes = el("select", { "aria-label": t("Only decisions on a class") });
  classes.addEventListener("change", reload);
  /** The classes to choose from; the chosen one stays. */
  const listClasses = () => {
    const chosen = classes.value;
    const option = ({ name }) => el("option", { value: name, selected: name === chosen }, name);
    classes.replaceChildren(el("option", { value: "" }, t("all classes")), ...project.classes.map(option));
    return classes;
  };

  return [
    {
      name: "contradicted",
      title: t("Probable label errors"),
      none: t("The model clearly contradicts no decision on a class."),
      about:
        t("Decisions on one class of a text that the newest model clearly contradicts, the most certain first. Often the label is right and the model still has to learn it. Your decision is about this class only."),
      keys: [
        [ACCEPT, t("accepts the model's decision.")],
        [KEEP, t("keeps the label.")],
      ],
      tools: () => el("label", { class: "review-class" }, t("Decisions on"), listClasses()),
      load: async () =>
        (await get("/api/review", { class: classes.value })).contradicted.map((item) => ({ ...item, key: `${item.id}\n${item.class}` })),
      most: 50,
      draw: (item, settle) => {
        const say = (present) => settle(() => decide(item, { decisions: { [item.class]: present } }));
        const name = bdi(item.class);
        const keep = item.present ? tParts("Keep: It has {name}", { name }) : tParts("Keep: It does not have {name}", { name });
        const change = item.present ? tParts("Change: It does not have {name}", { name: bdi(item.class) }) : tParts("Change: It has {name}", { name: bdi(item.class) });
        const { present, probability, threshold } = item;
        return [
          el(
            "span",
            { class: "facts" },
            ...setBadges(item, project.classes),
            classBadge(item.class, project.classes, t("model:"), t("{probability}, given from {threshold}", { probability: percent(probability), threshold: percent(threshold) })),
          ),
          areOffered([item.class]) ? actions(button(keep, () => say(present), KEEP), button(change, () => say(!present), ACCEPT)) : actions(),
        ];
      },
    },
    {
      name: "disagreements",
      title: t("Disagreements"),
      none: t("There are no disagreements."),
      about:
        t("Texts of which people contest some classes. You decide these; the classes on which all agree stay. Your decision is final and removes earlier flags."),
      showSummary: agreement,
      load: async () => (await get("/api/disagreements")).items,
      most: 200,
      draw: (item, settle) => contestedClasses(item, project.classes, (given) => settle(() => decide(item, given))),
    },
    {
      name: "uncertain",
      title: t("Most uncertain"),
      none: t("There are no predictions for unlabelled texts yet."),
      about: t("Unlabelled texts about whose classes, taken together, the model is least certain."),
      keys: [[ACCEPT, t("accepts the model's classes.")]],
      load: listed({ state: "unlabelled", order: "doubt" }),
      draw: (item, settle) => [facts(item, project.classes), actions(accept(item, settle))],
    },
    {
      name: "flagged",
      title: t("Flagged"),
      none: t("Nothing is flagged."),
      about:
        t("Texts that were flagged for a reviewer. Your decision is final and removes the flag; comments stay in the text's history. Open a text to change its classes."),
      keys: [[KEEP, t("keeps the label.")]],
      load: listed({ state: "flagged" }),
      most: 50,
      draw: (item, settle) => {
        const isWhole = item.classes && !item.decisions && areOffered(item.classes);
        const keep = () => settle(() => decide(item, { classes: item.classes }));
        return [
          facts(item, project.classes),
          actions(isWhole ? button(tParts("Keep {name}", { name: inWords(item.classes) }), keep, KEEP) : null),
        ];
      },
    },
    {
      name: "skipped",
      title: t("Skipped"),
      none: t("Nothing was skipped."),
      about: t("Skipped texts that have no label yet."),
      keys: [[ACCEPT, t("accepts the model's classes.")]],
      load: listed({ state: "skipped" }),
      most: 50,
      draw: (item, settle) => [facts(item, project.classes), actions(accept(item, settle))],
    },
  ];
}
