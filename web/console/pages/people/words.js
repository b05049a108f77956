// @ts-check
// The audit log in plain words.

import { h } from "../../lib/dom.js";
import { amount, count, moment, shownOfKey, whole } from "../../lib/format.js";
import { plural } from "./lists.js";

/** @typedef {{ action: string, detail: any, target: string, target_name: string | null, actor_email: string, actor_name: string | null, at: number }} Entry */

const strong = (text) => h("b", null, text);
const shownTo = (d) => (d.secret_shown_to ? [", secret shown to ", strong(d.secret_shown_to)] : []);
const identitiesOf = (d) => (d.identities ?? []).flatMap((i) => [", ", strong(i.email || i.issuer)]);
const roles = { manager: "manager", member: "member" };
const team = (e) => (e.target_name ? ["the team ", strong(e.target_name)] : "a team that is deleted");
const a = (role) => (role ? "a " + (roles[role] ?? role) : "a member");

/** The name of what was changed: as it is today, else as it was then. @param {Entry} e */
export function target(e) {
  const d = e.detail ?? {};
  const then = d.after?.name || d.before?.name || d.name || d.email;
  return e.target_name || then || (d.prefix ? shownOfKey(d.prefix) : e.target);
}

/** What an action says after its actor. @type {Record<string, (name: any, d: any, e: Entry) => any[]>} */
const sentences = {
  "user.setup": () => ["set up this gateway as its first administrator"],
  "identity.link": (name, d) => ["linked an identity", ...identitiesOf(d)],
  "identity.unlink": (name, d) => ["unlinked an identity", ...identitiesOf(d)],
  "user.takeover": (name) => ["took over the account ", name, " by the identity provider"],
  "user.create": (name) => ["created the user ", name],
  "user.rename": (name, d) => ["renamed the user ", strong(d.before?.name || d.email), " to ", strong(d.after?.name || d.email)],
  "user.limit": (name) => ["limited the user ", name],
  "user.disable": (name) => ["disabled ", name],
  "user.restore": (name) => ["enabled ", name, " again at once"],
  "user.enable": (name) => ["enabled ", name],
  "user.grant_admin": (name) => ["made ", name, " an administrator"],
  "user.take_admin": (name) => ["took the administrator rights of ", name],
  "user.reset": (name) => ["made a link for ", name, " to set a new password"],
  "user.delete": (name) => ["deleted the user ", name],
  "user.erase": (name) => ["erased the name of the user ", name],
  "team.create": (name) => ["created the team ", name],
  "team.rename": (name, d) => ["renamed the team ", strong(d.before?.name ?? ""), " to ", strong(d.after?.name ?? "")],
  "team.limit": (name) => ["limited the team ", name],
  "team.delete": (name) => ["deleted the team ", name],
  "member.add": (name, d, e) => ["added ", strong(d.email), " to ", team(e), d.after?.role === "manager" ? " as its manager" : ""],
  "member.change": (name, d, e) => ["made ", strong(d.email), " ", a(d.after?.role), " of ", team(e)],
  "member.remove": (name, d, e) => ["removed ", strong(d.email), " from ", team(e)],
  "invitation.create": (name, d) => ["invited ", d.email ? strong(d.email) : "a person with any address", d.role === "manager" ? " as manager of a team" : ""],
  "invitation.delete": (name, d) => ["deleted the invitation of ", d.email ? strong(d.email) : "a person with any address"],
  "key.create": (name, d) => ["created the key ", name, ...shownTo(d)],
  "key.limit": (name) => ["limited the key ", name],
  "key.rename": (name, d) => ["renamed the key ", strong(d.before?.name ?? ""), " to ", strong(d.after?.name ?? "")],
  "key.rotate": (name, d) => ["rotated the key ", name, ...shownTo(d)],
  "key.revoke": (name) => ["revoked the key ", name],
  "key.restore": (name) => ["took the revocation of the key ", name, " back"],
  "sign_in.approve": (name, d) => ["signed in the program ", strong(d.client || "without a name"), " from ", strong(d.address)],
  "sign_in.end": (name, d) => ["ended the sign-in of ", strong(d.client || "a program"), " of ", name, d.reason ? ": " + d.reason : ""],
  "agent_settings.set": (name, d, e) => [d.settings ? "set" : "removed", " the settings of agents of ", e.target === "gateway" ? "all teams without their own" : team(e)],
  "provider.try": (name, d, e) => ["tried a key of ", strong(e.target), d.works ? ", which works" : ", which does not work"],
  "alert.test": () => ["sent a test alert"],
  "takeover.litellm": (name, d) => ["took over from LiteLLM: ", `${whole(d.made)} new, ${whole(d.changed)} changed, ${plural(d.revoked, "key")} revoked`],
  "takeover.forget": (name, d) => ["removed what was taken over from LiteLLM: ", plural(d.keys, "key")],
  "call.read": (name, d, e) => ["looked at the prompt of the call ", strong(d.request_id || e.target_name || e.target)],
};

