// @ts-check
// One team: its budget, members, keys, invitations, and what holds for each key.

import { get, send } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { limitFields, readLimits } from "../../lib/limits.js";
import { ago, full, until } from "../../lib/format.js";
import { loginMethods } from "../../lib/state.js";
import { button, card, confirm, empty, field, formData, loading, menuButton, note, table, tag, toast, url, dialog } from "../../lib/ui.js";
import { holds } from "./combine.js";
import { budgetBar, editLimits, formDialog, limitsText, rename } from "./limits.js";
import { invite } from "./links.js";
import { all, facts, plural } from "./lists.js";

const roles = /** @type {[string, string][]} */ ([["member", "Member"], ["manager", "Manager"]]);

/** @param {any} page @param {string} id */
export async function showTeam(page, id) {
  const { signal } = page, everything = page.me.user.admin, base = `/${everything ? "admin" : "auth"}/teams/${id}`;
  const context = { page, id, everything, base, keysAt: everything ? "/admin/keys" : base + "/keys", load, team: /** @type {any} */ (null), members: [], mail: false };
  if (!page.root.childElementCount) fill(page.root, loading("table"));

  async function load() {
    const team = everything ? await get(base, null, { signal }) : (await get("/auth/teams", null, { signal })).data.find((t) => t.id === id && t.role === "manager");
    if (!team) return fill(page.root, empty({ title: "You do not manage this team.", text: "Only its managers and administrators see it.", action: h("a", { class: "btn", href: "/teams" }, "All teams") }));
    const [members, keys, invitations, methods] = await Promise.all([
      get(base + "/members", null, { signal }), all(context.keysAt, everything ? { team_id: id } : {}, signal),
      all(everything ? "/admin/invitations" : base + "/invitations", {}, signal), loginMethods(),
    ]);
    Object.assign(context, { team, members: members.data, mail: methods.mail });
    page.head({ line: h("a", { href: "/teams" }, "All teams"), actions: actionsOf(context) });
    const open = invitations.filter((i) => i.team_id === id);
    fill(page.root, h("div", { class: "stack" }, overview(team),
      h("div", { class: "grid2 wide" }, membersCard(context, open), keysCard(context, keys)), await holds(context, keys)));
    document.title = team.name + " · Teams · Model Gateway";
  }

  await load();
}

function actionsOf({ team, base, everything, load, page }) {
  if (!everything) return [h("a", { class: "btn", href: "/usage?team_id=" + team.id }, "Usage")];
  return [
    h("a", { class: "btn", href: "/usage?team_id=" + team.id }, "Usage"),
    button("Edit limits", () => editLimits({ name: team.name, row: team, path: base, what: "They hold for all keys of the team together.", done: load }), { icon: "gear" }),
    menuButton("More actions", () => [
      { text: "Rename", icon: "team", onclick: () => rename({ title: "Rename " + team.name, name: team.name, path: base, done: load }) },
      { text: "Audit log", icon: "audit", href: "/audit?target=" + team.id },
      null, { text: "Delete team", icon: "x", bad: true, onclick: () => deleteTeam(team, () => page.go("/teams")) },
    ]),
  ];
}

const overview = (team) => card({ title: team.name, pad: true, line: `${plural(team.members, "member")}, ${plural(team.keys, "key")}` },
  h("div", { class: "team-use" }, budgetBar(team, team.name)), facts([["Other limits", limitsText(team)]]));

function membersCard(context, invitations) {
  const { team, base, everything, load, mail, members } = context;
  const columns = [
    { key: "name", title: "Member", class: "clip p-name", cell: (m) => m.object === "invitation"
      ? [h("span", { class: "name elide", title: m.email ?? "" }, m.email ?? "Any address"), h("span", { class: "sub elide" }, "invited, expires " + until(m.expires_at * 1000))]
      : [h("span", { class: "name elide", title: m.name || m.email }, m.name || m.email), h("span", { class: "sub elide", title: m.email }, m.email)] },
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
    { key: "name", title: "Key", class: "clip p-name", cell: (k) => [h("span", { class: "name elide", title: k.name }, k.name || "Without a name"), h("span", { class: "sub elide", title: k.user_email ?? "" }, (k.pending ? "" : k.prefix + "…, ") + (k.user_email ?? "of the team")),
      k.pending ? tag("warn", "Waiting to be fetched") : null] },
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
      const yes = await confirm({ title: `Revoke ${name}?`, text: `Calls with this key are refused within a second.${used} This cannot be undone.`, action: "Revoke key", keep: "Keep key" });
      if (yes) await attempt(() => send("DELETE", path), `${name} is revoked`, load);
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

/** Asks, and deletes a team. @param {any} team @param {() => any} done */
export async function deleteTeam(team, done) {
  const keys = team.keys ? `${plural(team.keys, "key")} ${team.keys === 1 ? "is" : "are"} revoked within a second. ` : "";
  const yes = await confirm({ title: `Delete ${team.name}?`, text: `${keys}Its memberships and invitations are gone. The usage stays. This cannot be undone.`, action: "Delete team", keep: "Keep team" });
  if (yes) await attempt(() => send("DELETE", "/admin/teams/" + team.id), `${team.name} is deleted`, done);
}

/** Does something and says it, or says why it was refused. @param {() => Promise<any>} act @param {string} text @param {() => any} load */
export async function attempt(act, text, load) {
  try {
    await act();
    if (text) toast(text);
    await load();
  } catch (error) {
    const { close } = dialog({ title: "It was not done", body: h("p", null, error.message), actions: button("Close", () => close(), { class: "first" }) });
  }
}
