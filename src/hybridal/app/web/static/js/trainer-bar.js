/** The bar with the trainer's state; polls every two seconds, and less often while the page is hidden. */
import { get, post, ApiError } from "./api.js";
import { onPress } from "./controls.js";
import { byId, setText } from "./dom.js";
import { showErrors } from "./toast.js";
import { trainerStatus } from "./trainer-status.js";

const VISIBLE_POLL_MS = 2000;
const HIDDEN_POLL_MS = 20_000;

/** Fires `status` with the trainer's state at each poll, and `round` when there is a new model. */
export class TrainerBar extends EventTarget {
  #timer = 0;
  #round = null;
  #published = null;
  #fromNames = null;
  #wasBusy = false;
  #announced = "";

  /** @param {HTMLElement} root */
  constructor(root) {
    super();
    this.root = root;
    [this.sentence, this.button, this.progress, this.live] = root.querySelectorAll(
      "p, button, progress, [role=status]",
    );
    onPress(this.button, () => showErrors(() => this.#ask(this.button.value)));
    document.addEventListener("visibilitychange", () => document.hidden || this.poll());
  }

  async poll() {
    clearTimeout(this.#timer);
    try {
      this.show(await get("/api/trainer"));
    } catch (error) {
      this.#draw({ mood: "quiet", sentence: error.message });
      if (!(error instanceof ApiError)) reportError(error);
    }
    this.#timer = setTimeout(() => this.poll(), document.hidden ? HIDDEN_POLL_MS : VISIBLE_POLL_MS);
  }

  /** @param {import("./trainer-status.js").Trainer} trainer */
  show(trainer) {
    this.#draw(trainerStatus(trainer, Date.now() / 1000));
    this.dispatchEvent(new CustomEvent("status", { detail: trainer }));
    this.#noteRound(trainer);
    // Screen readers announce starts and ends, not every second.
    const news = `${trainer.phase} ${trainer.update} ${trainer.round}`;
    if (this.#announced && news !== this.#announced) this.live.textContent = this.sentence.textContent;
    this.#announced = news;
  }

  /**
   * Fires when a model without labels or a new round is published, and again when that round is complete: its figures and candidates come later.
   * Rounds count from 1 again after the model was restarted.
   */
  #noteRound({ phase, round, published, from_names: fromNames }) {
    const isNew = phase === "waiting" && (this.#wasBusy || round !== this.#round);
    const isNamed = fromNames && this.#fromNames === false;
    if ((isNew && this.#round !== null) || isNamed || (this.#published !== null && published > this.#published))
      this.dispatchEvent(new Event("round"));
    this.#wasBusy = phase === "training" || phase === "scoring";
    [this.#published, this.#fromNames] = [published, fromNames];
    if (phase === "waiting" || this.#round === null) this.#round = round;
  }

  async #ask(request) {
    await post("/api/trainer", { request });
    await this.poll();
  }

  #draw({ mood, sentence, share, ask }) {
    this.root.dataset.mood = mood;
    setText(this.sentence, sentence);
    this.progress.hidden = share === undefined;
    this.progress.value = share ?? 0;
    // The button disappears: move the focus to the page.
    if (!ask && this.button === document.activeElement) byId("main").focus({ preventScroll: true });
    this.button.hidden = !ask;
    setText(this.button, ask?.[0] ?? "");
    this.button.value = ask?.[1] ?? "";
  }
}
