// @ts-check
// The panel of one call. The list behind it stays usable.

import { get } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { duration } from "../../lib/format.js";
import { announce, button, copy, failed, loading, note } from "../../lib/ui.js";
import { raiseButton } from "../people/limits.js";
import { contentOf, costsOf, factsOf, timesOf } from "./parts.js";
import { costOf, modelOf } from "./words.js";

/** @param {{ page: any, source: any, list: any, me: any }} context */
export function callPanel({ page, source, list, me }) {
  const heading = h("h2", { id: "call-h", tabindex: "-1" }), sub = h("span", { class: "sub mono" }), body = h("div", { class: "body", tabindex: "0", role: "group", "aria-label": "The call" });
  const copying = h("span");
  const newer = button(null, () => move(-1), { class: "bare icon", icon: "left", label: "Newer call", title: "Newer (k)" });
  const older = button(null, () => move(1), { class: "bare icon", icon: "right", label: "Older call", title: "Older (j)" });
  const leave = button(null, () => close(), { class: "bare icon", icon: "x", label: "Close", title: "Close (Esc)" });
  const el = h("aside", { class: "drawer", role: "region", "aria-labelledby": "call-h", hidden: true },
    h("header", null, h("div", null, heading, sub), newer, older, copying, leave), body);
  let id = "", asked = 0;

  /** Opens a call. row: what the list knows of it. pushed: the address is another one then. */
  async function open(next, row, { pushed = true, replace = false } = {}) {
    const turn = ++asked, was = id;
    id = next;
    if (pushed) page.setQuery({ call: id }, { replace: replace || was !== "" });
    list.select(id);
    list.reveal(id);
    if (row) title(row);
    else fill(heading, "Call");
    const raise = h("div", { class: "acts" });
    if (row?.message) fill(body, note("warn", row.message), raise, factsOf(row, me));
    else fill(body, row ? figures(row) : null, loading("lines"));
    body.scrollTop = 0;
    if (el.hidden) {
      el.hidden = false;
      heading.focus({ preventScroll: true });
    }
    if (row?.message) return raiseOf(row).then((el) => turn === asked && fill(raise, el), () => {}); // all else is known of a refusal
    try {
      const call = await get(`${source.calls}/${encodeURIComponent(id)}`, null, { signal: page.signal });
      if (turn !== asked) return;
      title(call);
      fill(body, figures(call), timesOf(call), costsOf(call), factsOf(call, me), contentOf(call, `${source.calls}/${encodeURIComponent(id)}/content`, page.signal));
    } catch (error) {
      if (turn !== asked || page.signal.aborted) return;
      const gone = /** @type {any} */ (error).status === 404;
      fill(body, gone ? h("div", { class: "empty" }, h("h3", null, "There is no such call."), h("p", null, "It is not kept any more, or it is not yours."))
        : failed(error, () => open(id, row, { pushed: false }), "The call"));
    }
  }
  /** What raises the budget that has refused a call, for those who may: the message begins with whose it is. */
  async function raiseOf({ message, key_id, user_id, team_id }) {
    const [, whose] = message.match(/^(this API key|your account|the team) .*?has a budget of/) ?? [];
    const path = whose === "this API key" ? (source.team ? `/auth/teams/${source.team}` : "/admin") + "/keys/" + key_id : whose === "your account" ? "/admin/users/" + user_id : "/admin/teams/" + team_id;
    if (!whose || !(source.everyone || path.startsWith("/auth"))) return null;
    const row = await get(path, null, { signal: page.signal }), name = row.name || row.email;
    return raiseButton({ name, row, path, text: `Raise the budget of ${name} until…`, done: () => {} });
  }
  function title(call) {
    const [model, other] = modelOf(call);
    fill(heading, model, other ? h("span", { class: "soft" }, ` instead of ${other}`) : null);
    sub.textContent = call.request_id;
    fill(copying, copy(call.request_id, { bare: true, label: "Copy request id" }));
  }
  function close({ quiet = false } = {}) {
    if (el.hidden) return;
    asked++;
    const was = id;
    id = "";
    el.hidden = true;
    list.select("");
    if (quiet) return;
    page.setQuery({ call: null }, { replace: true });
    list.back(was);
  }
  /** Goes to the older (1) or the newer (-1) call of the list. */
  async function move(by) {
    const rows = list.rows(), at = rows.findIndex((row) => row.id === id);
    if (by > 0 && at === rows.length - 1 && list.hasMore()) await list.older();
    const next = list.rows()[at + by];
    if (next && at >= 0) return open(next.id, next);
    announce(by > 0 ? "There is no older call" : "There is no newer call");
  }
  return { el, open, close, move, shown: () => !el.hidden };
}

function figures(call) {
  // Of a stream only, and not of one that came from a cache at once.
  const streaming = call.stream && call.first_token_ms !== null ? call.duration_ms - call.first_token_ms : 0;
  const speed = call.output_tokens > 1 && streaming > 50 ? Math.round(call.output_tokens / (streaming / 1000)).toLocaleString("en-US") + " tok/s" : "–";
  const all = [
    ["Cost", costOf(call)], ["First token", duration(call.first_token_ms)], ["Duration", duration(call.duration_ms)], ["Speed", speed],
  ];
  return h("dl", { class: "pair" }, all.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))));
}
