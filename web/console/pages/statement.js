// @ts-check
// What was spent in a calendar month, to the micro-dollar.

import { get } from "../lib/api.js";
import { fill, h } from "../lib/dom.js";
import { fileButton } from "../lib/file.js";
import { kinds } from "../lib/filters.js";
import { day, minute, moneyExact, whole, zone, zoneName } from "../lib/format.js";
import { button, empty, failed, loading, note, select, table } from "../lib/ui.js";

export const title = "Statement";
export const admin = true;

const monthsShown = 36, rowsShown = 300;

/** By what the lines are summed: the list of the statement that has the subtotals, and the name of a row of it. */
const groups = {
  person: { list: "people", title: "Person", name: kinds.user.name },
  team: { list: "teams", title: "Team", name: kinds.team.name },
  project: { list: "projects", title: "Project", name: (row) => row.project ?? "No project" },
};
const sums = ["calls", "input_tokens", "cached_tokens", "output_tokens", "cost_usd"];

/** @param {any} page */
export async function show(page) {
  const { signal, query } = page, months = lastMonths();
  const notes = h("div", { class: "notes" }), body = h("section", { class: "card", "aria-label": "Statement" }, loading("table"));
  let turn = 0, statement = null, all = false;

  const month = () => (/^\d{4}-\d{2}$/.test(query.get("month") ?? "") ? query.get("month") : months[0][0]);
  const by = () => (Object.hasOwn(groups, query.get("by") ?? "") ? query.get("by") : "person");
  const asked = () => ({ month: month(), time_zone: zone });

  function choose(changes) {
    page.setQuery(changes);
    all = false;
    return "month" in changes ? load() : draw();
  }

  function head() {
    const options = months.some(([value]) => value === month()) ? months : [/** @type {[string, string]} */ ([month(), monthName(month())]), ...months];
    page.head({
      line: `What everyone spent in a month, which begins at 00:00 ${zoneName()}.`,
      actions: [
        select({ label: "Month", value: month(), options, onchange: (value) => choose({ month: value === months[0][0] ? null : value }) }),
        select({ label: "Group by", value: by(), options: Object.keys(groups).map((name) => [name, "By " + name]), onchange: (value) => choose({ by: value === "person" ? null : value }) }),
        fileButton(page, () => ({ path: "/admin/statement", params: asked(), name: `statement-${month()}.csv` })),
      ],
    });
  }

  async function load() {
    const mine = ++turn;
    try {
      const found = await get("/admin/statement", asked(), { signal });
      if (mine !== turn) return;
      statement = found;
      draw();
    } catch (error) {
      if (mine !== turn || signal.aborted) return;
      fill(notes);
      fill(body, failed(error, load, "The statement"));
    }
  }

  function draw() {
    const { total } = statement, at = statement.generated_at * 1000, group = groups[by()];
    fill(notes,
      statement.complete ? null : note("info", `As of ${day(at)}, ${minute(at)}. It is complete a day after the month has ended.`),
      statement.days_before ? note("info", `Before ${statement.days_before} there are sums of whole days in UTC only.`) : null,
      total.unpriced > 0 ? note("warn", `${whole(total.unpriced)} calls have no price and count as $0.`) : null);
    if (total.calls === 0) return fill(body, empty({ text: `No calls in ${monthName(statement.month)}.` }));
    const rows = [...rowsOf(statement, group), { ...total, name: "Total", model: "" }], rest = rows.length - rowsShown;
    fill(body, table({
      label: "Statement", columns: columnsOf(group), rows: all ? rows : rows.slice(0, rowsShown),
      foot: rest > 0 && !all ? [h("span", null, `${rowsShown} of ${whole(rows.length)} rows`), button("Show all", () => ((all = true), draw()))] : null,
    }));
  }

  fill(page.root, notes, body);
  head();
  await load();
}

/** A row for each row of the list of the group, and one below it for each model. */
function rowsOf(statement, group) {
  const models = new Map();
  for (const line of statement.lines) {
    const name = group.name(line), of = models.get(name) ?? new Map(), key = line.model + " " + line.provider;
    const sum = of.get(key) ?? { model: line.model || "No model", ...Object.fromEntries(sums.map((s) => [s, 0])) };
    for (const s of sums) sum[s] += s === "cost_usd" ? Math.round(line[s] * 1e6) : line[s]; // micro-dollars are whole numbers
    models.set(name, of.set(key, sum));
  }
  return statement[group.list].flatMap((row) => {
    const name = group.name(row), below = [...(models.get(name)?.values() ?? [])].sort((a, b) => b.cost_usd - a.cost_usd);
    models.delete(name); // two that are named alike have their models below the first
    return [{ ...row, name, model: "" }, ...below.map((sum) => ({ ...sum, cost_usd: sum.cost_usd / 1e6 }))];
  });
}

const columnsOf = (group) => [
  { key: "name", title: group.title + " and model", head: true, cell: (row) => h("span", row.name ? { class: "cut name", title: row.name } : { class: "cut soft", title: row.model }, row.name ?? row.model) },
  ...[["calls", "Calls", "num c-s"], ["input_tokens", "Tokens in", "num c-s"], ["cached_tokens", "Cached", "num c-m"], ["output_tokens", "Tokens out", "num c-s"]].map(
    ([key, title, style]) => ({ key, title, class: style, cell: (row) => whole(row[key]) })),
  { key: "cost_usd", title: "Spend", class: "num", cell: (row) => (row.name ? h("b", null, moneyExact(row.cost_usd)) : moneyExact(row.cost_usd)) },
];

const monthName = (month) => new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" }).format(new Date(month + "-01T00:00:00Z"));

/** This month and those before it. @returns {[string, string][]} */
function lastMonths() {
  const now = new Date();
  return Array.from({ length: monthsShown }, (_, i) => {
    const month = new Date(Date.UTC(now.getFullYear(), now.getMonth() - i)).toISOString().slice(0, 7);
    return [month, monthName(month)];
  });
}
