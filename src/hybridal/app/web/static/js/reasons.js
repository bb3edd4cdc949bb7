/** Why the model predicts a class: words that speak for and against it, and similar texts with their labels. */
import { post } from "./api.js";
import { classBadge, setBadges } from "./badges.js";
import { bdi, el } from "./dom.js";
import { percent } from "./format.js";
import { clearMarks, markRanges } from "./highlights.js";
import { t, tParts } from "./i18n.js";

const RETRY_MS = 700;
const MOST = 6; // words of a list
const LEAST = 0.1; // of a weight: leaving the word out changes the odds by a tenth
const [FOR, AGAINST] = ["speaks-for", "speaks-against"];

/** Shows the reasons for the prediction of one text at a time, and marks its words in the text. */
export class Reasons {
  #latest = 0;

  /**
   * @param {HTMLElement} root @param {() => Node | null} textNode where the words of the text stand
   * @param {() => {name: string}[]} classes
   */
  constructor(root, textNode, classes) {
    this.root = root;
    this.textNode = textNode;
    this.classes = classes;
  }

  /** Removes the reasons and the marks. */
  clear() {
    this.#latest += 1;
    this.root.replaceChildren();
    clearMarks(FOR, AGAINST);
  }

  /** @param {string} id of the text */
  async show(id) {
    this.clear();
    const request = this.#latest;
    const isCurrent = () => request === this.#latest;
    let found = await post("/api/explanations", { text: id });
    while (isCurrent() && found.state === "waiting") {
      this.#draw(found);
      await new Promise((done) => setTimeout(done, RETRY_MS));
      if (isCurrent()) found = await post("/api/explanations", { text: id });
    }
    if (isCurrent()) this.#draw(found);
  }

  #draw(found) {
    const parts = found.state === "ready" && found.classes.length ? [this.#words(found)] : [el("p", { class: "muted small" }, missing(found))];
    this.root.replaceChildren(...parts, this.#similar(found));
  }

  #words({ words, classes }) {
    const place = el("div", { class: "stack" });
    const show = ({ class: name, weights }) => {
      const by = weights.map((weight, at) => ({ weight, ...words[at] }));
      const most = by.toSorted((one, other) => Math.abs(other.weight) - Math.abs(one.weight)).filter(({ weight }) => Math.abs(weight) >= LEAST);
      const [pro, contra] = [most.filter(({ weight }) => weight > 0).slice(0, MOST), most.filter(({ weight }) => weight < 0).slice(0, MOST)];
      markRanges(FOR, this.textNode(), pro);
      markRanges(AGAINST, this.textNode(), contra);
      place.replaceChildren(
        this.#list(tParts("Speak for {name}:", { name: bdi(name) }), pro, "for"),
        this.#list(tParts("Speak against {name}:", { name: bdi(name) }), contra, "against"),
      );
    };
    const select = el(
      "select",
      { "aria-label": t("Explain the class") },
      ...classes.map(({ class: name, probability }, at) => el("option", { value: at }, `${name} (${percent(probability)})`)),
    );
    select.addEventListener("change", () => show(classes[Number(select.value)]));
    show(classes[0]);
    const about = t("A word counts by how much the odds of the class change if it is left out.");
    return el("div", { class: "stack" }, el("label", { class: "row" }, t("Why this prediction?"), select), place, el("p", { class: "muted small" }, about));
  }

  #list(title, words, side) {
    const text = this.textNode()?.textContent ?? "";
    const chip = ({ start, end }) => el("li", { class: `reason ${side}` }, bdi(text.slice(start, end)));
    return el("p", { class: "reasons" }, el("span", { class: "small" }, ...title), words.length ? el("ul", {}, ...words.map(chip)) : el("span", { class: "muted small" }, t("no word")));
  }

  #similar({ similar }) {
    const title = el("p", {}, el("b", {}, t("Most similar labelled texts")));
    if (!similar?.length) return el("div", {}, title, el("p", { class: "muted small" }, similar ? t("No text is labelled yet.") : t("The model has not read this text yet.")));
    const item = (one) =>
      el(
        "li",
        {},
        el("p", { class: "written brief small", dir: "auto" }, one.text),
        el(
          "span",
          { class: "facts" },
          ...(one.classes ? setBadges(one, this.classes()) : [classBadge(one.class, this.classes())]),
          el("span", { class: "badge" }, t("{percent} similar", { percent: percent(one.similarity) })),
        ),
      );
    return el("div", {}, title, el("ul", { class: "similar" }, ...similar.map(item)));
  }
}

function missing({ state }) {
  return state === "waiting" ? t("The words follow as soon as the trainer is free.") : t("There is no explanation of this prediction.");
}
