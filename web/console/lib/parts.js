// @ts-check
// Cards, notes, tags, bars, buttons, code, and what stands where nothing is.

import { fill, h, icon, svg } from "./dom.js";
import { amount, money, share } from "./format.js";

/** @typedef {import("./dom.js").Child} Child */

let serial = 0;
/** An id that no other element has. @param {string} prefix */
export const unique = (prefix) => prefix + "-" + ++serial;

/**
 * @param {{ title?: Child, line?: Child, actions?: Child, class?: string, label?: string, pad?: boolean }} options
 * @param {...Child} children
 */
export function card(options, ...children) {
  const { title, line, actions, label } = options, id = unique("card");
  const head = h("div", null, title ? h("h2", { id }, title) : null, line ? h("p", null, line) : null);
  return h("section", { class: ["card", options.class], "aria-labelledby": title ? id : null, "aria-label": title ? null : label },
    title || actions ? h("header", null, head, actions) : null,
    options.pad ? h("div", { class: "pad" }, children) : children);
}

/** A note above content. @param {"info" | "good" | "warn" | "bad"} kind @param {...Child} children */
export function note(kind, ...children) {
  const sign = { good: "check", info: "info" }[kind] ?? "warn";
  return h("div", { class: ["note", kind], role: kind === "bad" ? "alert" : null }, icon(sign), h("div", null, children));
}

/** A state in a word with a shape. @param {"good" | "warn" | "bad" | "off" | "info" | ""} state @param {Child} text */
export function tag(state, text) {
  return h("span", { class: ["tag", state] }, text);
}

/** A state with a dot before it, as in tables. @param {"good" | "warn" | "bad" | "off"} state @param {string} text */
export function status(state, text) {
  return h("span", { class: ["st", state] }, h("span", null, text));
}

/**
 * What is spent of a budget, with its bar. Without a total there is no bar.
 * @param {number} used dollars
 * @param {number | null} total dollars
 * @param {{ label: string, window?: string, foot?: Child, title?: string }} options label: "support-bot"; window: "a month"
 */
export function bar(used, total, options) {
  const { label, window = "", foot, title = null } = options;
  const of = (text) => h("span", { class: "soft" }, text);
  const spent = (...rest) => h("span", null, h("b", null, money(used)), " ", rest);
  if (total === null) return h("div", { class: "use" }, h("span", null, spent(of(window || "no budget"))));
  const part = total > 0 ? used / total : 1, state = part >= 1 ? "bad" : part >= 0.8 ? "warn" : "";
  return h("div", { class: "use" },
    h("span", null,
      spent(of(`of ${amount(total)} ${window}`)),
      h("span", { class: state || "soft" }, share(Math.min(part, 9.99)))),
    h("progress", {
      class: state, max: 100, value: Math.min(100, part * 100).toFixed(1), title, "aria-label": `Budget of ${label}: ${share(part)} used`,
    }),
    foot ? h("span", { class: state === "bad" ? "bad" : "soft" }, foot) : null);
}

/**
 * A button.
 * @param {Child} text
 * @param {(event: Event) => any} onclick
 * @param {{ class?: string, icon?: string, label?: string, title?: string, disabled?: boolean, pressed?: boolean }} [options]
 */
export function button(text, onclick, options = {}) {
  return h("button", {
    type: "button", class: ["btn", options.class], onclick, "aria-label": options.label, title: options.title ?? options.label,
    disabled: options.disabled, "aria-pressed": options.pressed === undefined ? null : String(options.pressed),
  }, options.icon ? icon(options.icon) : null, text);
}

/** Says something to screen readers: in the dialog that is open, since what is behind it is silent. @param {string} text */
export function announce(text) {
  const at = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
  const live = at.querySelector(":scope > .live") ?? at.appendChild(h("div", { class: "live vh", role: "status" }));
  live.textContent = "";
  setTimeout(() => (live.textContent = text), 50); // a region is read when it changes, not when it comes
}

let hiding, shown = new AbortController();
/**
 * A short message that goes by itself. With `undo` it has a button that takes back what was done, as Ctrl+Z does while it is
 * there; it stays while it is pointed at or has the focus.
 * @param {string} text @param {() => any} [undo]
 */
