// @ts-check
// Limits of keys, users and teams: as they are shown, and the fields that change them.

import { h } from "./dom.js";
import { money, size, weekday, whole } from "./format.js";
import { load } from "./models.js";
import { picker } from "./picker.js";
import { field, fieldError, numberOf, tag } from "./ui.js";

/** The words for a budget's window. */
export const windows = { day: "a day", week: "a week", month: "a month", total: "in all" };
/** @type {[string, string][]} */
const renewals = [["month", "Each month"], ["week", "Each week"], ["day", "Each day"], ["total", "Never"]];

/** The limits of a row as tags; a key without any may call all models. @param {any} of */
export function limitTags(of) {
  const models = of.models;
  const all = [
    models === null || models === undefined ? "All models" : models.length > 2 ? models.length + " models" : models.join(", ") || "No models",
    of.rpm_limit ? whole(of.rpm_limit) + " calls/min" : null,
    of.tpm_limit ? size(of.tpm_limit) + " tokens/min" : null,
    of.max_parallel_requests ? whole(of.max_parallel_requests) + " in parallel" : null,
  ];
  return h("span", { class: "tags", title: models?.join(", ") ?? null }, all.filter(Boolean).map((text) => tag("", text)));
}

/** Until when a spent budget refuses calls, or when it resets. @param {any} budget of the API @param {boolean} [spent] */
export function renewal(budget, spent) {
  if (!budget?.resets_at) return spent ? "Refused: the budget is spent" : "Never resets";
  return (spent ? "Refused until " : "Resets ") + weekday(budget.resets_at * 1000);
}

/** Whether a budget is spent. @param {any} budget */
export const isSpent = (budget) => budget && budget.remaining_usd <= 0;

/**
 * The fields of limits, with the values of a row.
 * @param {any} [of] a row of the API
 * @param {{ defaults?: any, expires?: boolean, budgetLabel?: string }} [options] defaults: limits that hold where none is named
 * @returns {HTMLElement[]}
 */
export function limitFields(of = {}, options = {}) {
  const { defaults = {} } = options, none = "No limit", list = load().then((all) => all.models, () => []); // names can be typed without it
  const placeholder = (value) => (value ? whole(value) : none);
  return [
    h("div", { class: "cols3" },
      field({ label: options.budgetLabel ?? "Budget in dollars", name: "budget_usd", inputmode: "decimal", value: of.budget_usd ?? "", placeholder: defaults.budget_usd ? money(defaults.budget_usd) : none }),
      field({ label: "Resets", name: "budget_window", type: "select", options: renewals, value: of.budget_window ?? defaults.budget_window ?? "month" }),
      field({ label: "Dollars a session", name: "session_budget_usd", inputmode: "decimal", value: of.session_budget_usd ?? "", placeholder: none })),
    field({ label: "Models", name: "models", placeholder: defaults.models?.join(", ") ?? "All models", hint: "Without any, all models. claude-* and openai/* stand for all that begin so.",
      control: (props) => picker({ props, value: of.models ?? [], many: true, models: () => list }).el }),
    options.expires === false ? null : field({ label: "Expires", name: "expires_at", type: "date", value: of.expires_at ? new Date(of.expires_at * 1000).toISOString().slice(0, 10) : "", hint: "At the end of this day (UTC). Empty: never." }),
    h("div", { class: "cols3" },
      field({ label: "Calls a minute", name: "rpm_limit", inputmode: "numeric", value: of.rpm_limit ?? "", placeholder: placeholder(defaults.rpm_limit) }),
      field({ label: "Tokens a minute", name: "tpm_limit", inputmode: "numeric", value: of.tpm_limit ?? "", placeholder: placeholder(defaults.tpm_limit) }),
      field({ label: "In parallel", name: "max_parallel_requests", inputmode: "numeric", value: of.max_parallel_requests ?? "", placeholder: placeholder(defaults.max_parallel_requests) })),
  ].filter((el) => el !== null);
}

/**
 * The limits that a form has, as the API takes them; null where a field is wrong, which it then says. What is empty is left
 * out, or null with `all`, which takes a limit away.
 * @param {HTMLFormElement} form
 * @param {{ all?: boolean }} [options]
 * @returns {Record<string, any> | null}
 */
export function readLimits(form, options = {}) {
  const out = {}, none = options.all ? null : undefined;
  let wrong = null;
  const input = (name) => /** @type {HTMLInputElement | null} */ (form.querySelector(`[name="${name}"]`));
  const refuse = (name, text) => {
    const el = input(name);
    fieldError(/** @type {Element} */ (el?.closest(".field")), text);
    wrong ??= el;
  };
  for (const name of ["budget_usd", "session_budget_usd", "rpm_limit", "tpm_limit", "max_parallel_requests"]) {
    const el = input(name);
    if (!el) continue;
    fieldError(/** @type {Element} */ (el.closest(".field")), "");
    const value = numberOf(el.value);
    if (Number.isNaN(value) || (!name.endsWith("_usd") && value !== null && !Number.isInteger(value))) {
      refuse(name, name.endsWith("_usd") ? "Write a number, such as 25 or 0.5." : "Write a whole number, such as 60.");
    } else if (value !== null || none === null) out[name] = value;
  }
  const window = input("budget_window");
  if (window) {
    if (out.budget_usd !== undefined && out.budget_usd !== null) out.budget_window = window.value;
    else if (none === null) out.budget_window = null;
  }
  const models = input("models"), names = models?.value.split(",").filter(Boolean) ?? [];
  if (models && (names.length || none === null)) out.models = names.length ? names : null;
  const expires = input("expires_at");
  if (expires && expires.value) out.expires_at = Date.parse(expires.value + "T23:59:59Z") / 1000;
  else if (expires && none === null) out.expires_at = null;
  wrong?.focus();
  return wrong ? null : out;
}
