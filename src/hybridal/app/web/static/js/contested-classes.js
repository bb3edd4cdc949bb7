/** Where people differ on the classes of a text: what all agree on, and for each contested class who says what. */
import { setBadges } from "./badges.js";
import { colourOf } from "./class-buttons.js";
import { bdi, el } from "./dom.js";
import { listed, t } from "./i18n.js";

/** Whether a person says that the text has a class; null if they have not decided it. */
function decisionOf({ classes, decisions }, name) {
  return decisions ? (decisions[name] ?? null) : classes.includes(name);
}

/**
 * @param {{contested: string[], annotations: {person: string, classes: string[], decisions?: Record<string, boolean | null>, comment: string}[]}} item
 * @param {{name: string}[]} classes
 * @param {(answer: {classes: string[]} | {decisions: Record<string, boolean>}) => void} decide
 * @returns {HTMLElement[]} the facts and the actions of a row
 */
export function contestedClasses(item, classes, decide) {
  /** @type {Map<string, boolean>} */
  const chosen = new Map();
  const save = el("button", { type: "button", class: "main", disabled: true, onclick: () => decide(decided(item, chosen)) }, t("Decide"));
  const row = (name) => {
    const deciding = (what) => item.annotations.filter((one) => decisionOf(one, name) === what).map(({ person }) => person);
    const choice = (has, word) => {
      const button = el(
        "button",
        { type: "button", "aria-pressed": "false" },
        word,
        " ",
        el("span", { class: "small" }, bdi(listed(deciding(has)))),
      );
      button.addEventListener("click", () => {
        chosen.set(name, has);
        for (const one of [yes, no]) one.ariaPressed = String(one === button);
        save.disabled = chosen.size < item.contested.length;
      });
      return button;
    };
    const [yes, no] = [choice(true, t("Yes")), choice(false, t("No"))];
    const index = classes.findIndex((one) => one.name === name);
    return [
      el("dt", {}, el("span", { class: "swatch", "data-colour": index < 0 ? null : colourOf(index) }), " ", bdi(name)),
      el("dd", {}, el("span", { class: "row", role: "group", "aria-label": name }, yes, no)),
    ];
  };
  const comments = item.annotations.filter(({ comment }) => comment);
  const agreed = [...new Set(item.annotations.flatMap((one) => one.classes))].filter((name) => !item.contested.includes(name));
  const facts = el(
    "div",
    { class: "stack contested" },
    agreed.length ? el("p", { class: "facts" }, el("span", { class: "small muted" }, t("All agree on")), ...setBadges({ classes: agreed }, classes)) : null,
    el("dl", { class: "votes" }, ...item.contested.flatMap(row)),
    ...comments.map(({ person, comment }) => el("p", { class: "small muted written", dir: "auto" }, bdi(person), `: ${comment}`)),
  );
  return [facts, el("span", { class: "actions" }, save)];
}

/** The decision: the whole set if anyone has decided all classes, else the classes that people have decided. */
function decided({ annotations, contested }, chosen) {
  const names = new Set(annotations.flatMap(({ classes, decisions }) => [...classes, ...Object.keys(decisions ?? {})]));
  const has = (name) => chosen.get(name) ?? annotations.map((one) => decisionOf(one, name)).find((one) => one !== null);
  const known = [...names, ...contested].map((name) => [name, has(name)]).filter(([, one]) => one != null);
  const decisions = Object.fromEntries(known);
  if (annotations.every((one) => one.decisions)) return { decisions };
  return { classes: Object.keys(decisions).filter((name) => decisions[name]) };
}
