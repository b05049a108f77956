// @ts-check
// The last calls of a thing. One is opened beside the page.

import { get } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { learn } from "../../lib/filters.js";
import { empty, failed } from "../../lib/ui.js";
import { callKeys } from "../calls/keys.js";
import { callList } from "../calls/list.js";
import { callPanel } from "../calls/panel.js";
import { queryOf } from "./spend.js";

const shown = 8;

/** @param {any} page @param {import("./thing.js").Thing} thing */
export function callsOf(page, thing) {
  const { source, filter } = thing, { signal } = page, place = h("div"), state = { time: { custom: true } };
  const list = callList({ everyone: source.everyone || source.team !== null, open: (row) => panel.open(row.id, row), older: () => ask(list.last()), total: () => null, state: () => state });
  const panel = callPanel({ page, source, list, me: page.me });
  const head = h("header", null, h("div", null, h("h2", null, "Last calls")), h("a", { href: "/calls" + queryOf(thing, { range: "30d" }) }, "All calls"));
  const instead = (content) => fill(place, h("section", { class: "card", "aria-label": "Calls" }, head, content));
  async function ask(after) {
    try {
      const answer = await get(source.calls, { ...filter, limit: shown, after }, { signal });
      learn(answer.data);
      if (after) return list.append(answer);
      list.replace(answer);
      if (!list.size()) return instead(empty({ text: answer.has_more ? "There is none among the newest calls. All calls has older ones." : "No call is kept." }));
      list.el.classList.remove("mt");
      list.el.prepend(head);
      fill(place, list.el);
    } catch (error) {
      if (!signal.aborted) instead(failed(error, () => ask(), "Calls"));
    }
  }
  instead(h("div", { class: "calls-wait" }));
  callKeys({ signal, list, panel });
  if (page.query.get("call")) panel.open(page.query.get("call"), null, { pushed: false });
  return { el: h("div", null, place, panel.el), load: () => ask() };
}
