// @ts-check
// What did a session of an agent come to, and which of its agents?

import { get } from "../lib/api.js";
import { fill, h } from "../lib/dom.js";
import { fileButton } from "../lib/file.js";
import { known, learn, userOf } from "../lib/filters.js";
import { duration, full, moment, money, share, whole, zoneName } from "../lib/format.js";
import { dateOf } from "../lib/range.js";
import { button, chip, empty, failed, loading, select, table } from "../lib/ui.js";
import { sessionPanel } from "./sessions/panel.js";

export const title = "Sessions";

const days = /** @type {Record<string, number>} */ ({ "24h": 1, "7d": 7, "30d": 30 });
const spans = /** @type {[string, string][]} */ ([["", "Any time"], ["24h", "Last 24 hours"], ["7d", "Last 7 days"], ["30d", "Last 30 days"]]);
const filters = ["range", "agent", "project", "user_id", "key_id"];

/** @param {any} page */
export async function show(page) {
  const { signal, query, me } = page, everyone = me.user.admin, path = everyone ? "/admin/sessions" : "/v1/sessions";
  const bar = h("div", { class: "filters" }), list = h("section", { class: "card list", "aria-label": "Sessions" }, loading("table"));
  const panel = sessionPanel({ page, path, everyone, back: (id) => /** @type {HTMLElement | null} */ (list.querySelector(`tr[data-key="${CSS.escape(id)}"] a`))?.focus(), select: mark });
  /** @type {any[]} */
  let rows = [];
  let next = null, turn = 0;
  /** @type {Record<string, string[]>} The values that were used. */
  const choices = { agent: [], project: [] };

  const asked = () => {
    const { range, ...only } = Object.fromEntries(filters.map((name) => [name, query.get(name) ?? ""]));
    return { ...only, from: days[range] ? new Date(Date.now() - days[range] * 86400e3).toISOString() : "" };
  };
  page.head({ line: `${everyone ? "Everyone’s sessions" : "Your sessions"} of agents, those that began last first. Times are ${zoneName()}.`,
    actions: fileButton(page, () => ({ path, params: asked(), name: "sessions.csv" })) });
  fill(page.root, bar, list, panel.el);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || !panel.shown() || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    panel.close();
  }, { signal });

  function choose(changes) {
    page.setQuery({ session: null, ...changes }, { replace: false });
    panel.close({ quiet: true });
    drawFilters();
    return load();
  }
  function drawFilters() {
    const pick = (label, name, any) => {
      const value = query.get(name) ?? "", options = [...new Set([...choices[name], ...(value ? [value] : [])])].sort();
      return select({ label, value, options: [["", any], ...options.map((text) => /** @type {[string, string]} */ ([text, text]))], onchange: (text) => choose({ [name]: text }) });
    };
    fill(bar, select({ label: "Time", value: query.get("range") ?? "", options: spans, onchange: (range) => choose({ range }) }),
      pick("Program", "agent", "Any program"), pick("Project", "project", "Any project"),
      ["user_id", "key_id"].filter((name) => query.get(name)).map((name) => {
        const text = (name === "user_id" ? "User: " : "Key: ") + known(query.get(name));
        return chip(text, () => choose({ [name]: null }), "Remove the filter " + text);
      }));
  }
  async function learnChoices() {
    const from = dateOf(Date.now() - 30 * 86400e3);
    await Promise.all(Object.keys(choices).map(async (by) => {
      const answer = await get(everyone ? "/admin/usage" : "/v1/usage", { group_by: by, from }, { signal }).catch(() => null);
      choices[by] = (answer?.data ?? []).map((row) => row[by]).filter(Boolean);
    }));
    if (!signal.aborted && !bar.contains(document.activeElement)) drawFilters();
  }
  async function load(older = false) {
    const mine = ++turn;
    try {
      const answer = await get(path, { ...asked(), limit: 50, after: older ? next : "" }, { signal });
      if (mine !== turn) return;
      rows = older ? rows.concat(answer.data) : answer.data;
      next = answer.next_after;
      learn(answer.data);
      draw();
    } catch (error) {
      if (mine === turn && !signal.aborted) fill(list, failed(error, () => load(), "Sessions"));
    }
  }
  function mark(id) {
    for (const tr of list.querySelectorAll("tr[data-key]")) tr.toggleAttribute("aria-selected", false);
    list.querySelector(`tr[data-key="${CSS.escape(id)}"]`)?.setAttribute("aria-selected", "true");
  }
  function draw() {
    if (rows.length === 0 && !next) {
      const set = filters.some((name) => query.get(name));
      return fill(list, empty({
        text: set ? "No sessions match." : "There are no sessions yet. Agents such as Claude Code and Codex name the session of a call.",
        action: set ? button("Clear filters", () => choose(Object.fromEntries(filters.map((name) => [name, null])))) : null,
      }));
    }
    fill(list, table({
      label: "Sessions", class: "rt calls", columns: columns(everyone, panel.open), rows, key: (s) => s.id, onrow: (s) => panel.open(s.id, s),
      foot: [h("span", null, `${whole(rows.length)} ${rows.length === 1 ? "session" : "sessions"}`), next ? button("Load older", () => load(true)) : null],
    }));
  }

  drawFilters();
  learnChoices();
  if (query.get("session")) panel.open(query.get("session"), null, { pushed: false });
  await load();
}

function columns(everyone, open) {
  const cut = (text) => h("span", { class: "cut", title: text }, text);
  const link = (s) => h("a", {
    class: "name", title: s.name, href: `/sessions?session=${s.id}`,
    onclick: (event) => {
      if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      open(s.id, s);
    },
  }, s.name);
  return [
    { key: "began", title: "Began", class: "soft nw c-time", cell: (s) => h("span", { title: full(s.began_at_ms) }, moment(s.began_at_ms)) },
    { key: "name", title: "Session", class: "c-model", cell: link },
    { key: "agent", title: "Program", class: "c-out nw", cell: (s) => s.agent ?? "–" },
    { key: "who", title: everyone ? "User" : "Key", class: "c-key nw", cell: (s) => cut((everyone && userOf(s)) || (s.key_name ?? "No key")) },
    { key: "project", title: "Project", class: "c-w soft", cell: (s) => cut(s.project ?? "–") },
    { key: "duration", title: "Duration", class: "num c-s nw", cell: (s) => duration(s.duration_ms) },
    { key: "calls", title: "Calls", class: "num c-s", cell: (s) => whole(s.calls) },
    { key: "failed", title: "Failed", class: "num c-m", cell: (s) => (s.failed ? h("span", { class: "bad" }, whole(s.failed)) : "0") },
    { key: "cached", title: "Cached", class: "num c-m", cell: (s) => share(s.cache_share) },
    { key: "cost", title: "Cost", class: "num c-cost", cell: (s) => money(s.cost_usd) },
  ];
}
