// Calls the gateway as clients of LiteLLM do, with their settings and a key, by the SDKs of OpenAI and of Anthropic, and prints how often
// it called models. The text of an answer must have that of the question.
import { strict as assert } from "node:assert";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI, { AzureOpenAI } from "openai";

const [url, key] = process.argv.slice(2);
const [model, claude, embedder, text] = ["gpt-4o", "claude-sonnet", "text-embedding-3-small", "Hello there"];
const messages = [{ role: "user", content: text }];
let calls = 0;

async function openAI(client) {
  const answer = await client.chat.completions.create({ model, messages });
  assert.ok(answer.choices[0].message.content.includes(text), JSON.stringify(answer));
  let streamed = "";
  for await (const chunk of await client.chat.completions.create({ model, messages, stream: true })) streamed += chunk.choices[0]?.delta.content ?? "";
  assert.ok(streamed.includes(text), streamed);
  const vectors = await client.embeddings.create({ model: embedder, input: text });
  assert.ok(vectors.data[0].embedding.length > 0);
  calls += 3;
}

for (const baseURL of [`${url}/v1`, url]) {
  const client = new OpenAI({ baseURL, apiKey: key, maxRetries: 0 });
  await openAI(client);
  const names = [];
  for await (const listed of client.models.list()) names.push(listed.id);
  for (const name of [model, claude]) assert.ok(names.includes(name), `no ${name} in ${names}`);
}
await openAI(new AzureOpenAI({ endpoint: url, apiKey: key, apiVersion: "2024-10-21", maxRetries: 0 }));

for (const credential of [{ apiKey: key, authToken: null }, { apiKey: null, authToken: key }]) {
  const client = new Anthropic({ baseURL: url, maxRetries: 0, ...credential });
  const answer = await client.messages.create({ model: claude, max_tokens: 100, messages });
  assert.ok(answer.content[0].text.includes(text), JSON.stringify(answer));
  const last = await client.messages.stream({ model: claude, max_tokens: 100, messages }).finalMessage();
  assert.ok(last.content[0].text.includes(text) && last.stop_reason === "end_turn", JSON.stringify(last));
  calls += 2;
}
console.log(calls);
