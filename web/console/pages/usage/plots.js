// @ts-check
// The plots of usage: what was chosen by a key figure, and three small ones.

import { fill, h, svg } from "../../lib/dom.js";
import { axisCount, axisDuration, axisMoney, count, duration, money, share, whole } from "../../lib/format.js";
import { asTable, bars, lines, swatch } from "../../lib/plot.js";
import { button, card } from "../../lib/ui.js";
import { errorsOf } from "./read.js";

/** @type {Record<string, { title: string, of: (group: any) => number[], axis: (v: number) => string, format: (v: number) => string, wholes?: boolean, before?: string }>} */
const measures = {
  spend: { title: "Spend", of: (group) => group.cost_usd, axis: axisMoney, format: money, before: "cost_usd" },
  calls: { title: "Calls", of: (group) => group.calls, axis: axisCount, format: whole, wholes: true, before: "calls" },
  tokens: { title: "Tokens", of: (group) => group.input_tokens.map((v, i) => v + group.output_tokens[i]), axis: axisCount, format: count, wholes: true, before: "tokens" },
  errors: { title: "Errors", of: (group) => group.failed, axis: axisCount, format: whole, wholes: true, before: "failed" },
  first: { title: "Time to first token", of: () => [], axis: axisDuration, format: duration },
};

const groups = ({ by, then }) => by + (then ? " and " + then : "");

const times = (data, label) => ({
  label, kind: /** @type {"lines"} */ ("lines"), left: 58, times: data.times, end: data.end, partial: data.partial, axis: axisDuration, format: duration, wholes: true, nothing: "No tokens in this time",
  series: [
    { name: "p50", values: data.series.first_token_ms.p50, colour: 1, fill: true },
    { name: "p95", values: data.series.first_token_ms.p95, colour: 7 },
  ],
});

/** The key figures, the plot that they choose, and its legend. @param {any} actions */
export function overview(actions) {
  const figures = figuresOf(actions), legend = h("div", { class: "legend", role: "group", "aria-label": "Series" });
  const heading = h("h2"), hint = h("p", { class: "hint-x" }, "Drag to zoom, click a name to see it alone"), table = asTable("The plot");
  const ghost = svg("svg", { class: "sw", viewBox: "0 0 10 10", "aria-hidden": "true" }, svg("path", { class: "ghost", d: "M0 5h10" }));
  const compare = h("button", { type: "button", class: "btn", onclick: () => actions.change({ compare: actions.state().compare ? null : 1 }, { replace: true }) },
    ghost, "Previous period");
  const place = h("div", { class: "pad" });
  let shown = null, alone = "", data, now;

  function update(nextData, nextNow) {
    [data, now] = [nextData, nextNow];
    figures.update(data, now);
    const isTimes = now.measure === "first", measure = measures[now.measure] ?? measures.spend;
    if (!data.groups.some((group) => group.key === alone)) alone = "";
    heading.textContent = isTimes ? measure.title : `${measure.title} by ${groups(now)}`;
    compare.setAttribute("aria-pressed", String(now.compare));
    compare.hidden = hint.hidden = legend.hidden = isTimes;
    const options = isTimes ? { ...times(data, measure.title), height: 260 } : stacked(measure);
    draw({ ...options, zoom: actions.zoom, pick: actions.calls });
    names();
  }
  function stacked(measure) {
    return {
      label: `${measure.title} by ${groups(now)}`, kind: /** @type {"bars"} */ ("bars"), height: 260, left: 54, times: data.times, end: data.end, partial: data.partial,
      axis: measure.axis, format: measure.format, wholes: measure.wholes, nothing: "None in this time",
      series: data.groups.map((group) => ({ name: group.name, values: measure.of(group), colour: group.colour, off: alone !== "" && group.key !== alone })),
      compare: now.compare && !alone ? data.compared?.[measure.before ?? ""]?.slice(0, data.times.length) ?? null : null,
      compareName: data.compared?.weeks ? "Same weekday before" : "Previous period",
    };
  }
  function draw(options) {
    if (shown?.kind !== options.kind) {
      shown = { kind: options.kind, ...(options.kind === "lines" ? lines(options) : bars(options)) };
      fill(place, shown.el);
    }
    shown.update(options);
    table.update(options);
  }
  function names() {
    const focused = [...legend.children].indexOf(/** @type {Element} */ (document.activeElement));
    fill(legend, data.groups.map((group) => h("button", {
      type: "button", "aria-pressed": String(!alone || alone === group.key), title: group.name,
      onclick: () => ((alone = alone === group.key ? "" : group.key), update(data, now)),
    }, swatch("f" + group.colour), h("span", null, group.name))));
    if (focused >= 0) /** @type {HTMLElement} */ (legend.children[focused])?.focus();
  }
  const el = h("section", { class: "card", "aria-label": "Usage over time" }, figures.el, h("header", null, heading, hint, compare), place, legend, table.el);
  return { el, update };
}

