// Gives a task to a model through the OpenAI SDK and its Responses API, whole and as a
// stream, and prints the last text and the usage of each.
import { readFile, writeFile } from "node:fs/promises";
import OpenAI from "openai";

const [url, model, ...tasks] = process.argv.slice(2);
const client = new OpenAI({ baseURL: url, apiKey: "any", maxRetries: 0 });
const tool = (name, required) => ({
  type: "function", name, description: name, strict: false,
  parameters: { type: "object", properties: Object.fromEntries(required.map((r) => [r, { type: "string" }])), required },
});
const tools = [tool("write", ["file_path", "content"]), tool("read", ["file_path"])];

async function use({ name, arguments: text }) {
  const { file_path, content } = JSON.parse(text);
  if (name === "read") return readFile(file_path, "utf8");
  await writeFile(file_path, content);
  return "written";
}

// What the stream helper adds to the items is its own: OpenAI refuses to have it back.
const plain = (items) => JSON.parse(JSON.stringify(items, (name, value) => (name.startsWith("parsed") ? undefined : value)));

for (const [n, task] of tasks.entries()) {
  const input = [{ role: "user", content: task }];
  for (let turn = 0; turn < 10; turn++) {
    const request = {
      model, input, tools, instructions: "You write files.", store: false,
      include: ["reasoning.encrypted_content"], reasoning: { effort: "low", summary: "auto" },
    };
    const answer = n === 0 ? await client.responses.create(request) : await client.responses.stream(request).finalResponse();
    if (answer.status !== "completed") throw new Error(JSON.stringify(answer));
    input.push(...plain(answer.output));
    const calls = answer.output.filter((item) => item.type === "function_call");
    for (const call of calls) input.push({ type: "function_call_output", call_id: call.call_id, output: await use(call) });
    if (calls.length > 0) continue;
    console.log(JSON.stringify({ text: answer.output_text, input: answer.usage.input_tokens, output: answer.usage.output_tokens }));
    break;
  }
}
