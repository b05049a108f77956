// @ts-check
/** The models of GET /v1/models, and how their states and prices are said. */
import { get } from "./api.js";
import { dated } from "./format.js";

/**
 * @param {{ key?: string, signal?: AbortSignal, all?: boolean }} [of] key: the models that a key may ask for; all: also those that
 * cannot be called
 * @returns {Promise<{ models: any[], pricesDate: string }>}
 */
export async function load({ key, signal, all } = {}) {
  const as = key ? { anonymous: true, headers: { Authorization: "Bearer " + key } } : {};
  const body = await get("/v1/models", { kind: "all", all: all || null }, { signal, ...as });
  const models = body.data.toSorted((a, b) => rank(a) - rank(b)); // stable: what is equal keeps the order of the list
  return { models, pricesDate: body.prices_date ?? "" };
}

const rank = (m) => (!m.available ? 2 : m.state === "active" ? 0 : 1);

/** Whether a model fits words that were typed. @param {any} m @param {string} words */
export function fits(m, words) {
  const text = [m.id, m.owned_by, ...(m.aliases ?? [])].join(" ").toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((w) => text.includes(w));
}

/** The model of a name, an alias or provider/name. @param {any[]} models @param {string} name */
export const find = (models, name) =>
  models.find((m) => m.id === name) ??
  models.find((m) => m.aliases?.includes(name)) ??
  models.find((m) => m.owned_by + "/" + m.id === name);

/**
 * The state of a model in words.
 * @param {any} m @returns {{ kind: "good" | "warn" | "bad" | "off", text: string, sub: string }}
 */
export function stateOf(m) {
  const successor = m.successor ? "use " + m.successor : "";
  if (m.state === "retired")
    return { kind: "off", text: "Retired", sub: successor || (m.shutdown_date ? "since " + date(m.shutdown_date) : "") };
  if (m.unavailable === "not_configured") return { kind: "off", text: "No key", sub: m.setting ? "set " + m.setting : "" };
  if (m.unavailable === "not_allowed") return { kind: "off", text: "Not allowed", sub: "ask an administrator" };
  if (!m.available) return { kind: "off", text: "Not available", sub: "" };
  if (m.provider_status === "unhealthy") return { kind: "bad", text: "Failing", sub: successor };
  if (m.state === "deprecated")
    return { kind: "warn", text: m.shutdown_date ? "Ends " + date(m.shutdown_date) : "Deprecated", sub: successor };
  if (m.provider_status === "degraded") return { kind: "warn", text: "Degraded", sub: "" };
  return { kind: "good", text: "Active", sub: "" };
}

/** A day such as 2026-12-01: 1 Dec 2026. @param {string} iso */
export const date = (iso) => dated(Date.parse(iso + "T12:00:00"));

/** The models that an entry of an allow list means: a name, or the beginning of one and a *. @param {any[]} models @param {string} entry */
export function meant(models, entry) {
  if (!entry.endsWith("*")) return [find(models, entry)].filter(Boolean);
  return models.filter((m) => [m.id, m.owned_by + "/" + m.id].some((name) => name.startsWith(entry.slice(0, -1))));
}

/**
 * What a call takes on average, by rows of usage; without calls a usual one.
 * @param {any[]} rows @returns {{ calls: number, input: number, cached: number, output: number }} tokens; cached: of input
 */
export function mixOf(rows) {
  const sum = (name) => rows.reduce((n, row) => n + row[name], 0), calls = sum("calls") - sum("failed");
  if (calls <= 0) return { calls: 0, input: 2000, cached: 0, output: 500 };
  return { calls, input: sum("input_tokens") / calls, cached: sum("cached_tokens") / calls, output: sum("output_tokens") / calls };
}

/** What such a call costs; null where it is not known. @param {any} m @param {ReturnType<typeof mixOf>} mix */
export function callPrice(m, mix) {
  const all = m.price_usd_per_million_tokens, p = all?.above && mix.input > all.over_input_tokens ? all.above : all;
  if (!p || m.kind === "embedding") return null;
  const tokens = (mix.input - mix.cached) * p.input + mix.cached * (p.cache_read ?? p.input) + mix.output * p.output;
  return tokens / 1e6 + (all.fees?.request ?? 0);
}

/** A price for a million tokens, or for one of something else: 5.00, 0.125, 0.000015. @param {number | undefined} usd */
export function price(usd) {
  if (usd === undefined || usd === null) return "–";
  const text = usd.toFixed(2);
  return Number(text) === usd ? text : String(Number(usd.toFixed(12)));
}

/** A number of tokens that a window holds: 200k, 1M. @param {number | undefined} n */
export function tokens(n) {
  if (!n) return "–";
  if (n >= 995_000) return Number((n / 1e6).toFixed(n % 1e6 > 60_000 ? 1 : 0)) + "M";
  return n >= 1000 ? Math.round(n / 1000) + "k" : String(n);
}
