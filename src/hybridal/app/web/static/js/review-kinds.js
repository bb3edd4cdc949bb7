/** What can be reviewed: where each list comes from, and what can be said of its texts. */
import { agreement } from "./agreement.js";
import { get } from "./api.js";
import { classBadge, facts } from "./badges.js";
import { classSelect } from "./class-select.js";
import { el, named } from "./dom.js";
import { percent } from "./format.js";
import { sender } from "./sender.js";

const [ACCEPT, KEEP] = [".", "k"];
const TO_ACCEPT = [ACCEPT, "accepts the model's class."];
const TO_KEEP = [KEEP, "keeps the label."];

/**
 * @typedef {{name: string, title: string, about: string, none: string, load: () => Promise<any[]>, most?: number,
 *   keys?: string[][],
 *   beside?: (place: HTMLElement) => Promise<void>,
 *   draw: (item: any, settle: (act: () => Promise<any>) => void) => HTMLElement[]}} Kind
 *   `most` is the length of a list that may be cut; one without has no end. `beside` fills a panel above the list.
 * @param {{classes: {name: string}[]}} project whose classes may be others each time that a text is drawn
 * @returns {Kind[]}
 */
export function kinds(project) {
  const send = sender();
  const answer = (item, name) =>
    send("/api/annotations", { text: item.id, action: "label", class: name, flagged: false, comment: "" });
  const decide = (item, name) => send("/api/adjudications", { text: item.id, class: name });
  const choose = (item, say, settle, label = "label as …", named = []) => {
    const others = project.classes.filter(({ name }) => !named.includes(name));
    if (!others.length) return null;
    const select = classSelect(others, label);
    const act = () => settle(() => say(item, select.value));
    const go = el("button", { type: "button", class: "main", hidden: true, onclick: act }, "Save");
    // Not at once: arrow keys walk through a list by choosing each of its classes.
    select.addEventListener("change", () => (go.hidden = false));
    return el("span", { class: "pick" }, select, go);
  };
  const button = (name, act, key = null) =>
    el("button", { type: "button", "aria-keyshortcuts": key, onclick: act }, el("span", {}, ...name));
  /** What the model predicts, by a press or by the key that accepts it on the page Label. */
  const accept = (item, predicted, settle) =>
    predicted ? button(["Label as ", named(predicted)], () => settle(() => answer(item, predicted)), ACCEPT) : null;
  const listed = (state) => async () => (await get("/api/texts", { state })).items;
  const doubts = (part) => async () => (await get("/api/review"))[part];

  return [
    {
      name: "contradicted",
      title: "Probable label errors",
      none: "There is no label that the model contradicts with a probability of 50% or more.",
      about:
        "Labelled texts for which the model predicts another class with a probability of 50% or more, the most confident first. Often the label is right and the model still has to learn it; sometimes the label is wrong.",
      keys: [TO_ACCEPT, TO_KEEP],
      load: doubts("contradicted"),
      most: 50,
      draw: (item, settle) => [
        el(
          "span",
          { class: "facts" },
          classBadge(item.class, project.classes, "label:"),
          classBadge(item.prediction, project.classes, "model:", percent(item.probability)),
        ),
        el(
          "span",
          { class: "actions" },
          button(["Keep ", named(item.class)], () => settle(() => decide(item, item.class)), KEEP),
          button(["Change to ", named(item.prediction)], () => settle(() => decide(item, item.prediction)), ACCEPT),
          choose(item, decide, settle, "something else …", [item.class, item.prediction]),
        ),
      ],
    },
    {
      name: "disagreements",
      title: "Disagreements",
      none: "There are no disagreements.",
      about:
        "Texts that people labelled differently. The model learns none of these labels until you decide; your decision is final and removes earlier flags.",
      beside: agreement,
      load: async () => (await get("/api/disagreements")).items,
      most: 200,
      draw: (item, settle) => [
        el(
          "dl",
          { class: "said-by" },
          ...item.annotations.flatMap((said) => [
            el("dt", {}, named(said.person)),
            el(
              "dd",
              {},
              classBadge(said.class, project.classes),
              said.comment ? el("span", { class: "written muted", dir: "auto" }, ` ${said.comment}`) : null,
            ),
          ]),
        ),
        el(
          "span",
          { class: "actions" },
          el("span", { class: "small muted" }, "Decide for"),
          ...[...new Set(item.annotations.map((said) => said.class))].map((name) =>
            button([named(name)], () => settle(() => decide(item, name))),
          ),
          choose(
            item,
            decide,
            settle,
            "something else …",
            item.annotations.map((said) => said.class),
          ),
        ),
      ],
    },
    {
      name: "uncertain",
      title: "Most uncertain",
      none: "There are no predictions of unlabelled texts.",
      about: "Unlabelled texts about which the model is least certain.",
      keys: [TO_ACCEPT],
      load: doubts("uncertain"),
      draw: (item, settle) => [
        el("span", { class: "facts" }, classBadge(item.prediction, project.classes, "model:", percent(item.probability))),
        el(
          "span",
          { class: "actions" },
          accept(item, item.prediction, settle),
          choose(item, answer, settle, "something else …", [item.prediction]),
        ),
      ],
    },
    {
      name: "flagged",
      title: "Flagged",
      none: "Nothing is flagged.",
      about:
        "Texts that somebody wanted a reviewer to look at. Your decision is final and removes the flag; comments stay in the text's history.",
      keys: [TO_KEEP],
      load: listed("flagged"),
      most: 50,
      draw: (item, settle) => [
        facts(item, project.classes),
        el(
          "span",
          { class: "actions" },
          item.class ? button(["Keep ", named(item.class)], () => settle(() => decide(item, item.class)), KEEP) : null,
          choose(item, decide, settle, item.class ? "change to …" : "decide for …", [item.class]),
        ),
      ],
    },
    {
      name: "skipped",
      title: "Skipped",
      none: "Nothing was skipped.",
      about: "Skipped texts that have no label yet.",
      keys: [TO_ACCEPT],
      load: listed("skipped"),
      most: 50,
      draw: (item, settle) => [
        facts(item, project.classes),
        el(
          "span",
          { class: "actions" },
          accept(item, item.prediction?.class, settle),
          choose(item, answer, settle, item.prediction ? "something else …" : "label as …", [item.prediction?.class]),
        ),
      ],
    },
  ];
}
