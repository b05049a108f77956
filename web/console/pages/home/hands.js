// @ts-check
// What needs a hand: a line each. This browser remembers which were dismissed.

import { fill, h, icon } from "../../lib/dom.js";
import { amount, share, until, weekday } from "../../lib/format.js";
import { windows } from "../../lib/limits.js";
import { remember, remembered } from "../../lib/state.js";
import { button } from "../../lib/ui.js";

/** @typedef {{ id: string, kind: "bad" | "warn", text: any, stays?: boolean }} Hand */

const nearly = 0.8, soonMs = 7 * 86400e3, most = 5;
const pages = { key: "/keys", team: "/teams", user: "/users" };

/** The lines of how the gateway is set. @param {any} methods @returns {Hand[]} */
export const ofSettings = (methods) => [
  methods.open ? { id: "open", kind: "bad", stays: true, text: "Anyone who reaches this address can use it: calls need no key. Set REQUIRE_AUTH=true to change that." } : null,
  methods.simulated ? { id: "simulated", kind: "warn", text: "The providers are simulated. Set a provider’s key, such as OPENAI_API_KEY, and leave SIMULATOR out." } : null,
].filter((x) => x !== null);

/** @param {any} report of /health; null: nobody can be served @param {boolean} admin @returns {Hand[]} */
export const ofHealth = (report, admin) => Object.entries(report?.providers ?? {}).filter(([, state]) => state !== "healthy").map(([name, state]) => (
  { id: `provider ${name} ${state}`, kind: state === "unhealthy" ? "bad" : "warn", text: [h("b", null, name), ` is ${state}. `, admin ? h("a", { href: "/providers" }, "Providers") : null] }));

/** @param {any} b a budget of /admin/budgets @param {string} [whose] what stands for its name @param {boolean} [link] @returns {Hand} */
function ofBudget(b, whose = b.name, link = true) {
  const spent = b.remaining_usd <= 0, text = [h("b", null, whose), spent ? " has spent its budget of " : ` has spent ${share(b.spent_usd / b.limit_usd)} of its budget of `,
    `${amount(b.limit_usd)} ${windows[b.window]}${spent ? ": calls are refused" : ""}${b.resets_at ? (spent ? " until " : ", which resets ") + weekday(b.resets_at * 1000) : ""}. `];
  return { id: `budget ${b.kind} ${b.id} ${b.resets_at} ${spent}`, kind: spent ? "bad" : "warn", text: [text, link ? h("a", { href: `${pages[b.kind]}?q=${encodeURIComponent(b.name)}` }, "Show") : null] };
}

/** @param {any[]} budgets of /admin/budgets @returns {Hand[]} */
export const ofBudgets = (budgets) => budgets.map((b) => ofBudget(b));

/** The budgets of a user and of their keys, and keys that end soon. @param {any} user @param {any[]} keys @returns {Hand[]} */
export function ofMember(user, keys) {
  const own = [{ ...user, kind: "user", name: "Your account" }, ...keys.map((k) => ({ ...k, kind: "key" }))]
    .filter((x) => x.budget && x.budget_usd !== null && x.budget.spent_usd >= x.budget.limit_usd * nearly)
    .map((x) => ofBudget({ ...x.budget, kind: x.kind, id: x.id, name: x.name, window: x.budget_window }, x.name, x.kind === "key"));
  const ending = keys.filter((k) => k.expires_at && k.expires_at * 1000 > Date.now() && k.expires_at * 1000 < Date.now() + soonMs).map((k) => (
    /** @type {Hand} */ ({ id: `expires ${k.id} ${k.expires_at}`, kind: "warn", text: [h("b", null, k.name), ` expires ${until(k.expires_at * 1000)}. `, h("a", { href: "/keys?q=" + encodeURIComponent(k.name) }, "Show")] })));
  return [...own, ...ending];
}

/** The list; `show` takes the lines of one source, and draws those of all. */
export function hands() {
  const el = h("ul", { class: "hands", "aria-label": "Needs a hand" }), sources = new Map();
  let gone = new Set(JSON.parse(remembered("dismissed", "[]")));
  const keep = (ids) => remember("dismissed", JSON.stringify([...(gone = new Set(ids))]));
  function draw() {
    const all = /** @type {Hand[]} */ ([...sources.values()].flat().filter((x) => x.stays || !gone.has(x.id)));
    all.sort((a, b) => Number(b.kind === "bad") - Number(a.kind === "bad"));
    fill(el, all.slice(0, most).map(line), all.length > most ? h("li", { class: "soft" }, `and ${all.length - most} more`) : null);
  }
  const line = (x) => h("li", { class: x.kind }, icon("warn"), h("span", null, x.text), x.stays ? null
    : button(null, () => (keep([...gone, x.id]), draw()), { class: "bare icon", icon: "x", label: "Dismiss" }));
  return {
    el,
    /** @param {string} source @param {Hand[]} lines */
    show(source, lines) {
      // What was dismissed and is over may come again.
      const was = (sources.get(source) ?? []).map((x) => x.id), ids = lines.map((x) => x.id);
      if (was.some((id) => gone.has(id) && !ids.includes(id))) keep([...gone].filter((id) => !was.includes(id) || ids.includes(id)));
      sources.set(source, lines);
      draw();
    },
  };
}
