// @ts-check
/**
 * The conversation of one lane as values: what was asked and answered, and the messages that a
 * request sends of it. Nothing here touches the page.
 *
 * @typedef {{ name: string, url: string }} Picture url is a data URL
 * @typedef {{ role: "user", text: string, pictures: Picture[] }} Question
 * @typedef {{ id: string, name: string, arguments: string, extra_content?: object, result: string | null }} Call
 * @typedef {"waiting" | "reasoning" | "writing" | "done" | "stopped" | "failed"} State
 * @typedef {{
 *   role: "assistant", model: string, state: State, text: string, reasoning: string, details: object[], calls: Call[],
 *   images: string[], refusal: string, finish: string | null, usage: any, served: string, provider: string, requestId: string,
 *   ignored: string[], error: any, startedAt: number, firstMs: number | null, reasonedMs: number | null, durationMs: number | null,
 *   row: any, counted: boolean, body: object | null
 * }} Answer
 * @typedef {Question | Answer} Entry
 */

/** @param {string} text @param {Picture[]} [pictures] @returns {Question} */
export const question = (text, pictures = []) => ({ role: "user", text, pictures });

/** An answer that is asked for now. @param {string} model @returns {Answer} */
export const answer = (model) => ({
  role: "assistant",
  model,
  state: "waiting",
  text: "",
  reasoning: "",
  details: [],
  calls: [],
  images: [],
  refusal: "",
  finish: null,
  usage: null,
  served: "",
  provider: "",
  requestId: "",
  ignored: [],
  error: null,
  startedAt: performance.now(),
  firstMs: null,
  reasonedMs: null,
  durationMs: null,
  row: null,
  counted: false,
  body: null,
});

/** Whether a call of the lane is under way. @param {Entry[]} entries */
export function running(entries) {
  const last = entries.at(-1);
  return last?.role === "assistant" && ["waiting", "reasoning", "writing"].includes(last.state);
}

/** The tool calls of the last answer that have no result yet. @param {Entry[]} entries @returns {Call[]} */
export function unanswered(entries) {
  const last = entries.at(-1);
  return last?.role === "assistant" && last.state === "done" ? last.calls.filter((c) => c.result === null) : [];
}

/**
 * Adds an event of a stream, or a whole answer, to an answer.
 * @param {Answer} a @param {any} chunk @param {number} now as performance.now()
 */
export function take(a, chunk, now) {
  if (chunk.usage) a.usage = chunk.usage;
  if (chunk.model) a.served = chunk.model;
  const choice = chunk.choices?.[0];
  if (!choice) return;
  const delta = choice.delta ?? choice.message ?? {};
  const thought = delta.reasoning_content ?? "";
  const wrote = delta.content || delta.refusal || delta.tool_calls?.length || delta.images?.length;
  if (choice.delta && a.firstMs === null && (thought || wrote)) a.firstMs = now - a.startedAt;
  if (thought && !wrote) a.state = "reasoning";
  if (wrote) {
    if (a.state === "reasoning") a.reasonedMs = now - a.startedAt - (a.firstMs ?? 0);
    a.state = "writing";
  }
  a.reasoning += thought;
  a.text += delta.content ?? "";
  a.refusal += delta.refusal ?? "";
  for (const d of delta.reasoning_details ?? []) addDetail(a.details, d);
  (delta.tool_calls ?? []).forEach((c, at) => addCall(a.calls, c, c.index ?? at));
  for (const image of delta.images ?? []) a.images.push(image.image_url?.url ?? "");
  if (choice.finish_reason) a.finish = choice.finish_reason;
}

/** Parts of one detail come in several events: texts are joined, other members replaced. */
function addDetail(details, part) {
  const have = details.find((d) => d.type === part.type && (d.index ?? 0) === (part.index ?? 0));
  if (!have) return void details.push({ ...part });
  for (const [name, value] of Object.entries(part)) {
    have[name] = ["text", "summary", "data"].includes(name) ? (have[name] ?? "") + value : value;
  }
}

function addCall(calls, part, at) {
  calls[at] ??= { id: "", name: "", arguments: "", result: null };
  if (part.id) calls[at].id = part.id;
  if (part.function?.name) calls[at].name = part.function.name;
  if (part.extra_content) calls[at].extra_content = part.extra_content;
  calls[at].arguments += part.function?.arguments ?? "";
}

/**
 * The messages of a request. An answer that failed is left out; of one that was stopped only its text is kept, since its
 * reasoning and its calls are incomplete.
 * @param {Entry[]} entries @param {string} system @returns {any[]}
 */
export function messages(entries, system) {
  const all = system.trim() ? [{ role: "system", content: system }] : [];
  for (const e of entries) {
    if (e.role === "user") all.push({ role: "user", content: content(e) });
    else if (e.state === "stopped" && e.text) all.push({ role: "assistant", content: e.text });
    else if (e.state === "done") all.push(...said(e));
  }
  return all;
}

function content(q) {
  if (!q.pictures.length) return q.text;
  const pictures = q.pictures.map((p) => ({ type: "image_url", image_url: { url: p.url } }));
  return q.text ? [...pictures, { type: "text", text: q.text }] : pictures;
}

/** @param {Answer} a */
function said(a) {
  const message = { role: "assistant", content: a.text || null };
  if (a.refusal) message.refusal = a.refusal;
  if (a.details.length) message.reasoning_details = a.details;
  if (a.images.length) message.images = a.images.map((url) => ({ type: "image_url", image_url: { url } }));
  if (!a.calls.length) return message.content === null && !a.refusal && !a.images.length ? [] : [message];
  message.tool_calls = a.calls.map((c) => ({
    id: c.id,
    type: "function",
    function: { name: c.name, arguments: c.arguments },
    ...(c.extra_content && { extra_content: c.extra_content }),
  }));
  return [message, ...a.calls.map((c) => ({ role: "tool", tool_call_id: c.id, content: c.result ?? "" }))];
}

/**
 * What the next request says, with a message that is being written; without one, what the last request said.
 * @param {Entry[]} entries @param {{ text: string, pictures: Picture[] }} draft @returns {Entry[]}
 */
export function nextOrLast(entries, draft) {
  if (draft.text.trim() || draft.pictures.length) return [...entries, question(draft.text.trim(), draft.pictures)];
  const asked = entries.at(-1)?.role === "assistant" ? entries.slice(0, -1) : entries;
  return asked.length ? asked : [question("Hello")];
}

/**
 * What a lane asks with: the members of a request beside its model and messages.
 * @typedef {{ system: string, temperature: number | null, max: number | null, effort: string, stream: boolean,
 *   tools: { name: string, description: string, parameters: object }[], choice: string }} Settings
 */

/** @returns {Settings} */
export const settings = () => ({ system: "", temperature: null, max: null, effort: "", stream: true, tools: [], choice: "auto" });

/** The body of a chat completions request. @param {string} model @param {Entry[]} entries @param {Settings} s */
export function request(model, entries, s) {
  const body = { model, messages: messages(entries, s.system) };
  if (s.temperature !== null) body.temperature = s.temperature;
  if (s.max !== null) body.max_completion_tokens = s.max;
  if (s.effort) body.reasoning_effort = s.effort;
  if (s.tools.length) {
    body.tools = s.tools.map((t) => ({
      type: "function",
      function: { name: t.name, description: t.description || undefined, parameters: t.parameters },
    }));
    if (s.choice !== "auto") body.tool_choice = s.choice;
  }
  if (s.stream) Object.assign(body, { stream: true, stream_options: { include_usage: true } });
  return body;
}
