// @ts-check
// What the pages of one thing have in common: its head with the actions, its spend, its limits, its last calls, what was done to it.

import { fill, h } from "../../lib/dom.js";
import { button, empty, failed, loading, menuButton } from "../../lib/ui.js";
import { auditOf } from "./audit.js";
import { callsOf } from "./calls.js";
import { refusalsOf } from "./refusals.js";
import { spendOf } from "./spend.js";

/** @typedef {import("../../lib/dom.js").Child} Child */

/**
 * @typedef {{
 *   title: string, state?: Child, line?: Child,
 *   items?: any[],                    // what can be done to it, as the menu of its row has it
 *   actions?: Child,                  // instead of them
 *   source: any,                      // where its calls are read: sourceOf of lib/filters.js
 *   filter: Record<string, string>,   // selects them
 *   by: import("../../lib/filters.js").Kind,  // how its spend is divided at first
 *   target?: string,                  // its id in the audit log
 *   top: Child,                       // above the spend: its limits, or its state
 *   parts?: Child[],                  // what else only this kind of thing has
 * }} Thing
 */

/**
 * The sections under the spend, from the first to the last. They are made once, and load is called whenever the thing was read.
 * @type {((page: any, thing: Thing) => { el: Element, load: () => any } | null)[]}
 */
const sections = [callsOf, refusalsOf, auditOf];

/**
 * Shows a thing. read is called again when something was done to it.
 * @param {any} page
 * @param {{ kind: import("../../lib/rows.js").Thing, who: Child, read: (load: () => Promise<void>) => Promise<Thing> }} options
 * who sees it, for those who do not
 */
export async function showThing(page, { kind, who, read }) {
  const list = `/${kind}s`;
  /** @type {any} */
  let spend = null;
  /** @type {any[]} */
  let more = [];
  async function load() {
    try {
      const thing = await read(load);
      if (page.signal.aborted) return;
      page.head({ title: thing.title, state: thing.state, line: thing.line, actions: thing.actions ?? actionsOf(thing) });
      if (!spend) {
        spend = spendOf(page, thing);
        more = sections.map((section) => section(page, thing)).filter((section) => section !== null);
      }
      fill(page.root, h("div", { class: "stack thing" }, thing.top, spend.bar, spend.el, spend.table, thing.parts, more.map((section) => section.el)));
      for (const section of [spend, ...more]) section.load();
    } catch (error) {
      if (page.signal.aborted) return;
      const { status } = /** @type {any} */ (error);
      if (status === 404 && spend) return page.go(list, { replace: true }); // it was deleted here
      fill(page.root, h("section", { class: "card", "aria-label": "Not shown" }, status === 404 || status === 403
        ? empty({ title: `There is no such ${kind}, or you may not see it.`, text: who, action: h("a", { class: "btn", href: list }, `All ${kind}s`) })
        : failed(error, load, "The " + kind)));
    }
  }
  const wait = setTimeout(() => page.root.childElementCount === 0 && fill(page.root, loading("plot")), 200);
  await load();
  clearTimeout(wait);
}

/** The first two actions as buttons, the others in a menu. @param {Thing} thing */
function actionsOf({ title, items = [] }) {
  const first = items.filter((item) => item?.onclick && !item.bad).slice(0, 2), rest = items.filter((item) => !first.includes(item) && item?.href !== location.pathname);
  while (rest.length && !rest[0]) rest.shift(); // a line that has nothing above it
  return [first.map((item) => button(item.text, item.onclick, { icon: item.icon })), rest.length ? menuButton("Actions for " + title, () => rest) : null];
}
