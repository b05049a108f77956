// @ts-check
// One model: what it costs and can do, and who uses it.

import { get } from "../../lib/api.js";
import { h, icon } from "../../lib/dom.js";
import { sourceOf } from "../../lib/filters.js";
import { whole } from "../../lib/format.js";
import { date, price, stateOf } from "../../lib/models.js";
import { addressOf, idOf } from "../../lib/rows.js";
import { card, copy, tag } from "../../lib/ui.js";
import { facts } from "../people/lists.js";
import { showThing } from "./thing.js";

/** @param {any} page */
export function show(page) {
  const id = idOf(page.url);
  return showThing(page, {
    kind: "model", who: ["It is not in the catalogue of this gateway. ", h("a", { href: "/usage?" + new URLSearchParams({ range: "12mo", model: id }) }, "What was spent on this name")],
    async read() {
      const m = await get("/v1/models/" + id.split("/").map(encodeURIComponent).join("/"), null, { signal: page.signal }), s = stateOf(m), tried = m.available && m.kind !== "embedding";
      const name = addressOf("provider", m.owned_by);
      return {
        title: m.id, state: tag(s.kind, s.text), source: sourceOf(page.me, new URLSearchParams()), filter: { model: id }, by: "key", top: h("div", { class: "grid2" }, priceOf(m), aboutOf(m)),
        line: h("span", { class: "parts" }, page.me.user.admin ? h("a", { href: name }, m.owned_by) : h("span", null, m.owned_by), s.sub ? h("span", null, s.sub) : null,
          m.kind === "embedding" ? h("span", null, "embeddings") : null, page.me.user.admin ? null : h("span", null, "your calls")),
        actions: [copy(m.id, { label: "Copy name" }), tried ? h("a", { class: "btn first", href: "/playground?model=" + encodeURIComponent(m.id) }, icon("play"), "Try in playground") : null],
      };
    },
  });
}

const dollars = (value) => (value === undefined ? null : "$" + price(value));

/** The prices of a million tokens. */
function priceOf({ price_usd_per_million_tokens: p, next_price: next, kind }) {
  if (!p) return card({ title: "Price", pad: true }, h("p", { class: "soft" }, "It is unknown: calls count as $0, and are refused where a budget pays."));
  return card({ title: "Price", line: "for a million tokens" + (p.of ? `, as ${p.of}` : ""), pad: true }, facts([
    ["Input", dollars(p.input)], ["Cached input", dollars(p.cache_read)], ["Cache write", dollars(p.cache_write)], ["Output", kind === "embedding" ? null : dollars(p.output)],
    ["Long prompts", p.above ? `${dollars(p.above.input)} and ${dollars(p.above.output)} over ${whole(p.over_input_tokens)} tokens` : null],
    .../** @type {[string, any][]} */ (Object.entries(p.fees ?? {}).map(([unit, fee]) => ["For each " + unit.replaceAll("_", " "), dollars(fee)])),
    ["From " + (next ? date(next.from) : ""), next ? `${dollars(next.price.input)} and ${dollars(next.price.output)}` : null],
  ]));
}

const tokens = (n) => (n ? whole(n) + " tokens" : null);

function aboutOf(m) {
  return card({ title: "Model", pad: true }, facts([
    ["Window", tokens(m.context_window)], ["Longest answer", tokens(m.max_output_tokens)], ["Takes", m.input_modalities?.join(", ")], ["Makes", m.output_modalities?.join(", ")],
    ["Dimensions", m.dimensions && whole(m.dimensions.default)], ["Other names", m.aliases?.map((name, i) => [i ? ", " : null, h("a", { href: addressOf("model", name) }, name)])],
    ["Can", [m.tools && "tools", m.reasoning && "reasoning", m.structured_output && "structured output"].filter(Boolean).join(", ") || null],
    ["Released", m.release_date && date(m.release_date)], ["Ends", m.shutdown_date && date(m.shutdown_date)], ["Successor", m.successor && h("a", { href: addressOf("model", m.successor) }, m.successor)],
  ]));
}
