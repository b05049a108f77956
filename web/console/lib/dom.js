// @ts-check
// Elements. Text enters as text only: nothing is ever parsed as HTML.

/** @typedef {Node | string | number | null | undefined | false | Child[]} Child */

/**
 * Makes an element. Properties that begin with "on" are listeners, `class` and names with a dash are
 * attributes, `dataset` is an object; true sets an attribute without a value, null and false leave it out.
 * @param {string} tag
 * @param {Record<string, any> | null} [props]
 * @param {...Child} children
 * @returns {any}
 */
export function h(tag, props, ...children) {
  return build(document.createElement(tag), props, children);
}

/**
 * Makes an element of SVG, with the same rules.
 * @param {string} tag
 * @param {Record<string, any> | null} [props]
 * @param {...Child} children
 * @returns {any}
 */
export function svg(tag, props, ...children) {
  return build(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
}

/**
 * Replaces the children of an element.
 * @param {Element} parent
 * @param {...Child} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren();
  add(parent, children);
  return parent;
}

/** An icon of icons.svg. @param {string} name */
export function icon(name) {
  return svg("svg", { class: "ic", "aria-hidden": "true" }, svg("use", { href: "/console/icons.svg#" + name }));
}

const own = new Set(["value", "checked", "disabled", "hidden", "selected", "indeterminate", "required", "multiple", "open"]);

function build(el, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value == null || value === false) continue;
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(el.dataset, value);
    else if (name === "class") el.setAttribute("class", Array.isArray(value) ? value.filter(Boolean).join(" ") : value);
    else if (own.has(name) && el instanceof HTMLElement && !(name === "value" && el instanceof HTMLProgressElement)) el[name] = value;
    else el.setAttribute(name === "htmlFor" ? "for" : name, value === true ? "" : String(value));
  }
  add(el, children);
  // The value of a select is known only when its options are there.
  if (el instanceof HTMLSelectElement && props?.value != null) el.value = props.value;
  return el;
}

function add(parent, children) {
  for (const child of children) {
    if (child == null || child === false) continue;
    if (Array.isArray(child)) add(parent, child);
    else parent.append(child instanceof Node ? child : String(child));
  }
}
