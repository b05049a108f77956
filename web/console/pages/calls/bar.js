// @ts-check
// The filters of the calls.

import { fill, h } from "../../lib/dom.js";
import { chips, choicesOf, chooseDays, chooseFilters, chooseSource, kinds, known } from "../../lib/filters.js";
import { dateOf, ranges, timeOf } from "../../lib/range.js";
import { reasonName } from "../../lib/refusals.js";
import { button, chip, find } from "../../lib/ui.js";
import { outcomes, statuses } from "./words.js";

/** @type {[string, string][]} */
const times = [["1h", "Last hour"], ["24h", "Last 24 hours"], ["7d", "Last 7 days"], ["30d", "Last 30 days"], ["custom", "Custom…"]];

/** @param {{ page: any, source: any, state: () => any, change: (changes: any, options?: any) => void, signal: AbortSignal }} of */
export function filterBar({ page, source, state, change, signal }) {
  const time = () => timeOf(new URLSearchParams("range=30d"), "30d").params;
  const search = find({
    label: "Find a call", placeholder: source.everyone ? "Id, key or user" : "Id or key", value: state().q || state().request,
    oninput: (q) => change({ q: q || null, request_id: null }, { replace: true }),
  });
  const range = pick("Time", times, (name) => (name === "custom" ? choose() : change({ range: name === "1h" ? null : name, from: null, to: null })));
  const outcome = pick("Outcome", outcomes, (name) => change({ outcome: name || null }));
  const status = pick("Status", statuses, (name) => change({ status: name || null }), "short");
  const model = pick("Model", [["", "Any model"]], (id) => change({ model: id || null }));
  const key = pick("Key", [["", "Any key"]], (id) => change({ key_id: id || null }));
  const rest = h("span", { class: "chips" });
  const el = h("div", { class: "filters calls-bar flow-x" }, chooseSource(page, source), search, range, outcome, status, model, key, rest);
  function choose() {
    range.value = state().time.custom ? "custom" : state().time.range;
    chooseDays(state().time, change, dateOf);
  }
  for (const [select, by] of /** @type {[any, any][]} */ ([[model, "model"], [key, "key"]])) {
    choicesOf(source, by, time(), signal).then((choices) => {
      for (const [id, name] of choices) offer(select, id, name);
      update(state());
    }, () => {});
  }
  function update(now) {
    range.value = now.time.custom ? "custom" : now.time.range in ranges ? now.time.range : "1h";
    outcome.value = now.outcome;
    status.value = now.status;
    status.hidden = now.outcome === "gateway";
    for (const [select, by] of /** @type {[any, any][]} */ ([[model, "model"], [key, "key"]])) {
      const id = now.filters[kinds[by].param] ?? "";
      if (id) offer(select, id, known(id));
      select.value = id;
    }
    const { model: _m, key_id: _k, ...others } = now.filters;
    fill(rest, chips(others, change),
      now.time.custom ? chip(now.time.text, () => change({ from: null, to: null }), "Back to the " + ranges[now.time.range].text) : null,
      now.reason && now.outcome === "gateway" ? chip("Reason: " + reasonName(now.reason), () => change({ reason: null }), "Remove the filter reason") : null,
      now.session ? chip("Session " + now.session, () => change({ session: null }), "Remove the filter session") : null,
      now.miss ? chip("Cache missed" + (now.miss === "any" ? "" : ": " + now.miss.replaceAll("_", " ")), () => change({ cache_miss: null }), "Remove the filter cache missed") : null,
      now.request ? chip("Request " + now.request, () => change({ request_id: null }), "Remove the filter request") : null,
      button("Filter", () => chooseFilters({ ...source, kinds: source.kinds.filter((by) => by !== "model" && by !== "key") }, now.filters, time(), change), { class: "bare", icon: "plus" }));
  }
  return { el, update };
}

// The width is that of the class: it stays when options come.
function pick(label, options, onchange, name) {
  return h("select", { class: name, "aria-label": label, onchange: (event) => onchange(event.target.value) }, options.map(([value, text]) => h("option", { value }, text)));
}

// Adds an option, or renames it when its name became known.
function offer(select, id, name) {
  const is = [...select.options].find((option) => option.value === id);
  if (is) is.textContent = name;
  else select.append(h("option", { value: id }, name));
}
