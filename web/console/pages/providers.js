// @ts-check
// The state of the providers, from live traffic. It is asked for again while the tab is visible.

import { get } from "../lib/api.js";
import { fill, h } from "../lib/dom.js";
import { ago, axisCount, day, duration, full, minute, share, whole } from "../lib/format.js";
import { strip } from "../lib/plot.js";
import { rowLink } from "../lib/rows.js";
import { button, card, empty, failed, loading, note, status, table, tag } from "../lib/ui.js";
import { plural } from "./people/lists.js";
import { addProvider } from "./providers/add.js";

export const title = "Providers";
export const admin = true;

const pause = 3000; // ms between two requests

/** @param {any} page */
export async function show(page) {
  const { signal } = page, parts = { notes: h("div", { class: "stack" }), cards: h("div", { class: "grid3 mt" }), off: h("div", { class: "mt" }), foot: h("div", { class: "grid2 mt" }) };
  const plots = new Map();
  let live = true, asking = false, seen = "";
  const toggle = button(h("span", { class: "label" }, "Live"), () => {
    live = !live;
    toggle.setAttribute("aria-pressed", String(live));
    fill(/** @type {Element} */ (toggle.querySelector(".label")), live ? "Live" : "Paused");
    if (live) load();
  }, { class: "live", pressed: true });
  page.head({ line: "From live traffic of the last hour. No test calls are made.", actions: [toggle, button("Add a provider", () => addProvider(), { icon: "plus" })] });
  fill(page.root, loading("plot"));

  async function load() {
    if (asking) return;
    asking = true;
    try {
      const report = await get("/admin/providers", null, { signal });
      const text = JSON.stringify(report);
      if (!parts.cards.isConnected) fill(page.root, parts.notes, parts.cards, parts.off, parts.foot);
      if (text !== seen) draw(report);
      seen = text;
    } catch (error) {
      if (signal.aborted) return;
      if (!parts.cards.isConnected) fill(page.root, h("section", { class: "card" }, failed(error, load, "The providers")));
      else if (error.status) fill(parts.notes, note("bad", h("b", null, "The state could not be loaded. "), error.message));
      seen = "";
    } finally {
      asking = false;
    }
  }

  function draw(report) {
    const used = report.data.filter((p) => p.configured), unused = report.data.filter((p) => !p.configured);
    fill(parts.notes, problems(used, report));
    fill(parts.cards, used.map((p) => provider(p, plots)));
    if (!used.length) fill(parts.cards, h("section", { class: "card" }, empty({ title: "No provider is configured.", text: "Set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or another key, and start the gateway again." })));
    fill(parts.off, unused.length ? h("p", { class: "soft xs" }, "Without a key: ", unused.map((p, i) => [i ? ", " : null, p.name, p.setting ? [" (", h("code", null, p.setting), ")"] : null]), ".") : null);
    fill(parts.foot, happened(report), fallbacks(report));
    left();
  }

  /** What counts down goes on between two answers. */
  function left() {
    for (const el of /** @type {NodeListOf<HTMLElement>} */ (page.root.querySelectorAll("[data-until]"))) {
      const seconds = Math.max(0, Math.round(Number(el.dataset.until) - Date.now() / 1000));
      el.textContent = seconds ? `, ${duration(seconds * 1000).replace(/\.\d+ s$/, " s")} left` : "";
    }
  }

  await load();
  page.every(pause, () => live && load());
  page.every(1000, left);
}

const states = { healthy: ["good", "Healthy"], degraded: ["warn", "Degraded"], unhealthy: ["bad", "Unhealthy"] };
const ending = (key) => (key.key ? "…" + key.key : "no key");
const left = (until) => h("span", { dataset: { until } });

/** What is wrong now, each with what to do. */
export function problems(used, report) {
  const notes = [];
  const moved = (name) => {
    const calls = report.fallbacks.filter((f) => f.provider === undefined || f.provider === name).reduce((sum, f) => sum + f.calls, 0);
    return calls ? ` Fallbacks have taken ${plural(calls, "call")} since ${minute(report.since * 1000)}.` : "";
  };
  for (const p of used) {
    if (p.circuit === "open") notes.push(note("bad", h("b", null, p.name + ": no calls are sent."), " Too many failed. A trial call is next", left(p.circuit_until), ".", moved(p.name)));
    else if (p.circuit === "half_open") notes.push(note("warn", h("b", null, p.name + ": a trial call is under way."), " All others wait for its result.", moved(p.name)));
    const refused = p.keys.filter((k) => k.state === "refused"), resting = p.keys.filter((k) => k.state === "cooling_down" && !k.models);
    for (const k of refused) {
      notes.push(note("bad", h("b", null, `The ${p.name} key ${ending(k)} is refused.`), ` ${sentenceOf(k.reason)} `, p.setting ? ["Replace it in ", h("code", null, p.setting), "."] : "Replace it in the models file."));
    }
    if (resting.length && resting.length === p.keys.length) notes.push(note("warn", h("b", null, `All keys of ${p.name} are cooling down.`), ` ${sentenceOf(resting[0].reason)} Calls go to fallbacks, or are refused.`));
    else if (p.circuit === "closed" && p.status !== "healthy" && !refused.length) notes.push(note("warn", h("b", null, `${p.name} is ${p.status}.`), ` ${share(errorsOf(p))} of the calls of the last hour failed.`));
  }
  return notes;
}

const sentenceOf = (text) => (text ? text[0].toUpperCase() + text.slice(1) + "." : "");
const errorsOf = (p) => (p.last_hour.calls ? p.last_hour.failed / p.last_hour.calls : 0);

