// @ts-check
// Which values and times an axis names, and how a step of time is written.

import { day, minute, month, weekday } from "../format.js";

const minuteMs = 60e3, hourMs = 60 * minuteMs, dayMs = 24 * hourMs;
// A day may be an hour shorter or longer, where clocks are changed.
const almostDay = dayMs - 2 * hourMs, almostWeek = 6 * dayMs, almostMonth = 27 * dayMs;

/**
 * Round values from 0 to at least max, about as many as steps.
 * @param {number} max above 0
 * @param {number} steps
 * @param {boolean} [wholes] the values are whole numbers
 */
export function rounded(max, steps, wholes = false) {
  const raw = max / steps, power = 10 ** Math.floor(Math.log10(raw)), first = raw / power;
  let step = (first <= 1 ? 1 : first <= 2 ? 2 : first <= 2.5 ? 2.5 : first <= 5 ? 5 : 10) * power;
  if (wholes) step = Math.max(1, step === 2.5 ? 5 : step);
  const count = Math.ceil(max / step - 1e-9);
  // Products such as 3 × 0.1 would be written with all their digits.
  return Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}

/** The length of a step in ms: of the first one that is whole. @param {number[]} times @param {number} end */
export const lengthOf = (times, end) => (times.length > 1 ? times[1] - times[0] : end - (times[0] ?? end));

/**
 * The times that an axis names: [index, text], at round times of the browser's zone.
 * @param {number[]} times the beginnings of the steps, ms
 * @param {number} end
 * @param {number} width px
 * @returns {[number, string][]}
 */
export function timesNamed(times, end, width) {
  const step = lengthOf(times, end), fit = Math.max(2, Math.floor(width / 76));
  if (step >= almostWeek) return changes(times, month, fit);
  if (step >= almostDay) return lastOf(times, day, fit);
  if (end - times[0] > 2.5 * dayMs) return changes(times, day, fit);
  const gaps = [5, 10, 15, 30, 60, 120, 180, 240, 360, 720].map((minutes) => minutes * minuteMs);
  const gap = gaps.find((g) => (end - times[0]) / g <= fit) ?? dayMs;
  const named = times.map((at, i) => /** @type {[number, number]} */ ([i, at])).filter(([, at]) => sinceMidnight(at) % gap === 0);
  return named.map(([i, at]) => [i, sinceMidnight(at) === 0 ? day(at) : minute(at)]);
}

function sinceMidnight(at) {
  const time = new Date(at);
  return time.getHours() * hourMs + time.getMinutes() * minuteMs;
}

// Where the text changes: the first step of each day, or of each month.
function changes(times, text, fit) {
  const named = [];
  times.forEach((at, i) => {
    if (i > 0 && text(at) !== text(times[i - 1])) named.push([i, text(at)]);
  });
  return named.filter((_, i) => i % Math.ceil(named.length / fit) === 0);
}

// The last step, and those before it in equal distances.
function lastOf(times, text, fit) {
  const named = [], every = Math.ceil(times.length / fit);
  for (let i = times.length - 1; i >= 0; i -= every) named.unshift([i, text(times[i])]);
  return named;
}

/** A step in words. @param {number} from ms @param {number} to ms */
export function spanOf(from, to) {
  const length = to - from;
  if (length >= almostMonth) return month(from) + " " + new Date(from).getFullYear();
  if (length >= almostWeek) return "Week of " + day(from);
  if (length >= almostDay) return weekday(from);
  return weekday(from) + ", " + minute(from) + "–" + minute(to);
}

/** Two moments in words, as short as they can be told. @param {number} from ms @param {number} to ms, excluded */
export function between(from, to) {
  const midnights = sinceMidnight(from) === 0 && sinceMidnight(to) === 0;
  if (midnights) return weekday(from) === weekday(to - 1) ? weekday(from) : weekday(from) + " – " + weekday(to - 1);
  return weekday(from) === weekday(to - 1)
    ? weekday(from) + ", " + minute(from) + " – " + minute(to)
    : weekday(from) + ", " + minute(from) + " – " + weekday(to) + ", " + minute(to);
}
