// @ts-check
// Keys: what each may do, and whether it is about to stop.

import { attempt, restore, undoable } from "../lib/act.js";
import { get, send } from "../lib/api.js";
import { fill, h, icon } from "../lib/dom.js";
import { fileButton } from "../lib/file.js";
import { ago, money, shownOfKey, until, weekday, whole, zoneName } from "../lib/format.js";
import { isSpent, limitFields, limitTags, readLimits, renewal, windows } from "../lib/limits.js";
import { spark } from "../lib/plot.js";
import { refusedLink } from "../lib/refusals.js";
import { rowLink } from "../lib/rows.js";
import { rememberKey } from "../lib/state.js";
import {
  bar, button, card, code, confirm, copy, dialog, empty, failed, field, find, formError, loading, menuButton, note, segments, select, sorted,
  table, tag, toast,
} from "../lib/ui.js";
import { snippets, withModels } from "./snippets.js";

export const title = "Keys";

/** @param {any} page */
export async function show(page) {
  const { me, query } = page, user = me.user;
  const managed = user.teams.filter((t) => t.role === "manager");
  // Whose keys: an administrator's page has everyone's, a manager's may show a team's.
  const scope = user.admin ? query.get("scope") ?? "all" : query.get("scope") ?? "own";
  const state = { page, scope, all: [], defaults: {}, sort: { key: "name", down: false }, text: query.get("q") ?? "", which: query.get("state") ?? "active", more: false };
  const body = h("div"), notes = h("div", { class: "stack" });
  const lists = user.admin ? [["all", "Everyone's keys"], ["own", "My keys"]] : [["own", "My keys"]];
  for (const t of managed) lists.push([t.id, "Team " + t.name]);
  page.head({
    line: scope === "all" ? "Everyone" : scope === "own" ? "Yours" : "Team " + (managed.find((t) => t.id === scope)?.name ?? ""),
    actions: [scope === "own" ? null : fileButton(page, () => ({ path: root(scope), params: { state: state.which }, name: "keys.csv" })), button("Create key", () => create(state), { class: "first", icon: "plus" })],
  });
  const draw = () => fill(body, list(state, draw));
  fill(page.root, notes, h("div", { class: "filters" },
    find({ label: "Find a key", placeholder: "Name, prefix or owner", value: state.text, oninput: (text) => ((state.text = text), page.setQuery({ q: text }), draw()) }),
    segments({ label: "State", value: state.which, options: [["active", "Active"], ["revoked", "Revoked"], ["all", "All"]], onchange: (which) => ((state.which = which), page.setQuery({ state: which === "active" ? null : which }), load()) }),
    lists.length > 1 ? select({ label: "Whose keys", value: scope, options: /** @type {[string, string][]} */ (lists), onchange: (value) => page.go("/keys?scope=" + value) }) : null), body);
  state.reload = load;
  await load();
  if (query.get("new")) {
    page.setQuery({ new: null });
    create(state);
  }

  async function load() {
    const wait = setTimeout(() => body.childElementCount === 0 && fill(body, card({ label: "Keys" }, loading("table"))), 200);
    try {
      const answer = await readAll(state);
      state.all = answer.data;
      state.defaults = answer.defaults ?? {};
      const spent = state.all.filter((k) => !k.revoked_at && isSpent(k.budget));
      fill(notes, spent.map((k) => note("bad", h("b", null, k.name), ` has spent its budget of ${money(k.budget.limit_usd)} ${windows[k.budget_window]}. Its calls get 402`,
        k.budget.resets_at ? ` until ${weekday(k.budget.resets_at * 1000)}` : "", ". Raise the budget, or wait.")));
      notes.hidden = spent.length === 0;
      draw();
    } catch (error) {
      fill(body, card({ label: "Keys" }, failed(error, load, "Keys")));
    }
    clearTimeout(wait);
  }
}

/** Where the keys of a scope are: everyone's, one's own, or those of a team. @param {string} scope */
export const root = (scope) => (scope === "all" ? "/admin/keys" : scope === "own" ? "/auth/keys" : `/auth/teams/${scope}/keys`);

