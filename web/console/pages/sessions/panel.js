// @ts-check
// The panel of one session, with the parts of its agents. The list behind it stays usable.

import { get } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { userOf } from "../../lib/filters.js";
import { ago, duration, full, money, moneyExact, share, whole } from "../../lib/format.js";
import { button, copy, failed, loading, shareBar, table } from "../../lib/ui.js";

const deepest = 6; // that is indented further

/** @param {{ page: any, path: string, everyone: boolean, back: (id: string) => void, select: (id: string) => void }} context */
export function sessionPanel({ page, path, everyone, back, select }) {
  const heading = h("h2", { id: "session-h", tabindex: "-1", class: "cut" }, "Session"), sub = h("span", { class: "sub" }), copying = h("span");
  const body = h("div", { class: "body", tabindex: "0", role: "group", "aria-label": "The session" });
  const leave = button(null, () => close(), { class: "bare icon", icon: "x", label: "Close", title: "Close (Esc)" });
  const el = h("aside", { class: "drawer", role: "region", "aria-labelledby": "session-h", hidden: true },
    h("header", null, h("div", null, heading, sub), copying, leave), body);
  let id = "", asked = 0;

  /** Opens a session. row: what the list knows of it. */
  async function open(next, row, { pushed = true } = {}) {
    const turn = ++asked, was = id;
    id = next;
    if (pushed) page.setQuery({ session: id }, { replace: was !== "" });
    select(id);
    if (row) headed(row);
    fill(body, row ? figures(row) : null, loading("lines"));
    body.scrollTop = 0;
    if (el.hidden) {
      el.hidden = false;
      heading.focus({ preventScroll: true });
    }
    try {
      const session = await get(`${path}/${encodeURIComponent(id)}`, null, { signal: page.signal });
      if (turn !== asked) return;
      headed(session);
      fill(body, figures(session), agentsOf(session), factsOf(session, everyone), h("a", { class: "btn", href: "/calls?session=" + session.id }, "Show its calls"));
    } catch (error) {
      if (turn !== asked || page.signal.aborted) return;
      const gone = /** @type {any} */ (error).status === 404;
      fill(body, gone ? h("div", { class: "empty" }, h("h3", null, "There is no such session."), h("p", null, "Its calls are not kept any more, or it is not yours."))
        : failed(error, () => open(id, row, { pushed: false }), "The session"));
    }
  }
  function headed(session) {
    fill(heading, session.name);
    heading.title = session.name;
    sub.textContent = session.id;
    fill(copying, copy(session.name, { bare: true, label: "Copy the name of the session" }));
  }
  function close({ quiet = false } = {}) {
    if (el.hidden) return;
    asked++;
    const was = id;
    id = "";
    el.hidden = true;
    select("");
    if (quiet) return;
    page.setQuery({ session: null });
    back(was);
  }
  return { el, open, close, shown: () => !el.hidden };
}

function figures(session) {
  const all = [["Cost", money(session.cost_usd)], ["Calls", whole(session.calls)], ["Cached", share(session.cache_share)], ["Duration", duration(session.duration_ms)]];
  return h("dl", { class: "pair" }, all.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))));
}

function agentsOf(session) {
  const part = (a) => (session.cost_usd ? a.cost_usd / session.cost_usd : session.calls ? a.calls / session.calls : 0);
  const name = (a) => h("span", { class: "agent d" + Math.min(a.depth, deepest), title: a.models.join(", ") }, h("span", { class: "cut" }, a.agent_id ?? "Main agent"),
    a.failed ? h("span", { class: "bad xs" }, `${whole(a.failed)} failed`) : null);
  const columns = [
    { key: "agent", title: "Agent", head: true, cell: name },
    { key: "calls", title: "Calls", class: "num", cell: (a) => whole(a.calls) },
    { key: "cached", title: "Cached", class: "num c-s", cell: (a) => share(a.cache_share) },
    { key: "cost", title: "Cost", class: "num", cell: (a) => money(a.cost_usd) },
    { key: "part", title: "", label: "Part of the cost", class: "part", cell: (a) => shareBar(part(a), session.cost_usd ? "of the cost" : "of the calls") },
  ];
  return h("section", null, h("h3", null, "Agents"), table({ label: "Agents", class: "agents", columns, rows: session.agents }));
}

function factsOf(session, everyone) {
  const facts = [
    ["Began", `${full(session.began_at_ms)}, ${ago(session.began_at_ms)}`], ["Ended", full(session.ended_at_ms)],
    everyone ? ["User", userOf(session) || (session.user_id ? "a deleted user" : "no user")] : null, ["Key", session.key_name ?? "no key"],
    ["Program", session.agent ?? "–"], ["Project", session.project ?? "–"], ["Models", session.models.join(", ")],
    ["Tokens", `${whole(session.input_tokens)} in, ${whole(session.output_tokens)} out`], ["Failed", whole(session.failed)],
    session.cache_misses === undefined ? null : ["Cache misses", session.cache_misses ? h("a", { href: `/calls?session=${session.id}&cache_miss=any` },
      `${whole(session.cache_misses)}, which cost ${moneyExact(session.cache_miss_cost_usd)} more`) : "none"],
  ];
  return h("section", null, h("h3", null, "Session"), h("dl", { class: "facts" }, facts.filter((fact) => fact !== null).map(([name, value]) => [h("dt", null, name), h("dd", null, value)])));
}
