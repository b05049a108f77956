// @ts-check
// Home: is it well, and how does one use it?

import { get } from "../lib/api.js";
import { fill, h, icon } from "../lib/dom.js";
import { ago, axisMoney, count, duration, full, minute, money, moneyExact, moment, weekday, zone, zoneName } from "../lib/format.js";
import { windows } from "../lib/limits.js";
import { bars } from "../lib/plot.js";
import { keysMade, loginMethods } from "../lib/state.js";
import { bar, card, failed, loading, note, status, table, url } from "../lib/ui.js";
import { hands, ofBudgets, ofHealth, ofMember, ofSettings } from "./home/hands.js";
import { hour, params } from "./home/hour.js";
import { clients } from "./snippets.js";

export const title = "Home";

/** @param {any} page */
export async function show(page) {
  const { user } = page.me, methods = await loginMethods();
  page.head({
    line: `${weekday(Date.now())}, ${minute(Date.now())} (${zoneName()})`,
    actions: [h("a", { class: "btn", href: "/playground" }, icon("play"), "Open playground"), h("a", { class: "btn first", href: "/keys?new=1" }, icon("plus"), "Create key")],
  });
  const last = h("div"), calls = h("div"), spend = h("div"), providers = h("div"), health = h("span"), todo = hands();
  todo.show("settings", ofSettings(methods));
  fill(page.root, todo.el, h("div", { class: "stack" }, last,
    h("div", { class: "two" },
      h("div", { class: "stack" }, connect(page.signal), calls),
      h("div", { class: "stack" }, spend, providers, about(methods)))));
  const part = async (place, label, load) => {
    if (!place.childElementCount) fill(place, card({ title: label, pad: true }, loading()));
    try {
      fill(place, await load());
    } catch (error) {
      if (!page.signal.aborted) fill(place, card({ title: label, pad: true }, failed(error, () => part(place, label, load), label)));
    }
  };
  const loadCalls = () => part(calls, "Latest calls", () => latest(page));
  const loadHealth = () => part(providers, "Providers", () => healthOf(page, health, todo));
  const loadHour = () => part(last, "Last hour", async () => hour(await get(usageOf(user), params(), { signal: page.signal }), health));
  const loadBudgets = async () => {
    const { data } = await get(user.admin ? "/admin/budgets" : "/auth/keys", null, { signal: page.signal });
    todo.show("budgets", user.admin ? ofBudgets(data) : ofMember(user, data));
  };
  const load = () => Promise.all([loadHour(), loadCalls(), loadHealth(), loadBudgets().catch(() => {})]); // without budgets the rest is whole
  await Promise.all([load(), part(spend, "Spend", () => spending(page, user, methods.simulated))]);
  page.every(30_000, load);
  page.every(3_000, async () => {
    if (!calls.querySelector(".steps")) return;
    const first = await get(user.admin ? "/admin/calls" : "/v1/calls", { limit: 1 }, { signal: page.signal }).catch(() => null);
    if (first?.data.length) loadCalls(); // the first call is seen at once
  });
}

const usageOf = (user) => (user.admin ? "/admin/usage" : "/v1/usage");

function connect(signal) {
  const base = location.origin, key = keysMade()[0];
  return card({ title: "Connect a client" },
    h("div", { class: "pad stack" },
      h("div", { class: "gridk" },
        h("div", { class: "field" }, h("span", { class: "lab" }, "Base URL"), url(base + "/v1", { label: "Copy the base URL" })),
        h("div", { class: "field" }, h("span", { class: "lab" }, "Key"), key
          ? h("div", { class: "url" }, h("code", null, key.name), h("span", { class: "soft xs" }, "made in this tab"))
          : h("div", { class: "url" }, h("span", null, "Shown once"), h("a", { class: "btn bare", href: "/keys?new=1" }, "Create key"))))),
    clients({ key: key?.secret, signal }));
}

/** The latest calls, or the first steps where there are none. */
async function latest(page) {
  const { user } = page.me, path = user.admin ? "/admin/calls" : "/v1/calls";
  const { data } = await get(path, { limit: 8 }, { signal: page.signal });
  if (data.length === 0) return steps(user);
  return card({ title: "Latest calls", actions: h("a", { href: "/calls" }, "All calls") }, table({
    label: "Latest calls", rows: data, class: "rt calls", onrow: (c) => page.go("/calls?call=" + c.id),
    columns: [
      { key: "time", title: "Time", class: "nw c-time", cell: (c) => h("a", { href: "/calls?call=" + c.id, title: full(c.began_at_ms) }, moment(c.began_at_ms)) },
      { key: "model", title: "Model", head: true, class: "clip c-model", cell: (c) => h("span", { class: "name elide", title: c.model }, c.served_model || c.model) },
      { key: "outcome", title: "Outcome", class: "c-out", cell: (c) => c.outcome === "ok" ? status("good", "OK") : status(c.outcome === "client_gone" ? "off" : "bad", c.outcome === "client_gone" ? "Client left" : c.error_code || c.outcome.replaceAll("_", " ")) },
      { key: "key", title: "Key", class: "clip c-key", cell: (c) => h("span", { class: "elide", title: c.key_name }, c.key_name || "–") },
      { key: "tokens", title: "Tokens", class: "num c-w", cell: (c) => count(c.input_tokens) + " → " + count(c.output_tokens) },
      { key: "time2", title: "Duration", class: "num c-w", cell: (c) => duration(c.duration_ms) },
      { key: "cost", title: "Cost", class: "num c-cost", cell: (c) => (c.priced ? moneyExact(c.cost_usd) : "–") },
    ],
  }));
}

