/** The next texts to label, prefetched. */

/** @typedef {{id: string, text: string, split: string, prediction: null | {class: string, probability: number, classes?: string[], probabilities?: Record<string, number>}, suggestion: null | string, suggestions?: string[], decisions?: Record<string, boolean | null>, questions?: string[], old?: string[], read_to: null | number, look_alikes?: number, threads?: any[], context: Record<string, string>}} Item */

// A longer queue would hold texts chosen by an outdated model. Without a connection, spare texts follow.
const REFILL_BELOW = 4;
const PREFETCH = 4;

const SPARE = 40;

const decidedIn = ({ decisions }) => Object.keys(decisions ?? {}).length;

/** A text that is answered by questions comes back with more of its classes decided, and is then another task. */
const stampOf = (item) => (item.questions ? `${item.id}/${decidedIn(item)}` : item.id);

export class Queue {
  #items = [];
  #spare = [];
  #answered = new Set();
  #putBack = new Set();
  #filling = null;
  #restarts = 0;
  #afresh = false;

  /**
   * @param {(n: number, afresh: boolean) => Promise<{items: Item[]}>} fetchNext `afresh`: release the texts leased so far
   * @param {Iterable<string>} answered texts whose annotations are still in the outbox
   * @param {(n: number) => Promise<{items: Item[]}>} [fetchSpare] texts for a time without a connection
   * @param {Item[]} [spare] those that this device has kept
   */
  constructor(fetchNext, answered = [], fetchSpare = async () => ({ items: [] }), spare = []) {
    this.fetchNext = fetchNext;
    this.fetchSpare = fetchSpare;
    this.#answered = new Set(answered);
    this.#spare = spare;
  }

  /** @returns {Item | undefined} */
  get current() {
    return this.#items[0];
  }

  /** The texts that can be labelled without a connection. @returns {Item[]} */
  get held() {
    const held = new Set(this.#items.map(({ id }) => id));
    return [...this.#items, ...this.#spare.filter((item) => !held.has(item.id) && !this.#isAnswered(item))];
  }

  /** Replaces the texts for a time without a connection. */
  async fillSpare() {
    this.#spare = (await this.fetchSpare(SPARE)).items;
  }

  /** Goes on with one of the spare texts, which the server does not know as leased. */
  takeSpare() {
    const item = this.held[this.#items.length];
    if (!item) return;
    this.#putBack.add(item.id);
    this.#items.push(item);
  }

  /** Removes the current text as answered and returns it. */
  advance() {
    const item = this.#items.shift();
    this.#putBack.delete(item.id);
    // A reply on its way may have been made when only the first questions were answered.
    if (item.questions) item.questions.forEach((_, at) => this.#answered.add(`${item.id}/${decidedIn(item) + at}`));
    else this.#answered.add(item.id);
    return item;
  }

  /** Removes a text that was answered in another tab. */
  drop(id) {
    if (id) this.#answered.add(id);
    this.#items = this.#items.filter((item) => item.id !== id);
  }

  /** Removes texts that are now leased to other people; they may come back. @param {Item[]} gone */
  remove(gone) {
    this.#items = this.#items.filter((item) => !gone.includes(item));
  }

  /** Keeps the current text although its first questions were answered, which ends its lease. */
  keep() {
    this.#putBack.add(this.current.id);
  }

  /** Puts a text back to the front, for example after an undo. */
  putBack(item) {
    for (const stamp of this.#answered) if (stamp === item.id || stamp.startsWith(`${item.id}/`)) this.#answered.delete(stamp);
    this.#putBack.add(item.id);
    this.#items = [item, ...this.#items.filter((other) => other.id !== item.id)];
  }

  /** Discards all texts, because the choice of what to label next has changed. */
  restart() {
    this.#items = [];
    this.#filling = null;
    this.#restarts += 1;
    this.#afresh = true;
  }

  /**
   * Fetches more when few are left.
   * @param {number} unsent annotations in the outbox; the server still counts their texts as leased and returns them again
   */
  async refill(unsent) {
    if (this.#items.length >= REFILL_BELOW) return;
    const restarts = this.#restarts;
    this.#filling ??= this.#fetch(unsent).finally(() => restarts === this.#restarts && (this.#filling = null));
    try {
      await this.#filling;
    } catch (error) {
      if (restarts === this.#restarts) throw error;
    }
    if (restarts !== this.#restarts) await this.refill(unsent); // the reply was for the choice before the restart
  }

  /** Fetches more after a long absence. @returns {Promise<Item[]>} texts whose lease expired and went to other people */
  async renew(unsent) {
    const held = [...this.#items]; // taken before the request, because the reply does not cover texts added during it
    const mine = new Set((await this.#fetch(unsent)).map((item) => item.id));
    // The server does not list a text that was put back until it has received the undo.
    return held.filter((item) => !mine.has(item.id) && !this.#putBack.has(item.id));
  }

  #isAnswered(item) {
    return this.#answered.has(item.id) || this.#answered.has(stampOf(item));
  }

  async #fetch(unsent) {
    const restarts = this.#restarts;
    const { items } = await this.fetchNext(this.#items.length + unsent + PREFETCH, this.#afresh);
    if (restarts !== this.#restarts) return items; // the queue was restarted meanwhile
    this.#afresh = false;
    const held = new Map(this.#items.map((item) => [item.id, item]));
    // Look-alikes of a text may have got labels since it was fetched.
    for (const item of items) if (held.has(item.id)) held.get(item.id).look_alikes = item.look_alikes;
    this.#items.push(...items.filter((item) => !held.has(item.id) && !this.#isAnswered(item)));
    return items;
  }
}
