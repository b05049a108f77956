// @ts-check
// The last hour, minute by minute: calls, errors, the time to the first token and spend.

import { h } from "../../lib/dom.js";
import { count, duration, money, share, whole } from "../../lib/format.js";
import { spark } from "../../lib/plot.js";
import { card } from "../../lib/ui.js";

/** A share of failed calls that is shown in red. */
const many = 0.02;

/** What is asked for. */
export const params = () => ({ from: new Date(Date.now() - 3540e3).toISOString(), to: new Date().toISOString(), step: "1m" });

/** @param {any} usage of /v1/usage, by minutes @param {Element} health how the gateway is */
export function hour({ total, series }, health) {
  const sums = (name) => series.times.map((_, i) => series.groups.reduce((sum, group) => sum + group[name][i], 0));
  const p95 = total.first_token_ms?.p95;
  const figure = (measure, name, value, small, values, kind, state) => h("a", { href: "/usage?range=1h" + measure },
    h("span", null, name), h("b", { class: state }, value, small ? h("small", null, " " + small) : null), spark(values, `${name}, minute by minute`, kind));
  return card({ title: "Last hour", actions: health }, h("div", { class: "kpis four" },
    figure("&measure=calls", "Calls", count(total.calls), "", sums("calls")),
    figure("&measure=errors", "Errors", whole(total.failed), total.calls ? share(total.failed / total.calls) : "", sums("failed"), "fbad", total.failed / total.calls > many ? "bad" : null),
    figure("&measure=first", "First token, p50", duration(total.first_token_ms?.p50), p95 == null ? "" : "p95 " + duration(p95), series.first_token_ms.p50),
    figure("", "Spend", money(total.cost_usd), "", sums("cost_usd"))));
}
