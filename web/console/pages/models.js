// @ts-check
// The models: what one's keys may ask for, what each can do, what it costs, and what is missing for the others.

import { get } from "../lib/api.js";
import { fill, h, icon } from "../lib/dom.js";
import { sourceOf } from "../lib/filters.js";
import { count, money, share, whole } from "../lib/format.js";
import { callPrice, date, fits, load, mixOf, price, stateOf, tokens } from "../lib/models.js";
import { rowLink } from "../lib/rows.js";
import { button, card, copy, empty, failed, find, segments, select, sorted, table } from "../lib/ui.js";

export const title = "Models";
export const admin = false;

/** What a model can do, by the words of the address. @type {Record<string, [string, (m: any) => boolean | undefined]>} */
const abilities = {
  pictures: ["Pictures", (m) => m.input_modalities?.includes("image")],
  tools: ["Tools", (m) => m.tools],
  reasoning: ["Reasoning", (m) => m.reasoning],
  structured: ["Structured output", (m) => m.structured_output],
};

const costs = (m) => m.price_usd_per_million_tokens ?? {};
const can = (m) => Object.values(abilities).filter(([, has]) => has(m)).map(([name]) => name.toLowerCase()).join(", ");

/** The filters, by their names in the address, and whether a model passes each. @type {Record<string, (m: any, value: string) => any>} */
const filters = {
  q: fits,
  provider: (m, value) => m.owned_by === value,
  kind: (m, value) => m.kind === value,
  can: (m, value) => value.split(",").every((name) => abilities[name]?.[1](m)),
  window: (m, value) => m.context_window >= Number(value),
  price: (m, value) => costs(m).input <= Number(value),
};

/** @param {any} page */
export async function show(page) {
  const source = sourceOf(page.me, new URLSearchParams());
  // The sums of the last 30 days; without them the page has all but the columns of one's own calls.
  const asked = get(source.usage, { group_by: "model" }, { signal: page.signal }).catch(() => null);
  let list;
  try {
    list = await load({ all: true, signal: page.signal });
  } catch (error) {
    if (!page.signal.aborted) fill(page.root, failed(error, () => show(page), "The list of models"));
    return;
  }
  const usage = (await asked)?.data ?? [];
  if (page.signal.aborted) return;
  const vectors = new Set(list.models.filter((m) => m.kind === "embedding").map((m) => m.id));
  draw(page, list, { rows: usage, everyone: source.everyone, mix: mixOf(usage.filter((row) => !vectors.has(row.model))) });
}

