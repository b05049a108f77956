// @ts-check
// The table of usage: a row for each model, key, provider, user or team.

import { fill, h } from "../../lib/dom.js";
import { count, duration, money, share, whole } from "../../lib/format.js";
import { kinds } from "../../lib/filters.js";
import { swatch } from "../../lib/plot.js";
import { button, shareBar, sorted, table } from "../../lib/ui.js";

const shownFirst = 50;

/** @param {any} actions */
export function breakdown(actions) {
  const el = h("section", { class: "card mt breakdown", "aria-label": "Breakdown" }), file = actions.file();
  let data, now, all = false;
  function update(nextData, nextNow) {
    [data, now] = [nextData, nextNow];
    const columns = columnsOf(data, now, actions), rows = sorted(data.rows, columns, now.sort);
    const rest = rows.length - shownFirst;
    const focused = document.activeElement?.closest(".card") === el ? /** @type {HTMLElement} */ (document.activeElement).dataset.focus : null;
    fill(el, h("header", null, h("h2", null, heading(now)), file), table({
      label: heading(now), columns, rows: all ? rows : rows.slice(0, shownFirst), sort: now.sort, key: (row) => row.key, onsort,
      onrow: (row) => {
        const chosen = [now.by, now.then].filter((by) => by && kinds[by].id(row)).map((by) => [kinds[by].param, kinds[by].id(row)]);
        if (chosen.length) actions.change(Object.fromEntries(chosen));
      },
      foot: rest > 0 && !all ? [h("span", null, `${shownFirst} of ${whole(rows.length)}`), button("Show all", () => ((all = true), update(data, now)))] : null,
    }));
    if (focused) /** @type {HTMLElement | null} */ (el.querySelector(`[data-focus="${CSS.escape(focused)}"]`))?.focus();
  }
  function onsort(key) {
    const down = now.sort.key === key ? !now.sort.down : key !== "name";
    actions.change({ sort: key === "spend" && down ? null : (down ? "-" : "") + key }, { again: false, replace: true });
    /** @type {HTMLElement | null} */ (el.querySelector("th[aria-sort] button"))?.focus();
  }
  return { el, update };
}

const heading = ({ by, then }) => `Usage by ${by}${then ? " and " + then : ""}`;

function columnsOf(data, now, actions) {
  const spend = data.rows.reduce((sum, row) => sum + row.cost_usd, 0), second = now.then;
  const rate = (row) => (row.calls ? row.failed / row.calls : 0), cached = (row) => (row.input_tokens ? row.cached_tokens / row.input_tokens : 0);
  const part = (row) => (spend ? row.cost_usd / spend : 0);
  return [
    { key: "name", title: kinds[now.by].title, head: true, cell: (row) => nameOf(row, row.name, kinds[now.by], actions, row.colour), sort: (row) => row.name },
    second ? { key: "then", title: kinds[second].title, class: "then", cell: (row) => nameOf(row, row.then, kinds[second], actions), sort: (row) => row.then } : null,
    { key: "spend", title: "Spend", class: "num", cell: (row) => money(row.cost_usd), sort: (row) => row.cost_usd },
    second ? null : { key: "bar", title: "", label: "Share as a bar", class: "c-s wide", cell: (row) => shareBar(part(row), "of spend", row.colour) },
    { key: "share", title: "Share", class: "num c-s", cell: (row) => share(part(row)), sort: part },
    { key: "calls", title: "Calls", class: "num" + (second ? " c-s" : ""), cell: (row) => exact(row.calls), sort: (row) => row.calls },
    { key: "in", title: "Tokens in", class: "num c-s", cell: (row) => exact(row.input_tokens), sort: (row) => row.input_tokens },
    { key: "cached", title: "Cached", class: "num " + (second ? "c-w" : "c-m"), cell: (row) => share(cached(row)), sort: cached },
    { key: "out", title: "Tokens out", class: "num c-s", cell: (row) => exact(row.output_tokens), sort: (row) => row.output_tokens },
    { key: "errors", title: "Errors", class: "num c-s", cell: (row) => h("span", { class: rate(row) > 0.02 ? "bad" : null, title: whole(row.failed) }, share(rate(row))), sort: rate },
    { key: "p50", title: "p50", class: "num c-m", cell: (row) => duration(row.first_token_ms?.p50), sort: (row) => row.first_token_ms?.p50 ?? -1 },
    { key: "p95", title: "p95", class: "num c-m", cell: (row) => duration(row.first_token_ms?.p95), sort: (row) => row.first_token_ms?.p95 ?? -1 },
  ].filter((column) => column !== null);
}

// Three digits, the whole number as the title.
const exact = (value) => h("span", { title: value > 9999 ? whole(value) : null }, count(value));

function nameOf(row, name, kind, actions, colour) {
  const id = kind.id(row), inside = h("span", { class: "st-row" }, colour ? swatch("f" + colour) : null, h("span", { class: "cut", title: name }, name));
  if (!id) return h("span", { class: "name soft" }, inside);
  const to = new URL(location.href);
  to.searchParams.set(kind.param, id);
  return h("a", {
    class: "name", href: actions.link?.(kind, id) ?? to.pathname + to.search, dataset: { focus: kind.param + " " + row.key },
    onclick: (event) => {
      if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      actions.change({ [kind.param]: id });
    },
  }, inside);
}
