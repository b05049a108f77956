// @ts-check
// The last calls of a thing that the gateway refused, with what the client was told.

import { get } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { moment } from "../../lib/format.js";
import { reasonName } from "../../lib/refusals.js";
import { card, failed, table } from "../../lib/ui.js";
import { queryOf } from "./spend.js";

/** @param {any} page @param {import("./thing.js").Thing} thing */
export function refusalsOf(page, thing) {
  const { source, filter } = thing, place = h("div"), many = source.everyone || source.team !== null;
  if ("provider" in filter) return null; // what the gateway refuses reaches none
  async function load() {
    try {
      const { data } = await get(source.refusals, { ...filter, limit: 5 }, { signal: page.signal });
      fill(place, data.length ? list(data) : null);
    } catch (error) {
      if (!page.signal.aborted) fill(place, card({ title: "Refused by the gateway" }, failed(error, load, "Refused calls")));
    }
  }
  const list = (rows) => card({ title: "Refused by the gateway", actions: h("a", { href: "/calls" + queryOf(thing, { outcome: "gateway", range: "30d" }) }, "All refused calls") }, table({
    label: "Refused calls", class: "rt people", rows, columns: [
      { key: "at", title: "Time", class: "nw soft", cell: (r) => moment(r.at_ms) },
      { key: "reason", title: "Reason", class: "nw", cell: (r) => [reasonName(r.reason), h("span", { class: "sub" }, String(r.status))] },
      { key: "message", title: "The client was told", class: "wrap", cell: (r) => r.message },
      ...(many && !("key_id" in filter) ? [{ key: "key", title: "Key", class: "c-s soft", cell: (r) => r.key_name ?? r.key_id }] : []),
    ],
  }));
  return { el: place, load };
}
