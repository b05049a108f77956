// Gives a task to a model through the AI SDK with the defaults of its provider for OpenAI,
// whole and as a stream, and prints the last text and the usage of each.
import { readFile, writeFile } from "node:fs/promises";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, streamText, tool } from "ai";
import { z } from "zod";

const [url, model, options, ...tasks] = process.argv.slice(2);
const gateway = createOpenAI({ baseURL: url, apiKey: "any" });
const tools = {
  write: tool({
    description: "write", inputSchema: z.object({ file_path: z.string(), content: z.string() }),
    execute: async ({ file_path, content }) => { await writeFile(file_path, content); return "written"; },
  }),
  read: tool({
    description: "read", inputSchema: z.object({ file_path: z.string() }),
    execute: ({ file_path }) => readFile(file_path, "utf8"),
  }),
};

for (const [n, prompt] of tasks.entries()) {
  const request = { model: gateway(model), tools, prompt, stopWhen: isStepCount(10), maxRetries: 0, providerOptions: JSON.parse(options) };
  const answer = n === 0 ? await generateText(request) : streamText(request);
  const [text, usage] = [await answer.text, await answer.totalUsage];
  console.log(JSON.stringify({ text, input: usage.inputTokens, output: usage.outputTokens }));
}
