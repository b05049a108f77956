// @ts-check
// The users and the open invitations, for administrators.

import { attempt, restore } from "../lib/act.js";
import { get, send } from "../lib/api.js";
import { fill, h } from "../lib/dom.js";
import { fileButton } from "../lib/file.js";
import { limitFields, readLimits } from "../lib/limits.js";
import { ago, full, until } from "../lib/format.js";
import { rowLink } from "../lib/rows.js";
import { loginMethods } from "../lib/state.js";
import { button, confirm, empty, failed, field, find, formData, loading, menuButton, segments, select, status, table, tag, toast } from "../lib/ui.js";
import { budgetBar, budgetText, editLimits, formDialog, limitsText, rename } from "./people/limits.js";
import { invite, showLinks } from "./people/links.js";
import { all, plural } from "./people/lists.js";

export const title = "Users";
export const admin = true;

const shown = /** @type {[string, string][]} */ ([["", "All"], ["active", "Active"], ["admin", "Administrators"], ["invited", "Invited"], ["unverified", "Not confirmed"], ["disabled", "Disabled"]]);
const ways = /** @type {[string, string][]} */ ([["", "Any sign-in"], ["password", "Password"], ["identity_provider", "Identity provider"], ["none", "None yet"]]);
const registration = { open: "Everyone who reaches the gateway can register", invite: "People come by invitation", closed: "Registration is closed" };

/** @param {any} page */
export async function show(page) {
  const { signal, query } = page;
  const list = h("section", { class: "card", "aria-label": "Users" }, loading("table")), methods = loginMethods();
  const teams = all("/admin/teams", {}, signal).catch(() => []); // the users are shown without them
  const state = { q: query.get("q") ?? "", state: query.get("state") ?? "", team_id: query.get("team_id") ?? "", sign_in: query.get("sign_in") ?? "" };
  let turn = 0, users = [], invitations = [], more = false, last = "";

  page.head({ line: "\u00a0", actions: [
    fileButton(page, () => ({ path: "/admin/users", params: state, name: "users.csv" })),
    button("Create user", async () => createUser(await teams, (await methods).mail, load), { icon: "plus" }),
    button("Invite", async () => invite({ path: "/admin/invitations", teams: await teams, mail: (await methods).mail, done: load }), { class: "first", icon: "mail" }),
  ] });
  const byTeam = h("div", null), wayOf = (/** @type {string} */ sign_in) => choose({ sign_in });
  fill(page.root, h("div", { class: "filters" },
    find({ label: "Find a user", placeholder: "Name or e-mail", value: state.q, oninput: (q) => choose({ q }) }),
    segments({ label: "Show", options: shown, value: state.state, onchange: (value) => choose({ state: value }) }), byTeam,
    select({ label: "Sign-in", value: state.sign_in, options: ways, onchange: wayOf })), list);
  const pick = (found) => fill(byTeam, select({ label: "Team", value: state.team_id, options: [["", "All teams"], ...found.map((t) => [t.id, t.name])], onchange: (team_id) => choose({ team_id }) }));
  pick([]); // it has its place before the teams come
  teams.then(pick);

  function choose(changes) {
    Object.assign(state, changes);
    page.setQuery(changes);
    return load();
  }

  /** Invitations are few, and the gateway lists them all. */
  const matches = (invitation) => (!state.team_id || invitation.team_id === state.team_id)
    && (invitation.email ?? "").toLowerCase().includes(state.q.trim().toLowerCase());
  const withInvitations = () => ["", "invited"].includes(state.state) && !state.sign_in;

  async function load() {
    const mine = ++turn;
    try {
      const found = state.state === "invited" ? { data: [], has_more: false } : await get("/admin/users", { limit: 50, ...state }, { signal });
      const open = withInvitations() ? await all("/admin/invitations", {}, signal) : [];
      if (mine !== turn) return;
      users = found.data;
      more = found.has_more;
      last = found.data.at(-1)?.id ?? "";
      invitations = open.filter(matches);
      draw();
    } catch (error) {
      if (mine === turn && !signal.aborted) fill(list, failed(error, () => page.go(location.href, { replace: true }), "The users"));
    }
  }

  async function older() {
    const mine = turn, found = await get("/admin/users", { limit: 50, ...state, after: last }, { signal });
    if (mine !== turn) return;
    users.push(...found.data);
    more = found.has_more;
    last = found.data.at(-1)?.id ?? "";
    draw();
  }

  async function draw() {
    const m = await methods;
    const provider = m.identity_provider ? " or through " + named(m.identity_provider) : "";
    if (!Object.values(state).some(Boolean)) {
      page.head({ line: `${users.length}${more ? "+" : ""} ${users.length === 1 ? "user" : "users"}, ${plural(invitations.length, "open invitation")}. ${registration[m.registration] ?? ""}${provider}.` });
    }
    const columns = columnsOf({ page, load, teams: await teams, provider: m.identity_provider, mail: m.mail });
    fill(list, table({
      label: "Users", class: "rt people", columns, rows: [...users, ...(more ? [] : invitations)], key: (row) => row.id,
      empty: nothing(state, page),
      foot: more ? [h("span", null, `The newest ${users.length}`), button("Load older", older)] : null,
    }));
  }

  await load();
}

