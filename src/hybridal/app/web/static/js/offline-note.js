/** The line above the text that says what waits on this device while there is no connection. */
import { byId, setText } from "./dom.js";
import { t, tn } from "./i18n.js";

export class OfflineNote {
  /** Whether the last request for texts did not reach the server. */
  isUnreachable = false;

  /** @param {import("./outbox.js").Outbox} outbox @param {import("./queue.js").Queue} queue */
  constructor(outbox, queue) {
    this.outbox = outbox;
    this.queue = queue;
    for (const type of ["offline", "online"]) addEventListener(type, () => this.show());
    outbox.addEventListener("change", () => this.show());
  }

  /** @param {boolean} isUnreachable whether the last request for texts did not reach the server */
  show(isUnreachable = this.isUnreachable && this.outbox.failures > 0) {
    this.isUnreachable = isUnreachable;
    const isLost = isUnreachable || !navigator.onLine || (this.outbox.failures > 0 && !this.outbox.problem);
    setText(byId("offline"), isLost ? this.#sentence() : "");
  }

  #sentence() {
    const waiting = this.outbox.waiting.length;
    const sentences = [
      t("No connection."),
      waiting ? tn("{n} answer waits on this device and is sent later.", "{n} answers wait on this device and are sent later.", waiting) : "",
      tn("{n} text is ready to label.", "{n} texts are ready to label.", this.queue.held.length),
    ];
    return sentences.filter(Boolean).join(" ");
  }
}
