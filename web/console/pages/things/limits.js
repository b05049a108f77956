// @ts-check
// The limits that hold for a thing, level by level, and facts about it.

import { h } from "../../lib/dom.js";
import { amount, day, full, size, whole } from "../../lib/format.js";
import { addressOf } from "../../lib/rows.js";
import { card } from "../../lib/ui.js";
import { budgetBar, raiseButton } from "../people/limits.js";
import { facts } from "../people/lists.js";

/** @typedef {{ name: string, row: any, kind?: import("../../lib/rows.js").Thing, raise?: { path: string, done: () => any } }} Level
 * kind: it has a page of its own; raise: where one may raise its budget */

/**
 * @param {Level[]} levels the thing itself first, then what bounds it as well
 */
export function limits(levels) {
  return card({ title: "Limits", line: levels.length > 1 ? "A call must fit in each of these." : null, pad: true }, h("div", { class: "grid3" }, levels.map(({ name, row, kind, raise }, i) => h("div", { class: "lines" },
    levels.length > 1 ? h("b", null, kind ? h("a", { href: addressOf(kind, row.id) }, name) : name) : null, budgetBar(row, name), raise ? raiseButton({ name, row, ...raise }) : null, facts(namesOf(row))))));
}

/** The limits beside the budget. @returns {[string, any][]} */
const namesOf = (row) => [
  ["Models", row.models ? row.models.join(", ") || "none" : null], ["Calls a minute", row.rpm_limit && whole(row.rpm_limit)],
  ["Tokens a minute", row.tpm_limit && size(row.tpm_limit)], ["At once", row.max_parallel_requests && whole(row.max_parallel_requests)],
  ["A session", row.session_budget_usd && amount(row.session_budget_usd)],
  ["Expires", row.expires_at && h("span", { title: full(row.expires_at * 1000) }, day(row.expires_at * 1000))],
  ["Set by", row.limited_by && (row.limited_by === "admin" ? "an administrator" : "a manager")],
];
