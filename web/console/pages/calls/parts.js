// @ts-check
// The parts of the panel of one call.

import { get } from "../../lib/api.js";
import { fill, h, icon } from "../../lib/dom.js";
import { userOf } from "../../lib/filters.js";
import { ago, axisDuration, duration, full, moneyExact, whole } from "../../lib/format.js";
import { waterfall } from "../../lib/plot.js";
import { button, copy, note, tag } from "../../lib/ui.js";
import { cacheOf, costName, endOf, paths } from "./words.js";

const section = (title, ...inside) => h("section", null, h("h3", null, title), inside);

const short = (ms) => (ms > 0 && ms < 0.5 ? "<1 ms" : duration(ms));

/** What took the time: the admission, and each request to a provider. @param {any} call */
export function timesOf(call) {
  const attempts = call.attempt_list ?? [], admitted = attempts[0]?.start_ms ?? (call.provider ? call.overhead_ms : call.duration_ms);
  const rows = [{
    name: "Admission", note: `key, limits, budget · ${short(admitted)}`, label: `Admission: 0 to ${short(admitted)}`, parts: [{ from: 0, to: admitted, class: "adm" }],
  }, ...attempts.map((attempt) => attemptRow(attempt, call.duration_ms))];
  const none = attempts.length === 0 ? h("p", { class: "soft xs" }, call.provider ? "The attempts of this call were not kept." : "It was not sent to a provider.") : null;
  return section("What took the time", waterfall(rows, call.duration_ms, axisDuration), none);
}

function attemptRow(a, end) {
  const to = Math.min(a.start_ms + a.duration_ms, Math.max(end, a.start_ms)), name = `${a.provider} · ${a.model}`;
  const key = a.key ? `key …${a.key}` : "", first = a.first_token_ms === null ? null : a.start_ms + a.first_token_ms;
  if (a.result !== "served") {
    const why = a.result === "abandoned" ? "left" : a.status ? String(a.status) : a.error_code ? a.error_code.replaceAll("_", " ") : "no answer";
    const kind = a.result === "abandoned" ? "adm" : a.status === 429 ? "fwarn" : "fbad";
    return {
      name, note: [key, `${why} after ${duration(a.duration_ms)}`].filter(Boolean).join(" · "),
      label: `${name}: ${why} after ${duration(a.duration_ms)}`, parts: [{ from: a.start_ms, to, class: kind }],
    };
  }
  const text = first === null ? `answer after ${duration(a.duration_ms)}` : `first token ${duration(a.first_token_ms)}`;
  return {
    name, note: [key, text].filter(Boolean).join(" · "), label: `${name}: ${duration(a.start_ms)} to ${duration(to)}, ${text}`,
    parts: first === null ? [{ from: a.start_ms, to, class: "wait" }] : [{ from: a.start_ms, to: first, class: "wait" }, { from: first, to, class: "flow" }],
  };
}

/** Tokens and cost, line by line. @param {any} call */
export function costsOf(call) {
  const costs = call.costs ?? [], cell = (name, text) => h("td", { role: "cell", class: name }, text);
  const lines = costs.length > 0
    ? costs.map((c) => [costName(c.what), whole(c.amount) + (c.unit === "token" ? "" : " " + c.unit), priceOf(c), moneyExact(c.cost_usd)])
    : tokensOf(call).map(([name, n]) => [name, whole(n), "–", "–"]);
  if (call.reasoning_tokens > 0) lines.push(["Reasoning, part of the output", whole(call.reasoning_tokens), "", ""]);
  const table = h("table", { role: "table", "aria-label": "Tokens and cost" },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, [["Kind", ""], ["Tokens", "num"], ["$ per 1M", "num"], ["Cost", "num"]].map(([text, name]) => h("th", { role: "columnheader", scope: "col", class: name }, text)))),
    h("tbody", { role: "rowgroup" }, lines.map(([name, amount, price, cost]) => h("tr", { role: "row" }, cell(null, name), cell("num", amount), cell("num", price), cell("num", cost)))));
  const notes = [
    call.estimated ? h("p", { class: "soft xs" }, "At least some of the tokens are estimated: the provider did not count them.") : null,
    !call.priced && call.provider ? h("p", { class: "soft xs" }, "The model has no price: the call counts as $0.") : null,
  ];
  return section("Tokens and cost", lines.length ? table : h("p", { class: "soft xs" }, "None."), notes);
}

