// @ts-check
// The teams: all for administrators, their own for managers.

import { get, send } from "../lib/api.js";
import { fill, h } from "../lib/dom.js";
import { limitFields, readLimits } from "../lib/limits.js";
import { spark } from "../lib/plot.js";
import { addressOf, rowLink } from "../lib/rows.js";
import { button, card, empty, failed, field, formData, loading, menuButton, table, toast } from "../lib/ui.js";
import { budgetBar, deleteTeam, editLimits, formDialog, limitsText, rename } from "./people/limits.js";
import { plural } from "./people/lists.js";

export const title = "Teams";
export const admin = true;

/** @param {any} page */
export async function show(page) {
  const former = page.query.get("team"); // the address of a team before it had a page
  if (former) return page.go(addressOf("team", former), { replace: true });
  const { signal } = page, everything = page.me.user.admin;
  const list = h("section", { class: "card", "aria-label": "Teams" }, loading("table"));
  let teams = [], more = false, calls = new Map();
  page.head({ line: "A team’s budget bounds its members together. The narrowest limit holds.",
    actions: everything ? button("Create team", () => createTeam(page), { class: "first", icon: "plus" }) : null });
  fill(page.root, list, how());

  async function load() {
    try {
      const found = everything ? await get("/admin/teams", { limit: 50 }, { signal }) : await get("/auth/teams", null, { signal });
      teams = everything ? found.data : found.data.filter((t) => t.role === "manager");
      more = found.has_more ?? false;
      draw();
      calls = await callsOf(teams, everything, signal);
      // Another draw would take the focus from a row.
      for (const [id, days] of calls) list.querySelector(`tr[data-key="${CSS.escape(id)}"] .k-spark`)?.replaceChildren(sparkOf(days));
    } catch (error) {
      if (!signal.aborted) fill(list, failed(error, load, "The teams"));
    }
  }

  async function older() {
    const found = await get("/admin/teams", { limit: 50, after: teams.at(-1).id }, { signal });
    teams.push(...found.data);
    more = found.has_more;
    draw();
  }

  function draw() {
    fill(list, table({
      label: "Teams", class: "rt people", rows: teams, key: (t) => t.id, columns: columnsOf(calls, everything, load),
      empty: empty({
        text: everything ? "There are no teams yet. A team has members, keys and a budget that bounds all of them." : "You manage no team.",
        action: everything ? button("Create team", () => createTeam(page), { class: "first", icon: "plus" }) : null,
      }),
      foot: more ? [h("span", null, `The newest ${teams.length}`), button("Load older", older)] : null,
    }));
  }

  await load();
}

function columnsOf(calls, everything, load) {
  return [
    { key: "name", title: "Team", class: "clip p-name", cell: (t) => rowLink("team", t.id, t.name) },
    { key: "members", title: "Members", class: "num p-state", cell: (t) => [t.members, h("span", { class: "only-s soft xs" }, t.members === 1 ? " member" : " members")] },
    { key: "budget", title: "Spent of budget", class: "p-use", cell: (t) => budgetBar(t, t.name) },
    { key: "limits", title: "Other limits", class: "c-w soft xs", cell: (t) => limitsText(t) || "–" },
    { key: "calls", title: "Calls, 14 d", class: "c-s k-spark", cell: (t) => (calls.has(t.id) ? sparkOf(calls.get(t.id)) : h("span", { class: "spark" })) },
    { key: "keys", title: "Keys", class: "num c-s", cell: (t) => t.keys },
    { key: "actions", title: "", label: "Actions", class: "num p-act", cell: (t) => menuButton("Actions for " + t.name, () => actionsOf(t, everything, load)) },
  ];
}

const sparkOf = (days) => spark(days, `Calls a day, last 14 days: ${plural(days.reduce((a, b) => a + b, 0), "call")}`);

function actionsOf(t, everything, load) {
  const path = "/admin/teams/" + t.id;
  const open = [{ text: "Members and keys", icon: "team", href: addressOf("team", t.id) }];
  if (!everything) return open;
  return [
    ...open,
    { text: "Edit limits", icon: "gear", onclick: () => editLimits({ name: t.name, row: t, path, what: "They hold for all keys of the team together.", done: load }) },
    { text: "Rename", icon: "team", onclick: () => rename({ title: "Rename " + t.name, name: t.name, path, done: load }) },
    { text: "Usage", icon: "chart", href: "/usage?team_id=" + t.id }, { text: "Calls", icon: "list", href: "/calls?team_id=" + t.id },
    null, { text: "Delete team", icon: "x", bad: true, onclick: () => deleteTeam(t, load) },
  ];
}

const day = (back) => new Date(Date.now() - back * 86400e3).toISOString().slice(0, 10);

/** Calls of the last 14 days (UTC) of each team. */
async function callsOf(teams, everything, signal) {
  const days = Array.from({ length: 14 }, (_, i) => day(13 - i)), found = new Map(teams.map((t) => [t.id, days.map(() => 0)]));
  const count = (rows, id) => {
    for (const row of rows) {
      const of = found.get(id ?? row.team_id), i = days.indexOf(row.day);
      if (of && i >= 0) of[i] += row.calls;
    }
  };
  if (everything) count((await get("/admin/usage", { from: days[0], group_by: "day,team" }, { signal })).data);
  else await Promise.all(teams.slice(0, 20).map(async (t) => count((await get(`/auth/teams/${t.id}/usage`, { from: days[0], group_by: "day" }, { signal })).data, t.id)));
  return found;
}

function createTeam(page) {
  formDialog({
    title: "Create team", action: "Create team",
    fields: [field({ label: "Name", name: "name", required: true }), limitFields(), h("p", { class: "soft xs" }, "The limits hold for all keys of the team together.")],
    read: (form) => {
      const limits = readLimits(form);
      return limits && { name: formData(form).name, ...limits };
    },
    save: (body) => send("POST", "/admin/teams", body),
    done: (team) => {
      toast(`${team.name} is created`);
      page.go(addressOf("team", team.id));
    },
  });
}

const how = () => h("div", { class: "mt" }, card({ title: "How limits combine", pad: true },
  h("dl", { class: "facts" },
    h("dt", null, "Gateway"), h("dd", null, "The budget of everything together, and requests a minute of each caller"),
    h("dt", null, "Team"), h("dd", null, "All keys of the team together"),
    h("dt", null, "Person"), h("dd", null, "All keys of a person together, and the playground"),
    h("dt", null, "Key"), h("dd", null, "One application")),
  h("p", { class: "soft xs mt" }, "A call must fit in each of the four. A refusal names the one that was full. Open a team to see what holds for each of its keys.")));
