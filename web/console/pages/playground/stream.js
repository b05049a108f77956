// @ts-check
/**
 * One call of a model: POST /v1/chat/completions with the cookie of the session, or with a key that was made in this tab.
 * lib/api.js hides the headers of an answer, which name the request, the provider and what was ignored; so this is here.
 */
import { ApiError, get } from "../../lib/api.js";

const path = "/v1/chat/completions";

/**
 * @param {{ body: object, key?: string, signal: AbortSignal, onhead: (headers: Headers) => void, onchunk: (chunk: any) => void }} call
 * onchunk gets each event of a stream, or the whole answer
 */
export async function ask({ body, key, signal, onhead, onchunk }) {
  const headers = { "Content-Type": "application/json", ...bearer(key) };
  const r = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal });
  onhead(r.headers);
  if (!r.ok) {
    if (r.status === 401 && !key) await get("/auth/session"); // leads to the sign-in when the session is over
    throw refusal(r.status, await r.json().catch(() => null), r.headers);
  }
  if (!r.headers.get("content-type")?.startsWith("text/event-stream")) return onchunk(await r.json());
  let complete = false;
  for await (const data of events(/** @type {ReadableStream} */ (r.body))) {
    complete = data === "[DONE]"; // it is read to its end all the same: a body that is left early looks like a client that went away
    if (complete) continue;
    const chunk = JSON.parse(data);
    if (chunk.error) throw refusal(r.status, chunk, r.headers);
    onchunk(chunk);
  }
  const cut = { error: { message: "The answer ended before it was complete." } };
  if (!complete) throw refusal(r.status, cut, r.headers);
}

/** @param {string} [key] */
export const bearer = (key) => (key ? { Authorization: "Bearer " + key } : {});

/** @param {number} status @param {any} body @param {Headers} headers */
export const refusal = (status, body, headers) => new ApiError(status, body?.error, headers.get("x-request-id") ?? "");

/** The data of the events of a stream. @param {ReadableStream<Uint8Array>} body */
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + value).split("\n\n");
      rest = parts.pop() ?? "";
      for (const event of parts) {
        const data = event
          .split("\n")
          .filter((l) => l.startsWith("data:"))
          .map((l) => l.slice(5).trimStart())
          .join("\n");
        if (data) yield data;
      }
    }
  } finally {
    reader.cancel().catch(() => {}); // ends the call where the loop is left early
  }
}
