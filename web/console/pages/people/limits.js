// @ts-check
// What is spent of a budget, limits in words, and the dialogs that change them.

import { attempt } from "../../lib/act.js";
import { send } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { amount, count, day, minute, money, weekday, whole } from "../../lib/format.js";
import { limitFields, readLimits, windows } from "../../lib/limits.js";
import { bar, button, confirm, dialog, field, fieldError, formData, formError, numberOf, toast } from "../../lib/ui.js";
import { plural } from "./lists.js";

const earliest = 0.05; // of the window must have passed before its spend is extrapolated

/** $25 a week. @param {{ budget_usd?: number | null, budget_window?: string | null }} row */
export const budgetText = (row) => (row.budget_usd == null ? "" : `${amount(row.budget_usd)} ${windows[row.budget_window ?? "month"] ?? ""}`);

/**
 * What is spent of the budget of a user, a team or a key.
 * @param {any} row of the API
 * @param {string} label its name
 */
export function budgetBar(row, label) {
  const budget = row.budget;
  if (!budget) return bar(row.spend_usd ?? 0, null, { label, window: "in all, no budget" });
  const total = budget.limit_usd;
  const renews = budget.resets_at ? weekday(budget.resets_at * 1000) + ", " + minute(budget.resets_at * 1000) : null;
  return bar(budget.spent_usd, total, {
    label, window: row.budget_usd == null ? "by default" : windows[row.budget_window] ?? "", title: renews ? "Resets on " + renews : "It never resets",
    foot: raised(row) ? `Raised by ${amount(row.budget_extra_usd)} until ${weekday(row.budget_extra_until * 1000)}` : budget.remaining_usd <= 0 ? (renews ? "Refused until " + renews : "Refused: this budget never resets") : pace(budget, total),
  });
}

const raised = (row) => row.budget_extra_until * 1000 > Date.now();

/**
 * A button whose dialog raises a budget until a day, as it is filled in: by a quarter, until the budget resets. null without a budget.
 * @param {{ name: string, row: any, path: string, done: () => any, text?: string }} o
 */
export function raiseButton(o) {
  const { name, row, path, text = "Raise until…" } = o, budget = row.budget;
  if (!budget) return null;
  const extra = raised(row) ? row.budget_extra_usd : 0, base = budget.limit_usd - extra, more = Math.max(extra, budget.spent_usd - base) + (base / 4 || 5);
  const last = budget.resets_at ? budget.resets_at * 1000 - 1 : Date.now() + 7 * 86400e3;
  return button(text, () => formDialog({
    title: "Raise the budget of " + name, action: "Raise the budget",
    fields: [h("div", { class: "cols" },
      field({ label: "Dollars more", name: "budget_extra_usd", inputmode: "decimal", value: Math.ceil(more * 100 - 1e-6) / 100, required: true }),
      field({ label: "Until the end of", name: "budget_extra_until", type: "date", value: new Date(last).toISOString().slice(0, 10), hint: "A day in UTC.", required: true })),
    h("p", { class: "soft xs" }, `The budget is ${money(base)}. What is added ends by itself.`)],
    read: (form) => {
      const body = formData(form), more = numberOf(body.budget_extra_usd);
      fieldError(/** @type {Element} */ (form.querySelector(".field")), more ? "" : "Write a number, such as 25 or 0.5.");
      return more ? { budget_extra_usd: more, budget_extra_until: (Date.parse(body.budget_extra_until) + 86400e3) / 1000 } : null; // a NaN is null, which the API refuses
    },
    save: (body) => send("PATCH", path, body), done: () => (toast("The budget of " + name + " is raised"), o.done()),
  }));
}

/** What the budget will have spent at its end, when it goes on as until now. */
function pace({ spent_usd, began_at, resets_at }, total) {
  if (!began_at || !resets_at || !spent_usd) return null;
  const passed = (Date.now() / 1000 - began_at) / (resets_at - began_at);
  if (passed < earliest || passed >= 1) return null;
  const end = spent_usd / passed;
  return end > total ? h("span", { class: "warn" }, `At this pace ${money(end)}, ${money(end - total)} over`) : `At this pace ${money(end)}`;
}

/** The limits beside the budget in a line, or "". @param {any} row */
export function limitsText(row) {
  const parts = [];
  if (row.models) parts.push(plural(row.models.length, "model"));
  if (row.rpm_limit != null) parts.push(whole(row.rpm_limit) + " requests a minute");
  if (row.tpm_limit != null) parts.push(count(row.tpm_limit) + " tokens a minute");
  if (row.max_parallel_requests != null) parts.push(whole(row.max_parallel_requests) + " in parallel");
  if (row.session_budget_usd != null) parts.push(amount(row.session_budget_usd) + " a session");
  if (row.expires_at != null) parts.push((row.expires_at * 1000 < Date.now() ? "expired " : "until ") + day(row.expires_at * 1000));
  return parts.join(", ");
}

/**
 * A dialog with a form: `read` makes the body from it (null: something is wrong), `save` sends it, and the dialog closes.
 * @param {{ title: string, fields: any, action: string, read: (form: HTMLFormElement) => any, save: (body: any) => Promise<any>, done?: (answer: any) => void, class?: string }} o
 */
export function formDialog(o) {
  const problem = h("div", { hidden: true });
  const submit = h("button", { type: "submit", class: "btn first" }, o.action);
  const { el, close } = dialog({
    title: o.title, body: [o.fields, problem], class: o.class, actions: [button("Cancel", () => close()), submit],
    onsubmit: async () => {
      const form = /** @type {HTMLFormElement} */ (el.querySelector("form")), body = o.read(form);
      if (body === null || submit.disabled) return;
      submit.disabled = true;
      try {
        const answer = await o.save(body);
        close();
        o.done?.(answer);
      } catch (error) {
        const note = formError(form, error);
        fill(problem, note);
        problem.hidden = !note;
      } finally {
        submit.disabled = false;
      }
    },
  });
}

/**
 * The dialog that edits limits.
 * @param {{ name: string, row: any, path: string, what?: string, done: () => void }} o
 * what: a sentence under the fields
 */
export function editLimits(o) {
  formDialog({
    title: "Limits of " + o.name, action: "Save limits", fields: [limitFields(o.row), o.what ? h("p", { class: "soft xs" }, o.what) : null],
    read: (form) => readLimits(form, { all: true }), save: (body) => send("PATCH", o.path, body),
    done: () => (toast("The limits of " + o.name + " are saved"), o.done()),
  });
}

/** The dialog that gives another name. @param {{ title: string, name: string, path: string, done: () => void }} o */
export function rename(o) {
  formDialog({
    title: o.title, action: "Save name", fields: field({ label: "Name", name: "name", value: o.name }),
    read: (form) => formData(form), save: (body) => send("PATCH", o.path, body), done: () => (toast("The name is saved"), o.done()),
  });
}

/** Asks, and deletes a team. @param {any} team @param {() => any} done */
export async function deleteTeam(team, done) {
  const keys = team.keys ? `${plural(team.keys, "key")} ${team.keys === 1 ? "is" : "are"} revoked within a second. ` : "";
  const yes = await confirm({ title: `Delete ${team.name}?`, text: `${keys}Its memberships and invitations are gone. The usage stays. This cannot be undone.`, action: "Delete team", keep: "Keep team" });
  if (yes) await attempt(() => send("DELETE", "/admin/teams/" + team.id), `${team.name} is deleted`, done);
}
