// @ts-check
// What a thing has cost over time, and a table of who or what it went to.

import { get } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { fileButton } from "../../lib/file.js";
import { kinds, learn } from "../../lib/filters.js";
import { boundsOf, ranges, timeOf } from "../../lib/range.js";
import { addressOf } from "../../lib/rows.js";
import { button, chip, empty, failed, loading, segments, select } from "../../lib/ui.js";
import { breakdown } from "../usage/breakdown.js";
import { overview } from "../usage/plots.js";
import { read } from "../usage/read.js";

const usual = "7d";

/** The query that shows the calls of a thing on another page. @param {import("./thing.js").Thing} thing @param {any} [more] */
export const queryOf = ({ source, filter }, more) => "?" + new URLSearchParams({ ...(source.team ? { team_id: source.team } : {}), ...filter, ...more });

/** @param {any} page @param {import("./thing.js").Thing} thing */
export function spendOf(page, thing) {
  const { query, signal } = page, { source, filter } = thing, everything = page.me.user.admin;
  // Only what has a page that this user may see.
  const by = /** @type {import("../../lib/filters.js").Kind[]} */ (source.kinds.filter((kind) => !(kinds[kind].param in filter) && (everything || kind === "model" || kind === "key" || (kind === "user" && source.team))));
  const bar = h("div", { class: "filters" }), el = h("div", { class: "data-body" }), table = h("div", { class: "data-body" });
  let data, parts = null, asked = 0;

  const state = () => ({
    time: timeOf(query, usual), by: by.find((kind) => kind === query.get("by")) ?? thing.by, then: null, measure: query.get("measure") ?? "spend", compare: query.get("compare") === "1",
    sort: { key: (query.get("sort") ?? "-spend").replace(/^-/, ""), down: (query.get("sort") ?? "-spend").startsWith("-") },
  });
  async function load() {
    const turn = ++asked, now = state();
    draw();
    for (const place of [el, table]) place.classList.toggle("stale", parts !== null);
    try {
      const answer = await get(source.usage, { ...now.time.params, step: now.time.step, group_by: now.by, previous: true, ...filter }, { signal });
      if (turn !== asked) return;
      learn(answer.data);
      data = read(answer, now, null);
      show();
    } catch (error) {
      if (signal.aborted || turn !== asked) return;
      parts = null;
      fill(table);
      fill(el, h("section", { class: "card", "aria-label": "Spend" }, failed(error, load, "Spend")));
    }
    for (const place of [el, table]) place.classList.remove("stale");
  }
  function show() {
    const now = state();
    if (data.total.calls === 0 && !data.previous?.total.calls) {
      parts = null;
      fill(table);
      const longer = now.time.range === "12mo" && !now.time.custom ? null : button("Show 12 months", () => change({ range: "12mo", from: null, to: null }));
      return fill(el, h("section", { class: "card", "aria-label": "Spend" }, empty({ title: "No calls", text: `There are none in the ${now.time.custom ? "time that is shown" : now.time.text}.`, action: longer })));
    }
    if (!parts) {
      parts = [overview(actions), breakdown(actions)];
      parts[1].el.classList.remove("mt");
      fill(el, parts[0].el);
      fill(table, parts[1].el);
    }
    for (const part of parts) part.update(data, now);
  }
  function change(changes, { again = true, replace = false } = {}) {
    const chosen = by.find((kind) => changes[kinds[kind].param]); // a row of the table
    if (chosen) return page.go(addressOf(chosen, changes[kinds[chosen].param]));
    page.setQuery(changes, { replace });
    return again ? load() : show();
  }
  const file = () => {
    const now = state();
    return { path: source.usage, params: { ...now.time.params, group_by: now.by, ...filter }, name: "usage.csv" };
  };
  const actions = {
    file: () => fileButton(page, file, "Save the sums of the whole time"), state, change, source, link: (kind, id) => addressOf(kind.title.toLowerCase(), id), zoom: (first, last) => change(boundsOf(data.times, data.end, first, last)),
    calls: (i) => page.go("/calls" + queryOf(thing, boundsOf(data.times, data.end, i, i))),
  };
  function draw() {
    const now = state();
    fill(bar, segments({
      label: "Time range", value: now.time.custom ? "custom" : now.time.range, options: Object.keys(ranges).map((name) => /** @type {[string, string]} */ ([name, name])),
      onchange: (range) => change({ range: range === usual ? null : range, from: null, to: null }),
    }),
    select({ label: "Group by", value: now.by, options: by.map((kind) => [kind, "By " + kind]), onchange: (kind) => change({ by: kind === thing.by ? null : kind }) }),
    now.time.custom ? chip(now.time.text, () => change({ from: null, to: null }), "Back to the " + ranges[now.time.range].text) : null,
    h("a", { class: "btn bare", href: "/usage" + queryOf(thing, { range: now.time.range, by: now.by }) }, "Open in Usage"));
  }
  draw();
  fill(el, h("section", { class: "card data-first", "aria-label": "Spend" }, loading("plot")));
  return { bar, el, table, load };
}
