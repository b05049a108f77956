// @ts-check
// How each client is pointed at the gateway. docs/clients.md says more of each.

import { fill, h } from "../lib/dom.js";
import { find, load } from "../lib/models.js";
import { picker } from "../lib/picker.js";
import { remember, remembered } from "../lib/state.js";
import { code, field, tabs } from "../lib/ui.js";

/** What stands for a key that was not made in this tab. */
export const hole = "YOUR_KEY";

/** @typedef {{ base: string, key: string, model: string, codex: string }} Values base: without /v1 */
/** @typedef {{ id: string, title: string, text: (of: Values) => string }} Snippet */

/** @type {Snippet[]} */
export const snippets = [
  { id: "curl", title: "curl", text: ({ base, key, model }) => `curl ${base}/v1/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${model}",
       "messages": [{"role": "user", "content": "Hello"}]}'` },
  { id: "python", title: "Python", text: ({ base, key, model }) => `from openai import OpenAI

client = OpenAI(base_url="${base}/v1", api_key="${key}")
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)` },
  { id: "javascript", title: "JavaScript", text: ({ base, key, model }) => `import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${base}/v1", apiKey: "${key}" });
const answer = await client.chat.completions.create({
  model: "${model}",
  messages: [{ role: "user", content: "Hello" }],
});
console.log(answer.choices[0].message.content);` },
  { id: "langchain", title: "LangChain", text: ({ base, key, model }) => `from langchain_openai import ChatOpenAI

llm = ChatOpenAI(
    model="${model}", base_url="${base}/v1", api_key="${key}"
)
print(llm.invoke("Hello").content)` },
  { id: "claude", title: "Claude Code", text: ({ base, key }) => `export ANTHROPIC_BASE_URL=${base}    # without /v1
export ANTHROPIC_AUTH_TOKEN=${key}
claude` },
  { id: "codex", title: "Codex", text: ({ base, key, codex }) => `cat >> ~/.codex/config.toml <<'END'
model = "${codex}"
model_provider = "gateway"

[model_providers.gateway]
name = "Model Gateway"
base_url = "${base}/v1"
env_key = "GATEWAY_KEY"
wire_api = "responses"
END
export GATEWAY_KEY=${key}
codex` },
  { id: "cursor", title: "Cursor", text: ({ base, key }) => `Settings > Models > API Keys
  Override OpenAI Base URL   ${base}/v1
  OpenAI API Key             ${key}
Cursor's servers make the calls: they have to reach this address.` },
  { id: "openwebui", title: "Open WebUI", text: ({ base, key }) => `docker run -p 3000:8080 \\
  -e OPENAI_API_BASE_URL=${base}/v1 \\
  -e OPENAI_API_KEY=${key} \\
  ghcr.io/open-webui/open-webui:main` },
];

/** The models that snippets name where they can be called. */
const usual = { model: "claude-haiku-4-5", codex: "gpt-6-sol" };

/**
 * What a key, or the session, can call: the usual models, else the first of the list. A model that
 * is not listed can be called where its provider has a key, unless the caller may use some only.
 * @param {string | null | undefined} key @param {AbortSignal} signal
 */
async function callable(key, signal) {
  const { models } = await load({ key: key ?? undefined, signal });
  const chat = models.filter((m) => m.available && m.kind === "chat");
  const some = models.some((m) => m.unavailable === "not_allowed");
  const pick = (name, owner) => {
    const unlisted = !some && models.some((m) => m.owned_by === owner && m.provider_status);
    return find(chat, name) || unlisted ? name : (chat.find((m) => m.owned_by === owner) ?? chat[0])?.id ?? name;
  };
  return { model: pick(usual.model, "anthropic"), codex: pick(usual.codex, "openai") };
}

/**
 * An element that draws with the usual models at once, and again where others can be called.
 * Without a signal nothing is asked.
 * @param {(models: typeof usual) => any} draw @param {{ key?: string | null, signal?: AbortSignal }} of
 */
export function withModels(draw, { key, signal }) {
  const place = h("div", null, draw(usual));
  if (!signal) return place;
  const again = (models) => {
    if (models.model !== usual.model || models.codex !== usual.codex) fill(place, draw(models));
  };
  callable(key, signal).then(again, () => {}); // without the list the usual names stay
  return place;
}

/**
 * The snippets as tabs; the one that is chosen is remembered.
 * @param {{ key?: string | null, signal?: AbortSignal }} of key: the secret of a key
 */
export function clients({ key, signal } = {}) {
  const draw = (models) => {
    const values = { base: location.origin, key: key ?? hole, ...models };
    return tabs({
      label: "Client", chosen: remembered("client", "curl"), onchange: (id) => remember("client", id),
      tabs: snippets.map((s) => ({
        id: s.id, title: s.title, panel: () => h("div", { class: "pad" }, code(s.text(values), s.title + " snippet", hole)),
      })),
    });
  };
  const place = withModels(draw, { key, signal });
  return signal ? [place, h("div", { class: "pad" }, field({ label: "Another model", name: "model", control: (props) => picker({
    props, value: [], models: () => load({ key: key ?? undefined, signal }).then((list) => list.models), onpick: ([name]) => fill(place, draw({ model: name, codex: name })),
  }).el }))] : place;
}
