// @ts-check
/**
 * A request as a program: three dialects of the API, each with curl, Python and JavaScript. The key is never in it: the
 * program reads it from the environment. Nothing here touches the page.
 */
import { body as responses } from "./code-responses.js";
import { body as messages } from "./code-messages.js";

export const dialects = [
  { id: "chat", name: "Chat Completions", path: "/v1/chat/completions" },
  { id: "responses", name: "Responses", path: "/v1/responses" },
  { id: "messages", name: "Messages", path: "/v1/messages" },
];
export const languages = [
  { id: "curl", name: "curl" },
  { id: "python", name: "Python" },
  { id: "javascript", name: "JavaScript" },
];

/** The environment variable that holds the key. */
export const variable = "MODEL_GATEWAY_KEY";

/**
 * @param {any} request the body for chat completions
 * @param {string} dialect @param {string} language @param {string} base the address of the gateway, without /v1
 */
export function program(request, dialect, language, base) {
  const own = shortened(request);
  delete own.stream_options;
  const body = { chat: (r) => r, responses, messages }[dialect](own);
  return { curl, python, javascript }[language](body, dialect, base);
}

/** Pictures are too long to read: their data is replaced by a word that names them. */
function shortened(value) {
  let pictures = 0;
  return JSON.parse(
    JSON.stringify(value, (name, v) => {
      if (name === "reasoning_details") return undefined; // the ids of tool calls have what a provider needs of it
      return typeof v === "string" && v.startsWith("data:image/") ? v.replace(/,[\s\S]*/, ",PICTURE_" + ++pictures) : v;
    }),
  );
}

/** How many pictures a program wants to have filled in. @param {string} text */
export const holes = (text) => new Set(text.match(/PICTURE_\d+/g) ?? []).size;

function curl(body, dialect, base) {
  const { path } = /** @type {any} */ (dialects.find((d) => d.id === dialect));
  const head =
    dialect === "messages"
      ? [`-H "x-api-key: $${variable}"`, "-H 'anthropic-version: 2023-06-01'"]
      : [`-H "Authorization: Bearer $${variable}"`];
  return [
    `curl ${body.stream ? "-N " : ""}${base}${path}`,
    ...head,
    "-H 'Content-Type: application/json'",
    "-d '" + pretty(body, json, "  ").replaceAll("'", `'\\''`) + "'",
  ].join(" \\\n  ");
}

const clients = {
  chat: { maker: "OpenAI", at: "/v1", call: "chat.completions.create" },
  responses: { maker: "OpenAI", at: "/v1", call: "responses.create" },
  messages: { maker: "Anthropic", at: "", call: "messages.create" },
};

function python(body, dialect, base) {
  const c = clients[dialect],
    name = body.stream ? "stream" : "answer";
  const args = Object.entries(body)
    .map(([k, v]) => `    ${k}=${pretty(v, py, "    ")},\n`)
    .join("");
  const print = {
    chat: [
      'for chunk in stream:\n    if chunk.choices:\n        print(chunk.choices[0].delta.content or "", end="", flush=True)',
      "print(answer.choices[0].message.content)",
    ],
    responses: [
      'for event in stream:\n    if event.type == "response.output_text.delta":\n        print(event.delta, end="", flush=True)',
      "print(answer.output_text)",
    ],
    messages: [
      'for event in stream:\n    if event.type == "content_block_delta" and event.delta.type == "text_delta":\n        print(event.delta.text, end="", flush=True)',
      'print("".join(block.text for block in answer.content if block.type == "text"))',
    ],
  }[dialect][body.stream ? 0 : 1];
  return (
    `import os\nfrom ${c.maker.toLowerCase()} import ${c.maker}\n\nclient = ${c.maker}(base_url=${JSON.stringify(base + c.at)}, ` +
    `api_key=os.environ["${variable}"])\n\n${name} = client.${c.call}(\n${args})\n${print}\n`
  );
}

function javascript(body, dialect, base) {
  const c = clients[dialect],
    name = body.stream ? "stream" : "answer";
  const print = {
    chat: [
      'for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? "");',
      "console.log(answer.choices[0].message.content);",
    ],
    responses: [
      'for await (const event of stream) {\n  if (event.type === "response.output_text.delta") process.stdout.write(event.delta);\n}',
      "console.log(answer.output_text);",
    ],
    messages: [
      'for await (const event of stream) {\n  if (event.type === "content_block_delta" && event.delta.type === "text_delta") process.stdout.write(event.delta.text);\n}',
      'console.log(answer.content.filter((block) => block.type === "text").map((block) => block.text).join(""));',
    ],
  }[dialect][body.stream ? 0 : 1];
  return (
    `import ${c.maker} from "${c.maker === "OpenAI" ? "openai" : "@anthropic-ai/sdk"}";\n\nconst client = new ${c.maker}({ ` +
    `baseURL: ${JSON.stringify(base + c.at)}, apiKey: process.env.${variable} });\n\n` +
    `const ${name} = await client.${c.call}(${pretty(body, js, "")});\n${print}\n`
  );
}

const quoted = (v) => JSON.stringify(v);
const json = { step: "  ", name: (k) => quoted(k) + ": ", value: quoted };
const js = { step: "  ", name: (k) => (/^[A-Za-z_$][\w$]*$/.test(k) ? k : quoted(k)) + ": ", value: quoted };
const py = {
  step: "    ",
  name: (k) => quoted(k) + ": ",
  value: (v) => (v === null ? "None" : v === true ? "True" : v === false ? "False" : quoted(v)),
};

/** A value as a literal: on one line where that is short enough to read. */
function pretty(value, style, indent) {
  const line = flat(value, style);
  if (typeof value !== "object" || value === null || indent.length + line.length <= 88) return line;
  const inner = indent + style.step;
  const parts = Array.isArray(value)
    ? value.map((v) => pretty(v, style, inner))
    : Object.entries(value).map(([k, v]) => style.name(k) + pretty(v, style, inner));
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${parts.map((p) => inner + p).join(",\n")}\n${indent}${close}`;
}

function flat(value, style) {
  if (Array.isArray(value)) return `[${value.map((v) => flat(v, style)).join(", ")}]`;
  if (typeof value !== "object" || value === null) return style.value(value);
  const parts = Object.entries(value)
    .map(([k, v]) => style.name(k) + flat(v, style))
    .join(", ");
  return style === js && parts ? `{ ${parts} }` : `{${parts}}`;
}