function steps(user) {
  const step = (done, text, href, act) => h("li", { class: "st-row" }, h("span", { class: done ? "good" : "soft", role: "img", "aria-label": done ? "Done" : "To do" }, icon(done ? "check" : "right")), h("p", null, text, " ", h("a", { href }, act)));
  return card({ title: "First steps", pad: true }, h("ol", { class: "stack steps" },
    step(user.keys > 0 || keysMade().length > 0, "Make a key for the application that calls.", "/keys?new=1", "Create key"),
    step(false, "Make a call with a snippet above, or try two models side by side.", "/playground", "Open playground"),
    step(false, "See it here, in Calls and in Usage.", "/calls", "Calls")));
}

async function spending(page, user, simulated) {
  const now = new Date(), from = new Date(now.getFullYear(), now.getMonth(), 1);
  const usage = await get(usageOf(user), { from: from.toISOString(), to: now.toISOString(), step: "1d", time_zone: zone }, { signal: page.signal });
  const budget = user.admin ? await get("/admin/budget", null, { signal: page.signal }).catch(() => null) : user.budget;
  const limit = user.admin ? budget?.limit_usd ?? null : user.budget_usd ?? null;
  const spent = limit !== null ? budget.spent_usd : usage.total.cost_usd;
  const times = usage.series.times.map((t) => t * 1000), values = times.map((_, i) => usage.series.groups.reduce((sum, g) => sum + g.cost_usd[i], 0));
  return card({ title: user.admin ? "Spend this month, everyone" : "Your spend this month", actions: h("a", { href: "/usage" }, "Usage") }, h("div", { class: "pad stack" },
    h("div", { class: "big" }, h("b", null, money(usage.total.cost_usd)), " ", h("span", { class: "soft" }, count(usage.total.calls) + (usage.total.calls === 1 ? " call" : " calls"))),
    simulated ? h("p", { class: "soft xs" }, "Answers are made up: this is what such calls would cost.") : null,
    limit !== null ? bar(spent, limit, { label: user.admin ? "the gateway" : "your account", window: windows[user.admin ? budget.window : user.budget_window], foot: forecast(budget, limit) }) : null,
    bars({ times, end: now.getTime(), series: [{ name: "Spend", values, colour: 1 }], label: "Spend by day this month", axis: axisMoney, format: money, height: 132, left: 40, partial: true, nothing: "Nothing spent yet" }).el));
}

/** What will be spent when the window ends, if it goes on so. */
function forecast(budget, limit) {
  if (!budget?.began_at || !budget.resets_at) return null;
  const part = (Date.now() / 1000 - budget.began_at) / (budget.resets_at - budget.began_at);
  if (part < 0.03) return null;
  const will = budget.spent_usd / part;
  return h("span", { class: will > limit ? "warn" : null }, `At this pace ${money(will)} by ${weekday(budget.resets_at * 1000)}`);
}

async function healthOf(page, place, todo) {
  const report = await get("/health", null, { signal: page.signal, anonymous: true }).catch((error) => {
    if (error.status === 503) return null;
    throw error;
  });
  todo.show("health", ofHealth(report, page.me.user.admin));
  fill(place, !report ? status("bad", "Nobody can be served now") : report.status === "healthy" ? status("good", "Running") : status(report.status === "degraded" ? "warn" : "bad", report.status === "degraded" ? "Degraded" : "Unhealthy"));
  const words = { healthy: ["good", "Healthy"], degraded: ["warn", "Degraded"], unhealthy: ["bad", "Unhealthy"] };
  const line = (name, state) => [h("dt", null, name), h("dd", null, status(.../** @type {[any, string]} */ (words[state] ?? ["off", state])))];
  return card({ title: "Providers", actions: page.me.user.admin ? h("a", { href: "/providers" }, "Details") : null, pad: true }, report
    ? h("div", { class: "stack" }, h("dl", { class: "facts wide" }, Object.entries(report.providers).map(([name, state]) => line(name, state)), line("Database", report.database), line("Cache", report.cache)),
      h("p", { class: "soft xs" }, "Started " + ago(Date.now() - report.uptime * 1000).replace("now", "a moment ago")))
    : note("bad", "Nobody can be served: the database does not answer, or no provider works."));
}

function about(methods) {
  return card({ title: "This gateway", pad: true }, h("div", { class: "stack" },
    h("p", { class: "soft" }, "Version " + methods.version),
    h("div", { class: "links" }, h("a", { href: "/docs" }, "API docs"), h("a", { href: "/openapi.yaml" }, "OpenAPI"), h("a", { href: "/health" }, "Health"), h("a", { href: "/models" }, "Models"))));
}
