// @ts-check
// One team: its budget, members, keys, invitations, and what holds for each key.

import { attempt, restore, undoable } from "../../lib/act.js";
import { get, send } from "../../lib/api.js";
import { h } from "../../lib/dom.js";
import { sourceOf } from "../../lib/filters.js";
import { limitFields, readLimits } from "../../lib/limits.js";
import { refusedLink } from "../../lib/refusals.js";
import { ago, full, shownOfKey, until } from "../../lib/format.js";
import { idOf, rowLink } from "../../lib/rows.js";
import { loginMethods } from "../../lib/state.js";
import { button, card, confirm, empty, field, formData, menuButton, note, table, tag, toast, url, dialog } from "../../lib/ui.js";
import { limits } from "../things/limits.js";
import { showThing } from "../things/thing.js";
import { holds } from "./combine.js";
import { budgetBar, deleteTeam, editLimits, formDialog, limitsText, rename } from "./limits.js";
import { invite } from "./links.js";
import { all, plural } from "./lists.js";
import { agentSettings } from "./agents.js";

const roles = /** @type {[string, string][]} */ ([["member", "Member"], ["manager", "Manager"]]);

/** @param {any} page */
export function show(page) {
  const { signal } = page, id = idOf(page.url), everything = page.me.user.admin, base = `/${everything ? "admin" : "auth"}/teams/${encodeURIComponent(id)}`;
  return showThing(page, {
    kind: "team", who: "Its managers and administrators see a team.",
    async read(load) {
      const team = everything ? await get(base, null, { signal }) : (await get("/auth/teams", null, { signal })).data.find((t) => t.id === id && t.role === "manager");
      if (!team) throw Object.assign(new Error(), { status: 404 });
      const keysAt = everything ? "/admin/keys" : base + "/keys";
      const [members, keys, invitations, methods] = await Promise.all([
        get(base + "/members", null, { signal }), all(keysAt, { days: 1, ...(everything ? { team_id: id } : {}) }, signal),
        all(everything ? "/admin/invitations" : base + "/invitations", {}, signal), loginMethods(),
      ]);
      const context = { page, id, everything, base, keysAt, load, team, members: members.data, mail: methods.mail }, open = invitations.filter((i) => i.team_id === id);
      return {
        title: team.name, line: `${plural(team.members, "member")}, ${plural(team.keys, "key")}`, items: itemsOf(context), target: id, by: "user",
        source: sourceOf(page.me, new URLSearchParams({ team_id: id })), filter: everything ? { team_id: id } : {}, top: limits([{ name: team.name, row: team, raise: everything ? { path: base, done: load } : undefined }]),
        parts: [h("div", { class: "grid2 wide" }, membersCard(context, open), keysCard(context, keys)), await holds(context, keys)],
      };
    },
  });
}

function itemsOf({ team, base, everything, load, page }) {
  if (!everything) return [];
  return [
    { text: "Edit limits", icon: "gear", onclick: () => editLimits({ name: team.name, row: team, path: base, what: "They hold for all keys of the team together.", done: load }) },
    { text: "Settings of agents", icon: "code", onclick: () => agentSettings({ title: "Settings of agents in " + team.name, path: base, usual: "Without any, those of the gateway hold.", done: load }) },
    { text: "Rename", icon: "team", onclick: () => rename({ title: "Rename " + team.name, name: team.name, path: base, done: load }) },
    { text: "Delete team", icon: "x", bad: true, onclick: () => deleteTeam(team, () => page.go("/teams")) },
  ];
}

function membersCard(context, invitations) {
  const { team, base, everything, load, mail, members } = context;
  const columns = [
    { key: "name", title: "Member", class: "clip p-name", cell: (m) => m.object === "invitation"
      ? [h("span", { class: "name elide", title: m.email ?? "" }, m.email ?? "Any address"), h("span", { class: "sub elide" }, "invited, expires " + until(m.expires_at * 1000))]
      : [rowLink("user", m.user_id, m.name || m.email), h("span", { class: "sub elide", title: m.email }, m.email)] },
    { key: "role", title: "Role", class: "p-state nw", cell: (m) => (m.object === "invitation" ? tag("warn", "Invited") : m.role === "manager" ? tag("info", "Manager") : "Member") },
    { key: "actions", title: "", label: "Actions", class: "num p-act", cell: (m) => menuButton("Actions for " + (m.name || m.email || "this invitation"), () => (m.object === "invitation" ? ofInvitation(m, context) : ofMember(m, context))) },
  ];
  return card({
    title: "Members", actions: h("div", { class: "acts" },
      button("Invite", () => invite({ path: everything ? "/admin/invitations" : base + "/invitations", team, mail, done: load }), { icon: "mail" }),
      everything ? button("Add member", () => addMember(context), { icon: "plus" }) : null),
  }, table({ label: "Members of " + team.name, class: "rt people", columns, rows: [...members, ...invitations], empty: empty({ text: "This team has no members yet." }) }));
}

function ofMember(m, { base, team, load, page }) {
  const name = m.name || m.email, path = `${base}/members/${m.user_id}`, to = m.role === "manager" ? "member" : "manager";
  return [
    { text: to === "manager" ? "Make manager" : "Make member", icon: "user", onclick: () => attempt(() => send("PATCH", path, { role: to }), `${name} is a ${to} now`, load) },
    { text: "Usage", icon: "chart", href: `/usage?team_id=${team.id}&user_id=${m.user_id}` },
    null,
    { text: "Remove from team", icon: "x", bad: true, onclick: async () => {
      const yes = await confirm({ title: `Remove ${name} from ${team.name}?`, text: "The keys of this person in the team are revoked within a second. Keys of the team alone stay.", action: "Remove member", keep: "Keep member" });
      if (yes) await attempt(() => send("DELETE", path), `${name} is removed`, m.user_id === page.me.user.id ? () => page.go("/teams") : load);
    } },
  ];
}

