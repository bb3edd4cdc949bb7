/** Sends annotations so that a retry after a lost reply counts only once. */
import { post } from "./api.js";
import { newKey } from "./idempotency-key.js";

/**
 * Returns a `post` that adds an idempotency key. An identical request after one without a reply reuses its key: the first
 * one may have arrived.
 * @returns {(path: string, body: object) => Promise<any>}
 */
export function idempotentPost() {
  let last = "";
  let key = "";
  return async (path, body) => {
    const now = JSON.stringify([path, body]);
    if (now !== last) [last, key] = [now, newKey()];
    const reply = await post(path, { key, ...body });
    last = "";
    return reply;
  };
}
