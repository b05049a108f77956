// @ts-check
import { split } from "./code-responses.js";

/** The same request for the Messages API, which wants a limit of output. @param {any} r the body for chat completions */
export function body(r) {
  const { system, rest } = split(r.messages);
  const out = { model: r.model, max_tokens: r.max_completion_tokens ?? 4096 };
  if (system) out.system = system;
  out.messages = turns(rest);
  if (r.temperature !== undefined) out.temperature = Math.min(1, r.temperature); // its range ends at 1
  if (r.reasoning_effort === "none") out.thinking = { type: "disabled" };
  else if (r.reasoning_effort) out.output_config = { effort: r.reasoning_effort === "minimal" ? "low" : r.reasoning_effort };
  if (r.tools)
    out.tools = r.tools.map(({ function: f }) => ({
      name: f.name,
      ...(f.description && { description: f.description }),
      input_schema: f.parameters,
    }));
  if (r.tool_choice) out.tool_choice = { type: r.tool_choice === "required" ? "any" : r.tool_choice };
  if (r.stream) out.stream = true;
  return out;
}

/** Results of tools are parts of the user's turn; neighbours of one role become one turn. */
function turns(messages) {
  const all = [];
  for (const m of messages) {
    const role = m.role === "assistant" ? "assistant" : "user",
      content = parts(m),
      last = all.at(-1);
    if (last?.role === role) last.content = [...list(last.content), ...list(content)];
    else all.push({ role, content });
  }
  return all;
}

const list = (content) => (typeof content === "string" ? [{ type: "text", text: content }] : content);

function parts(m) {
  if (m.role === "tool") return [{ type: "tool_result", tool_use_id: m.tool_call_id, content: m.content }];
  if (m.role === "user") return typeof m.content === "string" ? m.content : m.content.map(part);
  if (!m.tool_calls) return m.content;
  const calls = m.tool_calls.map((c) => ({ type: "tool_use", id: c.id, name: c.function.name, input: input(c.function.arguments) }));
  return m.content ? [{ type: "text", text: m.content }, ...calls] : calls;
}

function input(text) {
  try {
    return JSON.parse(text || "{}");
  } catch {
    return {};
  }
}

function part(p) {
  if (p.type === "text") return p;
  const [, type, data] = p.image_url.url.match(/^data:([^;,]+);base64,([\s\S]*)$/) ?? [];
  return { type: "image", source: data ? { type: "base64", media_type: type, data } : { type: "url", url: p.image_url.url } };
}