/** All pages of the list, of at most some thousand keys. */
async function readAll({ scope, which, page }) {
  const params = { days: 14, state: which, limit: scope === "own" ? null : 100 };
  const answer = await get(root(scope), params, { signal: page.signal });
  const most = 50;
  for (let i = 0, last = answer; last.has_more && i < most; i++) {
    last = await get(root(scope), { ...params, after: last.data.at(-1).id }, { signal: page.signal });
    answer.data.push(...last.data);
  }
  return answer;
}

const owner = (k) => k.user_email ?? k.team_name ?? "";

/** Whether only another user sees the secret of a key. */
const isOthers = (state, k) => state.scope !== "own" && k.user_id && k.user_id !== state.page.me.user.id;

/** What stands for the secret of a key: its beginning, or how it is fetched. */
export const secretOf = (state, k) => {
  if (!k.pending) return h("span", { class: "sub mono" }, shownOfKey(k.prefix));
  return isOthers(state, k) ? tag("warn", "Waiting to be fetched") : button("Fetch the secret", () => fetchSecret(state, k), { class: "link" });
};

/** A badge for a key that was taken over. */
export const originOf = (k) => (k.origin === "litellm" ? tag("info", "from LiteLLM") : null);

function list(state, draw) {
  const others = state.scope !== "own", wanted = state.text.toLowerCase();
  const rows = state.all.filter((k) => [k.name, k.prefix, owner(k)].some((text) => (text ?? "").toLowerCase().includes(wanted)));
  /** @type {import("../lib/ui.js").Column[]} */
  const columns = [
    { key: "name", title: "Name", head: true, class: "k-name clip", sort: (k) => k.name, cell: (k) => [
      rowLink("key", k.id, k.name),
      secretOf(state, k), originOf(k), refusedLink(k, ["all", "own"].includes(state.scope) ? null : state.scope)] },
    { key: "spent", title: "Spent of budget", class: "k-use full", sort: (k) => k.budget ? k.budget.spent_usd / Math.max(k.budget.limit_usd, 1e-9) : -1, cell: spent },
    others ? { key: "owner", title: "Owner", class: "c-s c-l", sort: owner, cell: (k) => h("span", { class: "elide", title: owner(k) }, owner(k) || "–") } : null,
    { key: "limits", title: "Limits", class: "c-s c-l", cell: limitTags },
    { key: "calls", title: "Calls, 14 d", class: "c-m k-spark", sort: (k) => (k.daily_calls ?? []).reduce((a, b) => a + b, 0), cell: (k) => k.daily_calls ? spark(k.daily_calls, "Calls a day of the last 14 days: " + k.daily_calls.map(whole).join(", ")) : "–" },
    { key: "used", title: "Last used", class: "nw k-used", sort: (k) => k.last_used_at ?? 0, cell: (k) => k.last_used_at ? ago(k.last_used_at * 1000) : h("span", { class: "soft" }, "Never") },
    { key: "expires", title: "Expires", class: "nw c-s", sort: (k) => k.expires_at ?? Infinity, cell: expiry },
    { key: "act", title: "", label: "Actions", class: "num k-act", cell: (k) => k.revoked_at ? tag("", "Revoked") : menuButton("Actions for " + k.name, () => actions(state, k)) },
  ].filter((c) => c !== null);
  const none = state.all.length === 0 && state.which === "active"
    ? empty({ title: "You have no keys yet.", text: "A key lets one application call the models. Its limits and its spend are its own.", action: button("Create key", () => create(state), { class: "first" }) })
    : empty({ text: "No keys match.", action: button("Show all keys", () => state.page.go("/keys?state=all")) });
  return card({ label: "Keys" }, table({
    columns, rows: sorted(rows, columns, state.sort), label: "Keys", class: "rt keys", sort: state.sort, key: (k) => k.id, empty: none,
    onsort: (key) => ((state.sort = { key, down: state.sort.key === key ? !state.sort.down : false }), draw()),
    foot: [h("span", null, `${whole(rows.length)} of ${whole(state.all.length)} ${state.all.length === 1 ? "key" : "keys"}`), h("span", null, `Spend lags a few seconds behind. Times in ${zoneName()}.`)],
  }));
}

