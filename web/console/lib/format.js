// @ts-check
// How numbers and times are written, everywhere.

/** The browser's time zone, such as Europe/Berlin. */
export const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

const digits = (least, most = least) => new Intl.NumberFormat("en-US", { minimumFractionDigits: least, maximumFractionDigits: most });
const [none, one, two, three, six] = [digits(0), digits(1), digits(2), digits(2, 3), digits(6)];
const missing = (value) => value === null || value === undefined || Number.isNaN(value);

/** A whole number: 9,876. */
export const whole = (value) => (missing(value) ? "–" : none.format(value));

/** Three digits: 950, 1.24k, 38.2M, 1.03B. */
export function count(value) {
  if (missing(value)) return "–";
  for (const [unit, name] of /** @type {[number, string][]} */ ([[1e9, "B"], [1e6, "M"], [1e3, "k"]])) {
    if (value >= unit * 0.9995) {
      const scaled = value / unit;
      return (scaled < 9.995 ? two : scaled < 99.95 ? one : none).format(scaled) + name;
    }
  }
  return (value % 1 && value < 10 ? one : none).format(value);
}

/** $1,284.10, $41.20, $0.084, $0.000412: two decimals, or three digits below ten cents. */
export function money(value) {
  if (missing(value)) return "–";
  if (value === 0) return "$0";
  if (value < 0) return "−" + money(-value);
  if (value < 1e-6) return "<$0.000001";
  if (value >= 0.09995) return "$" + two.format(value);
  return "$" + value.toFixed(Math.min(6, 2 - Math.floor(Math.log10(value))));
}

/** An amount that was set, such as a budget: $200, $0.5, $0.0035. */
export const amount = (value) => (missing(value) ? "–" : "$" + digits(0, 6).format(value));

/** What is shown of a key: its beginning, or both ends as in LiteLLM, such as sk-...abcd. @param {string} prefix */
export const shownOfKey = (prefix) => (prefix.includes("...") ? prefix : prefix + "…");

/** Money in a column of single calls: always six decimals, so that points stand below each other. */
export const moneyExact = (value) => (missing(value) ? "–" : "$" + six.format(value));

/** Labels of an axis: 1.5k, 50k. */
export const axisCount = (value) => count(value).replace(/(\.\d*?)0+(?=[kMB])/, "$1").replace(/\.(?=[kMB])/, "");

/** Labels of an axis in dollars: $20, $1.5k. */
export const axisMoney = (value) =>
  value && value < 0.01 ? "$" + digits(0, 7).format(value) : "$" + (value >= 1000 ? axisCount(value) : (!value ? none : value < 1 ? three : value % 1 ? two : none).format(value));

/** Labels of an axis of milliseconds: 500 ms, 2.5 s, 10 s. */
export const axisDuration = (ms) => (ms === 0 ? "0" : duration(ms).replace(/(\.\d*?)0+ s$/, "$1 s").replace(". s", " s"));

/** A share of 1: 0.6%, 12%, <0.1%. */
export function share(value) {
  if (missing(value)) return "–";
  if (value === 0) return "0%";
  return value < 0.001 ? "<0.1%" : (value * 100).toFixed(value < 0.0995 ? 1 : 0) + "%";
}

/** Milliseconds: 412 ms, 1.84 s, 12.4 s, 2 min 05 s. */
export function duration(ms) {
  if (missing(ms)) return "–";
  if (ms < 999.5) return Math.round(ms) + " ms";
  if (ms < 9995) return (ms / 1000).toFixed(2) + " s";
  if (ms < 59950) return (ms / 1000).toFixed(1) + " s";
  const seconds = Math.round(ms / 1000);
  return Math.floor(seconds / 60) + " min " + String(seconds % 60).padStart(2, "0") + " s";
}

/** A window of tokens: 200k, 1M. */
export const size = (value) => axisCount(value);

const date = (options) => new Intl.DateTimeFormat("en-GB", { timeZone: zone, ...options });
const formats = {
  minute: date({ hour: "2-digit", minute: "2-digit" }),
  second: date({ hour: "2-digit", minute: "2-digit", second: "2-digit" }),
  day: date({ day: "numeric", month: "short" }),
  weekday: date({ weekday: "short", day: "numeric", month: "short" }),
  month: date({ month: "short" }),
  year: date({ day: "numeric", month: "short", year: "numeric" }),
};
const asDate = (time) => (time instanceof Date ? time : new Date(time));

/** Times are given in milliseconds. 14:32. */
export const minute = (time) => formats.minute.format(asDate(time));
/** 14:32:03. */
export const second = (time) => formats.second.format(asDate(time));
/** 18 Nov, and the year where it is another. */
export const day = (time) => (asDate(time).getFullYear() === new Date().getFullYear() ? formats.day : formats.year).format(asDate(time));
/** 18 Nov 2026. */
export const dated = (time) => formats.year.format(asDate(time));
/** Thu 19 Nov. */
export const weekday = (time) => formats.weekday.format(asDate(time)).replace(",", "");
/** Nov. */
export const month = (time) => formats.month.format(asDate(time));

/** 14:32:03 of today, else 18 Nov, 14:32. */
export function moment(time, now = Date.now()) {
  if (missing(time)) return "–";
  return formats.year.format(asDate(time)) === formats.year.format(now) ? second(time) : day(time) + ", " + minute(time);
}

/** Thu 19 Nov 2026, 14:32:03 (UTC+1), for titles. */
export const full = (time) =>
  missing(time) ? "" : `${weekday(time)} ${asDate(time).getFullYear()}, ${second(time)} (${zoneName(time)})`;

/** 2 s ago, 4 h ago; the day when it is longer than a month. */
export function ago(time, now = Date.now()) {
  if (missing(time)) return "Never";
  const seconds = Math.round((now - Number(time)) / 1000);
  if (seconds < 5) return "now";
  return seconds < 86400 * 30 ? span(seconds) + " ago" : formats.year.format(asDate(time));
}

/** in 6 d; "over" for what is past. It is rounded: a link of a week that was just made ends in 7 d. */
export function until(time, now = Date.now()) {
  if (missing(time)) return "Never";
  const seconds = Math.round((Number(time) - now) / 1000);
  return seconds <= 0 ? "over" : seconds < 86400 * 365 ? "in " + span(seconds + (seconds < 60 ? 0 : seconds < 3570 ? 30 : seconds < 84600 ? 1800 : 43200)) : formats.year.format(asDate(time));
}

function span(seconds) {
  if (seconds < 60) return seconds + " s";
  if (seconds < 3600) return Math.floor(seconds / 60) + " min";
  return seconds < 86400 ? Math.floor(seconds / 3600) + " h" : Math.floor(seconds / 86400) + " d";
}

/** UTC+1 of a moment in the browser's zone. */
export function zoneName(time = Date.now()) {
  const parts = new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeZoneName: "shortOffset" }).formatToParts(asDate(time));
  const name = parts.find((part) => part.type === "timeZoneName")?.value ?? "UTC";
  return name.replace("GMT", "UTC").replace(/^UTC[+-]0$/, "UTC");
}
