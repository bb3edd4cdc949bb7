/** The bar that shows what the trainer does; it asks every two seconds, and less often when nobody looks. */
import { get, post, Refusal } from "./api.js";
import { onPress } from "./controls.js";
import { byId, say } from "./dom.js";
import { told } from "./toast.js";
import { words } from "./trainer-words.js";

const SEEN = 2000;
const HIDDEN = 20000;

/** Fires `round` when a new model is there. */
export class TrainerBar extends EventTarget {
  #timer = 0;
  #round = null;
  #published = null;
  #worked = false;
  #said = "";

  /** @param {HTMLElement} root */
  constructor(root) {
    super();
    this.root = root;
    [this.sentence, this.button, this.progress, this.live] = root.querySelectorAll(
      "p, button, progress, [role=status]",
    );
    onPress(this.button, () => told(() => this.#ask(this.button.value)));
    document.addEventListener("visibilitychange", () => document.hidden || this.poll());
  }

  async poll() {
    clearTimeout(this.#timer);
    try {
      this.show(await get("/api/trainer"));
    } catch (error) {
      this.#draw({ mood: "quiet", sentence: error.message });
      if (!(error instanceof Refusal)) reportError(error);
    }
    this.#timer = setTimeout(() => this.poll(), document.hidden ? HIDDEN : SEEN);
  }

  /** @param {import("./trainer-words.js").Trainer} trainer */
  show(trainer) {
    this.#draw(words(trainer, Date.now() / 1000));
    this.#noteRound(trainer);
    // Spoken only when something begins or ends, not with every second that passes.
    const news = `${trainer.phase} ${trainer.update} ${trainer.round}`;
    if (this.#said && news !== this.#said) this.live.textContent = this.sentence.textContent;
    this.#said = news;
  }

  /**
   * A new model is there when another round is published, and once more when its round is done: until then, its
   * figures and its candidates are missing. In a new chapter rounds count from 1 again.
   */
  #noteRound({ phase, round, published }) {
    const isNew = phase === "waiting" && (this.#worked || round !== this.#round);
    if ((isNew && this.#round !== null) || (this.#published !== null && published > this.#published))
      this.dispatchEvent(new Event("round"));
    this.#worked = phase === "training" || phase === "scoring";
    this.#published = published;
    if (phase === "waiting" || this.#round === null) this.#round = round;
  }

  async #ask(asked) {
    await post("/api/trainer", { asked });
    await this.poll();
  }

  #draw({ mood, sentence, share, ask }) {
    this.root.dataset.mood = mood;
    say(this.sentence, sentence);
    this.progress.hidden = share === undefined;
    this.progress.value = share ?? 0;
    // Who pressed it goes on with the page.
    if (!ask && this.button === document.activeElement) byId("main").focus({ preventScroll: true });
    this.button.hidden = !ask;
    say(this.button, ask?.[0] ?? "");
    this.button.value = ask?.[1] ?? "";
  }
}
