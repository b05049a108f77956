// @ts-check
// Rows that lead to the page of what they show: a key, a user, a team, a model, a provider.

import { h } from "./dom.js";
import { remembered } from "./state.js";

/** @typedef {"key" | "user" | "team" | "model" | "provider"} Thing */

/** The address of the page of a thing. The name of a model may have slashes. @param {Thing} kind @param {string} id */
export const addressOf = (kind, id) => `/${kind}s/` + id.split("/").map(encodeURIComponent).join("/");

/** The id in the address of the page of a thing. @param {URL} url */
export const idOf = (url) => url.pathname.split("/").slice(2).map(decodeURIComponent).join("/");

/** The name in a row, which leads to the page. @param {Thing} kind @param {string} id @param {string} text @param {string} [more] classes */
export const rowLink = (kind, id, text, more = "elide") => h("a", { class: "name row " + more, href: addressOf(kind, id), title: text }, text);

/**
 * Lets a click anywhere in a row follow its link, and the arrow keys, j and k go from one to the next.
 * @param {(href: string) => any} go
 */
export function followRows(go) {
  document.addEventListener("click", (event) => {
    const at = /** @type {Element} */ (event.target), link = at.closest("tr, .card > header")?.querySelector("a.row");
    if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    if (!at.closest("a, button, input, select, label") && !String(getSelection())) go(/** @type {HTMLAnchorElement} */ (link).href);
  });
  document.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key], at = /** @type {Element} */ (event.target);
    if (!by || event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || at.closest("input, textarea, select, [contenteditable], dialog, [role=menu]")) return;
    const on = at.matches("a.row"), letter = event.key.length === 1;
    if (letter ? document.querySelector("table.calls") || remembered("letters", "on") === "off" : !on) return; // where there are calls, the letters are theirs
    const links = /** @type {HTMLElement[]} */ ([...((on && at.closest("table")) || document).querySelectorAll("a.row")]);
    const next = links[on ? links.indexOf(/** @type {HTMLElement} */ (at)) + by : 0];
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
}
