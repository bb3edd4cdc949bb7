/** Talking to the server: JSON in, JSON out, and one sentence when it says no. */

/** The server understood and said no, or could not be reached (status 0). */
export class Refusal extends Error {
  /** @param {number} status @param {string} sentence */
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }

  /** Whether the same request may well succeed later. */
  get passing() {
    return [0, 401, 408, 425, 429].includes(this.status) || this.status >= 500;
  }
}

// Seconds until a request is given up: the server works on some changes for minutes.
const READ = 60;
const CHANGE = 600;

let csrfToken = "";

/** The address of a page or a route: on a server of several projects, each has a prefix of its own. */
export const link = (path) => document.documentElement.dataset.root + path;

/** The project, the person and the classes; also renews the token that every change is sent with. */
export const getProject = () => renewing("/api/project");

/** The same for the start page of a server of several projects. */
export const getProjects = () => renewing("/api/projects");

async function renewing(path) {
  const found = await get(path);
  csrfToken = found.csrf_token;
  return found;
}

/** @param {string} path @param {Record<string, unknown>} [query] each value, or several of one name */
export function get(path, query = {}) {
  const each = Object.entries(query).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  const given = each.filter(([, value]) => value !== "" && value != null);
  return ask("GET", given.length ? `${path}?${new URLSearchParams(given)}` : path);
}

/** @param {string} path @param {object} [body] @param {number} [seconds] until it is given up */
export const post = (path, body = {}, seconds = CHANGE) => ask("POST", path, body, seconds);
export const patch = (path, body) => ask("PATCH", path, body);
export const put = (path, body) => ask("PUT", path, body);

/**
 * Send a form that holds a file. `fetch` does not report how much was sent.
 * @param {string} path @param {FormData} body @param {(share: number) => unknown} onProgress
 */
export function upload(path, body, onProgress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const unreachable = () => reject(new Refusal(0, "The server cannot be reached."));
    request.open("POST", link(path));
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("X-CSRF-Token", csrfToken);
    request.upload.addEventListener("progress", ({ loaded, total }) => onProgress(loaded / total));
    for (const name of ["error", "abort", "timeout"]) request.addEventListener(name, unreachable);
    request.addEventListener("load", () => {
      const said = parsed(request.responseText);
      if (said && request.status < 400) resolve(said);
      else reject(refusal(request, said));
    });
    request.send(body);
  });
}

function parsed(words) {
  try {
    return JSON.parse(words);
  } catch {
    return null;
  }
}

/** A file to take away, by its whole address. */
export async function getFile(address) {
  const reply = await reach("GET", address);
  if (!reply.ok) throw refusal(reply, await read(reply));
  return reply.blob();
}

async function ask(method, path, body, seconds = body ? CHANGE : READ) {
  const reply = await reach(method, link(path), body, AbortSignal.timeout(1000 * seconds));
  const said = await read(reply);
  if (reply.ok && said) return said;
  throw refusal(reply, said);
}

/** What the server said; null where it was not the server that spoke, or where its words broke off on the way. */
function read(reply) {
  return reply.json().catch(() => null);
}

function refusal({ status }, said) {
  // A page of somebody's Wi-Fi or proxy says nothing about what was asked: it may be asked again.
  if (!said) return new Refusal(0, `The response was incomplete or not from the server (status ${status}).`);
  if (status === 401 && !isSignIn()) location.assign(link("/login"));
  return new Refusal(status, said.error ?? `The server answered with status ${status}.`);
}

async function reach(method, address, body, signal = null) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["X-CSRF-Token"] = csrfToken;
  if (body) headers["Content-Type"] = "application/json";
  try {
    return await fetch(address, { method, headers, signal, body: body && JSON.stringify(body) });
  } catch {
    throw new Refusal(0, signal?.aborted ? "The server took too long to answer." : "The server cannot be reached.");
  }
}

function isSignIn() {
  return document.documentElement.dataset.page === "sign-in";
}