function spent(k) {
  if (!k.budget) return bar(k.spend_usd, null, { label: k.name, window: "in all, no budget" });
  const over = isSpent(k.budget);
  return bar(k.budget.spent_usd, k.budget.limit_usd, { label: k.name, window: windows[k.budget_window], title: renewal(k.budget), foot: over ? renewal(k.budget, true) : null });
}

/** Until when a key works, or its former secret. @param {any} k */
export function expiry(k) {
  if (k.previous_expires_at) return tag("info", "Former secret works, " + until(k.previous_expires_at * 1000));
  if (!k.expires_at) return h("span", { class: "soft" }, "Never");
  const text = until(k.expires_at * 1000), soon = k.expires_at * 1000 - Date.now() < 7 * 86400e3;
  return soon ? tag(text === "over" ? "bad" : "warn", text === "over" ? "Expired" : text) : h("span", { class: "soft" }, text);
}

/** What can be done to a key. @param {{ page: any, scope: string, reload: () => any }} state @param {any} k */
export function actions(state, k) {
  return [
    { text: "Show its calls", icon: "list", href: "/calls?key_id=" + k.id },
    { text: "Show its usage", icon: "chart", href: "/usage?key_id=" + k.id },
    { text: "Edit limits", icon: "gear", onclick: () => edit(state, k) },
    ...(k.pending || isOthers(state, k) && state.scope !== "all" ? [] : [{ text: "Rotate", icon: "turn", onclick: () => rotate(state, k) }]),
    null,
    { text: "Revoke", icon: "x", bad: true, onclick: () => revoke(state, k) },
  ];
}

/** A dialog with a form; `submit` is given the form and may throw an error of the API. */
function formDialog({ title: name, body, action, submit }) {
  const place = h("div"), go = h("button", { class: "btn first", type: "submit" }, action);
  const made = dialog({
    title: name, body: [place, body], actions: [button("Cancel", () => made.close()), go],
    onsubmit: async (event) => {
      fill(place);
      go.disabled = true;
      try {
        if (await submit(/** @type {HTMLFormElement} */ (event.target))) made.close();
      } catch (error) {
        fill(place, formError(made.el, error));
      }
      go.disabled = false;
    },
  });
  return made;
}

function create(state) {
  const { user } = state.page.me, teams = user.teams;
  formDialog({
    title: "Create key", action: "Create key",
    body: [
      field({ label: "Name", name: "name", required: true, hint: "What will use it. One key per application makes usage readable.", maxlength: 100 }),
      teams.length ? field({ label: "Team", name: "team_id", type: "select", value: "", options: [["", "None: it is mine alone"], ...teams.map((t) => /** @type {[string, string]} */ ([t.id, t.name]))], hint: "The team's budget pays for its calls as well." }) : null,
      limitFields({}, { defaults: state.defaults }),
    ],
    submit: async (form) => {
      const limits = readLimits(form);
      if (!limits) return false;
      const name = form.elements["name"].value.trim(), team = form.elements["team_id"]?.value;
      const key = await send("POST", "/auth/keys", { name, ...(team ? { team_id: team } : {}), ...limits });
      rememberKey({ id: key.id, name: key.name, secret: key.key });
      setTimeout(() => shown(state, key, "Copy your key now"));
      return true;
    },
  });
}

/** The secret of a key that another user has made for this one. */
async function fetchSecret(state, k) {
  await attempt(async () => {
    const key = await send("POST", `/auth/keys/${k.id}/secret`);
    rememberKey({ id: key.id, name: key.name, secret: key.key });
    shown(state, key, "Copy your key now");
  }, "", state.reload);
}

