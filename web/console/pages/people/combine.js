// @ts-check
// How the limits of a key, its owner, its team and the gateway combine.

import { get } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { count, money, whole } from "../../lib/format.js";
import { card, select, table } from "../../lib/ui.js";
import { budgetText } from "./limits.js";

/** @typedef {{ level: string, name: string, row: any, hold?: boolean, unknown?: boolean }} Level */

/**
 * The card that shows what is in effect for a key of the team.
 * @param {{ team: any, everything: boolean, members: any[], page: any }} context
 * @param {any[]} keys
 */
export async function holds({ team, everything, members, page }, keys) {
  const gateway = everything ? await gatewayOf(page.signal) : { row: {}, user: {} };
  const users = new Map(), box = h("div", null), first = keys.find((k) => k.user_id) ?? keys[0];

  async function draw(id) {
    const key = keys.find((k) => k.id === id), levels = /** @type {Level[]} */ ([]);
    if (everything) levels.push({ level: "Gateway", name: "", row: gateway.row });
    levels.push({ level: "Team", name: team.name, row: team });
    if (key?.user_id) {
      const member = members.find((m) => m.user_id === key.user_id), name = member?.name || key.user_email || "";
      if (everything && !users.has(key.user_id)) users.set(key.user_id, await get("/admin/users/" + key.user_id, null, { signal: page.signal }));
      levels.push({ level: "Person", name, row: withDefaults(users.get(key.user_id) ?? {}, gateway.user), unknown: !everything });
    }
    if (key) levels.push({ level: "Key", name: key.name || key.prefix, row: key });
    const narrowest = { level: "In effect", name: "", hold: true, row: narrow(levels.map((l) => l.row)) };
    fill(box, table({ label: "How limits combine", class: "rt levels", columns, rows: levels.length > 1 ? [...levels, narrowest] : levels }));
  }
  await draw(first?.id);
  return card({
    title: "How limits combine", line: "A call must fit in each of these. A refusal names the one that was full.",
    actions: keys.length ? select({ label: "Key", value: first.id, options: keys.map((k) => [k.id, (k.name || k.prefix) + (k.user_email ? ", " + k.user_email : "")]), onchange: draw }) : null,
  }, box);
}

const cell = (l, text) => (l.unknown ? h("span", { class: "soft" }, "seen by administrators") : text ? (l.hold ? h("b", null, text) : text) : h("span", { class: "soft none" }, "–"));
const labelled = (name, of) => (l) => [h("span", { class: "only-s soft xs" }, name + " "), cell(l, of(l.row))];
const columns = [
  { key: "level", title: "Level", class: "l-name", cell: (l) => [h(l.hold ? "b" : "span", null, l.level), l.name ? [" ", h("span", { class: "soft" }, l.name)] : null] },
  { key: "budget", title: "Budget", cell: labelled("Budget", (r) => r.budgets ?? (budgetText(r))) },
  { key: "rpm", title: "Requests a minute", class: "num", cell: labelled("Requests a minute", (r) => (r.rpm_limit == null ? "" : whole(r.rpm_limit))) },
  { key: "tpm", title: "Tokens a minute", class: "num", cell: labelled("Tokens a minute", (r) => (r.tpm_limit == null ? "" : count(r.tpm_limit))) },
  { key: "parallel", title: "Calls in parallel", class: "num", cell: labelled("Calls in parallel", (r) => (r.max_parallel_requests == null ? "" : whole(r.max_parallel_requests))) },
  { key: "models", title: "Models", cell: labelled("Models", (r) => (r.models ? (r.models.length ? r.models.join(", ") : "none in common") : "")) },
];

/** The gateway's own limits, from its settings. */
async function gatewayOf(signal) {
  const settings = await get("/admin/settings", null, { signal });
  const values = Object.fromEntries(settings.data.map((s) => [s.name, s.value]));
  const number = (name) => Number(values[name]) || null, list = (name) => (values[name] ? values[name].split(/[\s,]+/) : null);
  return {
    row: { budget_usd: number("MAX_BUDGET_USD"), budget_window: values.MAX_BUDGET_WINDOW, rpm_limit: number("RATE_LIMIT_RPM") },
    user: {
      budget_usd: number("DEFAULT_USER_BUDGET_USD"), budget_window: values.DEFAULT_USER_BUDGET_WINDOW, rpm_limit: number("DEFAULT_USER_RPM"), tpm_limit: number("DEFAULT_USER_TPM"),
      max_parallel_requests: number("DEFAULT_USER_MAX_PARALLEL"), models: list("DEFAULT_USER_MODELS"),
    },
  };
}

function withDefaults(user, defaults) {
  const row = { ...user };
  for (const name of ["rpm_limit", "tpm_limit", "max_parallel_requests", "models"]) row[name] ??= defaults[name] ?? null;
  if (row.budget_usd == null && defaults.budget_usd != null) Object.assign(row, { budget_usd: defaults.budget_usd, budget_window: defaults.budget_window });
  return row;
}

/** The narrowest of all levels. Budgets of other windows do not replace each other: each holds. @param {any[]} rows */
function narrow(rows) {
  const least = (name) => rows.reduce((min, r) => (r[name] == null ? min : min === null ? r[name] : Math.min(min, r[name])), /** @type {number | null} */ (null));
  const models = rows.filter((r) => r.models).map((r) => r.models).reduce((common, list) => (common ? common.filter((m) => list.includes(m)) : list), null);
  const left = rows.filter((r) => r.budget).map((r) => r.budget.remaining_usd), budgets = rows.some((r) => r.budget_usd != null);
  return { rpm_limit: least("rpm_limit"), tpm_limit: least("tpm_limit"), max_parallel_requests: least("max_parallel_requests"), models,
    budgets: left.length ? `${money(Math.max(0, Math.min(...left)))} left` : budgets ? "each" : "" };
}
