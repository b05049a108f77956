// @ts-check
// One key.

import { get } from "../../lib/api.js";
import { h } from "../../lib/dom.js";
import { ago, day, full } from "../../lib/format.js";
import { sourceOf } from "../../lib/filters.js";
import { isSpent } from "../../lib/limits.js";
import { addressOf, idOf } from "../../lib/rows.js";
import { tag } from "../../lib/ui.js";
import { actions, originOf, root, secretOf } from "../keys.js";
import { limits } from "./limits.js";
import { showThing } from "./thing.js";

/** @param {any} page */
export function show(page) {
  const id = idOf(page.url);
  return showThing(page, {
    kind: "key", who: "Its owner, the managers of its team and administrators see a key.",
    async read(load) {
      const { k, scope } = await find(page, id), state = { page, scope, reload: load }, seen = k.last_used_at * 1000;
      return {
        title: k.name || "Without a name", state: stateOf(k), filter: { key_id: id }, by: "model", target: id,
        source: sourceOf(page.me, new URLSearchParams(scope === "all" || scope === "own" ? {} : { team_id: scope })),
        items: k.revoked_at ? [] : actions(state, k).filter((item) => !item?.href), top: limits([{ name: k.name, row: k, raise: mayRaise(page.me, k, scope) ? { path: `${root(scope)}/${k.id}`, done: load } : undefined }, ...(await owners(page, k, scope, load))]),
        line: h("span", { class: "parts" }, secretOf(state, k), originOf(k), ownerOf(page, k), k.team_id ? h("span", null, "team ", h("a", { href: addressOf("team", k.team_id) }, k.team_name)) : null,
          h("span", null, "created " + day(k.created_at * 1000)), h("span", { title: seen ? full(seen) : null }, seen ? "last used " + ago(seen) : "never used"),
          k.previous_expires_at ? h("span", null, "its former secret works until " + full(k.previous_expires_at * 1000)) : null),
      };
    },
  });
}

/** Administrators raise budgets, and managers those of keys that no administrator has limited. */
const mayRaise = (me, k, scope) => !k.revoked_at && (me.user.admin || (scope !== "own" && k.limited_by !== "admin"));

function stateOf(k) {
  if (k.revoked_at) return tag("", "Revoked");
  if (k.expires_at && k.expires_at * 1000 < Date.now()) return tag("bad", "Expired");
  return isSpent(k.budget) ? tag("bad", "Budget spent") : tag("good", "Active");
}

function ownerOf(page, k) {
  if (!k.user_email) return null;
  return k.user_id === page.me.user.id ? h("span", null, "yours") : h("a", { href: addressOf("user", k.user_id) }, k.user_email);
}

/** A key is anyone's for administrators, else one's own, or of a team that one manages. */
async function find(page, id) {
  const { user } = page.me, scopes = user.admin ? ["all"] : ["own", ...user.teams.filter((t) => t.role === "manager").map((t) => t.id)];
  for (const [i, scope] of scopes.entries()) {
    const k = await get(`${root(scope)}/${encodeURIComponent(id)}`, null, { signal: page.signal }).catch((error) => {
      if (error.status !== 404 || i === scopes.length - 1) throw error;
    });
    if (k) return { k, scope };
  }
}

/** What bounds the key as well, as far as one may see it. */
async function owners(page, k, scope, load) {
  const { user } = page.me, asked = (path) => get(path, null, { signal: page.signal }).catch(() => null), all = scope === "all";
  const [owner, team] = await Promise.all([
    scope === "own" || k.user_id === user.id ? { ...user, name: "You" } : all && k.user_id ? asked("/admin/users/" + k.user_id) : null,
    !k.team_id ? null : all ? asked("/admin/teams/" + k.team_id) : asked("/auth/teams").then((list) => list?.data.find((t) => t.id === k.team_id)),
  ]);
  const raise = (path, id) => (all ? { path: path + id, done: load } : undefined);
  return [owner && { name: owner.name || owner.email, row: owner, kind: all ? "user" : undefined, raise: raise("/admin/users/", k.user_id) },
    team && { name: "Team " + team.name, row: team, kind: "team", raise: raise("/admin/teams/", k.team_id) }].filter(Boolean);
}
