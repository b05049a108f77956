// @ts-check
// Forms: fields, their errors, and the controls that choose.

import { fill, h, icon } from "./dom.js";
import { note, unique } from "./parts.js";

/** @typedef {import("./dom.js").Child} Child */

/**
 * A field with its label. `type` may be "textarea" or "select" (with options: [value, text][]); `control` makes another one, whose
 * input has the properties.
 * @param {{ label: string, name: string, type?: string, value?: any, hint?: Child, error?: string, placeholder?: string,
 *   options?: [string, string][], autocomplete?: string, inputmode?: string, required?: boolean, disabled?: boolean, fixed?: boolean, rows?: number,
 *   spellcheck?: boolean, maxlength?: number, control?: (props: Record<string, any>) => Element, onchange?: (event: Event) => any, oninput?: (event: Event) => any }} o
 */
export function field(o) {
  const id = unique("field"), hint = o.hint ? unique("hint") : null, error = unique("error");
  const props = {
    id, name: o.name, class: "in", value: o.value ?? "", placeholder: o.placeholder, autocomplete: o.autocomplete ?? "off",
    inputmode: o.inputmode, disabled: o.disabled, readonly: o.fixed, onchange: o.onchange, oninput: o.oninput, maxlength: o.maxlength,
    spellcheck: o.spellcheck === undefined ? null : String(o.spellcheck),
    "aria-describedby": [hint, error].filter(Boolean).join(" "), "aria-required": o.required ? "true" : null,
  };
  const input = o.control ? o.control(props) : o.type === "select"
    ? h("select", { ...props, class: null, placeholder: null }, (o.options ?? []).map(([value, text]) => h("option", { value }, text)))
    : o.type === "textarea" ? h("textarea", { ...props, rows: o.rows ?? 3 }) : h("input", { ...props, type: o.type ?? "text" });
  const el = h("div", { class: "field" }, h("label", { htmlFor: id }, o.label), input,
    hint ? h("span", { class: "hint", id: hint }, o.hint) : null, h("span", { class: "err", id: error, hidden: true }));
  if (o.error) fieldError(el, o.error);
  return el;
}

/** Shows what is wrong with a field; "" takes it back. @param {Element} el of field @param {string} text */
export function fieldError(el, text) {
  const error = /** @type {HTMLElement} */ (el.querySelector(".err")), input = el.querySelector("input, select, textarea");
  error.hidden = !text;
  fill(error, text ? [icon("warn"), text] : null);
  text ? input?.setAttribute("aria-invalid", "true") : input?.removeAttribute("aria-invalid");
}

/** Takes the errors of all fields back. @param {Element} form */
export function clearErrors(form) {
  for (const el of form.querySelectorAll(".field")) fieldError(el, "");
}

/**
 * Shows an error of the API at the field that it names, else in a note that it returns.
 * @param {Element} form @param {any} error
 */
export function formError(form, error) {
  clearErrors(form);
  const name = error?.param?.replace(/\[\d+\]$/, ""); // of an element of a list
  const at = name ? form.querySelector(`[name="${CSS.escape(name)}"]`)?.closest(".field") : null;
  if (!at) return note("bad", error?.message ?? String(error));
  fieldError(at, error.message.replace(error.param + ": ", ""));
  /** @type {HTMLElement} */ (at.querySelector("input, select, textarea")).focus();
  return null;
}

/** The values of a form by their names, trimmed but for passwords. @param {HTMLFormElement} form @returns {Record<string, string>} */
export function formData(form) {
  const secret = (name) => /** @type {any} */ (form.elements.namedItem(name))?.type === "password";
  return Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, secret(name) ? String(value) : String(value).trim()]));
}

/** A number that was written, such as 25, 0.5, $50 or 1,000; null for nothing, NaN for what is no number. @param {string} text */
export function numberOf(text) {
  const plain = text.replace(/[$,\s]/g, "");
  return plain === "" ? null : /^\d*\.?\d+$/.test(plain) ? Number(plain) : NaN;
}

/**
 * Tabs with arrow keys; each has an id, a title and what makes its panel.
 * @param {{ label: string, tabs: { id: string, title: string, panel: () => Child }[], chosen?: string,
 *   onchange?: (id: string) => void }} options
 */
export function tabs(options) {
  const panel = h("div", { role: "tabpanel", id: unique("panel"), class: "mt" });
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": options.label });
  const all = options.tabs.map((tab) => h("button", {
    type: "button", role: "tab", id: unique("tab"), "aria-controls": panel.id, dataset: { id: tab.id },
    onclick: () => choose(tab.id, true),
  }, tab.title));
  function choose(id, told) {
    const i = Math.max(0, options.tabs.findIndex((tab) => tab.id === id));
    all.forEach((el, k) => {
      el.setAttribute("aria-selected", String(k === i));
      el.tabIndex = k === i ? 0 : -1;
    });
    panel.setAttribute("aria-labelledby", all[i].id);
    fill(panel, options.tabs[i].panel());
    if (told) options.onchange?.(options.tabs[i].id);
  }
  list.addEventListener("keydown", (event) => {
    const i = all.indexOf(document.activeElement), n = all.length;
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: n - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    all[(to + n) % n].focus();
    all[(to + n) % n].click();
  });
  list.append(...all);
  choose(options.chosen ?? options.tabs[0].id, false);
  return h("div", null, list, panel);
}

/**
 * A row of buttons of which one is pressed.
 * @param {{ label: string, options: [string, Child][], value: string, onchange: (value: string) => void, tiny?: boolean }} o
 */
export function segments(o) {
  const all = o.options.map(([value, text]) =>
    h("button", { type: "button", "aria-pressed": String(value === o.value), onclick: () => choose(value) }, text));
  const choose = (value) => {
    all.forEach((el, i) => el.setAttribute("aria-pressed", String(o.options[i][0] === value)));
    o.onchange(value);
  };
  return h("div", { class: ["seg", o.tiny ? "tiny" : null], role: "group", "aria-label": o.label }, all);
}

/**
 * A select with a name for screen readers.
 * @param {{ label: string, options: [string, string][], value: string, onchange: (value: string) => void }} o
 */
export function select(o) {
  return h("select", { "aria-label": o.label, value: o.value, onchange: (event) => o.onchange(event.target.value) },
    o.options.map(([value, text]) => h("option", { value }, text)));
}

/**
 * A filter that is set, with a button that takes it away.
 * @param {Child} text
 * @param {() => any} remove
 * @param {string} label such as "Remove the filter model"
 */
export function chip(text, remove, label) {
  return h("span", { class: "chip" }, h("span", null, text),
    h("button", { type: "button", onclick: remove, "aria-label": label, title: label }, icon("x")));
}

/**
 * A box that finds.
 * @param {{ label: string, placeholder?: string, value?: string, oninput: (text: string) => void, wait?: number }} o
 * wait: ms after the last letter
 */
export function find(o) {
  let timer;
  const oninput = (event) => {
    clearTimeout(timer);
    timer = setTimeout(() => o.oninput(event.target.value.trim()), o.wait ?? 200);
  };
  return h("div", { class: "find" }, icon("find"), h("input", {
    class: "in", type: "search", "aria-label": o.label, placeholder: o.placeholder ?? o.label, value: o.value ?? "",
    autocomplete: "off", spellcheck: "false", oninput,
  }));
}
