/** Answers that somebody sends, and sends again where the reply was lost. */
import { post } from "./api.js";
import { drawKey } from "./key.js";

/**
 * Sends answers, each under a key. What is sent again as it was, since no reply came, goes under the same key: it may
 * have arrived, and counts once.
 * @returns {(path: string, answer: object) => Promise<any>}
 */
export function sender() {
  let last = "";
  let key = "";
  return async (path, answer) => {
    const now = JSON.stringify([path, answer]);
    if (now !== last) [last, key] = [now, drawKey()];
    const reply = await post(path, { key, ...answer });
    last = "";
    return reply;
  };
}
