// @ts-check
// Makes of an answer of /v1/usage what the page shows.

import { day } from "../../lib/format.js";
import { kinds } from "../../lib/filters.js";
import { endOf } from "../../lib/range.js";

const most = 7, otherColour = 8;

/** Colours of series by their keys, the same while the console is open. @type {Map<string, number>} */
const colours = new Map();

/**
 * Colours for the series that are seen together: each keeps its own, unless another one has it.
 * @param {string[]} keys
 */
export function coloursOf(keys) {
  const taken = new Set(), chosen = new Map();
  for (const key of keys) {
    const own = colours.get(key);
    if (own && !taken.has(own)) chosen.set(key, own), taken.add(own);
  }
  for (const key of keys) {
    if (chosen.has(key)) continue;
    const free = Array.from({ length: most }, (_, i) => i + 1).find((n) => !taken.has(n)) ?? otherColour;
    chosen.set(key, free);
    taken.add(free);
    if (!colours.has(key)) colours.set(key, free);
  }
  return chosen;
}

const lists = ["calls", "failed", "cost_usd", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"];

/** @param {any[]} groups */
function added(groups, length) {
  return Object.fromEntries(lists.map((name) => [name, Array.from({ length }, (_, i) => groups.reduce((sum, group) => sum + group[name][i], 0))]));
}

/**
 * @param {any} answer
 * @param {{ by: string, then: string | null, time: import("../../lib/range.js").Time }} now
 * @param {any} before the answer of the time that is compared with; null: the previous period
 */
export function read(answer, now, before) {
  const all = [now.by, now.then].filter((by) => by !== null), times = answer.series.times.map((at) => at * 1000), end = endOf(times, now.time.to);
  const keyOf = (row) => all.map((by) => by + " " + kinds[by].id(row) + (by === "model" ? " " + (row.provider ?? "") : "")).join(" ");
  const names = all.map((by) => namesOf(answer.data, kinds[by], by)), name = (row) => names.map((of) => of(row)).join(" · ");
  const whole = answer.series.groups, own = whole.filter((group) => !group.other);
  // One more than the colours has that of "Other", by its name.
  const greatest = whole.length > most + 1 ? own.slice(0, most) : own, rest = whole.filter((group) => !greatest.includes(group));
  const palette = coloursOf(greatest.map(keyOf));
  const groups = greatest.map((group) => ({ ...group, key: keyOf(group), name: name(group), colour: palette.get(keyOf(group)) }));
  if (rest.length > 0) {
    const count = rest.reduce((n, group) => n + (group.other ?? 1), 0);
    groups.push({ ...added(rest, times.length), key: "other", name: `Other (${count})`, colour: otherColour });
  }
  const unpriced = answer.data.filter((row) => row.unpriced > 0);
  return {
    times, end, groups, refused: answer.refused, total: answer.total, previous: answer.previous, series: answer.series,
    sums: added(whole, times.length), compared: before ? comparedWith(before) : answer.previous?.series, partial: now.time.open && end > Date.now(),
    rows: answer.data.map((row) => ({ ...row, key: keyOf(row), name: names[0](row), then: names[1]?.(row), colour: palette.get(keyOf(row)) ?? otherColour })),
    unpricedModels: all.includes("model") ? new Set(unpriced.map((row) => row.model)).size : 0,
    daysBefore: answer.days_before ? day(answer.days_before) : "",
  };
}

// The sums of an answer in the form of those of a previous period.
function comparedWith({ series }) {
  const sums = added(series.groups, series.times.length);
  return { ...sums, tokens: sums.input_tokens.map((n, i) => n + sums.output_tokens[i]), weeks: true };
}

// The name of a row; with the provider where several serve a model of this name.
function namesOf(rows, kind, by) {
  const count = new Map();
  for (const row of rows) count.set(kind.name(row), (count.get(kind.name(row)) ?? new Set()).add(row.provider));
  return (row) => (by === "model" && count.get(kind.name(row))?.size > 1 ? `${kind.name(row)} · ${row.provider || "none"}` : kind.name(row));
}

const errorNames = {
  rate_limited: "Rate limited", refused: "Refused by the provider", provider_error: "Provider error", timeout: "Timed out",
  stopped: "Gateway stopped", internal_error: "Gateway error", lost: "Lost", other: "Other",
};
const errorColours = { provider_error: 2, rate_limited: 5, refused: 7, timeout: 6, internal_error: 4, stopped: 3, lost: 1, other: 8 };

/** The errors by kind as series. @param {any} data */
export const errorsOf = (data) =>
  data.series.errors.map(({ code, calls }) => ({ name: errorNames[code] ?? code, values: calls, colour: errorColours[code] ?? 8 }));
