// @ts-check
// Lists of the API, page after page.

import { get } from "../../lib/api.js";
import { h } from "../../lib/dom.js";

/**
 * All entries of a list, at most 2,000.
 * @param {string} path
 * @param {Record<string, any>} params
 * @param {AbortSignal} signal
 * @returns {Promise<any[]>}
 */
export async function all(path, params, signal) {
  const found = [];
  for (let after = ""; found.length < 2000;) {
    const page = await get(path, { limit: 100, ...params, after }, { signal });
    found.push(...page.data);
    if (!page.has_more || page.data.length === 0) break;
    after = page.data.at(-1).id;
  }
  return found;
}

/** A list of facts: names and values. @param {[string, any][]} pairs without a value a pair is left out */
export function facts(pairs) {
  return h("dl", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => [h("dt", null, name), h("dd", null, value)]));
}

/** 1 key, 2 keys. @param {number} n @param {string} one @param {string} [many] */
export const plural = (n, one, many = one + "s") => `${n.toLocaleString("en-US")} ${n === 1 ? one : many}`;
