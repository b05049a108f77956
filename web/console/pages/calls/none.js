// @ts-check
// What stands where no call matches.

import { get } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { whole } from "../../lib/format.js";
import { inWords, kinds } from "../../lib/filters.js";
import { ranges, timeOf } from "../../lib/range.js";
import { button, empty } from "../../lib/ui.js";
import { outcomes } from "./words.js";

const longer = { "1h": "24h", "24h": "7d", "7d": "30d" };

/** @param {{ now: any, source: any, change: (changes: any) => void, signal: AbortSignal }} context */
export function noCalls({ now, source, change, signal }) {
  const found = h("span"), set = [
    ...(now.outcome ? [(outcomes.find(([name]) => name === now.outcome)?.[1] ?? now.outcome).toLowerCase()] : []), ...(now.status ? ["status " + now.status] : []),
    ...inWords(now.filters), ...(now.q ? [`“${now.q}”`] : []), ...(now.request ? ["request " + now.request] : []), ...(now.session ? ["session " + now.session] : []),
    ...(now.miss ? ["cache missed"] : []),
  ];
  const range = now.request || now.session ? null : now.time.custom ? "24h" : longer[now.time.range];
  const show = range ? button("Show " + ranges[range].name, () => change({ range, from: null, to: null })) : null;
  const clear = set.length
    ? button("Clear filters", () => change({ q: null, request_id: null, session: null, cache_miss: null, outcome: null, reason: null, status: null, ...Object.fromEntries(Object.values(kinds).map(({ param }) => [param, null])) }))
    : null;
  if (range && !now.q && !now.status && !now.miss && (!now.outcome || now.outcome === "failed")) count(now, source, range, signal, found);
  const text = set.length
    ? [`No calls match. Filters: ${[now.request || now.session ? "any time" : now.time.text, ...set].join(", ")}. `, found]
    : [now.time.custom ? `There are no calls in this time: ${now.time.text}. ` : `There are no calls in the ${now.time.text}. `, found];
  const refused = ["", "failed", "refused"].includes(now.outcome) && set.length ? button("Show refused by the gateway", () => change({ outcome: "gateway", status: null })) : null;
  const make = set.length ? null : h("a", { class: "btn first", href: "/keys" }, "Create key");
  return h("section", { class: "card mt", "aria-label": "Calls" }, empty({ text, action: [show, refused, clear, make] }));
}

// How many there are in a longer time.
async function count(now, source, range, signal, found) {
  const { params } = timeOf(new URLSearchParams({ range }), range);
  const answer = await get(source.usage, { ...params, ...now.filters }, { signal }).catch(() => null);
  if (!answer) return;
  const n = now.outcome === "failed" ? answer.total.failed : answer.total.calls;
  fill(found, `In the ${ranges[range].text} there ${n === 1 ? "is" : "are"} ${n ? whole(n) : "none"}.`);
}
