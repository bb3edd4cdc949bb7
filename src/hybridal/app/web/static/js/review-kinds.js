/** The lists of the page Review: where each comes from, how its rows look, and what can be done with them. */
import { agreement } from "./agreement.js";
import { get } from "./api.js";
import { classBadge, facts } from "./badges.js";
import { classSelect } from "./class-select.js";
import { el, bdi } from "./dom.js";
import { percent } from "./format.js";
import { t, tParts } from "./i18n.js";
import { idempotentPost } from "./idempotent-post.js";

const [ACCEPT, KEEP] = [".", "k"];
const ACCEPT_HELP = [ACCEPT, t("accepts the model's class.")];
const KEEP_HELP = [KEEP, t("keeps the label.")];

/**
 * @typedef {{name: string, title: string, about: string, none: string, load: () => Promise<any[]>, most?: number,
 *   keys?: string[][], tools?: () => HTMLElement,
 *   showSummary?: (place: HTMLElement) => Promise<void>,
 *   draw: (item: any, settle: (act: () => Promise<any>) => void) => HTMLElement[]}} Kind
 *   `most` is the length at which the server cuts the list; a list without it is not counted. `showSummary` fills a
 *   panel above the list, and `tools` makes the controls above it. Items with a `key` may be several of one text.
 * @param {{classes: {name: string}[]}} project its classes are read again for every row, because they may change
 * @returns {Kind[]}
 */
export function kinds(project) {
  const send = idempotentPost();
  const answer = (item, name) =>
    send("/api/annotations", { text: item.id, action: "label", class: name, flagged: false, comment: "" });
  const decide = (item, name) => send("/api/adjudications", { text: item.id, class: name });
  const choose = (item, save, settle, label = t("label as …"), excluded = []) => {
    const others = project.classes.filter(({ name }) => !excluded.includes(name));
    if (!others.length) return null;
    const select = classSelect(others, label);
    const act = () => settle(() => save(item, select.value));
    const go = el("button", { type: "button", class: "main", hidden: true, onclick: act }, t("Save"));
    // Save only on a click: arrow keys select each class on the way to the wanted one.
    select.addEventListener("change", () => (go.hidden = false));
    return el("span", { class: "pick" }, select, go);
  };
  const button = (name, act, key = null) =>
    el("button", { type: "button", "aria-keyshortcuts": key, onclick: act }, el("span", {}, ...name));
  /** A button that gives a class; null if it cannot be given, for example because it is archived. */
  const buttonFor = (name, words, act, key = null) =>
    project.classes.some((one) => one.name === name) ? button(words(bdi(name)), () => act(name), key) : null;
  const keeping = (name) => tParts("Keep {name}", { name });
  /** Labels a text with the model's prediction, by a click or by the same key as on the page Label. */
  const accept = (item, predicted, settle) =>
    buttonFor(predicted, (name) => tParts("Label as {name}", { name }), (name) => settle(() => answer(item, name)), ACCEPT);
  const listed = (state) => async () => (await get("/api/texts", { state })).items;
  const doubts = (part) => async () => (await get("/api/review"))[part];

  return [
    {
      name: "contradicted",
      title: t("Probable label errors"),
      none: t("The model contradicts no label with a probability of 50% or more."),
      about:
        t("Labelled texts for which the model predicts another class with a probability of 50% or more, the most certain first. Often the label is right and the model still has to learn it; sometimes the label is wrong."),
      keys: [ACCEPT_HELP, KEEP_HELP],
      load: doubts("contradicted"),
      most: 50,
      draw: (item, settle) => [
        el(
          "span",
          { class: "facts" },
          classBadge(item.class, project.classes, t("label:")),
          classBadge(item.prediction, project.classes, t("model:"), percent(item.probability)),
        ),
        el(
          "span",
          { class: "actions" },
          buttonFor(item.class, keeping, (name) => settle(() => decide(item, name)), KEEP),
          buttonFor(item.prediction, (name) => tParts("Change to {name}", { name }), (name) => settle(() => decide(item, name)), ACCEPT),
          choose(item, decide, settle, t("something else …"), [item.class, item.prediction]),
        ),
      ],
    },
    {
      name: "disagreements",
      title: t("Disagreements"),
      none: t("There are no disagreements."),
      about:
        t("Texts that people labelled differently. The model does not learn from them until you decide. Your decision is final and removes earlier flags."),
      showSummary: agreement,
      load: async () => (await get("/api/disagreements")).items,
      most: 200,
      draw: (item, settle) => [
        el(
          "dl",
          { class: "votes" },
          ...item.annotations.flatMap((vote) => [
            el("dt", {}, bdi(vote.person)),
            el(
              "dd",
              {},
              classBadge(vote.class, project.classes),
              vote.comment ? el("span", { class: "written muted", dir: "auto" }, ` ${vote.comment}`) : null,
            ),
          ]),
        ),
        el(
          "span",
          { class: "actions" },
          el("span", { class: "small muted" }, t("Decide for")),
          ...[...new Set(item.annotations.map((vote) => vote.class))].map((name) =>
            buttonFor(name, (shown) => [shown], () => settle(() => decide(item, name))),
          ),
          choose(
            item,
            decide,
            settle,
            t("something else …"),
            item.annotations.map((vote) => vote.class),
          ),
        ),
      ],
    },
    {
      name: "uncertain",
      title: t("Most uncertain"),
      none: t("There are no predictions for unlabelled texts yet."),
      about: t("Unlabelled texts about which the model is least certain."),
      keys: [ACCEPT_HELP],
      load: doubts("uncertain"),
      draw: (item, settle) => [
        el("span", { class: "facts" }, classBadge(item.prediction, project.classes, t("model:"), percent(item.probability))),
        el(
          "span",
          { class: "actions" },
          accept(item, item.prediction, settle),
          choose(item, answer, settle, t("something else …"), [item.prediction]),
        ),
      ],
    },
    {
      name: "flagged",
      title: t("Flagged"),
      none: t("Nothing is flagged."),
      about:
        t("Texts that were flagged for a reviewer. Your decision is final and removes the flag; comments stay in the text's history."),
      keys: [KEEP_HELP],
      load: listed("flagged"),
      most: 50,
      draw: (item, settle) => [
        facts(item, project.classes),
        el(
          "span",
          { class: "actions" },
          buttonFor(item.class, keeping, (name) => settle(() => decide(item, name)), KEEP),
          choose(item, decide, settle, item.class ? t("change to …") : t("decide for …"), [item.class]),
        ),
      ],
    },
    {
      name: "skipped",
      title: t("Skipped"),
      none: t("Nothing was skipped."),
      about: t("Skipped texts that have no label yet."),
      keys: [ACCEPT_HELP],
      load: listed("skipped"),
      most: 50,
      draw: (item, settle) => [
        facts(item, project.classes),
        el(
          "span",
          { class: "actions" },
          accept(item, item.prediction?.class, settle),
          choose(item, answer, settle, item.prediction ? t("something else …") : t("label as …"), [item.prediction?.class]),
        ),
      ],
    },
  ];
}
