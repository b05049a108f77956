// @ts-check
// Invitations and the links that are handed over.

import { send } from "../../lib/api.js";
import { h } from "../../lib/dom.js";
import { until } from "../../lib/format.js";
import { button, copy, dialog, field, fieldError, formData, note, url } from "../../lib/ui.js";
import { formDialog } from "./limits.js";
import { plural } from "./lists.js";

/** @typedef {{ who: string, url?: string | null, expires?: number, error?: string }} Made a link, null when it was mailed; error: none was made */

/**
 * Shows links that only this answer has.
 * @param {string} title
 * @param {Made[]} made
 * @param {() => void} [onclose]
 */
export function showLinks(title, made, onclose) {
  const open = made.filter((m) => m.url), mailed = made.filter((m) => !m.url && !m.error), failed = made.filter((m) => m.error);
  const { close } = dialog({
    title, onclose, body: [
      failed.map((m) => note("bad", h("b", null, m.who), ": ", m.error)),
      mailed.length ? note("good", `Mailed to ${mailed.map((m) => m.who).join(", ")}.`) : null,
      open.length ? note("warn", h("b", null, open.length === 1 ? "Copy this link now." : "Copy these links now."),
        " The gateway sends no mail and shows them only here. Each works once.") : null,
      open.map((m) => h("div", { class: "field" }, h("span", { class: "lab" }, m.who), url(m.url ?? "", { label: "Copy the link of " + m.who }),
        m.expires ? h("span", { class: "hint" }, "It expires " + until(m.expires * 1000) + ".") : null)),
    ],
    actions: [
      open.length > 1 ? copy(() => open.map((m) => `${m.who}: ${m.url}`).join("\n"), { label: "Copy all" }) : null,
      button("Done", () => close(), { class: "first" }),
    ],
  });
}

const roles = /** @type {[string, string][]} */ ([["member", "Member"], ["manager", "Manager"]]);

/**
 * Asks for addresses and makes an invitation for each.
 * @param {{ path: string, teams?: any[], team?: { id: string, name: string }, mail: boolean, done: () => void }} o
 * teams: to choose from; team: the one that is invited into
 */
export function invite(o) {
  const role = field({ label: "Role in the team", name: "role", type: "select", options: roles, value: "member", disabled: !o.team });
  const chooseRole = (id) => (/** @type {HTMLSelectElement} */ (role.querySelector("select")).disabled = !id);
  formDialog({
    title: o.team ? "Invite people to " + o.team.name : "Invite people", action: o.mail ? "Send invitations" : "Make links",
    fields: [
      field({ label: "E-mail addresses", name: "email", type: "textarea", rows: 3, placeholder: "one on each line", spellcheck: false }),
      h("div", { class: o.team ? null : "cols" },
        o.team ? null : field({ label: "Team", name: "team_id", type: "select", options: [["", "No team"], ...(o.teams ?? []).map((t) => [t.id, t.name])], onchange: (e) => chooseRole(/** @type {any} */ (e.target).value) }),
        role),
      h("p", { class: "soft xs" }, o.mail ? "Each person is mailed a link to create the account." : "The gateway sends no mail. You get one link for each address, to pass on yourself."),
    ],
    read: (form) => addresses(form),
    save: async ({ emails, team_id, role: as }) => {
      const made = [];
      for (const email of emails) {
        const body = { email, ...(o.team ? { role: as } : team_id ? { team_id, role: as } : {}) };
        try {
          const answer = await send("POST", o.path, body);
          made.push({ who: email, url: answer.url, expires: answer.expires_at });
        } catch (error) {
          if (emails.length === 1) throw error;
          made.push({ who: email, error: error.message });
        }
      }
      return made;
    },
    done: (made) => {
      o.done();
      showLinks(plural(made.filter((m) => !m.error).length, "invitation"), made);
    },
  });
}

function addresses(form) {
  const values = formData(form), emails = [...new Set((values.email ?? "").split(/[\s,;]+/).filter(Boolean))];
  const wrong = emails.find((e) => !/^[^@]+@[^@]+$/.test(e)), box = /** @type {Element} */ (form.querySelector("[name=email]")?.closest(".field"));
  fieldError(box, emails.length === 0 ? "Write at least one address." : wrong ? `${wrong} is not an e-mail address.` : "");
  if (emails.length === 0 || wrong) return null;
  return { ...values, emails };
}
