/** What can be reviewed: where each list comes from, and what can be said of its texts. */
import { get, post } from "./api.js";
import { classBadge, facts } from "./badges.js";
import { classSelect } from "./class-select.js";
import { el, named } from "./dom.js";
import { percent } from "./format.js";
import { drawKey } from "./key.js";

/**
 * @typedef {{name: string, title: string, about: string, none: string, load: () => Promise<any[]>,
 *   draw: (item: any, settle: (act: () => Promise<any>) => void) => HTMLElement[]}} Kind
 * @param {{classes: {name: string}[]}} project
 * @returns {Kind[]}
 */
export function kinds(project) {
  const { classes } = project;
  const answer = (item, name) =>
    post("/api/answers", { key: drawKey(), text: item.id, action: "label", class: name, flagged: false, comment: "" });
  const decide = (item, name) => post("/api/adjudications", { key: drawKey(), text: item.id, class: name });
  const choose = (item, say, settle, label = "label as …", named = []) => {
    const others = classes.filter(({ name }) => !named.includes(name));
    if (!others.length) return null;
    const select = classSelect(others, label);
    select.addEventListener("change", () => settle(() => say(item, select.value)));
    return select;
  };
  const button = (name, act, main = false) =>
    el("button", { type: "button", class: main ? "main" : null, onclick: act }, el("span", {}, ...name));
  const listed = (state) => async () => (await get("/api/texts", { state })).items;
  const doubts = (part) => async () => (await get("/api/doubts"))[part];

  return [
    {
      name: "contradicted",
      title: "Probable label errors",
      none: "The model contradicts no label.",
      about:
        "Labelled texts that the model sees otherwise, the surest first. Often the label is right and the model has something to learn; sometimes it is the other way round.",
      load: doubts("contradicted"),
      draw: (item, settle) => [
        el(
          "span",
          { class: "facts" },
          classBadge(item.class, classes, "label:"),
          classBadge(item.guess, classes, "model:", percent(item.probability)),
        ),
        el(
          "span",
          { class: "actions" },
          button(["Keep ", named(item.class)], () => settle(() => decide(item, item.class))),
          button(["Change to ", named(item.guess)], () => settle(() => decide(item, item.guess))),
          choose(item, decide, settle, "something else …", [item.class, item.guess]),
        ),
      ],
    },
    {
      name: "disagreements",
      title: "Disagreements",
      none: "Nobody disagrees with anybody.",
      about: "Texts that people labelled differently. The model learns none of these labels until somebody decides.",
      load: async () => (await get("/api/disagreements")).items,
      draw: (item, settle) => [
        el(
          "dl",
          { class: "said-by" },
          ...item.answers.flatMap((said) => [
            el("dt", {}, named(said.person)),
            el(
              "dd",
              {},
              classBadge(said.class, classes),
              said.comment ? el("span", { class: "written muted", dir: "auto" }, ` ${said.comment}`) : null,
            ),
          ]),
        ),
        el(
          "span",
          { class: "actions" },
          ...[...new Set(item.answers.map((said) => said.class))].map((name) =>
            button([named(name)], () => settle(() => decide(item, name))),
          ),
          choose(
            item,
            decide,
            settle,
            "something else …",
            item.answers.map((said) => said.class),
          ),
        ),
      ],
    },
    {
      name: "doubtful",
      title: "Most doubtful",
      none: "No model has looked at the texts yet.",
      about: "Unlabelled texts of which the model is least sure.",
      load: doubts("doubtful"),
      draw: (item, settle) => [
        el("span", { class: "facts" }, classBadge(item.guess, classes, "model:", percent(item.probability))),
        el("span", { class: "actions" }, choose(item, answer, settle)),
      ],
    },
    {
      name: "flagged",
      title: "Flagged",
      none: "Nothing is flagged.",
      about: "Texts that somebody wanted to be looked at. A decision takes the flag away.",
      load: listed("flagged"),
      draw: (item, settle) => [
        facts(item, classes),
        el(
          "span",
          { class: "actions" },
          item.class ? button(["Keep ", named(item.class)], () => settle(() => decide(item, item.class))) : null,
          choose(item, decide, settle, item.class ? "something else …" : "decide for …", [item.class]),
        ),
      ],
    },
    {
      name: "skipped",
      title: "Skipped",
      none: "Nothing was skipped.",
      about: "Texts that people passed over.",
      load: listed("skipped"),
      draw: (item, settle) => [facts(item, classes), el("span", { class: "actions" }, choose(item, answer, settle))],
    },
  ];
}
