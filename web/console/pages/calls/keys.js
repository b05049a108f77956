// @ts-check
// j and k go to the older and the newer call, Esc closes the panel.

import { remembered } from "../../lib/state.js";

/** @param {{ signal: AbortSignal, list: any, panel: any }} context */
export function callKeys({ signal, list, panel }) {
  document.addEventListener("keydown", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && panel.shown()) {
      event.preventDefault();
      return panel.close();
    }
    if (target.closest("input, select, textarea, [contenteditable]") || event.metaKey || event.ctrlKey || event.altKey || remembered("letters", "on") === "off") return;
    if (event.key !== "j" && event.key !== "k") return;
    event.preventDefault();
    const by = event.key === "j" ? 1 : -1;
    if (panel.shown()) panel.move(by);
    else list.focus(by);
  }, { signal });
}