// At least two decimals, and all that the price has: 3.00, 0.125. Of what is no token that of one.
const priceOf = (c) => (c.unit === "token" ? dollars(c.usd_per_million, 6) : dollars(c.usd_per_million / 1e6, 12) + " each");
const dollars = (usd, digits) => usd.toFixed(digits).replace(/(\.\d\d\d*?)0+$/, "$1");

const tokensOf = (call) => /** @type {[string, number][]} */ ([
  ["Input", call.input_tokens - call.cached_tokens - call.cache_write_tokens], ["Cached input", call.cached_tokens], ["Cache write", call.cache_write_tokens], ["Output", call.output_tokens],
]).filter(([, n]) => n > 0);

/** What was asked, by whom, and how it ended. @param {any} call @param {any} me */
export function factsOf(call, me) {
  const [state, text] = endOf(call);
  const user = userOf(call) || (call.user_id ? "a deleted user" : null);
  const who = [call.key_name ? (call.user_id === me.user.id ? h("a", { href: "/keys?q=" + encodeURIComponent(call.key_name) }, call.key_name) : call.key_name) : "no key",
    user ? ", " + user : null, call.team_name ? ", team " + call.team_name : null];
  const facts = [
    ["Time", `${full(call.began_at_ms)}, ${ago(call.began_at_ms)}`],
    ["Key", who],
    call.session_id ? ["Session", me.user.admin || call.user_id === me.user.id ? h("a", { href: "/sessions?session=" + call.session_id }, call.session) : call.session] : null,
    call.message ? ["Model", call.model ?? "The request was not read so far"] : null,
    call.message ? null : ["Path", [h("code", null, paths[call.dialect] ?? call.dialect ?? "–"), call.stream ? ", streamed" : ""]],
    call.message ? null : ["Client", call.user_agent || "–"],
    ["Ended", [`${text}, status ${call.status}`, call.error_code ? [", ", h("code", null, call.error_code)] : null]],
    call.provider_message ? ["Provider’s message", call.provider_message] : null,
    call.provider ? ["Provider", [call.provider, call.upstream_request_id ? [", ", h("code", null, call.upstream_request_id)] : null]] : null,
    call.cache ? ["Prompt cache", cacheOf(call.cache)] : null,
    call.message ? null : ["Ignored", call.ignored_parameters?.length ? h("span", { class: "tags" }, call.ignored_parameters.map((name) => h("span", { class: "tag mono" }, name))) : "nothing"],
  ];
  return section("Request", h("dl", { class: "facts", dataset: { state } }, facts.filter((fact) => fact !== null).map(([name, value]) => [h("dt", null, name), h("dd", null, value)])));
}

/** The request and the answer, where they are kept. @param {any} call @param {string} path @param {AbortSignal} signal */
export function contentOf(call, path, signal) {
  const place = h("div");
  const texts = {
    off: ["Not stored. ", h("code", null, "LOG_PROMPTS"), " is ", h("code", null, "off"), ". An administrator can keep failed calls only, or all."],
    none: ["Not stored for this call, or not kept any more."],
  };
  const locked = (text, action) => h("div", { class: "note" }, icon("lock"), h("div", null, text), action);
  async function look() {
    ask.disabled = true;
    try {
      const content = await get(path, null, { signal });
      fill(place, kept("Request", content.request, content.request_truncated), kept("Answer", content.answer, content.answer_truncated),
        h("p", { class: "soft xs" }, `Kept until ${full(content.expires_at * 1000)}. This look is in the audit log.`));
    } catch (error) {
      if (signal.aborted) return;
      ask.disabled = false;
      fill(place, locked("This look is written to the audit log.", ask), note("bad", /** @type {any} */ (error).message));
    }
  }
  const ask = button("Show prompt", look);
  fill(place, call.content === "stored" ? locked("This look is written to the audit log.", ask) : locked(texts[call.content] ?? texts.off, null));
  return section("Prompt and answer", place);
}

function kept(title, text, cut) {
  if (!text) return h("p", { class: "soft xs" }, `${title}: none.`);
  // The bytes that were kept are copied, however they are shown.
  return h("div", { class: "kept" }, h("h4", null, title, " ", cut ? tag("warn", "cut off") : null, copy(text, { bare: true, label: `Copy the ${title.toLowerCase()}` })),
    h("pre", { tabindex: "0", role: "group", "aria-label": title }, indented(text)));
}

// JSON with line breaks; as it is where it is no JSON, or has numbers that a script would round.
function indented(text) {
  if (/\d{16}/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
