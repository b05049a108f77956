// @ts-check
// What administrators and managers did, newest first.

import { get } from "../lib/api.js";
import { fill, h } from "../lib/dom.js";
import { fileButton } from "../lib/file.js";
import { full, minute, weekday, zoneName } from "../lib/format.js";
import { button, chip, code, copy, empty, failed, find, loading, select } from "../lib/ui.js";
import { facts } from "./people/lists.js";
import { actions, changes, sentence, summary } from "./people/words.js";

export const title = "Audit log";
export const admin = true;

const kinds = { user: "Users", team: "Teams", member: "Members", invitation: "Invitations", key: "Keys", call: "Calls", provider: "Providers", alert: "Alerts" };
const spans = /** @type {[string, string][]} */ ([["", "Any time"], ["24h", "Last 24 hours"], ["7d", "Last 7 days"], ["30d", "Last 30 days"], ["custom", "Days…"]]);
const hours = { "24h": 24, "7d": 24 * 7, "30d": 24 * 30 };
const filters = ["q", "action", "actor_id", "target", "span", "from", "to"];

/** @param {any} page */
export async function show(page) {
  const { signal, query } = page;
  const state = Object.fromEntries(filters.map((name) => [name, query.get(name) ?? ""]));
  const bar = h("div", { class: "filters" }), list = h("section", { class: "card", "aria-label": "Audit log" }, loading("table"));
  let turn = 0, rows = [], next = null;

  page.head({ line: `What administrators and managers did. Times are in ${zoneName()}. Entries cannot be deleted or changed, but for the name of an erased user.`,
    actions: fileButton(page, () => ({ path: "/admin/audit", params: asked(), name: "audit.csv" })) });
  fill(page.root, bar, list);
  drawFilters();

  function choose(changes) {
    Object.assign(state, changes);
    page.setQuery(changes);
    drawFilters();
    return load();
  }

  function drawFilters() {
    const chosen = [state.actor_id && ["actor_id", "By " + (nameIn("actor_id") ?? "one person")], state.target && ["target", "About " + (nameIn("target") ?? "one thing")]].filter(Boolean);
    const at = /** @type {HTMLElement} */ (bar.querySelector(".find")) ?? find({ label: "Find in the audit log", placeholder: "Name, address or change", value: state.q, oninput: (q) => choose({ q }), wait: 300 });
    const rest = [
      select({ label: "Action", value: state.action, options: [["", "All actions"], ...kindsAndActions()], onchange: (action) => choose({ action }) }),
      select({ label: "Time", value: state.span, options: spans, onchange: (span) => choose({ span, from: "", to: "" }) }),
      state.span === "custom" ? ["from", "to"].map((name) => h("input", { class: "in day", type: "date", "aria-label": name === "from" ? "First day" : "Last day", value: state[name], onchange: (event) => choose({ [name]: event.target.value }) })) : null,
      chosen.map(([name, text]) => chip(text, () => choose({ [name]: "" }), "Remove the filter " + text)),
    ];
    if (at.parentElement !== bar) bar.append(at);
    while (at.nextSibling) at.nextSibling.remove();
    bar.append(fill(h("div", { class: "contents" }), rest));
  }

  function nameIn(field) {
    const row = rows.find((r) => r[field] === state[field]);
    return row && (field === "target" ? row.target_name : row.actor_name ?? row.actor_email);
  }

  async function load() {
    const mine = ++turn;
    try {
      const found = await ask("");
      if (mine !== turn) return;
      rows = found.data;
      next = found.has_more ? found.next_after ?? rows.at(-1)?.id : null;
      if (state.actor_id || state.target) drawFilters();
      draw();
    } catch (error) {
      if (mine === turn && !signal.aborted) fill(list, failed(error, load, "The audit log"));
    }
  }

  async function older() {
    const mine = turn, found = await ask(next);
    if (mine !== turn) return;
    rows.push(...found.data);
    next = found.has_more ? found.next_after ?? found.data.at(-1)?.id : null;
    draw();
  }

  const asked = () => ({ q: state.q, action: state.action, actor_id: state.actor_id, target: state.target, ...times(state) });
  const ask = (after) => get("/admin/audit", { limit: 50, ...asked(), after }, { signal });

  function draw() {
    const open = new Set([...list.querySelectorAll("details[open]")].map((el) => /** @type {HTMLElement} */ (el).dataset.key));
    if (rows.length === 0 && !next) return fill(list, nothing(state, choose));
    fill(list, entries(rows, choose, open),
      h("div", { class: "tfoot" }, h("span", null, next ? `${rows.length} entries` : "This is the beginning of the log."), next ? button("Load older", older) : null));
  }

  await load();
}

