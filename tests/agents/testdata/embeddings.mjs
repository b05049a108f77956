// Asks for the vectors of texts through OpenAI's SDK and LangChain, and prints how many
// numbers each has, and its length.
import { OpenAIEmbeddings } from "@langchain/openai";
import OpenAI from "openai";

const [url, model] = process.argv.slice(2);
const client = new OpenAI({ baseURL: url, apiKey: "any", maxRetries: 0 });
const chain = new OpenAIEmbeddings({ model, apiKey: "any", dimensions: 256, maxRetries: 0, configuration: { baseURL: url } });
const answer = await client.embeddings.create({ model, input: ["Hello", "World"], dimensions: 256 });
const vectors = [...answer.data.map((d) => d.embedding), ...await chain.embedDocuments(["Hello", "World"]), await chain.embedQuery("Hello")];
console.log(JSON.stringify({
  vectors: vectors.map((v) => ({ numbers: v.length, length: Math.hypot(...v) })),
  same: [0, 1].every((i) => vectors[i].every((x, j) => Math.abs(x - vectors[i + 2][j]) < 1e-6)),
  tokens: answer.usage.total_tokens,
}));