function draw(page, { models, pricesDate }, usage) {
  /** @type {Record<string, string>} */
  const state = Object.fromEntries([...Object.keys(filters), "show", "sort"].map((name) => [name, page.query.get(name) ?? ""]));
  const found = h("p", { class: "soft xs", role: "status" }), body = h("div"), clear = button("Clear filters", () => page.go("/models"), { class: "link" });
  const columns = columnsOf(usage);
  page.head({ line: `What your keys may ask for. Prices in dollars per million tokens${pricesDate ? `, as of ${date(pricesDate)}` : ""}.`, actions: [] });
  const set = (change) => {
    Object.assign(state, change);
    page.setQuery(change);
    fillIn();
  };
  const fillIn = () => {
    const wanted = Object.keys(filters).filter((name) => state[name]), fitting = models.filter((m) => wanted.every((name) => filters[name](m, state[name])));
    const rows = fitting.filter((m) => state.show === "all" || m.available), sort = { key: state.sort.replace("-", ""), down: state.sort.startsWith("-") };
    found.textContent = rows.length === 1 ? "1 model" : rows.length + " models";
    clear.hidden = !wanted.length;
    fill(body, card({ label: "Models" }, table({
      columns, rows: sorted(rows, columns, sort), label: "Models", class: "rt models", sort, key: (m) => m.id, foot: foot(usage),
      empty: nothing(page, state, fitting.length, models.some((m) => m.available), set),
      onsort: (key) => set({ sort: state.sort === key ? "-" + key : key }),
    })));
  };
  /** @type {(label: string, name: string, options: [string, string][]) => any} */
  const choice = (label, name, options) => select({ label, value: state[name], options, onchange: (value) => set({ [name]: value }) });
  const owners = [...new Set(models.map((m) => m.owned_by))].map((name) => /** @type {[string, string]} */ ([name, name]));
  const toggles = Object.entries(abilities).map(([id, [name]]) => h("button", {
    type: "button", "aria-pressed": String(state.can.split(",").includes(id)), onclick: (event) => {
      const has = state.can.split(",").filter((other) => other && other !== id), on = event.currentTarget.getAttribute("aria-pressed") !== "true";
      event.currentTarget.setAttribute("aria-pressed", String(on));
      set({ can: [...has, ...(on ? [id] : [])].join(",") });
    },
  }, name));
  fill(page.root,
    h("div", { class: "filters" },
      find({ label: "Find a model", placeholder: "Name, alias or provider", value: state.q, oninput: (q) => set({ q }) }),
      segments({ label: "Show", value: state.show || "usable", options: [["usable", "Usable"], ["all", "All"]], onchange: (value) => set({ show: value === "all" ? "all" : "" }) }),
      choice("Provider", "provider", [["", "All providers"], ...owners]),
      models.some((m) => m.kind === "embedding") ? choice("Kind", "kind", [["", "All kinds"], ["chat", "Chat"], ["embedding", "Embeddings"]]) : null,
      h("div", { class: "seg", role: "group", "aria-label": "Must have" }, toggles),
      choice("Context window", "window", [["", "Any window"], ["32000", "32k or more"], ["128000", "128k or more"], ["200000", "200k or more"], ["1000000", "1M or more"]]),
      choice("Price of input", "price", [["", "Any price"], ["0.25", "Input up to $0.25"], ["1", "Input up to $1"], ["3", "Input up to $3"], ["10", "Input up to $10"]]),
      clear, h("span", { class: "grow" }, found)),
    body);
  fillIn();
}

function nothing(page, state, hidden, usable, set) {
  const all = button("Show all", () => (page.setQuery({ show: "all" }), show(page)));
  if (!usable && !state.q) {
    return empty({
      text: "No model can be used: no provider has a key. Set one, such as OPENAI_API_KEY, and start the gateway again.",
      action: page.me.user?.admin ? h("a", { class: "btn", href: "/settings" }, "See the settings") : all,
    });
  }
  const what = state.q ? `No model matches “${state.q}”` : "No model has all that";
  return empty({
    text: `${what}.${hidden ? ` ${hidden} that cannot be used now ${hidden > 1 ? "do" : "does"}.` : ""}`,
    action: hidden ? all : state.q ? button("Clear search", () => (page.setQuery({ q: null }), show(page))) : button("Clear filters", () => page.go("/models")),
  });
}

/** What a call of the column "A call" takes. */
function foot({ rows, mix, everyone }) {
  const calls = (everyone ? "" : "your ") + (mix.calls === 1 ? "1 call" : whole(mix.calls) + " calls");
  return h("span", null, `A call: ${count(mix.input)} input tokens, ${share(mix.cached / mix.input || 0)} of them cached, and ${count(mix.output)} output tokens, `,
    mix.calls ? `the average of ${calls} in the last 30 days.` : "since there was no call in the last 30 days.",
    rows.length ? ` Keys: how many${everyone ? "" : " of yours"} called the model in these days.` : "");
}