function kindsAndActions() {
  return /** @type {[string, string][]} */ (Object.entries(kinds).flatMap(([kind, name]) => [
    [kind + ".", name], ...actions.filter((x) => x.startsWith(kind + ".")).map((x) => [x, "\u2003" + x.slice(kind.length + 1).replaceAll("_", " ")]),
  ]));
}

/** From and to of the request. A day of the browser's zone becomes its first and last moment. */
function times({ span, from, to }) {
  const at = (day, time) => (day ? new Date(day + time).toISOString() : "");
  if (span === "custom") return { from: at(from, "T00:00:00"), to: at(to, "T23:59:59.999") };
  return hours[span] ? { from: new Date(Date.now() - hours[span] * 3600e3).toISOString() } : {};
}

function nothing(state, choose) {
  if (!filters.some((f) => state[f])) return empty({ text: "Nothing has been changed yet." });
  return empty({ text: "No entry matches.", action: button("Clear filters", async () => {
    /** @type {HTMLInputElement | null} */ const box = document.querySelector(".filters input[type=search]");
    if (box) box.value = "";
    await choose(Object.fromEntries(filters.map((f) => [f, ""])));
  }) });
}

/** @returns {[string, any[]][]} */
function days(rows) {
  const found = new Map(), today = weekday(Date.now()), yesterday = weekday(Date.now() - 86400e3);
  for (const row of rows) {
    const at = new Date(row.at * 1000), year = at.getFullYear() === new Date().getFullYear() ? "" : " " + at.getFullYear(), day = weekday(at) + year;
    const name = day === today ? "Today" : day === yesterday ? "Yesterday" : day;
    found.set(name, [...(found.get(name) ?? []), row]);
  }
  return [...found];
}

/**
 * Entries by days.
 * @param {any[]} rows @param {(changes: Record<string, string>) => any} choose sets filters @param {Set<string>} [open] the ids of those that are unfolded
 */
export const entries = (rows, choose, open = new Set()) => days(rows).map(([name, of]) => [
  h("h2", { class: "day" }, name), h("ol", { class: "log" }, of.map((e) => entry(e, open.has(e.id), choose))),
]);

function entry(e, open, choose) {
  const change = summary(e), at = e.at * 1000, body = h("div", { class: "more" });
  const draw = () => body.childElementCount || fill(body, detail(e, choose));
  const el = h("details", { dataset: { key: e.id }, open, ontoggle: draw },
    h("summary", null, h("span", { class: "what" }, sentence(e)), h("span", { class: "soft change", title: change }, change),
      h("time", { class: "soft", datetime: new Date(at).toISOString(), title: full(at) }, minute(at)), h("span", { class: "soft c-m from-ip" }, e.address || "–")), body);
  if (open) draw();
  return h("li", null, el);
}

function detail(e, choose) {
  const rows = changes(e.detail);
  return [
    rows.length ? h("dl", { class: "facts" }, rows.map(([name, was, is]) => [h("dt", null, name), h("dd", null, was === null ? is : is === null ? was : [h("s", { class: "soft" }, was), " → ", is])])) : null,
    facts([
      ["time", full(e.at * 1000)], ["by", e.actor_email], ["address", e.address],
      ["request", e.request_id ? h("span", { class: "id" }, h("code", null, e.request_id), copy(e.request_id, { bare: true, label: "Copy the request id" })) : null], ["action", h("code", null, e.action)],
    ]),
    h("div", { class: "acts" },
      e.actor_id ? button("All by " + (e.actor_name ?? e.actor_email), () => choose({ actor_id: e.actor_id })) : null,
      e.target ? button("All about " + (e.target_name ?? "this"), () => choose({ target: e.target })) : null),
    h("details", { class: "raw" }, h("summary", null, "As JSON"), code(JSON.stringify(e.detail, null, 2), "The entry as JSON")),
  ];
}
