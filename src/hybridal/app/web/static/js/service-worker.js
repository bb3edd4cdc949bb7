/**
 * Lets the page Label be opened without a connection. Keeps a copy of this page and of the files that it loads, and
 * nothing else: a request for data always goes to the server. Every page that the server sends replaces the copy.
 */
const HOME = new URL(registration.scope).pathname; // the page Label; on a server with several projects, of one project
const FILES = `${HOME}static/`;
const CACHE = `hybridal ${HOME}`; // the same name is in offline-copy.js
const PATIENCE_MS = 10_000;
const GATEWAY_ERRORS = [502, 504]; // of a proxy that does not reach the server
const LINKED = new RegExp(`="(${FILES}[^"]*)"`, "g");
const IMPORTED = /(?:from|import) "(\.[^"]*)"/g;

const kept = (address) => caches.match(address, { cacheName: CACHE, ignoreVary: true });

addEventListener("install", (event) => {
  skipWaiting();
  event.waitUntil(fetch(HOME).then(keep));
});

addEventListener("fetch", (event) => {
  const { mode, url } = event.request;
  const { origin, pathname } = new URL(url);
  if (origin !== location.origin) return;
  if (mode === "navigate" && pathname === HOME) event.respondWith(openPage(event));
  else if (pathname.startsWith(FILES)) event.respondWith(openFile(event.request));
});

async function openFile(request) {
  return (await kept(request)) ?? fetch(request);
}

/** The page from the server; the copy if the server cannot be reached or takes too long. */
function openPage(event) {
  const sent = fetch(event.request);
  event.waitUntil(sent.then((reply) => keep(reply.clone())).catch(() => {})); // without a new copy, the old one stays
  return orCopy(sent);
}

async function orCopy(sent) {
  sent.catch(() => {}); // it may fail while the copy is looked up
  const copy = await kept(HOME);
  if (!copy) return sent;
  const late = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS, copy));
  const inTime = sent.then(
    (reply) => (GATEWAY_ERRORS.includes(reply.status) ? copy : reply),
    () => copy,
  );
  return Promise.race([inTime, late]);
}

/** Replaces the copy by a page of the server, unless it is a page to sign in or shows an error. */
async function keep(page) {
  if (!page.ok || page.redirected) return;
  const html = await page.clone().text();
  if (!html.includes('data-page="label"') || html === (await (await kept(HOME))?.text())) return;
  const cache = await caches.open(CACHE);
  const [head] = html.split("</head>");
  const files = new Set();
  await Promise.all([...head.matchAll(LINKED)].map(([, path]) => add(cache, new URL(path, location).href, files)));
  // Last, so that the page in the cache always has its files.
  await cache.put(HOME, page);
  for (const request of await cache.keys())
    if (new URL(request.url).pathname !== HOME && !files.has(request.url)) await cache.delete(request);
}

/** Adds a file, and the scripts that it imports, to the cache and to `files`. */
async function add(cache, address, files) {
  if (files.has(address)) return;
  files.add(address);
  const file = (await cache.match(address, { ignoreVary: true })) ?? (await download(cache, address));
  if (!address.endsWith(".js")) return;
  const imports = [...(await file.text()).matchAll(IMPORTED)].map(([, name]) => new URL(name, address).href);
  await Promise.all(imports.map((one) => add(cache, one, files)));
}

async function download(cache, address) {
  const file = await fetch(address);
  if (!file.ok) throw new Error(`${address}: status ${file.status}`);
  await cache.put(address, file.clone());
  return file;
}
