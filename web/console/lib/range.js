// @ts-check
// The time that a page shows: a range that ends now, or two bounds; and the filters of calls. Both are in the query.

import { zone } from "./format.js";
import { between } from "./plot/axis.js";

const minuteMs = 60e3, hourMs = 60 * minuteMs, dayMs = 24 * hourMs;
const mostSteps = 90;
// The gateway has sums of minutes for four days; an hour is kept as a margin.
const minutesKept = 4 * dayMs - hourMs;

/** @type {[string, number][]} The steps of /v1/usage with their lengths in ms, the shortest first. */
const steps = [
  ["1m", minuteMs], ["5m", 5 * minuteMs], ["15m", 15 * minuteMs], ["30m", 30 * minuteMs], ["1h", hourMs], ["2h", 2 * hourMs], ["6h", 6 * hourMs],
  ["1d", dayMs], ["7d", 7 * dayMs], ["1mo", 30 * dayMs],
];

/** @type {Record<string, { length: number, days?: number, text: string, name: string }>} days: it is made of whole days */
export const ranges = {
  "1h": { length: hourMs, text: "last hour", name: "hour" },
  "24h": { length: dayMs, text: "last 24 hours", name: "24 hours" },
  "7d": { length: 7 * dayMs, text: "last 7 days", name: "7 days" },
  "30d": { length: 30 * dayMs, days: 30, text: "last 30 days", name: "30 days" },
  "12mo": { length: 364 * dayMs, days: 364, text: "last 12 months", name: "12 months" },
};

/** 2026-11-21 of the browser's zone. @param {number} at ms */
export function dateOf(at) {
  const time = new Date(at), two = (n) => String(n).padStart(2, "0");
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
}

const isDate = (text) => /^\d{4}-\d\d-\d\d$/.test(text);

// A bound of the query as ms; the last day is included.
function boundOf(text, end) {
  if (!isDate(text)) return Date.parse(text);
  const [y, m, d] = text.split("-").map(Number);
  return new Date(y, m - 1, d + (end ? 1 : 0)).getTime();
}

/**
 * @typedef {{ from: number, to: number, params: Record<string, string>, step: string, custom: boolean, range: string, text: string, open: boolean }} Time
 * from, to in ms; params: those of the API; text: how a sentence calls it; open: it ends now
 */

/**
 * The time of a query: from and to, or range.
 * @param {URLSearchParams} query
 * @param {string} usual the range without a word
 * @returns {Time}
 */
export function timeOf(query, usual, now = Date.now()) {
  const range = ranges[query.get("range") ?? ""] ? String(query.get("range")) : usual;
  const first = query.get("from"), last = query.get("to");
  if (first && !Number.isNaN(boundOf(first, false))) {
    const from = boundOf(first, false), ends = last ? boundOf(last, true) : now;
    const to = Number.isNaN(ends) || ends <= from ? from + minuteMs : ends;
    const params = { from: isDate(first) ? first : iso(from), to: last && isDate(last) ? last : iso(to), time_zone: zone };
    return { from, to, params, step: stepOf(from, to, now), custom: true, range, text: between(from, to), open: to > now };
  }
  const { length, days, text } = ranges[range], today = new Date(now);
  const from = days ? new Date(today.getFullYear(), today.getMonth(), today.getDate() - days + 1).getTime() : now - length;
  const params = days ? { from: dateOf(from), to: dateOf(now), time_zone: zone } : { from: iso(from), to: iso(now), time_zone: zone };
  return { from, to: now, params, step: stepOf(now - length, now, now), custom: false, range, text, open: true };
}

const iso = (at) => new Date(at).toISOString();

/** The shortest step of which a plot has room for all. */
function stepOf(from, to, now) {
  const least = from < now - minutesKept ? 15 * minuteMs : 0;
  return (steps.find(([, length]) => length >= least && (to - from) / length <= mostSteps) ?? steps[steps.length - 1])[0];
}

/**
 * The bounds of the query for steps that were chosen in a plot; whole days are written as days.
 * @param {number[]} times @param {number} end @param {number} first @param {number} last
 */
export function boundsOf(times, end, first, last) {
  const from = times[first], to = Math.min(times[last + 1] ?? end, Math.ceil(Date.now() / minuteMs) * minuteMs);
  const midnight = (at) => new Date(at).getHours() === 0 && new Date(at).getMinutes() === 0;
  const whole = midnight(from) && midnight(times[last + 1] ?? end);
  return whole ? { from: dateOf(from), to: dateOf((times[last + 1] ?? end) - 1) } : { from: iso(from), to: iso(to) };
}

/** The end of a series, ms: its last step has the length of the one before, or ends at the end of what was asked. @param {number[]} times ms @param {number} to */
export function endOf(times, to) {
  const n = times.length;
  return n > 1 ? Math.max(times[n - 1] + (times[n - 1] - times[n - 2]), 0) : Math.max(to, (times[0] ?? 0) + minuteMs);
}
