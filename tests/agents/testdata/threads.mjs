// Gives tasks to a model through the Anthropic SDK, by its tool runner or over a message thread,
// the first whole and the second as a stream, and prints the last text and the usage of each.
import { readFile, writeFile } from "node:fs/promises";
import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";

const [url, model, way, ...tasks] = process.argv.slice(2);
const client = new Anthropic({ baseURL: url.replace(/\/v1$/, ""), apiKey: "any", maxRetries: 0 });
const tool = (name, required, run) => betaTool({
  name, description: name, run,
  inputSchema: { type: "object", properties: Object.fromEntries(required.map((r) => [r, { type: "string" }])), required },
});
const tools = [
  tool("write", ["file_path", "content"], async ({ file_path, content }) => { await writeFile(file_path, content); return "written"; }),
  tool("read", ["file_path"], ({ file_path }) => readFile(file_path, "utf8")),
];
const limits = { model, max_tokens: 2000, tools };

const recovers = { unsupportedRequestBehavior: "continue_unthreaded" };

// runs are the ways to give a task to the model.
const runs = {
  runner: (messages, stream) => client.beta.messages.toolRunner({ ...limits, messages, stream }).runUntilDone(),
  thread: (messages, stream) => client.beta.messages.thread({ ...limits, messages, ...recovers }).toolRunner({ stream }).runUntilDone(),
  moved: async (messages) => { // begins with a model of Anthropic
    const thread = client.beta.messages.thread({ ...limits, model: "claude-opus-5-5", ...recovers });
    await thread.send({ role: "user", content: "The code word is zebra." });
    thread.update({ model });
    return thread.send(messages);
  },
};

for (const [n, task] of tasks.entries()) {
  const answer = await runs[way]([{ role: "user", content: task }], n === 1);
  const text = answer.content.filter((block) => block.type === "text").map((block) => block.text).join("");
  console.log(JSON.stringify({ text, input: answer.usage.input_tokens, output: answer.usage.output_tokens }));
}
