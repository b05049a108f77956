// @ts-check
// Requests to the gateway. The session's cookie goes along by itself.

/** What the gateway refuses, in its own words. A status of 0: it did not answer. */
export class ApiError extends Error {
  /** @param {number} status @param {any} error @param {string} requestId */
  constructor(status, error, requestId) {
    super(error?.message || (status ? `The gateway answered with status ${status}.` : "The gateway does not answer."));
    this.status = status;
    this.code = error?.code ?? "";
    this.type = error?.type ?? "";
    this.param = error?.param ?? "";
    this.requestId = requestId;
  }
}

/** Called when a session is over. @type {(error: ApiError) => void} */
let lost = () => {};

/** @param {(error: ApiError) => void} fn */
export function onSessionLost(fn) {
  lost = fn;
}

/** Called with false when the gateway did not answer, and with true at each answer. @type {(is: boolean) => void} */
let reached = () => {};

/** @param {(is: boolean) => void} fn */
export function onReach(fn) {
  reached = fn;
}

/**
 * @param {string} path
 * @param {Record<string, any> | null} [params] undefined, null and "" are left out; arrays are joined with commas
 * @param {{ signal?: AbortSignal, anonymous?: boolean, accept?: string, headers?: Record<string, string> }} [options]
 */
export async function get(path, params, options = {}) {
  const headers = { Accept: options.accept ?? "application/json", ...options.headers };
  return read(await ask(path + query(params), { headers, signal: options.signal }, options));
}

/**
 * Sends a body as JSON and returns the parsed answer, or null for 204.
 * @param {string} method
 * @param {string} path
 * @param {any} [body]
 * @param {{ signal?: AbortSignal, anonymous?: boolean, headers?: Record<string, string> }} [options]
 */
export async function send(method, path, body, options = {}) {
  const headers = { Accept: "application/json", ...options.headers };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const init = { method, headers, signal: options.signal, body: body === undefined ? undefined : JSON.stringify(body) };
  return read(await ask(path, init, options));
}

/**
 * Posts a body and yields the server-sent events of the answer. `started` is called with the response when its headers
 * have come. An error event throws an ApiError.
 * @param {string} path
 * @param {any} body
 * @param {{ signal?: AbortSignal, headers?: Record<string, string>, started?: (response: Response) => void }} [options]
 * @returns {AsyncGenerator<{ event: string, data: string }>}
 */
export async function* events(path, body, options = {}) {
  const headers = { "Content-Type": "application/json", Accept: "text/event-stream", ...options.headers };
  const response = await ask(path, { method: "POST", headers, body: JSON.stringify(body), signal: options.signal }, {});
  options.started?.(response);
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader(), decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const frames = rest.split(/\r\n\r\n|\n\n|\r\r/);
      rest = frames.pop() ?? "";
      for (const frame of frames) {
        const event = parse(frame);
        if (!event) continue;
        const error = event.event === "error" || event.data.startsWith('{"error"') ? asJSON(event.data)?.error : null;
        if (error) throw new ApiError(response.status === 200 ? 502 : response.status, error, requestIdOf(response));
        yield event;
      }
      if (done) return;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** @param {Record<string, any> | null | undefined} params */
export function query(params) {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(params ?? {})) {
    const text = Array.isArray(value) ? value.join(",") : value;
    if (text !== undefined && text !== null && text !== "") all.set(name, String(text));
  }
  return all.size ? "?" + all : "";
}

async function ask(path, init, options) {
  let response;
  try {
    response = await fetch(path, { ...init, credentials: "same-origin", cache: "no-store" });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    reached(false);
    throw new ApiError(0, null, "");
  }
  reached(true);
  if (response.ok) return response;
  const text = await response.text().catch(() => "");
  const error = new ApiError(response.status, asJSON(text)?.error, requestIdOf(response));
  if (response.status === 401 && !options.anonymous) lost(error);
  throw error;
}

async function read(response) {
  if (response.status === 204) return null;
  const text = await response.text();
  return (response.headers.get("Content-Type") ?? "").startsWith("application/json") ? JSON.parse(text) : text;
}

function parse(frame) {
  let event = "";
  const data = [];
  for (const line of frame.split(/\r\n|\n|\r/)) {
    if (line.startsWith("event:")) event = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
  }
  return data.length ? { event, data: data.join("\n") } : null;
}

function asJSON(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const requestIdOf = (response) => response.headers.get("X-Request-Id") ?? "";
