// @ts-check
// Which call was it, and why?

import { get } from "../lib/api.js";
import { fill, h } from "../lib/dom.js";
import { fileButton } from "../lib/file.js";
import { zoneName } from "../lib/format.js";
import { filtersOf, learn, learnFilters, sourceOf } from "../lib/filters.js";
import { asCall } from "../lib/refusals.js";
import { timeOf } from "../lib/range.js";
import { announce, failed, note } from "../lib/ui.js";
import { filterBar } from "./calls/bar.js";
import { callKeys } from "./calls/keys.js";
import { callList } from "./calls/list.js";
import { noCalls } from "./calls/none.js";
import { callPanel } from "./calls/panel.js";
import { callStrip } from "./calls/strip.js";

export const title = "Calls";

const usual = "1h", liveMs = 2e3, stripMs = 10e3, pageOfRows = 50;

/** @param {any} page */
export async function show(page) {
  const { query, signal } = page, source = sourceOf(page.me, query);
  const state = () => ({
    time: timeOf(query, usual), filters: filtersOf(query, source), outcome: query.get("outcome") ?? "", reason: query.get("reason") ?? "", status: query.get("status") ?? "",
    q: query.get("q") ?? "", request: query.get("request_id") ?? "", session: query.get("session") ?? "", miss: query.get("cache_miss") ?? "",
  });
  // A range without an end has none in the query: what is newest is wanted.
  function params({ time, filters, outcome, reason, status, q, request, session, miss }) {
    const { from, to, time_zone } = time.params, { provider: _, ...others } = filters;
    const of = outcome === "gateway" ? { ...others, reason } : { ...filters, outcome, status, session, cache_miss: miss };
    return { from: request || session ? "" : from, to: request || session || (time.open && !time.custom) ? "" : to, time_zone, ...of, q, request_id: request, limit: pageOfRows };
  }
  // Calls that the gateway refused are a list of their own.
  const listed = ({ outcome }) => (outcome === "gateway" ? source.refusals : source.calls);
  const place = { notes: h("div", { class: "notes" }), list: h("div") };
  const open = (row, options) => panel.open(row.id, row, options);
  const list = callList({ everyone: source.everyone || source.team !== null, open, older: () => load({ older: true }), total: () => strip.total(), state });
  const panel = callPanel({ page, source, list, me: page.me });
  const strip = callStrip({ page, source, state, change });
  let live = true, asked = 0, loaded = false, busy = false, none = "?";

  /** Asks for the first rows, or for older ones. */
  async function load({ older = false, quiet = false } = {}) {
    if (busy && quiet) return;
    const turn = ++asked, now = state();
    busy = true;
    place.list.classList.toggle("stale", loaded && !quiet && !older);
    try {
      const answer = await get(listed(now), { ...params(now), after: older ? list.last() : "" }, { signal });
      if (turn !== asked) return;
      if (now.outcome === "gateway") answer.data = answer.data.map(asCall);
      learn(answer.data);
      fill(place.notes);
      if (older) list.append(answer);
      else if (quiet) list.refresh(answer);
      else list.replace(answer);
      loaded = true;
      arrange(now);
    } catch (error) {
      if (!signal.aborted && turn === asked) broken(error, quiet || older);
    } finally {
      if (turn === asked) {
        busy = false;
        place.list.classList.remove("stale");
      }
    }
  }
  // The list, or why there is none.
  function arrange(now) {
    if (list.size() > 0) {
      none = "";
      return list.el.isConnected ? null : fill(place.list, list.el);
    }
    if (none === location.search && place.list.querySelector(".empty:not([role=alert])")) return null; // nothing has changed
    none = location.search;
    return fill(place.list, noCalls({ now, source, change, signal }));
  }
  function broken(error, keep) {
    if (error.status === 0) { // the frame says it
      if (!keep) setTimeout(() => !signal.aborted && load(), 5e3);
    } else if (keep) {
      fill(place.notes, note("warn", error.message));
    } else {
      loaded = false;
      fill(place.notes);
      fill(place.list, h("section", { class: "card mt", "aria-label": "Calls" }, failed(error, () => load(), "Calls")));
    }
  }
  /** Changes the filters, and asks again. */
  function change(changes, { replace = false } = {}) {
    page.setQuery({ call: null, ...("outcome" in changes ? { reason: null } : {}), ...changes }, { replace });
    panel.close({ quiet: true });
    load();
    strip.load();
    bar.update(state());
    head();
    strip.el.hidden = state().session + state().miss !== "" || state().outcome === "gateway";
    learnFilters(source, state().filters, state().time.params, signal).then(() => signal.aborted || bar.update(state()));
  }
  function toggle(event) {
    live = !live;
    event.currentTarget.setAttribute("aria-pressed", String(live));
    event.currentTarget.querySelector(".label").textContent = live ? "Live" : "Paused";
    announce(live ? "New calls are shown" : "Paused");
    if (live) load({ quiet: true });
  }
  const button = h("button", { type: "button", class: "btn live", "aria-pressed": "true", onclick: toggle }, h("span", { class: "label" }, "Live"));
  const file = fileButton(page, () => {
    const { limit: _, ...asked } = params(state());
    return { path: listed(state()), params: asked, name: state().outcome === "gateway" ? "refusals.csv" : "calls.csv" };
  });
  function head() {
    button.hidden = !state().time.open;
    page.head({ line: `${source.line === "Everyone" ? "Everyone’s calls" : source.line}, newest first. Times are ${zoneName()}.`, actions: [button, file] });
  }

  const bar = filterBar({ page, source, state, change, signal });
  fill(page.root, bar.el, place.notes, strip.el, place.list, panel.el);
  head();
  bar.update(state());
  strip.el.hidden = state().session + state().miss !== "" || state().outcome === "gateway"; // sums know neither
  callKeys({ signal, list, panel });
  page.every(liveMs, () => live && loaded && state().time.open && load({ quiet: true }));
  page.every(stripMs, () => live && state().time.open && strip.load(true));
  const first = load();
  strip.load();
  learnFilters(source, state().filters, state().time.params, signal).then(() => signal.aborted || bar.update(state()));
  const wait = setTimeout(() => !loaded && place.list.childElementCount === 0 && fill(place.list, list.skeleton()), 200);
  if (query.get("call") && state().outcome !== "gateway") panel.open(query.get("call"), null, { pushed: false });
  await first;
  const refused = list.rows().find((row) => row.id === query.get("call") && row.message);
  if (refused) open(refused, { pushed: false });
  clearTimeout(wait);
  if (state().request && list.size() === 1 && !query.get("call")) open(list.rows()[0], { replace: true });
}