export function provider(p, plots, name = rowLink("provider", p.name, p.name)) {
  const [kind, word] = states[p.status] ?? ["", p.status], hour = p.last_hour, none = !hour.calls;
  const stat = (name, value, state) => h("div", null, h("dt", null, name), h("dd", { class: state ?? null }, value));
  const ttft = h("abbr", { title: "Time to first token" }, "TTFT");
  return card({
    title: name, line: [plural(p.models, "model"), p.simulated ? ", simulated" : null, p.type === p.name ? null : `, ${p.type}`], class: "provider", actions: tag(/** @type {any} */ (kind), word),
  },
  h("dl", { class: "stat" },
    stat("Errors", none ? "–" : share(errorsOf(p)), errorsOf(p) > 0.02 ? "bad" : null),
    stat([ttft, " p50"], duration(hour.first_token_ms.p50)), stat("TTFT p95", duration(hour.first_token_ms.p95)), stat("Calls", whole(hour.calls))),
  h("div", { class: "pad" }, minutes(p, plots)),
  h("ul", { class: "rows" }, p.keys.map((k) => key(k, p.simulated))));
}

/** The plot of a provider is kept, so that a tooltip stays while new numbers come. */
function minutes(p, plots) {
  const { times, calls, failed: bad } = p.last_hour.by_minute, step = 60e3;
  const options = {
    label: `${p.name}: answered and failed calls by minute, last hour`, times: times.map((t) => t * 1000), end: times.at(-1) * 1000 + step, height: 112, partial: true,
    nothing: "No calls in the last hour", axis: axisCount, format: whole,
    series: [{ name: "Answered", class: "fok", values: calls.map((n, i) => n - bad[i]) }, { name: "Failed", class: "fbad", values: bad }],
  };
  const plot = plots.get(p.name);
  if (plot) plot.update(options);
  else plots.set(p.name, strip(options));
  return plots.get(p.name).el;
}

function key(k, simulated) {
  const models = k.models ? ` for ${k.models.join(", ")}` : "";
  const state = k.state === "refused" ? status("bad", "Refused")
    : k.state === "cooling_down" ? h("span", { class: "st warn" }, h("span", { title: k.reason ?? "" }, "Cooling down" + models, left(k.until)))
      : k.circuit === "open" ? h("span", { class: "st warn" }, h("span", null, k.circuit_for === "one_caller" ? "Closed for one caller" : "Circuit open"))
        : status("good", "In use");
  return h("li", null, h("code", { class: "soft" }, simulated ? "simulated" : ending(k)), h("span", { class: "grow" }, state),
    h("span", { class: "soft xs nw", title: k.reason ?? null }, k.state === "in_use" || !k.reason ? plural(k.last_hour_calls, "call") + (k.in_flight ? `, ${k.in_flight} now` : "") : /\((\d+)\)/.exec(k.reason)?.[1] ?? k.reason));
}

const events = {
  circuit_opened: ["bad", () => "circuit open"], circuit_closed: ["good", () => "circuit closed"],
  key_cooling_down: ["warn", (k) => `key ${k} is cooling down`], key_refused: ["bad", (k) => `key ${k} is refused`], key_restored: ["good", (k) => `key ${k} is in use again`],
};

export function happened({ data, since }) {
  const recent = data.flatMap((p) => p.recent.map((e) => ({ ...e, provider: p.name }))).sort((a, b) => b.at - a.at).slice(0, 50);
  const today = day(Date.now());
  return card({ title: "What happened", line: `Circuits and keys, since ${day(since * 1000) === today ? minute(since * 1000) : day(since * 1000)}` }, recent.length
    ? h("ol", { class: "trail wide" }, recent.map((e) => {
      const [kind, say] = events[e.event] ?? ["off", () => e.event], at = e.at * 1000;
      const text = `${e.provider}: ${say(ending(e))}${e.model ? " for " + e.model : ""}. ${sentenceOf(e.detail)}${e.times > 1 ? ` ${whole(e.times)} times since ${minute(e.since * 1000)}.` : ""}`;
      return h("li", null, h("time", { title: full(at), datetime: new Date(at).toISOString() }, day(at) === today ? minute(at) : day(at)), h("span", { class: ["st", kind] }, h("span", { class: "wrap" }, text)));
    }))
    : empty({ text: "No circuit has opened and no key has been refused." }));
}

function fallbacks(report) {
  const of = new Map();
  for (const f of report.fallbacks) of.set(f.from, [...(of.get(f.from) ?? []), f]);
  const rows = [...of].map(([from, to]) => ({ from, to, calls: to.reduce((sum, f) => sum + f.calls, 0) }));
  const columns = [
    { key: "from", title: "Asked", cell: (r) => h("span", { class: "name elide" }, r.from) },
    { key: "to", title: "Then", cell: (r) => r.to.map((f, i) => [i ? ", " : null, f.to, r.to.length > 1 && f.calls ? h("span", { class: "soft" }, ` (${whole(f.calls)})`) : null]) },
    { key: "calls", title: "Used", class: "num", cell: (r) => h("span", { title: `Since ${full(report.since * 1000)}, ${ago(report.since * 1000)}` }, whole(r.calls)) },
  ];
  return card({ title: "Where calls go when a model fails", line: ["Set by ", h("code", null, "FALLBACKS"), "; counted since ", minute(report.since * 1000), " on this replica"] }, table({
    label: "Fallbacks", columns, rows, empty: empty({ text: ["No fallback is set. With FALLBACKS another model answers when one fails, such as ", h("code", null, "gpt-6-sol=claude-opus-5"), "."] }),
  }));
}
