/** Requests to the server: JSON in, JSON out, and an error with one sentence for the user. */
import { t } from "./i18n.js";

/** The server refused a request, or could not be reached (status 0). */
export class ApiError extends Error {
  /** @param {number} status @param {string} sentence */
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }

  /** Whether the same request may succeed later. */
  get isTemporary() {
    return [0, 401, 408, 425, 429].includes(this.status) || this.status >= 500;
  }
}

// Time limits in seconds. Some changes take the server minutes.
const READ_TIMEOUT = 60;
const WRITE_TIMEOUT = 600;

let csrfToken = "";

/** The address of a page or route, with the project's prefix on a server with several projects. */
export const link = (path) => document.documentElement.dataset.root + path;

/** The project and the person whose page this is; their answers must never be sent as those of others. */
export const ownerOf = ({ id, me }) => `${id}/${me.number}`;

/** The project, the person and the classes; also renews the CSRF token. Reloads a page that is another person's. */
export async function getProject() {
  const found = await get("/api/project");
  if (ownerOf(found) !== document.documentElement.dataset.owner) {
    location.reload();
    throw new ApiError(0, t("Another person has signed in with this browser."));
  }
  csrfToken = found.csrf_token;
  return found;
}

/** The projects for the start page of a server with several; also renews the CSRF token. */
export async function getProjects() {
  const found = await get("/api/projects");
  csrfToken = found.csrf_token;
  return found;
}

/** @param {string} path @param {Record<string, unknown>} [query] a value, or an array of values, for each name */
export function get(path, query = {}) {
  const each = Object.entries(query).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  const given = each.filter(([, value]) => value !== "" && value != null);
  return requestJson("GET", given.length ? `${path}?${new URLSearchParams(given)}` : path);
}

/** @param {string} path @param {object} [body] @param {number} [seconds] time limit */
export const post = (path, body = {}, seconds = WRITE_TIMEOUT) => requestJson("POST", path, body, seconds);
export const patch = (path, body) => requestJson("PATCH", path, body);
export const put = (path, body) => requestJson("PUT", path, body);

/**
 * Sends a form with a file. Uses XMLHttpRequest, because `fetch` does not report upload progress.
 * @param {string} path @param {FormData} body @param {(share: number) => unknown} onProgress
 */
export function upload(path, body, onProgress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const unreachable = () => reject(new ApiError(0, t("The server cannot be reached.")));
    request.open("POST", link(path));
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("X-CSRF-Token", csrfToken);
    request.upload.addEventListener("progress", ({ loaded, total }) => onProgress(loaded / total));
    for (const name of ["error", "abort", "timeout"]) request.addEventListener(name, unreachable);
    request.addEventListener("load", () => {
      const answer = parsed(request.responseText);
      if (answer && request.status < 400) resolve(answer);
      else reject(errorOf(request, answer));
    });
    request.send(body);
  });
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Downloads a file, which the browser may keep on disk meanwhile.
 * @param {string} address with the project's prefix @param {(bytes: number) => unknown} onProgress
 */
export async function getFile(address, onProgress = () => {}) {
  const reply = await send("GET", address);
  if (!reply.ok) throw errorOf(reply, await json(reply));
  let received = 0;
  const counted = new TransformStream({
    transform(part, parts) {
      onProgress((received += part.length));
      parts.enqueue(part);
    },
  });
  try {
    return await new Response(reply.body.pipeThrough(counted)).blob();
  } catch {
    throw new ApiError(0, t("The server cannot be reached."));
  }
}

async function requestJson(method, path, body, seconds = body ? WRITE_TIMEOUT : READ_TIMEOUT) {
  const reply = await send(method, link(path), body, AbortSignal.timeout(1000 * seconds));
  const answer = await json(reply);
  if (reply.ok && answer) return answer;
  throw errorOf(reply, answer);
}

/** The parsed body, or null if it is not JSON (a page of a proxy) or incomplete. */
function json(reply) {
  return reply.json().catch(() => null);
}

function errorOf({ status }, answer) {
  // A page of a Wi-Fi portal or proxy is not the server's answer, so the request may be repeated.
  if (!answer) return new ApiError(0, t("The response was incomplete or not from the server (status {status}).", { status }));
  if (status === 401 && !isSignIn()) location.assign(link("/login"));
  return new ApiError(status, answer.error ?? t("The server answered with status {status}.", { status }));
}

async function send(method, address, body, signal = null) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["X-CSRF-Token"] = csrfToken;
  if (body) headers["Content-Type"] = "application/json";
  try {
    return await fetch(address, { method, headers, signal, body: body && JSON.stringify(body) });
  } catch {
    throw new ApiError(0, signal?.aborted ? t("The server took too long to answer.") : t("The server cannot be reached."));
  }
}

function isSignIn() {
  return document.documentElement.dataset.page === "sign-in";
}