export function toast(text, undo) {
  const end = () => {
    clearTimeout(hiding);
    shown.abort();
    document.querySelector(".toast")?.remove();
  };
  end();
  shown = new AbortController();
  const { signal } = shown, wait = () => (clearTimeout(hiding), (hiding = setTimeout(end, undo ? 10e3 : 3e3)));
  const back = () => (end(), undo?.());
  const el = h("div", { class: "toast", popover: "manual" }, text, undo ? button("Undo", back, { title: "Undo (Ctrl+Z)" }) : null);
  document.body.append(el);
  el.showPopover(); // above a dialog
  announce(undo ? text + ". Ctrl+Z undoes it." : text);
  wait();
  if (!undo) return;
  for (const type of ["pointerenter", "focusin"]) el.addEventListener(type, () => clearTimeout(hiding));
  for (const type of ["pointerleave", "focusout"]) el.addEventListener(type, wait);
  addEventListener("keydown", (event) => {
    const at = /** @type {HTMLElement} */ (event.target), writing = at.matches?.("input, textarea, select, [contenteditable]");
    if (writing || event.key.toLowerCase() !== "z" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    event.preventDefault();
    back();
  }, { signal });
}

/** Copies a text; false where the browser refuses. @param {string} text */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { // without https, or refused
    const back = /** @type {HTMLElement | null} */ (document.activeElement);
    const area = h("textarea", { class: "vh", value: text, "aria-hidden": "true" });
    ([...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body).append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    back?.focus();
    return done;
  }
}

/**
 * A button that copies.
 * @param {string | (() => string)} text
 * @param {{ label?: string, class?: string, bare?: boolean }} [options] label is its text; bare: the icon only
 */
export function copy(text, options = {}) {
  const { label = "Copy", bare = false } = options, word = h("span", { class: "label" }, label);
  const done = async () => {
    const ok = await copyText(typeof text === "function" ? text() : text), said = ok ? "Copied" : "It could not be copied";
    if (bare) return toast(said);
    word.textContent = ok ? "Copied" : "Not copied";
    announce(said);
    setTimeout(() => (word.textContent = label), 1500);
  };
  return bare
    ? button(null, done, { class: "bare icon " + (options.class ?? ""), icon: "copy", label })
    : button(word, done, { class: options.class, icon: "copy" });
}

/** A text in a box with a button that copies it. @param {string} text @param {{ label?: string }} [options] */
export function url(text, options = {}) {
  return h("div", { class: "url" }, h("code", null, text), copy(text, { bare: true, label: options.label ?? "Copy" }));
}

/**
 * Code with a button that copies it.
 * @param {string} text
 * @param {string} label read to screen readers
 * @param {string} [hole] a part that is marked
 */
export function code(text, label, hole) {
  const parts = hole ? text.split(hole).flatMap((part, i) => (i ? [h("span", { class: "hole" }, hole), part] : [part])) : [text];
  return h("div", { class: "code" }, copy(text, { class: "copy" }), h("pre", { tabindex: "0", role: "group", "aria-label": label }, parts));
}

/** What stands where nothing is. @param {{ text: Child, title?: string, action?: Child }} options */
export function empty(options) {
  return h("div", { class: "empty" }, options.title ? h("h2", null, options.title) : null, h("p", null, options.text),
    options.action ? h("div", { class: "acts" }, options.action) : null);
}

/**
 * What could not be loaded, and why, where the frame does not say that the gateway does not answer.
 * @param {any} error
 * @param {(() => any) | null} [retry]
 * @param {string} [what] such as "Usage"
 */
export function failed(error, retry, what) {
  return h("div", { class: "empty", role: "alert" },
    h("h2", null, (what ?? "This") + " could not be loaded."),
    document.querySelector(".offline .note") ? null : h("p", null, error?.message ?? String(error), " ", error?.requestId ? h("code", null, error.requestId) : null),
    retry ? h("div", { class: "acts" }, button("Try again", retry)) : null);
}

/** Grey bars in the place of what comes. @param {"lines" | "plot" | "table"} [kind] */
export function loading(kind = "lines") {
  const bars = Array.from({ length: { lines: 3, plot: 1, table: 6 }[kind] }, () => h("span", { class: "bone" }));
  return h("div", { class: ["bones", kind], role: "status", "aria-label": "Loading" }, bars);
}

/** A part of 1 as a bar. @param {number} part @param {string} of what the part is of @param {string | number} [colour] */
export const shareBar = (part, of, colour = 1) => svg("svg", { class: "share", role: "img", "aria-label": share(part) + " " + of },
  svg("rect", { width: (part * 100).toFixed(1) + "%", height: "100%", rx: 2, class: "f" + colour }));
