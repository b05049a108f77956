// @ts-check
// What the page of usage says where there is no call.

import { h } from "../../lib/dom.js";
import { inWords, kinds } from "../../lib/filters.js";
import { ranges } from "../../lib/range.js";
import { button, empty } from "../../lib/ui.js";

/** @param {any} now @param {any} source @param {(changes: any) => void} change */
export function nothing(now, source, change) {
  const words = [now.time.text, ...inWords(now.filters)], filtered = words.length > 1;
  const longer = !now.time.custom && now.time.range === "12mo" ? null : button(now.time.custom ? `Show ${ranges["7d"].name}` : `Show ${ranges["12mo"].name}`,
    () => change({ range: now.time.custom ? null : "12mo", from: null, to: null }));
  const clear = filtered ? button("Clear filters", () => change(Object.fromEntries(source.kinds.map((by) => [kinds[by].param, null])))) : null;
  return h("section", { class: "card", "aria-label": "Usage" }, filtered
    ? empty({ text: `No calls match. Filters: ${words.join(", ")}.`, action: [longer, clear] })
    : empty({
      title: now.time.custom ? `No calls in this time: ${now.time.text}.` : `No calls in the ${now.time.text}.`,
      text: "Spend, tokens and times are here as soon as a call is made with one of your keys.", action: [longer, h("a", { class: "btn first", href: "/keys" }, "Create key")],
    }));
}
