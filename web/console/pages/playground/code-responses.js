// @ts-check

/** The same request for the Responses API. @param {any} r the body for chat completions */
export function body(r) {
  const { system, rest } = split(r.messages);
  const out = { model: r.model };
  if (system) out.instructions = system;
  out.input = rest.length === 1 && typeof rest[0].content === "string" ? rest[0].content : rest.flatMap(items);
  if (r.temperature !== undefined) out.temperature = r.temperature;
  if (r.max_completion_tokens !== undefined) out.max_output_tokens = r.max_completion_tokens;
  if (r.reasoning_effort) out.reasoning = { effort: r.reasoning_effort };
  if (r.tools) out.tools = r.tools.map((t) => ({ type: "function", ...t.function, strict: false })); // strict is the default there
  if (r.tool_choice) out.tool_choice = r.tool_choice;
  if (r.stream) out.stream = true;
  return out;
}

/** The system prompt, and the other messages. */
export function split(messages) {
  const system = messages
    .filter((m) => m.role === "system")
    .map((m) => m.content)
    .join("\n\n");
  return { system, rest: messages.filter((m) => m.role !== "system") };
}

function items(m) {
  if (m.role === "tool") return [{ type: "function_call_output", call_id: m.tool_call_id, output: m.content }];
  if (m.role === "user") return [{ role: "user", content: typeof m.content === "string" ? m.content : m.content.map(part) }];
  const calls = (m.tool_calls ?? []).map((c) => ({
    type: "function_call",
    call_id: c.id,
    name: c.function.name,
    arguments: c.function.arguments,
  }));
  return m.content ? [{ role: "assistant", content: m.content }, ...calls] : calls;
}

const part = (p) => (p.type === "text" ? { type: "input_text", text: p.text } : { type: "input_image", image_url: p.image_url.url });
