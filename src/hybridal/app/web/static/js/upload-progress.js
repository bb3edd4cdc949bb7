/** Shows in a bar how much of an uploaded file the server has taken over so far. */
import { get } from "./api.js";

const POLL_MS = 500;

/** @param {HTMLProgressElement} bar @param {string} token of the upload; "" for none @returns {() => void} ends it */
export function watchProgress(bar, token) {
  const timer = setInterval(async () => {
    const { done, total } = token ? await get(`/api/uploads/${token}`).catch(() => ({ total: 0 })) : { total: 0 };
    bar.hidden = !total;
    bar.value = total ? done / total : 0;
  }, POLL_MS);
  return () => {
    clearInterval(timer);
    bar.hidden = true;
  };
}
