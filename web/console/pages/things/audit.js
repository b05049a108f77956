// @ts-check
// What was done to a thing, for administrators.

import { get, query } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { card, empty, failed } from "../../lib/ui.js";
import { entries } from "../audit.js";

/** @param {any} page @param {import("./thing.js").Thing} thing */
export function auditOf(page, { target }) {
  if (!target || !page.me.user.admin) return null;
  const place = h("div"), choose = (filter) => page.go("/audit" + query(filter));
  async function load() {
    try {
      const { data } = await get("/admin/audit", { target, limit: 8 }, { signal: page.signal });
      fill(place, data.length ? entries(data, choose) : empty({ text: "No administrator or manager has changed it." }));
    } catch (error) {
      if (!page.signal.aborted) fill(place, failed(error, load, "The audit log"));
    }
  }
  return { el: card({ title: "Audit log", actions: h("a", { href: "/audit" + query({ target }) }, "All entries") }, place), load };
}
