/** The newest model scores first what somebody looks at. */
import { get, post } from "./api.js";

const AGAIN = 3000;
const TIMES = 10;

/**
 * @param {{id: string, prediction: null | {round: number}}[]} items
 * @param {() => boolean} areShown whether they are still looked at
 * @param {() => Promise<typeof items>} show shows what is known of them now
 */
export async function newestFirst(items, areShown, show) {
  const { round, state } = await get("/api/scoring");
  const isOld = ({ prediction }) => (prediction?.round ?? -1) < round;
  let old = items.filter(isOld);
  if (!round || state !== "running" || !old.length) return;
  await post("/api/scoring/first", { texts: old.map(({ id }) => id) });
  for (let times = 0; old.length && times < TIMES; times++) {
    await new Promise((resolve) => setTimeout(resolve, AGAIN));
    if (document.hidden || !areShown()) return;
    old = (await show()).filter(isOld);
  }
}
