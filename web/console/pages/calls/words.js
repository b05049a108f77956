// @ts-check
// How the parts of a call are called.

import { moneyExact, share, whole } from "../../lib/format.js";
import { reasonName, reasonOf } from "../../lib/refusals.js";

/** @type {[string, string][]} */
export const outcomes = [
  ["", "Any outcome"], ["ok", "Answered"], ["failed", "Failed"], ["client_gone", "Client left"], ["refused", "Refused by the provider"], ["gateway", "Refused by the gateway"], ["provider_error", "Provider error"],
  ["timeout", "Timed out"], ["internal_error", "Gateway error"], ["stopped", "Gateway stopped"], ["lost", "Lost"],
];

/** @type {[string, string][]} */
export const statuses = [["", "Any status"], ["2xx", "2xx"], ["4xx", "4xx"], ["429", "429"], ["499", "499"], ["5xx", "5xx"]];

/**
 * The end of a call as a state and a word.
 * @param {any} call
 * @returns {["good" | "warn" | "bad" | "off", string]}
 */
export function endOf(call) {
  if (call.outcome === "ok") return ["good", "OK"];
  if (call.outcome === "client_gone") return ["off", "Client left"];
  if (call.outcome === "gateway") return ["warn", reasonName(call.error_code)];
  const text = reasonOf(call.error_code) ?? outcomes.find(([name]) => name === call.outcome)?.[1] ?? call.outcome;
  if (call.outcome === "refused") return call.status === 429 ? ["warn", "Rate limited"] : ["warn", text];
  return ["bad", text];
}

/** @type {Record<string, string>} */
export const paths = {
  chat: "POST /v1/chat/completions", messages: "POST /v1/messages", responses: "POST /v1/responses", embeddings: "POST /v1/embeddings",
};

/** What the provider's prompt cache had of the last call's prompt. @param {any} cache */
export function cacheOf(cache) {
  const texts = {
    complete: "The last prompt was read from it", tools_changed: "The client changed the tools", system_changed: "The client changed the instructions",
    message_changed: `The client changed message ${cache.message}`, translation_changed: "The gateway sent the same prompt in another form",
    moved_upstream: "Another model, provider or key answered", expired: "The last prompt had expired", not_returned: "The provider did not use it",
  };
  const text = texts[cache.verdict] ?? cache.verdict;
  return cache.verdict === "complete" ? text
    : `${text}${cache.role ? `, ${cache.role}` : ""}: ${share(cache.prefix_kept)} read, ${whole(cache.missed_tokens)} tokens paid again for ${moneyExact(cache.cost_usd)} more`;
}

/** The name of a part of the cost. @param {string} what */
export function costName(what) {
  const names = { input: "Input", cached_input: "Cached input", cache_write: "Cache write", output: "Output", search: "Web search" };
  return names[what] ?? (what.charAt(0).toUpperCase() + what.slice(1)).replaceAll("_", " ");
}

/** The model of a call: the one that answered, and the one that was asked for where it is another. @param {any} call @returns {[string, string]} */
export const modelOf = (call) => {
  const served = call.served_model || call.model || "–";
  return [served, call.model && call.model !== served ? call.model : ""];
};

/** What a call cost: nothing is known of a model without a price, and a call that failed is mostly free. @param {any} call */
export const costOf = (call) => (call.cost_usd > 0 || (call.priced && call.outcome === "ok") ? moneyExact(call.cost_usd) : "–");
