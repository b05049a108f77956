// @ts-check
// What did it cost, who did it, is it slower?

import { get } from "../lib/api.js";
import { fill, h } from "../lib/dom.js";
import { fileButton } from "../lib/file.js";
import { zoneName } from "../lib/format.js";
import { chips, chooseDays, chooseFilters, chooseSource, filtersOf, kinds, learn, learnFilters, sourceOf } from "../lib/filters.js";
import { boundsOf, dateOf, ranges, timeOf } from "../lib/range.js";
import { refusedText } from "../lib/refusals.js";
import { announce, button, chip, failed, loading, note, segments, select } from "../lib/ui.js";
import { breakdown } from "./usage/breakdown.js";
import { nothing } from "./usage/nothing.js";
import { read } from "./usage/read.js";
import { details, overview } from "./usage/plots.js";

export const title = "Usage";

const usual = "7d", everyMs = 30e3, dayMs = 86400e3;

// How many weeks before a time of days begins that which it is compared with; 0: it is the previous period.
const weeksBack = (time) => (time.step === "1d" ? Math.max(1, Math.floor(Math.round((time.to - time.from) / dayMs) / 7)) : 0);

/** @param {any} page */
export async function show(page) {
  const { query } = page, source = sourceOf(page.me, query);
  const place = { filters: h("div", { class: "filters" }), notes: h("div", { class: "notes" }), body: h("div", { class: "data-body" }) };
  /** @type {any} The parts that stay while new data comes. */
  let parts = null;
  /** @type {any} What is shown: the answer, read. */
  let data = null;
  let asked = 0;

  const state = () => ({
    time: timeOf(query, usual), filters: filtersOf(query, source), by: kindOf(query.get("by")) ?? "model", then: second(),
    measure: query.get("measure") ?? "spend", compare: query.get("compare") === "1", sort: sortOf(query.get("sort") ?? "-spend"),
  });
  const kindOf = (by) => (kinds[by] && source.kinds.includes(by) ? by : null);
  // What each group is told apart by, once more.
  const second = () => (query.get("then") === (kindOf(query.get("by")) ?? "model") ? null : kindOf(query.get("then")));
  const params = ({ time, filters, by, then }) => ({ ...time.params, step: time.step, group_by: [by, then].filter(Boolean), previous: true, ...filters });

  // Days are compared with the same days of the week.
  function earlier({ time, filters }) {
    const shift = (at) => dateOf(new Date(at).setDate(new Date(at).getDate() - 7 * weeksBack(time)));
    return { from: shift(time.from), to: shift(time.to - 1), time_zone: time.params.time_zone, step: time.step, ...filters };
  }

  /** Asks for what the query says. */
  async function load(quiet = false) {
    const turn = ++asked, now = state();
    place.body.classList.toggle("stale", !quiet && parts !== null);
    try {
      const options = { signal: page.signal };
      const [answer, before] = await Promise.all([
        get(source.usage, params(now), options), now.compare && weeksBack(now.time) ? get(source.usage, earlier(now), options) : null,
        learnFilters(source, now.filters, now.time.params, page.signal),
      ]);
      if (turn !== asked) return;
      learn(answer.data);
      data = read(answer, now, before);
      place.body.classList.remove("stale");
      render();
    } catch (error) {
      if (page.signal.aborted || turn !== asked) return;
      place.body.classList.remove("stale");
      broken(error, quiet);
    }
  }
  function broken(error, quiet) {
    if (error.status === 0) setTimeout(() => !page.signal.aborted && load(quiet), 5e3);
    if (parts && error.status === 0) return; // the frame says it
    if (quiet) return;
    parts = null;
    fill(place.notes);
    fill(place.body, h("section", { class: "card", "aria-label": "Usage" }, failed(error, () => load(), "Usage")));
    bar();
  }
  /** Changes the query, and asks again where it is about other data. */
  function change(changes, { again = true, replace = false } = {}) {
    page.setQuery(changes, { replace });
    if (again) load();
    else if (data) render();
    bar();
  }
  /** @param {(all: any) => any} what of the parameters is asked for */
  const fileOf = (what) => {
    const asked = state();
    return { path: source.usage, params: what(params(asked)), name: `usage-${dateOf(asked.time.from)}-to-${dateOf(asked.time.to - 1)}.csv` };
  };
  const actions = {
    state, change, source,
    // The sums of the whole time; those of the plot have a row for each of its steps.
    file: () => fileButton(page, () => fileOf(({ step: _, previous: __, ...rest }) => rest), "Save the sums of the whole time"),
    zoom: (first, last) => (change(boundsOf(data.times, data.end, first, last)), announce("Zoomed in")),
    calls: (i) => page.go("/calls" + callsOf(i)),
  };
  // The calls of one step, with the filters.
  function callsOf(i) {
    const search = new URLSearchParams(boundsOf(data.times, data.end, i, i)), { measure } = state();
    for (const [name, value] of Object.entries({ ...filtersOf(query, source), ...(source.team ? { team_id: source.team } : {}) })) search.set(name, value);
    if (measure === "errors") search.set("outcome", "failed");
    return "?" + search;
  }

  // How many calls the gateway refused in the time, and why.
  function refusedNote({ time, filters }) {
    const text = refusedText(data.refused, "by the gateway");
    const of = time.custom ? { from: query.get("from") ?? "", to: query.get("to") ?? "" } : { range: time.range };
    const search = new URLSearchParams({ outcome: "gateway", ...of, ...filters, ...(source.team ? { team_id: source.team } : {}) });
    return text ? note("info", text + ". ", h("a", { href: "/calls?" + search }, "Show them")) : null;
  }

  function render() {
    const now = state();
    fill(place.notes, notesOf(data, page.me), refusedNote(now));
    if (data.total.calls === 0 && !(data.previous?.total.calls > 0)) {
      parts = null;
      return fill(place.body, nothing(now, source, change));
    }
    if (!parts) {
      parts = [overview(actions), details(actions), breakdown(actions)];
      fill(place.body, parts.map((part) => part.el));
    }
    for (const part of parts) part.update(data, now);
  }

  function bar() {
    const now = state();
    fill(place.filters, chooseSource(page, source),
      select({ label: "Group by", value: now.by, options: source.kinds.map((by) => [by, "By " + by]), onchange: (by) => change({ by: by === "model" ? null : by }) }),
      select({ label: "Then by", value: now.then ?? "", options: [["", "One group"], ...source.kinds.filter((by) => by !== now.by).map((by) => /** @type {[string, string]} */ ([by, "and " + by]))], onchange: (then) => change({ then }) }),
      chips(now.filters, change),
      now.time.custom ? chip(now.time.text, () => change({ from: null, to: null }), "Back to the " + ranges[now.time.range].text) : null,
      button("Filter", () => chooseFilters(source, now.filters, now.time.params, change), { class: "bare", icon: "plus" }));
    page.head({
      line: `${source.line}. Days begin at 00:00 ${zoneName()}.`,
      actions: [
        segments({
          label: "Time range", value: now.time.custom ? "custom" : now.time.range,
          options: [...Object.keys(ranges).map((name) => /** @type {[string, string]} */ ([name, name])), ["custom", "Custom"]],
          onchange: (range) => (range === "custom" ? chooseDays(now.time, change, dateOf) : change({ range: range === usual ? null : range, from: null, to: null })),
        }),
        fileButton(page, () => fileOf(({ previous: _, ...rest }) => rest), "Save the plot, a row for each step"),
      ],
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.defaultPrevented && !document.querySelector("dialog[open]") && state().time.custom) change({ from: null, to: null });
  }, { signal: page.signal });
  page.every(everyMs, () => state().time.open && data && load(true));
  fill(page.root, place.filters, place.notes, place.body);
  bar();
  const wait = setTimeout(() => !data && !parts && place.body.childElementCount === 0 && fill(place.body, skeleton()), 200);
  await load();
  clearTimeout(wait);
}

// "-calls": by calls, the greatest first.
const sortOf = (text) => ({ key: text.replace(/^-/, ""), down: text.startsWith("-") });

const skeleton = () => [h("section", { class: "card data-first" }, loading("plot")), h("section", { class: "card mt" }, loading("table"))];

function notesOf(data, me) {
  const { unpriced } = data.total, models = data.unpricedModels;
  const calls = unpriced === 1 ? "1 call" : `${unpriced.toLocaleString("en-US")} calls`;
  const of = models ? ` of ${models === 1 ? "1 model" : models + " models"}` : "";
  return [
    unpriced > 0
      ? note("warn", `${calls}${of} ${unpriced === 1 ? "has" : "have"} no price and ${unpriced === 1 ? "counts" : "count"} as $0. `,
        me.user.admin ? h("a", { href: "/models" }, "See the prices of models") : "Ask an administrator to set a price.")
      : null,
    data.daysBefore ? note("info", `Before ${data.daysBefore} there are sums of whole days in UTC only.`) : null,
  ];
}