const named = (provider) => provider[0].toUpperCase() + provider.slice(1);

function nothing(state, page) {
  if (state.state === "invited") return empty({ text: "No invitation is open." });
  return empty({ text: "No user matches." + (state.q ? ` Find: ${state.q}.` : ""), action: button("Clear filters", () => page.go("/users")) });
}

const isInvitation = (row) => row.object === "invitation";
/** How a user is called. @param {any} user */
export const nameOf = (user) => user.name || user.email;

function columnsOf(context) {
  const signIn = { password: () => "Password", identity_provider: () => (context.provider ? named(context.provider) : "Identity provider") };
  return [
    { key: "user", title: "User", class: "clip p-name", cell: (row) => who(row) },
    { key: "state", title: "Status", class: "p-state", cell: (row) => (isInvitation(row) ? status("warn", "Invited") : row.disabled_at ? status("off", "Disabled") : status("good", "Active")) },
    { key: "budget", title: "Spent of budget", class: "p-use", cell: (row) => (isInvitation(row) ? h("span", { class: "soft" }, "No calls yet") : budgetBar(row, nameOf(row))) },
    { key: "limits", title: "Other limits", class: "c-w soft xs", cell: (row) => (!isInvitation(row) && limitsText(row)) || "–" },
    { key: "team", title: "Team", class: "c-s clip-s", cell: (row) => teamsOf(row, context.teams) },
    { key: "role", title: "Role", class: "c-m nw", cell: (row) => (row.admin ? h("span", { title: "Administrator" }, tag("info", "Admin")) : "User") },
    { key: "signin", title: "Sign-in", class: "c-w soft", cell: (row) => (row.sign_in?.length ? row.sign_in.map((s) => signIn[s]?.() ?? s).join(", ") : "–") },
    { key: "keys", title: "Keys", class: "num c-m", cell: (row) => (isInvitation(row) ? "–" : row.keys) },
    { key: "seen", title: "Last seen", class: "nw c-s soft", cell: (row) => (isInvitation(row) ? "Never" : seen(row.last_used_at)) },
    { key: "actions", title: "", label: "Actions", class: "num p-act", cell: (row) => menuButton("Actions for " + (row.name || row.email || "this invitation"), () => (isInvitation(row) ? ofInvitation(row, context) : ofUser(row, context))) },
  ];
}

const seen = (at) => h("span", { title: at ? full(at * 1000) : null }, at ? ago(at * 1000) : "Never");

function who(row) {
  if (isInvitation(row)) {
    const line = `invited${row.created_by_email ? " by " + row.created_by_email : ""}, expires ${until(row.expires_at * 1000)}`;
    return [h("span", { class: "name elide", title: row.email ?? "" }, row.email ?? "Any address"), h("span", { class: "sub elide", title: line }, line)];
  }
  return [rowLink("user", row.id, nameOf(row)), h("span", { class: "sub elide", title: row.email }, row.email + (row.verified ? "" : ", not confirmed"))];
}

function teamsOf(row, all) {
  const teams = isInvitation(row) ? (row.team_id ? [{ id: row.team_id, name: row.team_name ?? all.find((t) => t.id === row.team_id)?.name ?? "a team", role: row.role }] : []) : row.teams;
  if (!teams?.length) return "–";
  return teams.map((t, i) => [i ? ", " : null, h("a", { href: "/teams/" + t.id, title: t.role === "manager" ? "Manager" : "Member" }, t.name)]);
}

function ofInvitation(row, { load }) {
  return [{ text: "Delete invitation", icon: "x", bad: true, onclick: async () => {
    const name = row.email ?? "this invitation";
    if (!(await confirm({ title: "Delete this invitation?", text: `The link for ${name} does not work any more. You can invite again.`, action: "Delete invitation", keep: "Keep invitation" }))) return;
    await attempt(() => send("DELETE", "/admin/invitations/" + row.id), "The invitation is deleted", load);
  } }];
}

