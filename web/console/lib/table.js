// @ts-check
// Tables.

import { h } from "./dom.js";

/** @typedef {import("./dom.js").Child} Child */

/**
 * @typedef {{ key: string, title: Child, class?: string, cell: (row: any) => Child, sort?: (row: any) => number | string | null | undefined,
 *   head?: boolean, label?: string }} Column
 * class is that of the cells, such as "num c-s"; head: the cell names the row; label is read for an empty title
 */

/**
 * A table. Its rows become lines on a phone where `class` says so (app.css, .rt).
 * @param {{ columns: Column[], rows: any[], label: string, class?: string, key?: (row: any) => string,
 *   sort?: { key: string, down: boolean }, onsort?: (key: string) => void, onrow?: (row: any, event: Event) => void,
 *   selected?: (row: any) => boolean, empty?: Child, foot?: Child }} options
 */
export function table(options) {
  const { columns, rows, label, foot } = options;
  const none = rows.length === 0 ? options.empty : null;
  // The roles are said, since a phone's layout takes them away.
  const el = h("table", { class: options.class, role: "table", "aria-label": label },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, columns.map((c) => heading(c, options)))),
    h("tbody", { role: "rowgroup" }, rows.map((row) => line(row, options))));
  return h("div", null, none || h("div", { class: "scroll", tabindex: "-1" }, el), foot ? h("div", { class: "tfoot" }, foot) : null);
}

function line(row, { columns, onrow, selected, key }) {
  const onclick = (event) => event.target.closest("a, button, input, select, label") || onrow(row, event);
  return h("tr", {
    role: "row", class: onrow ? "go" : null, onclick: onrow ? onclick : null,
    "aria-selected": selected?.(row) ? "true" : null, dataset: key ? { key: key(row) } : {},
  }, columns.map((c) => h(c.head ? "th" : "td", {
    role: c.head ? "rowheader" : "cell", scope: c.head ? "row" : null, class: c.class,
  }, c.cell(row))));
}

function heading(column, { sort, onsort }) {
  const props = { role: "columnheader", scope: "col", class: column.class };
  if (!column.sort || !onsort) return h("th", props, column.title || h("span", { class: "vh" }, column.label ?? ""));
  const is = sort?.key === column.key, down = sort?.down;
  return h("th", { ...props, "aria-sort": is ? (down ? "descending" : "ascending") : null },
    h("button", { type: "button", onclick: () => onsort(column.key) },
      column.title, is ? h("span", { "aria-hidden": "true" }, down ? "↓" : "↑") : null));
}

/** Sorts rows by a column, a copy. @param {any[]} rows @param {Column[]} columns @param {{ key: string, down: boolean } | undefined} by */
export function sorted(rows, columns, by) {
  const of = columns.find((c) => c.key === by?.key)?.sort;
  if (!of || !by) return rows;
  const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b || 0), turn = by.down ? -1 : 1;
  // What is not known is last either way.
  return rows.toSorted((a, b) => (of(a) == null || of(b) == null ? Number(of(a) == null) - Number(of(b) == null) : compare(of(a), of(b)) * turn));
}