/** @returns {import("../lib/ui.js").Column[]} */
function columnsOf({ rows, mix, everyone }) {
  // A model may have answered at several providers, and by its name without the day. The keys may be the same, so that they are not added up.
  const keys = (m) => rows.filter((row) => [m.id, m.id.replace(/-20\d{6}$/, "")].includes(row.model)).reduce((n, row) => Math.max(n, row.keys), 0);
  const help = (text, title) => h("span", { title }, text);
  const embeds = (m) => m.kind === "embedding";
  return [
    { key: "name", title: "Model", head: true, class: "m-name", sort: (m) => m.id, cell: (m) => [rowLink("model", m.id, m.id, "mono"), below(m)] },
    { key: "ends", title: help("State", "Sorted by the day on which a model ends"), class: "m-state", sort: (m) => m.shutdown_date, cell: stateCell },
    { key: "provider", title: "Provider", class: "c-w soft", sort: (m) => m.owned_by, cell: (m) => m.owned_by },
    { key: "released", title: "Released", class: "c-m nw", sort: (m) => m.release_date, cell: (m) => (m.release_date ? date(m.release_date) : "–") },
    { key: "window", title: "Context", class: "num c-l", sort: (m) => m.context_window, cell: (m) => h("span", { title: m.context_window ? whole(m.context_window) + " tokens" : "" }, tokens(m.context_window)) },
    { key: "input", title: "Input", class: "num c-s", sort: (m) => costs(m).input, cell: (m) => [price(costs(m).input), more(costs(m), "input")] },
    { key: "cached", title: "Cached", class: "num c-w", sort: (m) => costs(m).cache_read, cell: (m) => price(costs(m).cache_read) },
    { key: "output", title: "Output", class: "num c-s", sort: (m) => (embeds(m) ? null : costs(m).output), cell: (m) => (embeds(m) ? "–" : [price(costs(m).output), more(costs(m), "output")]) },
    { key: "call", title: help("A call", "What a call of the size below the table costs: the average of the last 30 days"), class: "num c-s", sort: (m) => callPrice(m, mix), cell: (m) => money(callPrice(m, mix)) },
    { key: "keys", title: help("Keys", `Keys${everyone ? "" : " of yours"} with calls of the model in the last 30 days`), class: "num c-l", sort: keys, cell: (m) => {
      const n = keys(m), what = n === 1 ? "1 key" : n + " keys";
      return n ? h("a", { href: "/usage?range=30d&by=key&model=" + encodeURIComponent(m.id), title: `Used by ${what} in the last 30 days` }, String(n)) : "–";
    } },
    { key: "prices", title: "Prices", class: "m-price soft xs", cell: (m) => (costs(m).input === undefined ? "no price" : `$${price(costs(m).input)}${embeds(m) ? "" : ` / $${price(costs(m).output)}`}`) },
    { key: "act", title: "", label: "Actions", class: "num m-act", cell: (m) => h("span", { class: "st-row" },
      m.available && !embeds(m) ? h("a", { class: "btn bare icon", href: "/playground?model=" + encodeURIComponent(m.id), "aria-label": `Try ${m.id} in the playground`, title: "Try in the playground" }, icon("play")) : null,
      copy(m.id, { bare: true, label: "Copy " + m.id })) },
  ];
}

function stateCell(m) {
  const s = stateOf(m);
  return [h("span", { class: "st " + s.kind }, h("span", null, s.text)), s.sub ? h("span", { class: "sub" }, s.sub) : null];
}

/** What stands below the name: what the model can do, other names, and a price that is to come. */
function below(m) {
  const parts = [can(m)].filter(Boolean);
  if (m.aliases?.length)
    parts.push("also " + m.aliases.slice(0, 2).join(", ") + (m.aliases.length > 2 ? ` and ${m.aliases.length - 2} more` : ""));
  if (m.kind === "embedding") parts.push("embeddings" + (m.dimensions?.default ? `, ${m.dimensions.default} dimensions` : ""));
  if (m.next_price)
    parts.push(`from ${date(m.next_price.from)}: $${price(m.next_price.price.input)} in, $${price(m.next_price.price.output)} out`);
  const fees = costs(m).fees ?? {};
  for (const unit of ["request", "image", "second", "character"])
    if (fees[unit]) parts.push(`$${price(fees[unit])} for each ${unit}`);
  if (costs(m).of) parts.push("priced as " + costs(m).of);
  return parts.length ? h("span", { class: "sub", title: m.aliases?.join(", ") }, parts.join(" · ")) : null;
}

/** A longer prompt costs more. */
function more(p, name) {
  return p.above
    ? h("span", { class: "sub c-w", title: `Over ${whole(p.over_input_tokens)} tokens of input` }, `${price(p.above[name])} over ${tokens(p.over_input_tokens)}`)
    : null;
}
