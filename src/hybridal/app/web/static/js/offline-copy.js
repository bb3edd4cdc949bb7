/**
 * What this device keeps so that the page Label can be opened without a connection: the project and the next texts in
 * IndexedDB, and the page in the cache of the service worker. Only over https and on localhost; signing out deletes both.
 */
import { link, ownerOf } from "./api.js";
import { ownKeys } from "./own-keys.js";

const HOME = link("/");
const CACHE = `hybridal ${HOME}`; // the same name is in service-worker.js
const DATABASE = "hybridal";
const STORE = "offline";

/** @typedef {{owner: string, project: object, items: import("./queue.js").Item[]}} Copy */

export class OfflineCopy {
  #isRegistered = false;

  /** @param {object} project @param {import("./queue.js").Queue} queue */
  constructor(project, queue) {
    this.project = project;
    this.queue = queue;
  }

  /** Lets the service worker keep the page, if this browser has one here. */
  async start() {
    this.#isRegistered = Boolean(await navigator.serviceWorker?.register(link("/service-worker.js")));
    await this.save();
  }

  /** Keeps the project and the texts that are not answered yet. */
  async save() {
    if (!this.#isRegistered) return;
    const { csrf_token: _, ...loaded } = this.project;
    const project = { ...loaded, own_keys: ownKeys() }; // they may have been changed since it was loaded
    const items = this.queue.held.map(({ threads: _, ...item }) => item); // comments of others are not kept
    await inStore("readwrite", (store) => store.put({ owner: ownerOf(project), project, items }, HOME));
  }
}

/** The copy of this project and person; null if there is none. @param {string} owner @returns {Promise<Copy | null>} */
export async function readCopy(owner) {
  const copy = await inStore("readonly", (store) => store.get(HOME));
  return copy?.owner === owner ? copy : null;
}

/** Deletes the page and the texts. Answers that were not sent yet stay in the outbox, for the same person. */
export async function deleteCopy() {
  if (!navigator.serviceWorker) return;
  await caches.delete(CACHE);
  await inStore("readwrite", (store) => store.delete(HOME));
}

async function inStore(mode, act) {
  const opening = indexedDB.open(DATABASE, 1);
  opening.addEventListener("upgradeneeded", () => opening.result.createObjectStore(STORE));
  const database = await resultOf(opening);
  try {
    return await resultOf(act(database.transaction(STORE, mode).objectStore(STORE)));
  } finally {
    database.close();
  }
}

/** @param {IDBRequest} request */
function resultOf(request) {
  return new Promise((resolve, reject) => {
    request.addEventListener("success", () => resolve(request.result));
    request.addEventListener("error", () => reject(request.error));
  });
}
