// @ts-check
// How each client is pointed at the gateway. docs/clients.md says more of each.

import { h } from "../lib/dom.js";
import { remember, remembered } from "../lib/state.js";
import { code, tabs } from "../lib/ui.js";

/** What stands for a key that was not made in this tab. */
export const hole = "YOUR_KEY";

/** @typedef {{ id: string, title: string, text: (base: string, key: string) => string }} Snippet base: without /v1 */

/** @type {Snippet[]} */
export const snippets = [
  { id: "curl", title: "curl", text: (base, key) => `curl ${base}/v1/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "claude-haiku-4-5",
       "messages": [{"role": "user", "content": "Hello"}]}'` },
  { id: "python", title: "Python", text: (base, key) => `from openai import OpenAI

client = OpenAI(base_url="${base}/v1", api_key="${key}")
answer = client.chat.completions.create(
    model="claude-haiku-4-5",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)` },
  { id: "javascript", title: "JavaScript", text: (base, key) => `import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${base}/v1", apiKey: "${key}" });
const answer = await client.chat.completions.create({
  model: "claude-haiku-4-5",
  messages: [{ role: "user", content: "Hello" }],
});
console.log(answer.choices[0].message.content);` },
  { id: "langchain", title: "LangChain", text: (base, key) => `from langchain_openai import ChatOpenAI

llm = ChatOpenAI(
    model="claude-haiku-4-5", base_url="${base}/v1", api_key="${key}"
)
print(llm.invoke("Hello").content)` },
  { id: "claude", title: "Claude Code", text: (base, key) => `export ANTHROPIC_BASE_URL=${base}    # without /v1
export ANTHROPIC_AUTH_TOKEN=${key}
claude` },
  { id: "codex", title: "Codex", text: (base, key) => `cat >> ~/.codex/config.toml <<'END'
model = "gpt-6-sol"
model_provider = "gateway"

[model_providers.gateway]
name = "Model Gateway"
base_url = "${base}/v1"
env_key = "GATEWAY_KEY"
wire_api = "responses"
END
export GATEWAY_KEY=${key}
codex` },
  { id: "cursor", title: "Cursor", text: (base, key) => `Settings > Models > API Keys
  Override OpenAI Base URL   ${base}/v1
  OpenAI API Key             ${key}
Cursor's servers make the calls: they have to reach this address.` },
  { id: "openwebui", title: "Open WebUI", text: (base, key) => `docker run -p 3000:8080 \\
  -e OPENAI_API_BASE_URL=${base}/v1 \\
  -e OPENAI_API_KEY=${key} \\
  ghcr.io/open-webui/open-webui:main` },
];

/**
 * The snippets as tabs; the one that is chosen is remembered.
 * @param {string | null} [key] the secret of a key
 */
export function clients(key) {
  const panel = (s) => h("div", { class: "pad" }, code(s.text(location.origin, key ?? hole), s.title + " snippet", hole));
  return tabs({
    label: "Client", chosen: remembered("client", "curl"), onchange: (id) => remember("client", id),
    tabs: snippets.map((s) => ({ id: s.id, title: s.title, panel: () => panel(s) })),
  });
}
