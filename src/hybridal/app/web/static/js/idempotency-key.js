/** A random idempotency key: the server applies a request once, however often it arrives. */
export function newKey() {
  // Not crypto.randomUUID: browsers offer it only over https and on localhost.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
