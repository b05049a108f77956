// @ts-check
// One user: for administrators, and a member for the managers of the team.

import { get } from "../../lib/api.js";
import { h } from "../../lib/dom.js";
import { ago, full, shownOfKey } from "../../lib/format.js";
import { sourceOf } from "../../lib/filters.js";
import { addressOf, idOf, rowLink } from "../../lib/rows.js";
import { loginMethods } from "../../lib/state.js";
import { button, card, empty, table, tag } from "../../lib/ui.js";
import { budgetBar, limitsText } from "../people/limits.js";
import { all, facts } from "../people/lists.js";
import { signIns } from "../people/signins.js";
import { nameOf, ofUser } from "../users.js";
import { limits } from "./limits.js";
import { showThing } from "./thing.js";

/** @param {any} page */
export function show(page) {
  const id = idOf(page.url), { signal } = page;
  return showThing(page, {
    kind: "user", who: "Administrators see a user, and the managers of a team its members. Your own limits are under Your account.",
    read: (load) => (page.me.user.admin ? anyone(load) : member()),
  });

  async function anyone(load) {
    const [user, keys, methods, programs] = await Promise.all([get("/admin/users/" + encodeURIComponent(id), null, { signal }), all("/admin/keys", { user_id: id }, signal), loginMethods(),
      signIns({ base: "/admin", userId: id, signal, load })]);
    const teams = await Promise.all(user.teams.map((t) => get("/admin/teams/" + t.id, null, { signal }).catch(() => null)));
    return {
      ...common(user, keys), parts: [keysCard(user, keys), programs], source: sourceOf(page.me, new URLSearchParams()), filter: { user_id: id }, target: id, items: ofUser(user, { page, load, mail: methods.mail }),
      state: [user.disabled_at ? tag("off", "Disabled") : tag("good", "Active"), user.admin ? tag("info", "Administrator") : null],
      top: limits([{ name: nameOf(user), row: user, raise: { path: "/admin/users/" + id, done: load } }, ...teams.filter(Boolean).map((t) => ({ name: "Team " + t.name, row: t, kind: /** @type {const} */ ("team") }))]),
    };
  }

  /** What the managers of a team see of a member. */
  async function member() {
    for (const team of page.me.user.teams.filter((t) => t.role === "manager")) {
      const base = "/auth/teams/" + team.id, user = (await get(base + "/members", null, { signal })).data.find((m) => m.user_id === id);
      if (!user) continue;
      const keys = (await all(base + "/keys", {}, signal)).filter((k) => k.user_id === id);
      return {
        ...common(user, keys), source: sourceOf(page.me, new URLSearchParams({ team_id: team.id })), filter: { user_id: id }, state: user.role === "manager" ? tag("info", "Manager") : tag("", "Member"),
        top: card({ title: "In the team", pad: true, actions: h("a", { class: "btn", href: addressOf("team", team.id) }, team.name) }, facts([["Team", team.name], ["Role", user.role]]),
          h("p", { class: "soft xs mt" }, "Here are the calls and keys in this team. Administrators see the limits of a user.")),
      };
    }
    throw Object.assign(new Error(), { status: 404 });
  }

  /** @returns {any} */
  function common(user, keys) {
    const seen = user.last_used_at * 1000;
    return {
      title: nameOf(user), by: "model", parts: [keysCard(user, keys)],
      line: h("span", { class: "parts" }, h("span", null, user.email), user.verified === false ? h("span", null, "not confirmed") : null,
        user.last_used_at === undefined ? null : h("span", { title: seen ? full(seen) : null }, seen ? "last seen " + ago(seen) : "never seen")),
    };
  }

  function keysCard(user, keys) {
    return card({ title: "Keys", actions: page.me.user.id === id ? button("Create key", () => page.go("/keys?new=1"), { icon: "plus" }) : null }, table({
      label: "Keys of " + nameOf(user), class: "rt people", rows: keys, empty: empty({ text: "There are no keys that work." }), columns: [
        { key: "name", title: "Key", class: "clip p-name", cell: (k) => [rowLink("key", k.id, k.name), h("span", { class: "sub mono" }, k.pending ? "waiting to be fetched" : shownOfKey(k.prefix))] },
        { key: "budget", title: "Spent of budget", class: "p-use", cell: (k) => budgetBar(k, k.name) },
        { key: "limits", title: "Other limits", class: "c-s soft xs", cell: (k) => limitsText(k) || "–" },
        { key: "team", title: "Team", class: "c-m soft", cell: (k) => k.team_name ?? "–" },
        { key: "used", title: "Last used", class: "c-s nw soft", cell: (k) => (k.last_used_at ? ago(k.last_used_at * 1000) : "Never") },
      ],
    }));
  }
}