/** Shows a secret, the only time. */
function shown(state, key, name) {
  let copied = false, asked = false;
  const secret = h("div", { class: "url" }, h("code", null, key.key), copy(key.key, { class: "first" }));
  secret.addEventListener("click", () => (copied = true));
  const curl = (models) => code(snippets[0].text({ base: location.origin, key: key.key, ...models }), "A call with curl");
  const made = dialog({
    title: name,
    body: [
      note("warn", "This is the only time the secret of ", h("b", null, key.name), " is shown. The gateway keeps a fingerprint of it, not the key."),
      secret, withModels(curl, { key: key.key, signal: state.page.signal }),
    ],
    guard: async () => {
      if (copied || asked) return true;
      asked = true;
      return confirm({ title: "Close without copying?", text: "The secret cannot be shown again.", action: "Close", keep: "Go back", danger: false });
    },
    actions: [
      h("a", { class: "btn", href: "/playground?key=" + encodeURIComponent(key.id), onclick: () => made.close() }, icon("play"), "Try in playground"),
      button("Done", async () => (copied || asked || (asked = await confirm({ title: "Close without copying?", text: "The secret cannot be shown again.", action: "Close", keep: "Go back", danger: false }))) && made.close(), { class: "first" }),
    ],
    onclose: () => state.reload(),
  });
  /** @type {HTMLElement | null} */ (made.el.querySelector(".url button"))?.focus();
}

function edit(state, k) {
  const locked = k.limited_by && state.scope === "own" && !state.page.me.user.admin;
  formDialog({
    title: "Edit " + k.name, action: "Save limits",
    body: [locked ? note("warn", `Only ${k.limited_by === "admin" ? "an administrator" : "a manager of its team"} may change these limits.`) : null,
      field({ label: "Name", name: "name", value: k.name, required: true, maxlength: 100 }), limitFields(k, {})],
    submit: async (form) => {
      const limits = readLimits(form, { all: true });
      if (!limits) return false;
      const name = form.elements["name"].value.trim();
      await send("PATCH", `${root(state.scope)}/${k.id}`, { ...(name === k.name ? {} : { name }), ...limits });
      toast(`The limits of ${name} are saved`);
      state.reload();
      return true;
    },
  });
}

function rotate(state, k) {
  formDialog({
    title: `Rotate ${k.name}?`, action: "Make a new secret",
    body: [
      h("p", null, "The key gets a new secret and keeps its name, limits and spend. The current secret keeps working for a while, so that ", isOthers(state, k) ? "its owner can fetch the new one, under Keys." : "you can put the new one in place."),
      field({ label: "The current secret keeps working for", name: "overlap", type: "select", value: "86400", options: [["3600", "1 hour"], ["86400", "1 day"], ["604800", "7 days"], ["0", "No time: it ends now"]] }),
    ],
    submit: async (form) => {
      const key = await send("POST", `${root(state.scope)}/${k.id}/rotate`, { overlap_seconds: Number(form.elements["overlap"].value) });
      if (key.pending) {
        toast(`The new secret of ${key.name} waits to be fetched by its owner`);
        state.reload();
        return true;
      }
      rememberKey({ id: key.id, name: key.name, secret: key.key });
      setTimeout(() => shown(state, key, "Copy the new secret now"));
      return true;
    },
  });
}

async function revoke(state, k) {
  const today = k.daily_calls?.at(-1) ?? 0;
  const use = k.last_used_at ? `It was last used ${ago(k.last_used_at * 1000)}${today ? `, ${today === 1 ? "once" : whole(today) + " times"} today` : ""}.` : "It was never used.";
  const yes = await confirm({ title: `Revoke ${k.name}?`, text: `Calls with this key are refused within a second. ${use} ${undoable}`, action: "Revoke key", keep: "Keep key" });
  const path = `${root(state.scope)}/${k.id}`;
  if (yes) await attempt(() => send("DELETE", path), k.name + " is revoked", state.reload, restore(path, k.name + " works again", state.reload));
}
