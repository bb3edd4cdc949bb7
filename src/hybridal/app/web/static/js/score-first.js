/** Asks the newest model to score the texts on this page first. */
import { get, post } from "./api.js";

const POLL_MS = 3000;
const MAX_POLLS = 10;

/**
 * @param {{id: string, prediction: null | {round: number}}[]} items
 * @param {() => boolean} areShown whether the page still shows them
 * @param {() => Promise<typeof items>} refresh fetches and shows their current predictions
 */
export async function scoreFirst(items, areShown, refresh) {
  const { round, state } = await get("/api/scoring");
  const isOld = ({ prediction }) => (prediction?.round ?? -1) < round;
  let old = items.filter(isOld);
  if (!round || state !== "running" || !old.length) return;
  await post("/api/scoring/first", { texts: old.map(({ id }) => id) });
  for (let polls = 0; old.length && polls < MAX_POLLS; polls++) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    if (document.hidden || !areShown()) return;
    old = (await refresh()).filter(isOld);
  }
}
