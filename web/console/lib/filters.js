// @ts-check
// Whose calls a page shows, and the filters that the pages of usage and of calls have in common.

import { get } from "./api.js";
import { h } from "./dom.js";
import { day } from "./format.js";
import { button, chip, dialog, field, formData, select } from "./ui.js";

/**
 * @typedef {"model" | "key" | "provider" | "user" | "team"} Kind
 */

/** The address of the user of a row, with the day on which a deleted one was deleted; empty without one. */
export const userOf = (row) => (row.user_email ?? "") + (row.user_deleted_at ? ", deleted " + day(row.user_deleted_at * 1000) : "");

/** @type {Record<Kind, { param: string, title: string, id: (row: any) => string, name: (row: any) => string }>} */
export const kinds = {
  model: { param: "model", title: "Model", id: (row) => row.model ?? "", name: (row) => row.model || "No model" },
  key: { param: "key_id", title: "Key", id: (row) => row.key_id ?? "", name: (row) => row.key_name || (row.key_id ? row.key_id : "No key") },
  provider: { param: "provider", title: "Provider", id: (row) => row.provider ?? "", name: (row) => row.provider || "No provider" },
  user: { param: "user_id", title: "User", id: (row) => row.user_id ?? "", name: (row) => userOf(row) || (row.user_id ? row.user_id : "No user") },
  team: { param: "team_id", title: "Team", id: (row) => row.team_id ?? "", name: (row) => row.team_name || (row.team_id ? row.team_id : "No team") },
};

/**
 * Whose calls the user may see: everyone's, those of a team that they manage, or their own.
 * @param {any} me the session
 * @param {URLSearchParams} query
 * @returns {{ usage: string, calls: string, refusals: string, line: string, kinds: Kind[], everyone: boolean, team: string | null }}
 */
export function sourceOf(me, query) {
  if (me.user.admin) {
    return { usage: "/admin/usage", calls: "/admin/calls", refusals: "/admin/refusals", line: "Everyone", kinds: ["model", "key", "provider", "user", "team"], everyone: true, team: null };
  }
  const team = me.user.teams?.find((t) => t.role === "manager" && t.id === query.get("team_id"));
  if (!team) return { usage: "/v1/usage", calls: "/v1/calls", refusals: "/v1/refusals", line: "Your calls", kinds: ["model", "key", "provider", "team"], everyone: false, team: null };
  const base = `/auth/teams/${encodeURIComponent(team.id)}`;
  return { usage: base + "/usage", calls: base + "/calls", refusals: base + "/refusals", line: "Team " + team.name, kinds: ["model", "key", "provider", "user"], everyone: false, team: team.id };
}

/**
 * The choice of whose calls a page shows, for a user who manages teams; null for others.
 * The filters go: another choice has other keys.
 * @param {any} page @param {{ team: string | null }} source
 */
export function chooseSource(page, source) {
  const teams = page.me.user.admin ? [] : (page.me.user.teams ?? []).filter((t) => t.role === "manager");
  if (!teams.length) return null;
  return select({
    label: "Whose calls", value: source.team ?? "", options: [["", "Your calls"], ...teams.map((t) => [t.id, "Team " + t.name])],
    onchange: (id) => {
      const search = new URLSearchParams(id ? { team_id: id } : {}), range = page.query.get("range");
      if (range) search.set("range", range);
      page.go(location.pathname + (search.size ? "?" + search : ""));
    },
  });
}

/** The filters of a query as parameters of the API. @param {URLSearchParams} query @param {{ team: string | null }} source */
export function filtersOf(query, source) {
  /** @type {Record<string, string>} */
  const params = {};
  for (const { param } of Object.values(kinds)) {
    const value = query.get(param);
    if (value && !(param === "team_id" && source.team)) params[param] = value;
  }
  return params;
}

/** Names of ids, as the API has told them. @type {Map<string, string>} */
const names = new Map();

/** Notes the names that rows tell. @param {any[]} rows */
export function learn(rows) {
  for (const row of rows) {
    for (const [id, name] of [[row.key_id, row.key_name], [row.user_id, userOf(row)], [row.team_id, row.team_name]]) {
      if (id && name) names.set(id, name);
    }
  }
}

/** The name of what a filter selects, where it is known. @param {string} value */
export const known = (value) => names.get(value) ?? value;

/**
 * Asks for the names of the filters that are not known yet.
 * @param {{ usage: string }} source @param {Record<string, string>} filters @param {Record<string, string>} time @param {AbortSignal} signal
 */