/** What can be done to a user. @param {any} user @param {{ page: any, load: () => any, mail: boolean }} context */
export function ofUser(user, { page, load, mail }) {
  const name = nameOf(user), path = "/admin/users/" + user.id, self = user.id === page.me.user.id;
  const change = (body, text, undo) => attempt(() => send("PATCH", path, body), text, load, undo);
  const off = () => change({ disabled: true }, `${name} is disabled`, restore(path, `${name} is enabled again`, load));
  return [
    { text: "Edit limits", icon: "gear", onclick: () => editLimits({ name, row: user, path, what: "They hold for all of a person’s keys together.", done: load }) },
    { text: "Rename", icon: "user", onclick: () => rename({ title: "Rename " + name, name: user.name, path, done: load }) },
    { text: "Keys", icon: "key", href: "/keys?q=" + encodeURIComponent(user.email) },
    { text: "Usage", icon: "chart", href: "/usage?user_id=" + user.id },
    { text: "Calls", icon: "list", href: "/calls?user_id=" + user.id },
    { text: "Audit log", icon: "audit", href: "/audit?target=" + user.id },
    { text: "Reset password", icon: "turn", onclick: () => reset(user, mail, load) },
    ...(self ? [] : [
      null,
      user.admin
        ? { text: "Take administrator rights", icon: "lock", onclick: () => change({ admin: false }, `${name} is a user now`) }
        : { text: "Make administrator", icon: "lock", onclick: () => promote(name, change) },
      user.disabled_at
        ? { text: "Enable", icon: "check", onclick: () => change({ disabled: false }, `${name} is enabled`) }
        : { text: "Disable", icon: "lock", bad: true, onclick: () => disable(user, off) },
      { text: "Delete", icon: "x", bad: true, onclick: () => remove(user, off, load) },
    ]),
  ];
}

async function promote(name, change) {
  const yes = await confirm({ title: `Make ${name} an administrator?`, text: "Administrators see and change all users, teams, keys and calls.", action: "Make administrator", keep: "Keep as user", danger: false });
  if (yes) await change({ admin: true }, `${name} is an administrator now`);
}

async function disable(user, off) {
  const name = nameOf(user), keys = user.keys ? `${plural(user.keys, "key")} ${user.keys === 1 ? "stops" : "stop"} and every sign-in ends` : "Every sign-in ends";
  const yes = await confirm({ title: `Disable ${name}?`, text: `${keys} within a second. Nothing is deleted: the keys work again when the user is enabled.`, action: "Disable user", keep: "Keep user" });
  if (yes) await off();
}

async function remove(user, off, load) {
  const name = nameOf(user), keys = user.keys ? `${plural(user.keys, "key")} ${user.keys === 1 ? "is" : "are"} revoked for ever. ` : "";
  const yes = await confirm({
    title: `Delete ${name}?`, action: "Delete user", keep: "Keep user", instead: user.disabled_at ? null : "Disable user",
    text: [
      user.disabled_at ? null : h("p", null, h("b", null, "Disable"), " keeps the keys, the teams and the limits, ends every sign-in, and can be undone."),
      h("p", null, h("b", null, "Delete"), ` cannot be undone. ${keys}The usage stays, and administrators see ${user.email} beside it until it is erased.`),
    ],
  });
  if (yes === "instead") return off();
  if (yes) await attempt(() => send("DELETE", "/admin/users/" + user.id), `${name} is deleted`, load);
}

async function reset(user, mail, load) {
  const text = mail ? `A link to set a new password is mailed to ${user.email}.` : "You get a link to pass on, with which a new password is set. The present one works until then.";
  if (!(await confirm({ title: `Reset the password of ${nameOf(user)}?`, text, action: mail ? "Send link" : "Make link", keep: "Keep password", danger: false }))) return;
  await attempt(async () => {
    const link = await send("POST", `/admin/users/${user.id}/reset`, {});
    showLinks("Link to set a password", [{ who: user.email, url: link.url, expires: link.expires_at }]);
  }, "", load);
}

/** Makes a user at once: with a role, limits and a link with which the password is set. */
function createUser(teams, mail, load) {
  const role = field({ label: "Role in the team", name: "role", type: "select", options: [["member", "Member"], ["manager", "Manager"]], value: "member", disabled: true });
  const chosen = (event) => (/** @type {HTMLSelectElement} */ (role.querySelector("select")).disabled = !event.target.value);
  formDialog({
    title: "Create user", action: "Create user", fields: [
      h("div", { class: "cols" }, field({ label: "E-mail address", name: "email", type: "email", required: true }), field({ label: "Name", name: "name" })),
      h("div", { class: "cols" },
        field({ label: "Team", name: "team_id", type: "select", options: [["", "No team"], ...teams.map((t) => [t.id, t.name])], onchange: chosen }), role),
      h("label", { class: "check" }, h("input", { type: "checkbox", name: "admin", value: "yes" }), "Administrator: sees and changes everything"),
      limitFields(),
      h("p", { class: "soft xs" }, "The limits hold for all of a person’s keys together. ", mail ? "A link to set the password is mailed." : "You get a link with which the person sets a password."),
    ],
    read: (form) => {
      const values = formData(form), limits = readLimits(form);
      return limits && { email: values.email, name: values.name, admin: values.admin === "yes", ...(values.team_id ? { team_id: values.team_id, role: values.role } : {}), ...limits };
    },
    save: (body) => send("POST", "/admin/users", body),
    done: (made) => {
      load();
      toast(`${made.name || made.email} is created${made.budget_usd == null ? "" : ", with " + budgetText(made)}`);
      if (made.link) showLinks("Link to set a password", [{ who: made.email, url: made.link.url, expires: made.link.expires_at }]);
    },
  });
}
