// Gives a task to a model through LangChain's ChatOpenAI and the Responses API, whole and
// as a stream, and prints the last text and the usage of each.
import { readFile, writeFile } from "node:fs/promises";
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";

const [url, model, ...tasks] = process.argv.slice(2);
const tool = (name, required) => ({
  type: "function",
  function: {
    name, description: name,
    parameters: { type: "object", properties: Object.fromEntries(required.map((r) => [r, { type: "string" }])), required },
  },
});
const chat = new ChatOpenAI({ model, apiKey: "any", useResponsesApi: true, maxRetries: 0, configuration: { baseURL: url } })
  .bindTools([tool("write", ["file_path", "content"]), tool("read", ["file_path"])]);

async function use({ name, args }) {
  if (name === "read") return readFile(args.file_path, "utf8");
  await writeFile(args.file_path, args.content);
  return "written";
}

for (const [n, task] of tasks.entries()) {
  const messages = [new HumanMessage(task)];
  for (let turn = 0; turn < 10; turn++) {
    let answer;
    if (n === 0) answer = await chat.invoke(messages);
    else for await (const chunk of await chat.stream(messages)) answer = answer ? answer.concat(chunk) : chunk;
    messages.push(answer);
    for (const call of answer.tool_calls) messages.push(new ToolMessage({ tool_call_id: call.id, content: await use(call) }));
    if (answer.tool_calls.length > 0) continue;
    const usage = answer.usage_metadata;
    console.log(JSON.stringify({ text: answer.text, input: usage.input_tokens, output: usage.output_tokens }));
    break;
  }
}