export async function learnFilters(source, filters, time, signal) {
  const unknown = Object.entries(kinds).filter(([, kind]) => kind.param.endsWith("_id") && filters[kind.param] && !names.has(filters[kind.param]));
  await Promise.all(unknown.map(async ([by, kind]) => {
    const answer = await get(source.usage, { ...time, group_by: by, [kind.param]: filters[kind.param] }, { signal }).catch(() => null);
    learn(answer?.data ?? []);
  }));
}

/**
 * What a filter can be set to: what was used in a time, the most expensive first.
 * @param {{ usage: string }} source @param {Kind} by @param {Record<string, string>} time @param {AbortSignal} [signal]
 * @returns {Promise<[string, string][]>}
 */
export async function choicesOf(source, by, time, signal) {
  const { data } = await get(source.usage, { ...time, group_by: by }, { signal });
  learn(data);
  /** @type {Map<string, { name: string, cost: number }>} */
  const all = new Map();
  for (const row of data) {
    const id = kinds[by].id(row);
    if (id) all.set(id, { name: kinds[by].name(row), cost: (all.get(id)?.cost ?? 0) + row.cost_usd });
  }
  return [...all].sort(([, a], [, b]) => b.cost - a.cost || a.name.localeCompare(b.name)).map(([id, { name }]) => [id, name]);
}

/** The chips of the filters that are set. @param {Record<string, string>} filters @param {(changes: Record<string, null>) => void} change */
export function chips(filters, change) {
  return Object.values(kinds).filter(({ param }) => filters[param]).map(({ param, title }) =>
    chip(`${title}: ${known(filters[param])}`, () => change({ [param]: null }), `Remove the filter ${title.toLowerCase()} ${known(filters[param])}`));
}

/** The filters in words, for a sentence. @param {Record<string, string>} filters */
export const inWords = (filters) =>
  Object.values(kinds).filter(({ param }) => filters[param]).map(({ param, title }) => `${title.toLowerCase()} ${known(filters[param])}`);

/**
 * A dialog with a list for each filter.
 * @param {{ usage: string, kinds: Kind[] }} source @param {Record<string, string>} filters @param {Record<string, string>} time
 * @param {(changes: Record<string, string | null>) => void} change
 */
export function chooseFilters(source, filters, time, change) {
  const fields = source.kinds.map((by) => {
    const { param, title } = kinds[by], now = filters[param] ?? "";
    const el = field({ label: title, name: param, type: "select", value: now, options: [["", "Any"], ...(now ? [/** @type {[string, string]} */ ([now, known(now)])] : [])] });
    choicesOf(source, by, time).then((choices) => {
      el.querySelector("select")?.append(...choices.filter(([id]) => id !== now).map(([id, name]) => h("option", { value: id }, name)));
    }, () => {});
    return el;
  });
  const { el, close } = dialog({
    title: "Filters", body: fields,
    actions: [
      button("Clear filters", () => (close(), change(Object.fromEntries(source.kinds.map((by) => [kinds[by].param, null]))))),
      h("button", { class: "btn first", type: "submit" }, "Set filters"),
    ],
    onsubmit: () => {
      const chosen = formData(/** @type {HTMLFormElement} */ (el.querySelector("form")));
      close();
      change(Object.fromEntries(Object.entries(chosen).map(([name, value]) => [name, value || null])));
    },
  });
}

/** A dialog with two days. @param {import("./range.js").Time} time @param {(changes: { from: string, to: string }) => void} change @param {(at: number) => string} dateOf */
export function chooseDays(time, change, dateOf) {
  const first = field({ label: "From", name: "from", type: "date", value: dateOf(time.from) });
  const last = field({ label: "To, included", name: "to", type: "date", value: dateOf(time.to - 1) });
  const wrong = h("p", { class: "bad", role: "alert", hidden: true });
  const { el, close } = dialog({
    title: "Choose days", body: [h("div", { class: "cols" }, first, last), wrong],
    actions: [button("Cancel", () => close()), h("button", { class: "btn first", type: "submit" }, "Show days")],
    onsubmit: () => {
      const { from, to } = formData(/** @type {HTMLFormElement} */ (el.querySelector("form")));
      const days = (Date.parse(to) - Date.parse(from)) / 86400e3;
      wrong.hidden = days >= 0 && days <= 366;
      wrong.textContent = !from || !to ? "Choose both days." : days < 0 ? "The first day is after the last one." : "Choose at most 366 days.";
      if (!wrong.hidden) return;
      close();
      change({ from, to });
    },
  });
}
