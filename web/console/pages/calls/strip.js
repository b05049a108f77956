// @ts-check
// Calls over the time of the list, those that failed in red: dragging chooses a part.

import { get } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { axisCount, whole } from "../../lib/format.js";
import { strip } from "../../lib/plot.js";
import { boundsOf, endOf } from "../../lib/range.js";
import { announce } from "../../lib/ui.js";

/** @param {{ page: any, source: any, state: () => any, change: (changes: any) => void }} context */
export function callStrip({ page, source, state, change }) {
  const place = h("div", { class: "pad strip" });
  const el = h("section", { class: "card", "aria-label": "Calls over time" }, place);
  let plot = null, asked = 0;
  /** @type {any} */
  let sums = null;

  function choose(times, end, first, last) {
    change(boundsOf(times, end, first, last));
    announce("The list shows the chosen time");
  }
  async function load(quiet = false) {
    const turn = ++asked, now = state();
    sums = null;
    if (now.outcome === "gateway") return;
    try {
      const answer = await get(source.usage, { ...now.time.params, step: now.time.step, ...now.filters }, { signal: page.signal });
      if (turn !== asked) return;
      // What is searched for, or how calls ended, has no sums: the list has no total then.
      sums = now.q || now.request || now.session || now.miss || now.status || (now.outcome && now.outcome !== "failed") ? null : now.outcome === "failed" ? answer.total.failed : answer.total.calls;
      draw(answer, now);
    } catch (error) {
      if (quiet || page.signal.aborted || turn !== asked) return;
      sums = plot = null;
      fill(place, h("p", { class: "soft xs" }, "The calls over time could not be loaded. " + /** @type {any} */ (error).message));
    }
  }
  function draw(answer, now) {
    const times = answer.series.times.map((at) => at * 1000), end = endOf(times, now.time.to);
    const sum = (name) => times.map((_, i) => answer.series.groups.reduce((total, group) => total + group[name][i], 0));
    const bad = sum("failed"), all = sum("calls");
    const answered = { name: "Answered", class: "fok", values: all.map((n, i) => n - bad[i]), off: now.outcome === "failed" };
    const zoom = (first, last) => choose(times, end, first, last);
    const options = {
      label: "Calls over time", times, end, partial: now.time.open, axis: axisCount, format: whole, series: [answered, { name: "Failed", class: "fbad", values: bad, off: now.outcome === "ok" }],
      nothing: "No calls in this time", zoom, pick: (i) => zoom(i, i),
    };
    if (plot) return plot.update(options);
    plot = strip(options);
    fill(place, plot.el);
  }
  return { el, load, /** How many calls there are in all; null: not known. */ total: () => sums };
}
