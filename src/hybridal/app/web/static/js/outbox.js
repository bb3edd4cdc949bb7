/** Annotations on their way to the server: stored in the browser until acknowledged, sent in order, retried without limit. */

/** @typedef {{path: string, body: {key: string, [name: string]: unknown}}} Message */

export const COMMENTS_PATH = "/api/comments";
export const ANSWERS_PATH = "/api/comments/answers";

/** The text that a message answers; a comment answers none. @param {Message} message @returns {string | undefined} */
export const answeredText = ({ path, body }) => (path === COMMENTS_PATH ? undefined : body.text);

/** Seconds until the next attempt: exponential back-off with jitter. @param {number} failures in a row */
export function backoff(failures) {
  return Math.min(30, 0.5 * 2 ** failures) * (0.75 + Math.random() / 2);
}

/** Fires `change`, `acknowledged` (with message and reply) and `refused` (with message, reason and status). */
export class Outbox extends EventTarget {
  #running = false;
  #wake = () => {};
  #count = 0;

  /**
   * @param {Storage} storage
   * @param {string} owner project and person: messages are only ever sent for the same owner
   * @param {(path: string, body: object) => Promise<any>} send
   */
  constructor(storage, owner, send) {
    super();
    this.storage = storage;
    this.prefix = `hybridal.outbox/${owner}/`;
    this.send = send;
    this.failures = 0;
    this.problem = ""; // the server's own reason why the oldest message is still here
    addEventListener("online", () => this.#restart());
  }

  /** @returns {Message[]} oldest first */
  get waiting() {
    return this.#names().map((name) => JSON.parse(this.storage.getItem(name)));
  }

  /** The texts whose annotation waits and is not taken back. @returns {string[]} */
  get texts() {
    const { waiting } = this;
    const undone = new Set(waiting.map(({ body }) => body.undoes).filter(Boolean));
    return waiting.filter(({ body }) => !undone.has(body.key)).map(answeredText).filter(Boolean);
  }

  /** Resolves to the reply to a message that waits; to null if the server refuses it. @param {string} key @returns {Promise<any>} */
  replyTo(key) {
    return new Promise((resolve) => {
      const settle = ({ detail: { message, reply = null } }) => {
        if (message.body.key !== key) return;
        for (const type of ["acknowledged", "refused"]) this.removeEventListener(type, settle);
        resolve(reply);
      };
      for (const type of ["acknowledged", "refused"]) this.addEventListener(type, settle);
    });
  }

  /** @param {Message} message */
  add(message) {
    // One entry per message, so that two tabs never overwrite each other's. Names sort by time.
    const name = `${this.prefix}${String(Date.now()).padStart(15, "0")}-${String(this.#count++).padStart(6, "0")}-${message.body.key}`;
    this.storage.setItem(name, JSON.stringify(message));
    this.#fire("change");
    this.flush();
  }

  /** Sends all waiting messages. If a flush is running already, ends its back-off pause. */
  async flush() {
    if (this.#running) return this.#wake();
    this.#running = true;
    for (let name = this.#names()[0]; name; name = this.#names()[0]) await this.#deliver(name);
    this.#running = false;
  }

  async #deliver(name) {
    const message = JSON.parse(this.storage.getItem(name));
    try {
      const reply = await this.send(message.path, message.body);
      this.failures = 0;
      this.problem = "";
      this.storage.removeItem(name);
      this.#fire("acknowledged", { message, reply });
    } catch (error) {
      this.problem = error.isTemporary && error.status >= 500 ? error.message : "";
      if (error.isTemporary) await this.#pause();
      else {
        this.storage.removeItem(name);
        this.#fire("refused", { message, reason: error.message, status: error.status });
      }
    }
    this.#fire("change");
  }

  /** Tries again now. If that is too early for the connection, the pauses begin with the shortest. */
  #restart() {
    this.failures = 0;
    this.#wake();
  }

  #pause() {
    this.failures += 1;
    this.#fire("change");
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, backoff(this.failures) * 1000);
      this.#wake = () => (clearTimeout(timer), resolve());
    });
  }

  #names() {
    return Object.keys(this.storage)
      .filter((name) => name.startsWith(this.prefix))
      .sort();
  }

  #fire(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
