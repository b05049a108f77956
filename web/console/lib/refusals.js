// @ts-check
// Calls that were refused, and why.

import { h } from "./dom.js";
import { whole } from "./format.js";

/** Codes of errors in words. @type {Record<string, string>} */
const reasons = {
  rate_limit_exceeded: "Rate limited", insufficient_quota: "Over budget", budget_exceeded: "Over budget", budget_held: "Budget reserved",
  session_budget_exceeded: "Session over budget",
  context_length_exceeded: "Too long", request_too_large: "Too large", model_not_found: "No such model", model_not_allowed: "Model not allowed",
  invalid_api_key: "Key not valid", api_key_expired: "Key expired", account_expired: "Account expired", invalid_json: "Not valid JSON",
};

/** @param {string | null} code @returns {string | undefined} */
export const reasonOf = (code) => reasons[code ?? ""];

/** @param {string} code */
export const reasonName = (code) => reasonOf(code) ?? (code.charAt(0).toUpperCase() + code.slice(1)).replaceAll("_", " ");

/** "12 refused today: over budget", or the reasons with their numbers; empty where none was. @param {Record<string, number> | undefined} counts @param {string} [when] */
export function refusedText(counts, when = "today") {
  const all = Object.entries(counts ?? {}).sort(([, a], [, b]) => b - a), sum = all.reduce((n, [, m]) => n + m, 0);
  const why = all.map(([code, n]) => (all.length > 1 ? whole(n) + " " : "") + reasonName(code).toLowerCase());
  return sum ? `${whole(sum)} refused ${when}: ${why.join(", ")}` : "";
}

/** A link to the refused calls of a key; null where none was. @param {any} k @param {string | null} [team] of a manager */
export function refusedLink(k, team) {
  const text = refusedText(k.refused_today), to = new URLSearchParams({ outcome: "gateway", range: "24h", key_id: k.id, ...(team ? { team_id: team } : {}) });
  return text ? h("a", { class: "sub elide refused", href: "/calls?" + to, title: text }, text) : null;
}

/** A refusal in the form of a call. @param {any} refusal */
export const asCall = (refusal) => ({
  ...refusal, began_at_ms: refusal.at_ms, outcome: "gateway", error_code: refusal.reason, served_model: null, provider: null, dialect: null,
  input_tokens: 0, output_tokens: 0, first_token_ms: null, duration_ms: null, cost_usd: 0, priced: false,
});
