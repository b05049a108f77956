// @ts-check
// The rows of the calls, the newest first. New ones wait while the list is pointed at or scrolled.

import { fill, h } from "../../lib/dom.js";
import { userOf } from "../../lib/filters.js";
import { duration, full, moment, whole } from "../../lib/format.js";
import { announce, button, loading, status } from "../../lib/ui.js";
import { costOf, endOf, modelOf } from "./words.js";

const mostRows = 1000; // of a list that is left open

const columns = [
  ["Time", ""], ["Model", ""], ["Outcome", ""], ["Key", ""], ["User", "c-u"], ["Provider", "c-w"], ["Tokens in", "num c-m"], ["out", "num c-m"],
  ["First token", "num c-s c-l"], ["Duration", "num c-s"], ["Cost", "num"],
];

const newerFirst = (a, b) => b.began_at_ms - a.began_at_ms || (a.id < b.id ? 1 : -1);

/**
 * @param {{ everyone: boolean, open: (row: any) => void, older: () => Promise<void>, total: () => number | null, state: () => any }} context
 */
export function callList(context) {
  const body = h("tbody", { role: "rowgroup" });
  const head = h("thead", { role: "rowgroup" }, h("tr", { role: "row" },
    columns.map(([text, name]) => h("th", { role: "columnheader", scope: "col", class: name }, text === "out" ? [h("span", { class: "vh" }, "Tokens "), "out"] : text))));
  const table = h("table", { class: "rt calls", role: "table", "aria-label": "Calls" }, head, body);
  const count = h("span"), more = button("Load older", older);
  const keys = h("span", null, h("kbd", null, "j"), " ", h("kbd", null, "k"), " older, newer ", h("kbd", null, "Enter"), " open ", h("kbd", null, "Esc"), " close");
  const fresh = h("button", { type: "button", class: "btn first fresh", hidden: true, onclick: () => (apply(), scrollTo({ top: 0 })) });
  const el = h("section", { class: "card mt list", "aria-label": "Calls" }, fresh, table, h("div", { class: "tfoot" }, count, keys, more));
  /** @type {any[]} */
  let rows = [];
  /** @type {Map<string, HTMLElement>} */
  const shown = new Map();
  let hasMore = false, selected = "";
  /** @type {any} What came while the list was held. */
  let waiting = null;

  async function older() {
    more.disabled = true;
    await context.older();
    more.disabled = false;
  }
  const rowOf = (call, isNew) => {
    const tr = rowElement(call, context, isNew);
    if (call.id === selected) tr.setAttribute("aria-selected", "true");
    shown.set(call.id, tr);
    return tr;
  };
  function replace({ data, has_more }) {
    [rows, hasMore] = [data.toSorted(newerFirst), has_more];
    shown.clear();
    drop();
    fill(body, rows.map((call) => rowOf(call, false)));
    foot();
  }
  function append({ data, has_more }) {
    const added = data.filter((call) => !shown.has(call.id));
    rows = rows.concat(added);
    hasMore = has_more;
    body.append(...added.map((call) => rowOf(call, false)));
    foot();
  }
  // Is something in the list looked at, which must not move?
  const held = () => el.isConnected && (table.matches(":hover") || table.contains(document.activeElement) || el.getBoundingClientRect().top < 0);
  function refresh(answer) {
    const added = answer.data.filter((call) => !shown.has(call.id));
    if (added.length === 0) return foot();
    waiting = { answer, added, whole: rows.length > 0 && added.length === answer.data.length };
    if (!held()) return apply();
    const text = `${added.length}${waiting.whole && answer.has_more ? " or more" : ""} new ${added.length === 1 ? "call" : "calls"}`;
    if (fresh.hidden) announce(text);
    fresh.hidden = false;
    fresh.textContent = text;
  }
  function drop() {
    waiting = null;
    fresh.hidden = true;
  }
  // Shows what has waited. Where there is a gap to the rows before, they are replaced.
  function apply() {
    if (!waiting) return;
    const { answer, added, whole: gap } = waiting;
    drop();
    if (gap && answer.has_more) return replace(answer);
    for (const call of added.toSorted(newerFirst)) {
      const at = rows.findIndex((other) => newerFirst(call, other) < 0), i = at < 0 ? rows.length : at;
      body.insertBefore(rowOf(call, true), i < rows.length ? shown.get(rows[i].id) ?? null : null);
      rows.splice(i, 0, call);
    }
    for (const call of rows.splice(mostRows)) {
      shown.get(call.id)?.remove();
      shown.delete(call.id);
      hasMore = true;
    }
    foot();
  }
  function foot() {
    const total = context.total(), { time, session } = context.state();
    const of = total !== null && total > rows.length ? `${whole(rows.length)} of ${whole(total)} calls` : `${whole(rows.length)} ${rows.length === 1 ? "call" : "calls"}`;
    count.textContent = of + (time.custom || session ? "" : ` of the ${time.text}`);
    more.hidden = !hasMore;
  }
  function select(id) {
    shown.get(selected)?.removeAttribute("aria-selected");
    selected = id;
    shown.get(id)?.setAttribute("aria-selected", "true");
  }
  const linkOf = (id) => /** @type {HTMLElement | null | undefined} */ (shown.get(id)?.querySelector("a"));
  return {
    el, replace, append, refresh, select,
    rows: () => rows, size: () => rows.length, last: () => rows.at(-1)?.id ?? "", hasMore: () => hasMore, older,
    reveal: (id) => shown.get(id)?.scrollIntoView({ block: "nearest" }),
    back: (id) => linkOf(id)?.focus({ preventScroll: true }),
    /** Moves the focus to another row. */
    focus(by) {
      const at = rows.findIndex((call) => shown.get(call.id)?.contains(document.activeElement)), next = rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + by))];
      if (next) linkOf(next.id)?.focus();
    },
    skeleton: () => h("section", { class: "card mt" }, h("div", { class: "pad mt" }, loading("table"))),
  };
}

function rowElement(call, { everyone, open }, isNew) {
  const [model, asked] = modelOf(call), [state, text] = endOf(call);
  const to = new URL(location.href);
  to.searchParams.set("call", call.id);
  const beside = call.message ? ": " + call.message : asked ? " for " + asked : "";
  const link = h("a", { class: "name", href: to.pathname + to.search, title: model + beside }, model, beside ? h("span", { class: "from" }, beside) : null);
  const cell = (name, ...inside) => h("td", { role: "cell", class: name }, inside);
  const tokens = call.status === 200 || call.input_tokens > 0;
  const tr = h("tr", { role: "row", class: isNew ? "go new" : "go", dataset: { id: call.id } },
    cell("soft nw c-time", h("span", { title: full(call.began_at_ms) }, moment(call.began_at_ms))),
    cell("c-model", link),
    cell("c-out", h("span", { title: `${call.status}${call.error_code ? " " + call.error_code : ""}` }, status(state, text))),
    cell("c-key nw", named(call.key_name ?? (call.key_id ? "Deleted key" : "No key"))),
    cell("c-u soft", named(everyone ? userOf(call) || "–" : call.team_name ?? "–")),
    cell("c-w soft", named(call.provider ?? "–")),
    cell("num c-m", tokens ? whole(call.input_tokens) : "–"), cell("num c-m", call.output_tokens > 0 ? whole(call.output_tokens) : "–"),
    cell("num c-s c-l", duration(call.first_token_ms)), cell("num c-s", duration(call.duration_ms)),
    cell("num c-cost", costOf(call)));
  tr.addEventListener("click", (event) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    open(call);
  });
  return tr;
}

const named = (text) => h("span", { class: "cut", title: text }, text);
