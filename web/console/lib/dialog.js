// @ts-check
// What floats above the page: dialogs and menus.

import { h, icon } from "./dom.js";
import { button, unique } from "./parts.js";

/** @typedef {import("./dom.js").Child} Child */

/**
 * A dialog. The first field has the focus; Esc, × and the backdrop close it, and the browser puts the focus back.
 * `actions` are buttons of the foot. `onclose` is called when it has closed; `guard` may keep it open by returning false.
 * @param {{ title: string, body: Child, actions?: Child, onclose?: () => void, class?: string, guard?: () => boolean | Promise<boolean>,
 *   onsubmit?: (event: SubmitEvent) => any }} options
 * @returns {{ el: HTMLDialogElement, close: () => void }}
 */
export function dialog(options) {
  const id = unique("dialog"), back = /** @type {HTMLElement | null} */ (document.activeElement);
  const close = () => el.close();
  const leave = async () => {
    if (!options.guard || (await options.guard())) close();
  };
  const inside = [
    h("header", null, h("h2", { id }, options.title), button(null, leave, { class: "bare icon", icon: "x", label: "Close" })),
    h("div", { class: "body" }, options.body),
    options.actions ? h("footer", null, options.actions) : null,
  ];
  const el = h("dialog", { "aria-labelledby": id, class: options.class },
    options.onsubmit
      ? h("form", { novalidate: true, onsubmit: (event) => (event.preventDefault(), options.onsubmit?.(event)) }, inside)
      : inside);
  el.addEventListener("cancel", (event) => (event.preventDefault(), leave()));
  el.addEventListener("mousedown", (event) => event.target === el && leave());
  el.addEventListener("close", () => {
    el.remove();
    options.onclose?.();
    if (document.activeElement !== back) return; // the page has gone on
    // The browser has given the focus back already, but a text box that has it takes no letters after the removal of the dialog.
    back?.blur();
    back?.focus();
  });
  document.body.append(el);
  el.showModal();
  /** @type {HTMLElement | null} */ (el.querySelector(".body :is(input, select, textarea):not([type=hidden]):not([disabled])"))?.focus();
  return { el, close };
}

/**
 * Asks before what cannot be undone. The safe button is first. `action` and `keep` are the buttons' texts, and `instead` that
 * of a better choice.
 * @param {{ title: string, text: Child, action: string, keep: string, instead?: string | null, danger?: boolean }} options
 * @returns {Promise<boolean | "instead">}
 */
export function confirm(options) {
  return new Promise((resolve) => {
    /** @type {boolean | "instead"} */ let yes = false;
    const { el, close } = dialog({
      title: options.title, onclose: () => resolve(yes),
      body: typeof options.text === "string" ? h("p", null, options.text) : options.text,
      actions: [
        button(options.keep, () => close()),
        button(options.action, () => ((yes = true), close()), { class: (options.danger === false ? "" : "danger ") + (options.instead ? "" : "first") }),
        options.instead ? button(options.instead, () => ((yes = "instead"), close()), { class: "first" }) : null,
      ],
    });
    /** @type {HTMLElement | null} */ (el.querySelector("footer button"))?.focus();
  });
}

/**
 * Opens a menu at a button. An item has a text and either href or onclick; null is a line.
 * @param {HTMLElement} at
 * @param {({ text: string, icon?: string, href?: string, onclick?: () => any, bad?: boolean } | null)[]} items
 */
export function menu(at, items) {
  const el = h("div", { class: "menu", popover: "auto", role: "menu" }, items.map((item) => {
    if (!item) return h("hr");
    const inside = [item.icon ? icon(item.icon) : null, item.text];
    const leave = () => el.hidePopover();
    return item.href
      ? h("a", { role: "menuitem", href: item.href, onclick: leave }, inside)
      : h("button", { type: "button", role: "menuitem", class: item.bad && "bad", onclick: () => (leave(), item.onclick?.()) }, inside);
  }));
  const choices = () => /** @type {HTMLElement[]} */ ([...el.querySelectorAll("[role=menuitem]")]);
  el.addEventListener("keydown", (event) => {
    const all = choices(), i = all.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const to = { ArrowDown: i + 1, ArrowUp: i - 1, Home: 0, End: all.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    all[(to + all.length) % all.length]?.focus();
  });
  el.addEventListener("toggle", (event) => {
    const closed = /** @type {any} */ (event).newState === "closed";
    at.setAttribute("aria-expanded", String(!closed));
    if (closed) el.remove();
  });
  (at.closest("dialog") ?? document.body).append(el); // what is outside an open dialog cannot be pressed
  el.showPopover();
  const place = at.getBoundingClientRect(), above = place.bottom + el.offsetHeight + 8 > innerHeight;
  el.style.left = Math.max(8, Math.min(innerWidth - el.offsetWidth - 8, place.right - el.offsetWidth)) + "px";
  el.style.top = (above ? Math.max(8, place.top - el.offsetHeight - 4) : place.bottom + 4) + "px";
  choices()[0]?.focus();
}

/** The button that opens a menu. @param {string} label @param {() => any[]} items */
export function menuButton(label, items) {
  return h("button", {
    type: "button", class: "btn bare icon", "aria-haspopup": "menu", "aria-expanded": "false", "aria-label": label, title: label,
    onclick: (event) => menu(event.currentTarget, items()),
  }, icon("more"));
}
