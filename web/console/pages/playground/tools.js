// @ts-check
/** The form of a tool: its name, what it does, and its parameters as a JSON Schema, checked while one writes. */
import { h } from "../../lib/dom.js";
import { dialog, field } from "../../lib/ui.js";

/** @typedef {{ name: string, description: string, parameters: object }} Tool */

const example = {
  name: "get_weather",
  description: "The weather of a city now.",
  parameters: { type: "object", properties: { city: { type: "string", description: "Such as Ghent" } }, required: ["city"] },
};

/**
 * @param {{ tool?: Tool, taken: string[], onsave: (tools: Tool[]) => void }} of taken: names of the other tools
 */
export function toolForm({ tool, taken, onsave }) {
  const name = field({ label: "Name", name: "name", value: tool?.name ?? "", placeholder: example.name });
  const about = field({ label: "What it does", name: "about", value: tool?.description ?? "", placeholder: example.description });
  const json = /** @type {HTMLTextAreaElement} */ (
    h("textarea", { class: "in mono", id: "tool-json", rows: "9", spellcheck: "false", "aria-describedby": "tool-state" })
  );
  json.value = tool ? JSON.stringify(tool.parameters, null, 2) : "";
  json.placeholder = JSON.stringify(example.parameters, null, 2);
  const state = h("p", { id: "tool-state", class: "hint", role: "status" });
  const names = /** @type {HTMLInputElement} */ (name.querySelector("input")),
    does = /** @type {HTMLInputElement} */ (about.querySelector("input"));

  const check = () => {
    const read = parameters(json.value);
    const wrong = read.error ?? nameFault(names.value.trim(), taken);
    state.textContent = wrong || "This tool can be sent.";
    state.className = wrong ? (json.value.trim() || names.value ? "err" : "hint") : "hint good";
    json.setAttribute("aria-invalid", String(Boolean(read.error) && json.value.trim() !== ""));
    return wrong ? null : { name: names.value.trim(), description: does.value.trim(), parameters: /** @type {object} */ (read.value) };
  };
  // A whole definition in one of the providers' forms, or a list of them, may be pasted as well.
  json.addEventListener("input", () => {
    const whole = definitions(json.value);
    if (whole.length > 1) {
      box.close();
      return onsave(whole);
    }
    if (whole.length === 1) {
      names.value = whole[0].name;
      does.value = whole[0].description;
      json.value = JSON.stringify(whole[0].parameters, null, 2);
    }
    check();
  });
  names.addEventListener("input", check);
  const save = (e) => {
    e?.preventDefault();
    const made = check();
    if (!made) return (nameFault(names.value.trim(), taken) && parameters(json.value).value ? names : json).focus();
    box.close();
    onsave([made]);
  };
  const fill = () => {
    names.value = example.name;
    does.value = example.description;
    json.value = JSON.stringify(example.parameters, null, 2);
    check();
  };
  const form = h(
    "form",
    { class: "stack", onsubmit: save },
    name,
    about,
    h("div", { class: "field" }, h("label", { for: "tool-json" }, "Parameters, as JSON Schema"), json, state),
    h("button", { type: "submit", hidden: true }),
  );
  const box = dialog({
    title: tool ? "Edit tool" : "Add tool",
    body: form,
    actions: [
      h("button", { type: "button", class: "btn", onclick: fill }, "Fill in an example"),
      h("button", { type: "button", class: "btn first", onclick: save }, tool ? "Save tool" : "Add tool"),
    ],
  });
  check();
}

function nameFault(name, taken) {
  if (!name) return "Write a name, such as get_weather.";
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) return "A name has letters, digits, _ and -, at most 64.";
  return taken.includes(name) ? `There is a tool ${name} already.` : "";
}

function parameters(text) {
  if (!text.trim()) return { error: 'Write the parameters, or {"type": "object"} for none.' };
  let value;
  try {
    value = JSON.parse(text);
  } catch (e) {
    return { error: "Not JSON yet: " + /** @type {Error} */ (e).message + "." };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { error: 'A JSON Schema is an object: {"type": "object", …}.' };
  if (value.type !== "object") return { error: 'The type of the parameters is "object".' };
  const missing = (value.required ?? []).filter?.((n) => !Object.hasOwn(value.properties ?? {}, n)) ?? [];
  return missing.length ? { error: `“required” names ${missing.join(", ")}, which “properties” lacks.` } : { value };
}

/** Tools in the forms of OpenAI, Anthropic and MCP; empty when a text is none of these. @param {string} text @returns {Tool[]} */
function definitions(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return [];
  }
  const all = Array.isArray(value) ? value : Array.isArray(value?.tools) ? value.tools : [value];
  const tools = all
    .map((t) => t?.function ?? t)
    .map((t) => ({ name: t?.name, description: t?.description ?? "", parameters: t?.parameters ?? t?.input_schema ?? t?.inputSchema }));
  return tools.every((t) => typeof t.name === "string" && typeof t.parameters === "object" && t.parameters) ? tools : [];
}