/** The actions that have a sentence. */
export const actions = Object.keys(sentences);

/** Who did it. @param {Entry} e */
export const actor = (e) => e.actor_name || ({ "command line": "The command line", erased: "An erased user" }[e.actor_email] ?? e.actor_email);

/**
 * A sentence of an entry.
 * @param {Entry} e
 * @returns {any[]}
 */
export function sentence(e) {
  const say = sentences[e.action];
  return say ? [strong(actor(e)), " ", ...say(strong(target(e)), e.detail ?? {}, e)] : [strong(actor(e)), " did ", strong(e.action), " to ", strong(target(e))];
}

const every = { day: " a day", week: " a week", month: " a month", total: " in total" };
const limit = (value, unit) => (value == null ? "no limit" : value + unit);

/** Members of a state, and how a value of each is written. @type {[string, string, (value: any, state: any) => string][]} */
const members = [
  ["name", "name", (v) => v || "none"],
  ["role", "role", (v) => v || "none"],
  ["admin", "administrator", (v) => (v ? "yes" : "no")],
  ["disabled", "disabled", (v) => (v ? "yes" : "no")],
  ["budget_usd", "budget", (v, s) => (v == null ? "none" : amount(v) + (every[s.budget_window] ?? ""))],
  ["budget_extra_usd", "budget raised by", (v, s) => (v == null ? "nothing" : `${amount(v)} until ${moment(s.budget_extra_until * 1000)}`)],
  ["session_budget_usd", "dollars a session", (v) => (v == null ? "no limit" : amount(v))],
  ["rpm_limit", "requests a minute", (v) => limit(v == null ? null : whole(v), "")],
  ["tpm_limit", "tokens a minute", (v) => limit(v == null ? null : count(v), "")],
  ["max_parallel_requests", "calls in parallel", (v) => limit(v == null ? null : whole(v), "")],
  ["models", "models", (v) => (v ? v.join(", ") : "all")],
  ["expires_at", "expires", (v) => (v ? moment(v * 1000) : "never")],
  ["limited_by", "limits set by", (v) => (v === "admin" ? "an administrator" : v === "manager" ? "a manager" : "its owner")],
  ["revoked", "revoked", (v) => (v ? "yes" : "no")],
  ["previous_expires_at", "the old secret works until", (v) => (v ? moment(v * 1000) : "–")],
];

/**
 * What has changed, as rows of name, before and after; before is null for what is new.
 * @param {any} detail
 * @returns {[string, string | null, string | null][]}
 */
export function changes(detail) {
  const { before, after } = detail ?? {}, rows = [];
  for (const [key, name, write] of members) {
    const was = before?.[key] ?? null, is = after?.[key] ?? null;
    const budget = key === "budget_usd" && before && after && before.budget_window !== after.budget_window;
    if (JSON.stringify(was) === JSON.stringify(is) && !budget) continue;
    if (!before && (is === false || is === null)) continue;
    rows.push([name, before ? write(was, before) : null, after ? write(is, after) : null]);
  }
  return /** @type {any} */ (rows);
}

/** The change in a line, without what the sentence has said. @param {Entry} e */
export function summary(e) {
  const d = e.detail ?? {}, said = { rename: ["name"], create: ["name"], change: ["role"], add: ["role"], disable: ["disabled"], enable: ["disabled"], revoke: ["revoked"], restore: ["revoked", "disabled"], setup: ["administrator"], grant_admin: ["administrator"], take_admin: ["administrator"], remove: ["role"], delete: ["*"] }[e.action.split(".")[1]] ?? [];
  const parts = said[0] === "*" ? [] : changes(d).filter(([name, was]) => !said.includes(name) && !(was === null && name === "limits set by"))
    .map(([name, was, is]) => (was === null ? `${name} ${is}` : is === null ? `${name} ${was}` : name === "the old secret works until" ? `${name} ${is}` : `${name} ${was} → ${is}`));
  if (d.revoked_keys?.length) parts.push(plural(d.revoked_keys.length, "key") + " revoked");
  if (d.reason) parts.push("reason: " + d.reason);
  return parts.join("; ");
}
