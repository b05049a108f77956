// @ts-check
// One provider: its state and keys, its models and what was spent there. For administrators.

import { get } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { sourceOf } from "../../lib/filters.js";
import { load as loadModels, price, stateOf, tokens } from "../../lib/models.js";
import { idOf, rowLink } from "../../lib/rows.js";
import { empty, table, card, status, tag } from "../../lib/ui.js";
import { happened, problems, provider } from "../providers.js";
import { showThing } from "./thing.js";

const pause = 3000; // ms between two requests

/** @param {any} page */
export async function show(page) {
  const id = idOf(page.url), { signal } = page, now = h("div"), notes = h("div", { class: "stack" }), events = h("div"), plots = new Map();

  async function state() {
    const report = await get("/admin/providers", null, { signal }), p = report.data.find((one) => one.name === id);
    if (!p) throw Object.assign(new Error(), { status: 404 });
    const text = JSON.stringify(p);
    if (text === now.dataset.seen) return p;
    now.dataset.seen = text;
    fill(notes, p.configured ? problems([p], { ...report, fallbacks: [] }) : null);
    fill(now, p.configured ? provider(p, plots, h("span", null, "Last hour")) : card({ title: "No key", pad: true }, h("p", null, "Set ", p.setting ? h("code", null, p.setting) : "its key", ", and start the gateway again.")));
    fill(events, happened({ ...report, data: [p] }));
    return p;
  }
  await showThing(page, {
    kind: "provider", who: "Only administrators see providers.",
    async read() {
      const [p, { models }] = await Promise.all([state(), loadModels({ signal, all: true })]);
      return {
        title: p.name, state: p.configured ? null : tag("", "No key"), source: sourceOf(page.me, new URLSearchParams()), filter: { provider: id }, by: "model", top: [notes, now],
        line: p.simulated ? "Simulated" : p.type === p.name ? null : p.type, parts: [modelsCard(models.filter((m) => m.owned_by === id)), events],
      };
    },
  });
  if (now.isConnected) page.every(pause, () => state().catch(() => {})); // what was shown stays
}

function modelsCard(models) {
  const cost = (m, name) => price(m.price_usd_per_million_tokens?.[name]);
  return card({ title: "Models", line: "Prices in dollars per million tokens." }, table({
    label: "Models", class: "rt people", rows: models, empty: empty({ text: "The catalogue has no model of this provider." }), columns: [
      { key: "name", title: "Model", class: "p-name", cell: (m) => rowLink("model", m.id, m.id, "mono elide") },
      { key: "state", title: "State", class: "p-state", cell: (m) => status(stateOf(m).kind, stateOf(m).text) },
      { key: "window", title: "Window", class: "num c-s", cell: (m) => tokens(m.context_window) },
      { key: "input", title: "Input", class: "num c-s", cell: (m) => cost(m, "input") }, { key: "output", title: "Output", class: "num c-s", cell: (m) => cost(m, "output") },
    ],
  }));
}
