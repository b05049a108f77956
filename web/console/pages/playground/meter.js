// @ts-check
/** The foot of a lane: what an answer took and cost, which lane was better, and the row of the ledger that says so. */
import { h } from "../../lib/dom.js";
import { count, duration, money } from "../../lib/format.js";
import { bearer } from "./stream.js";

/** @typedef {import("./conversation.js").Answer} Answer */

/** @returns {{ el: HTMLElement, show: (a: Answer | undefined, better: Set<string>) => void }} */
export function meter() {
  const cells = Object.fromEntries(
    [
      ["first", "First token"],
      ["duration", "Duration"],
      ["tokens", "Tokens"],
      ["cost", "Cost"],
    ].map(([id, name]) => [id, { dd: h("dd", {}, "–"), name }]),
  );
  const line = h("p", { class: "under" });
  const el = h(
    "div",
    {},
    h(
      "dl",
      { class: "meter" },
      Object.values(cells).map((c) => h("div", {}, h("dt", {}, c.name), c.dd)),
    ),
    line,
  );
  return {
    el,
    show(a, better) {
      const values = a ? figures(a) : {};
      for (const [id, { dd }] of Object.entries(cells)) {
        dd.textContent = values[id] ?? "–";
        dd.className = better.has(id) ? "best" : "";
        dd.title = (id === "tokens" && a?.usage && whole(a.usage)) || "";
      }
      line.replaceChildren(...(a ? details(a) : ["No answer yet"]));
    },
  };
}

function figures(a) {
  const over = a.durationMs ?? performance.now() - a.startedAt;
  return {
    first: a.firstMs === null ? "–" : duration(a.firstMs),
    duration: duration(over),
    tokens: a.usage ? count(a.usage.prompt_tokens) + " → " + count(a.usage.completion_tokens) : "–",
    cost: a.row ? money(a.row.cost_usd) : a.durationMs !== null && !a.counted && a.requestId ? "…" : "–",
  };
}

function whole(u) {
  const parts = [`${u.prompt_tokens} in`, `${u.completion_tokens} out`];
  const cached = u.prompt_tokens_details?.cached_tokens,
    reasoned = u.completion_tokens_details?.reasoning_tokens;
  if (cached) parts.push(`${cached} of the input cached`);
  if (reasoned) parts.push(`${reasoned} of the output for reasoning`);
  return parts.join(", ");
}

/** Who answered, how often it was tried, what was ignored, and the call itself. */
function details(a) {
  const attempts = a.row?.attempts ?? 0,
    parts = [];
  const by = a.row?.provider || a.provider;
  if (by) parts.push(a.served && a.served !== a.model ? `${by}, ${a.served}` : by);
  if (attempts > 1) parts.push(`${attempts} attempts`);
  if (a.row && !a.row.priced && a.row.status === 200) parts.push("no price");
  if (a.row?.estimated) parts.push("tokens estimated");
  const text = parts.join(" · "),
    out = text ? [h("span", {}, text)] : [];
  if (a.ignored.length)
    out.push(
      h(
        "span",
        { class: "tag warn", title: "The model does not take this parameter, so it was left out" },
        "Ignored: " + a.ignored.join(", "),
      ),
    );
  if (a.requestId) out.push(h("a", { href: "/calls?request_id=" + encodeURIComponent(a.requestId), title: a.requestId }, "See the call"));
  return out.length ? out : ["Waiting"];
}

const waits = [150, 350, 700, 1500, 3000, 6000];

/**
 * Asks for the row of an answer until the ledger has written it.
 * @param {Answer} a @param {string | undefined} key @param {AbortSignal} signal
 */
export async function account(a, key, signal) {
  for (const wait of waits) {
    await new Promise((done) => setTimeout(done, wait));
    if (signal.aborted || !a.requestId) break;
    const r = await fetch("/v1/calls?limit=1&request_id=" + encodeURIComponent(a.requestId), { headers: bearer(key), signal }).catch(
      () => null,
    );
    if (!r || (r.status >= 400 && r.status < 500)) break;
    const rows = r.ok ? (await r.json().catch(() => null))?.data ?? [] : []; // the page may be left meanwhile
    if (rows.length) {
      a.row = rows[0];
      break;
    }
  }
  a.counted = true;
}

/**
 * Compares two answers.
 * @param {Answer | undefined} a @param {Answer | undefined} b
 * @returns {{ text: string, better: [Set<string>, Set<string>] }} better: the figures in which each is the better one
 */
export function compare(a, b) {
  /** @type {[Set<string>, Set<string>]} */
  const better = [new Set(), new Set()];
  if (a?.state !== "done" || b?.state !== "done") return { text: "", better };
  const first = a.firstMs !== null && b.firstMs !== null;
  const judged = [
    ["cost", a.row?.cost_usd, b.row?.cost_usd, "costs", "less"],
    ["first", first ? a.firstMs : null, first ? b.firstMs : null, "starts", "sooner"],
    ["duration", a.durationMs, b.durationMs, "is done", "sooner"],
  ].map(([id, x, y, verb, how]) => ({ id, verb, how, ...judge(x, y) }));
  for (const j of judged) if (j.who !== null) better[j.who].add(j.id);
  const said = judged.filter((j) => j.id !== (first ? "duration" : "first"));
  return { text: sentence(said), better };
}

/** Who has the smaller figure, and how many times the other is; no one below 5% of difference. */
function judge(x, y) {
  if (typeof x !== "number" || typeof y !== "number") return { who: null, times: 0, known: false };
  const low = Math.min(x, y),
    high = Math.max(x, y);
  if (high === 0 || (low > 0 && high / low < 1.05)) return { who: null, times: 1, known: true };
  return { who: x < y ? 0 : 1, times: low > 0 ? high / low : Infinity, known: true };
}

function sentence(all) {
  const name = (who) => (who === 0 ? "A" : "B"),
    other = (who) => (who === 0 ? "B" : "A");
  const says = (j) =>
    j.times === Infinity ? "costs nothing" : `${j.verb} ${j.times < 9.95 ? j.times.toFixed(1) : count(Math.round(j.times))} times ${j.how}`;
  const known = all.filter((j) => j.known),
    told = known.filter((j) => j.who !== null);
  if (!known.length) return "";
  if (!told.length) return known.some((j) => j.id === "cost") ? "A and B cost the same and are equally fast" : "A and B are equally fast";
  if (told.length === 1)
    return `${name(told[0].who)} ${says(told[0])} than ${other(told[0].who)}`.replace("nothing than", "nothing, unlike");
  if (told[0].who === told[1].who) return `${name(told[0].who)} ${told.map(says).join(" and ")} than ${other(told[0].who)}`;
  return told.map((j) => `${name(j.who)} ${says(j)}`).join(", ");
}
