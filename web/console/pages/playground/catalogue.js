// @ts-check
/** The models of GET /v1/models, and how their states and prices are said. */
import { day } from "../../lib/format.js";
import { bearer, refusal } from "./stream.js";

/**
 * @param {{ key?: string, signal?: AbortSignal }} [of] key: the models that a key may ask for
 * @returns {Promise<{ models: any[], pricesDate: string }>}
 */
export async function load({ key, signal } = {}) {
  const r = await fetch("/v1/models", { headers: bearer(key), signal });
  const body = await r.json().catch(() => null);
  if (!r.ok) throw refusal(r.status, body, r.headers);
  const models = body.data.toSorted((a, b) => rank(a) - rank(b)); // stable: what is equal keeps the order of the list
  return { models, pricesDate: body.prices_date ?? r.headers.get("x-gateway-prices-date") ?? "" };
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

/** A day such as 2026-12-01, the year only when it is another. @param {string} iso */
export function date(iso) {
  return day(Date.parse(iso + "T12:00:00"));
}

/** A price for a million tokens: 5.00, 0.125, 0.0375. @param {number | undefined} usd */
export function price(usd) {
  if (usd === undefined || usd === null) return "–";
  const text = usd.toFixed(2);
  return Number(text) === usd ? text : String(Number(usd.toFixed(6)));
}

/** A number of tokens that a window holds: 200k, 1M. @param {number | undefined} n */
export function tokens(n) {
  if (!n) return "–";
  if (n >= 995_000) return Number((n / 1e6).toFixed(n % 1e6 > 60_000 ? 1 : 0)) + "M";
  return n >= 1000 ? Math.round(n / 1000) + "k" : String(n);
}
