/** The next texts, fetched before they are needed. */

/** @typedef {{id: string, text: string, split: string, prediction: null | {class: string, probability: number}, suggestion: null | string, read_to: null | number, context: Record<string, string>}} Item */

// Enough for a dropped connection; more would make people answer what an older model wanted to know.
const LEAST = 4;
const MORE = 4;

export class Queue {
  #items = [];
  #answered = new Set();
  #putBack = new Set();
  #filling = null;
  #begun = 0;
  #afresh = false;

  /**
   * @param {(n: number, afresh: boolean) => Promise<{items: Item[]}>} fetchNext
   * @param {Iterable<string>} answered texts whose answers are still on their way
   */
  constructor(fetchNext, answered = []) {
    this.fetchNext = fetchNext;
    this.#answered = new Set(answered);
  }

  /** @returns {Item | undefined} */
  get current() {
    return this.#items[0];
  }

  /** Takes the current text away, as answered. */
  advance() {
    const item = this.#items.shift();
    this.#putBack.delete(item.id);
    this.#answered.add(item.id);
    return item;
  }

  /** Takes a text away that was answered elsewhere. */
  drop(id) {
    if (id) this.#answered.add(id);
    this.#items = this.#items.filter((item) => item.id !== id);
  }

  /** Takes texts away that went to somebody else; they may come back. @param {Item[]} gone */
  lose(gone) {
    this.#items = this.#items.filter((item) => !gone.includes(item));
  }

  /** Puts a text first again. */
  putBack(item) {
    this.#answered.delete(item.id);
    this.#putBack.add(item.id);
    this.#items = [item, ...this.#items.filter((other) => other.id !== item.id)];
  }

  /** Begins again with other texts. */
  restart() {
    this.#items = [];
    this.#filling = null;
    this.#begun += 1;
    this.#afresh = true;
  }

  /**
   * Fetches more when few are left. `unsent` texts are still in this person's hands, so the server names them again.
   * @param {number} unsent
   */
  async refill(unsent) {
    if (this.#items.length >= LEAST) return;
    const begun = this.#begun;
    this.#filling ??= this.#fetch(unsent).finally(() => begun === this.#begun && (this.#filling = null));
    try {
      await this.#filling;
    } catch (error) {
      if (begun === this.#begun) throw error;
    }
    if (begun !== this.#begun) await this.refill(unsent); // what came is not wanted any more
  }

  /** After a long while away: fetches more. @returns {Promise<Item[]>} what has gone to somebody else */
  async renew(unsent) {
    const held = [...this.#items]; // of what comes while this is under way, the reply knows nothing
    const mine = new Set((await this.#fetch(unsent)).map((item) => item.id));
    // What was put back is not in the server's books before the undo has arrived there.
    return held.filter((item) => !mine.has(item.id) && !this.#putBack.has(item.id));
  }

  async #fetch(unsent) {
    const begun = this.#begun;
    const { items } = await this.fetchNext(this.#items.length + unsent + MORE, this.#afresh);
    if (begun !== this.#begun) return items; // other texts are wanted by now
    this.#afresh = false;
    const held = new Set(this.#items.map((item) => item.id));
    this.#items.push(...items.filter((item) => !held.has(item.id) && !this.#answered.has(item.id)));
    return items;
  }
}