/** The key figures: each is a button that chooses the plot. */
function figuresOf(actions) {
  const all = [["spend", "Spend"], ["calls", "Calls"], ["tokens", "Tokens"], ["errors", "Errors"], ["first", "First token, p50"]].map(([measure, name]) => {
    const value = h("b"), change = h("span");
    const el = h("button", { type: "button", onclick: () => actions.change({ measure: measure === "spend" ? null : measure }, { again: false, replace: true }) }, h("span", null, name), value, change);
    return { measure, el, value, change };
  });
  function update(data, now) {
    const { total, previous } = data, before = previous?.total;
    const rate = (sums) => (sums?.calls ? sums.failed / sums.calls : null);
    const first = (sums) => sums?.first_token_ms?.p50 ?? null;
    const shown = {
      spend: [money(total.cost_usd), "", total.cost_usd, before?.cost_usd],
      calls: [count(total.calls), "", total.calls, before?.calls],
      tokens: [count(total.total_tokens), "", total.total_tokens, before?.total_tokens],
      errors: [share(rate(total) ?? 0), whole(total.failed) + (total.failed === 1 ? " call" : " calls"), rate(total), rate(before), true],
      first: [duration(first(total)), total.first_token_ms?.p95 == null ? "" : "p95 " + duration(total.first_token_ms.p95), first(total), first(before), true],
    };
    const titles = { calls: whole(total.calls), tokens: whole(total.total_tokens) };
    for (const { measure, el, value, change } of all) {
      const [main, small, is, was, bad] = shown[measure];
      fill(value, main, small ? h("small", null, " " + small) : null);
      if (titles[measure]) value.title = titles[measure];
      fill(change, changeOf(is, was, bad));
      el.setAttribute("aria-pressed", String((measures[now.measure] ? now.measure : "spend") === measure));
    }
  }
  return { el: h("div", { class: "kpis", role: "group", "aria-label": "Measure" }, all.map((figure) => figure.el)), update };
}

// The change against the previous period; only what is better or worse has a colour.
function changeOf(is, was, judged = false) {
  if (is === null || is === undefined) return "–";
  if (!was) return null; // there is nothing to compare with
  const part = is / was - 1, up = part > 0;
  if (Math.abs(part) < 0.005) return "as before";
  const state = judged && Math.abs(part) > 0.02 ? (up ? "bad" : "good") : null;
  return [h("span", { class: state }, (up ? "↑ " : "↓ ") + (part > 2 ? (part + 1).toFixed(part > 99 ? 0 : 1) + "×" : share(Math.abs(part)))), " vs previous"];
}

/** Time to first token, errors by kind and tokens by kind. @param {any} actions */
export function details(actions) {
  const parts = [
    small("Time to first token", "p50 and p95 of all calls", (data) => times(data, "Time to first token, p50 and p95")),
    small("Errors by kind", "Calls that ended without an answer", (data) => ({
      label: "Errors by kind", times: data.times, end: data.end, partial: data.partial, axis: axisCount, format: whole, wholes: true, series: errorsOf(data),
    })),
    small("Tokens by kind", "Cached input costs a part of the price", (data) => ({
      label: "Tokens by kind", times: data.times, end: data.end, partial: data.partial, axis: axisCount, format: count, wholes: true, series: tokensOf(data.sums),
    })),
  ];
  return {
    el: h("div", { class: "grid3 mt" }, parts.map((part) => part.el)),
    update: (data) => parts.forEach((part) => part.update(data, actions)),
  };
}

function tokensOf(sums) {
  return [
    { name: "Input", colour: 1, values: sums.input_tokens.map((v, i) => Math.max(0, v - sums.cached_tokens[i])) },
    { name: "Cached input", colour: 5, values: sums.cached_tokens },
    { name: "Output", colour: 3, values: sums.output_tokens },
  ];
}

function small(title, line, optionsOf) {
  const place = h("div", { class: "pad" }), names = h("div", { class: "tags mt" }), table = asTable(title);
  let shown = null;
  return {
    el: card({ title, line }, place, table.el),
    update(data, { zoom }) {
      const options = { ...optionsOf(data), height: 170, zoom };
      if (!shown) {
        shown = options.kind === "lines" ? lines(options) : bars(options);
        fill(place, shown.el, options.kind === "lines" ? null : names);
      } else {
        shown.update(options);
      }
      table.update(options);
      fill(names, options.series.map((series) => h("span", { class: "tag" }, swatch(series), h("span", null, series.name))));
    },
  };
}