function ofInvitation(i, { base, everything, load }) {
  return [{ text: "Delete invitation", icon: "x", bad: true, onclick: () => attempt(() => send("DELETE", (everything ? "/admin" : base) + "/invitations/" + i.id), "The invitation is deleted", load) }];
}

function addMember({ base, team, load }) {
  formDialog({
    title: "Add a member to " + team.name, action: "Add member",
    fields: h("div", { class: "cols" }, field({ label: "E-mail address", name: "email", type: "email", required: true, hint: "Of a user. Invite people who are none." }), field({ label: "Role", name: "role", type: "select", options: roles, value: "member" })),
    read: (form) => formData(form), save: (body) => send("POST", base + "/members", body),
    done: (m) => (toast(m.object === "invitation" ? `${m.email} is sent an invitation, since the address was never confirmed` : `${m.name || m.email} is a ${m.role} now`), load()),
  });
}

function keysCard(context, keys) {
  const columns = [
    { key: "name", title: "Key", class: "clip p-name", cell: (k) => [rowLink("key", k.id, k.name || "Without a name"), h("span", { class: "sub elide", title: k.user_email ?? "" }, (k.pending ? "" : shownOfKey(k.prefix) + ", ") + (k.user_email ?? "of the team")),
      k.pending ? tag("warn", "Waiting to be fetched") : null, refusedLink(k, context.everything ? null : context.id)] },
    { key: "budget", title: "Spent of budget", class: "p-use", cell: (k) => budgetBar(k, k.name) },
    { key: "limits", title: "Other limits", class: "c-w soft xs", cell: (k) => limitsText(k) || "–" },
    { key: "used", title: "Last used", class: "c-s nw soft", cell: (k) => h("span", { title: k.last_used_at ? full(k.last_used_at * 1000) : null }, k.last_used_at ? ago(k.last_used_at * 1000) : "Never") },
    { key: "actions", title: "", label: "Actions", class: "num p-act", cell: (k) => menuButton("Actions for " + (k.name || k.prefix), () => ofKey(k, context)) },
  ];
  return card({ title: "Keys", actions: button("Create key", () => createKey(context), { icon: "plus" }) },
    table({ label: "Keys of " + context.team.name, class: "rt people", columns, rows: keys, empty: empty({ text: "This team has no keys yet. Calls with a key of the team count against its budget." }) }));
}

function ofKey(k, { keysAt, load, everything, page }) {
  const name = k.name || k.prefix, path = `${keysAt}/${k.id}`;
  const others = k.user_id && k.user_id !== page.me.user.id; // whose secret only its owner sees
  return [
    { text: "Edit limits", icon: "gear", onclick: () => editLimits({ name, row: k, path, done: load }) },
    { text: "Rename", icon: "key", onclick: () => rename({ title: "Rename " + name, name: k.name, path, done: load }) },
    ...(k.pending || others && !everything ? [] : [{ text: "Rotate", icon: "turn", onclick: async () => {
      const text = others ? "Its owner fetches the new secret under Keys." : "You get a new secret.";
      const yes = await confirm({ title: `Rotate ${name}?`, text: text + " The present one works for another day.", action: "Rotate key", keep: "Keep secret", danger: false });
      if (yes) await attempt(async () => made(await send("POST", path + "/rotate", {})), "", load);
    } }]),
    null,
    { text: "Revoke", icon: "x", bad: true, onclick: async () => {
      const used = k.last_used_at ? ` It was last used ${ago(k.last_used_at * 1000)}.` : " It was never used.";
      const yes = await confirm({ title: `Revoke ${name}?`, text: `Calls with this key are refused within a second.${used} ${undoable}`, action: "Revoke key", keep: "Keep key" });
      if (yes) await attempt(() => send("DELETE", path), `${name} is revoked`, load, restore(path, `${name} works again`, load));
    } },
  ];
}

function createKey({ team, id, everything, keysAt, members, load }) {
  formDialog({
    title: "Create a key of " + team.name, action: "Create key",
    fields: [
      h("div", { class: "cols" }, field({ label: "Name", name: "name" }),
        field({ label: "For", name: "user_id", type: "select", options: [["", "The team"], ...members.map((m) => [m.user_id, m.name || m.email])], hint: "A key of a person counts against their limits too." })),
      limitFields(),
    ],
    read: (form) => {
      const values = formData(form), limits = readLimits(form);
      return limits && { name: values.name, ...(values.user_id ? { user_id: values.user_id } : {}), ...(everything ? { team_id: id } : {}), ...limits };
    },
    save: (body) => send("POST", keysAt, body), done: (key) => (load(), made(key)),
  });
}

/** Shows the secret of a new key, or where its owner fetches it. */
function made(key) {
  if (!key.pending) return secret(key.name || key.prefix, key.key);
  const { close } = dialog({
    title: `The key ${key.name} waits for its owner`,
    body: [note("info", "Only its owner sees the secret: logged in, under Keys, once. Where the gateway sends mail, they were sent this address; otherwise hand it over."), url(key.link, { label: "Copy the address" })],
    actions: button("Done", () => close(), { class: "first" }),
  });
}

/** Shows a secret; it is in no other answer. */
function secret(name, text) {
  const { close } = dialog({
    title: "Copy the key " + name + " now",
    body: [note("warn", h("b", null, "It is shown only here."), " The gateway keeps only a hash of it."), url(text, { label: "Copy the key" })],
    actions: button("Done", () => close(), { class: "first" }),
  });
}
