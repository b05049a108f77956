// @ts-check
// The choice of models from the list of the gateway: a box that finds them.

import { fill, h } from "./dom.js";
import { find, fits, meant, price, stateOf } from "./models.js";
import { announce, chip, unique } from "./ui.js";

/**
 * A box for one model, or with `many` for the entries of an allow list: models, and patterns such as claude-*. Beside it an input
 * that is hidden has the name of `props`, and the entries with commas between.
 * @param {{ props: Record<string, any>, value: string[], models: () => any[] | Promise<any[]>, many?: boolean,
 *   onpick?: (chosen: string[]) => void }} of props: those of the box
 * @returns {{ el: HTMLElement, open: () => void }}
 */
export function picker({ props, value, models, many, onpick }) {
  const { name, value: _, ...rest } = props, id = unique("models"), first = rest.placeholder;
  const list = h("ul", { id, class: "picker-list", role: "listbox", popover: "manual", "aria-label": "Models", "aria-multiselectable": many ? "true" : null });
  const input = h("input", {
    ...rest, placeholder: first ?? "Name, alias or provider", type: "text", role: "combobox", "aria-expanded": "false", "aria-controls": id, "aria-autocomplete": "list",
    autocomplete: "off", spellcheck: "false", onkeydown: key, onblur: leave, onclick: () => open(),
    oninput: () => {
      typing = true;
      const parts = many ? input.value.split(",") : [];
      if (parts.length > 1) {
        input.value = parts.pop().trim();
        parts.forEach(add);
      }
      show();
    },
  });
  const hidden = many ? h("input", { type: "hidden", name }) : null, chips = h("div", { class: "tags" }), doubt = h("span", { class: "hint warn", role: "status" });
  const el = h("div", { class: "picker" }, chips, input, hidden, doubt, list);
  /** @type {any[]} */ let all = [];
  /** @type {{ id: string, model?: any, sub?: string, off?: boolean }[]} */ let shown = [];
  let chosen = [...value], at = -1, typing = false, opened = new AbortController();
  const typed = () => (typing ? input.value.trim() : "");
  const isOpen = () => list.matches(":popover-open");

  function settle() {
    if (!hidden) {
      if (!typing) input.value = input.title = chosen[0] ?? "";
      return;
    }
    hidden.value = [...chosen, typed()].filter(Boolean).join(",");
    fill(chips, chosen.map((entry) => chip(h("span", { class: "elide", title: entry }, entry), () => remove(entry), "Remove " + entry)));
    chips.hidden = !chosen.length;
    input.placeholder = chosen.length ? "Add a model" : first;
    const strange = all.length ? chosen.filter((entry) => !meant(all, entry).length) : [];
    doubt.textContent = strange.length ? `Not in the list of models: ${strange.join(", ")}. Check the spelling, unless such a model is to come.` : "";
  }
  function add(entry) {
    entry = entry.trim();
    if (!entry || chosen.includes(entry)) return;
    chosen.push(entry);
    announce(entry + " is added");
    settle();
  }
  function remove(entry) {
    chosen = chosen.filter((other) => other !== entry);
    announce(entry + " is removed");
    settle();
    input.focus();
  }
  function pick(option) {
    if (!option || option.off) return;
    typing = false;
    if (many) {
      input.value = "";
      if (chosen.includes(option.id)) remove(option.id);
      else add(option.id);
      return show();
    }
    close();
    if (option.id === chosen[0]) return settle();
    chosen = [option.id];
    settle();
    onpick?.(chosen);
  }

  /** What fits what is typed: models, then patterns, then the text itself, since a provider may sell more than the list has. */
  function options() {
    const text = typed(), begins = text.endsWith("*");
    const found = all.filter((m) => (many ? m.state !== "retired" : m.kind !== "embedding") && fits(m, text)).map((m) => ({ id: m.id, model: m, off: !many && !m.available }));
    const exact = found.findIndex((o) => o.id === text);
    if (exact > 0) found.unshift(...found.splice(exact, 1));
    const entries = !many ? [] : begins ? [text] : [...new Set(all.map((m) => m.owned_by + "/*"))].filter((entry) => entry.includes(text.toLowerCase()));
    const patterns = entries.map((entry) => ({ id: entry, sub: `${meant(all, entry).length} of the models listed now` }));
    const own = text && exact < 0 && !begins ? [{ id: text, sub: meant(all, text).length ? "" : "not in the list" }] : [];
    return begins ? [...patterns, ...found] : [...found, ...patterns, ...own];
  }
  function show() {
    settle();
    if (!isOpen()) {
      input.setAttribute("aria-expanded", "true");
      list.showPopover();
      opened = new AbortController();
      for (const event of ["scroll", "resize"]) addEventListener(event, (e) => e.target !== list && place(), { capture: true, signal: opened.signal });
    }
    shown = options();
    fill(list, shown.map((o, i) => item(o, id + "-" + i, chosen.includes(o.id), () => pick(o))));
    mark(typed() ? shown.findIndex((o) => !o.off) : many ? -1 : shown.findIndex((o) => o.id === chosen[0]));
    place();
  }
  function place() {
    if (!input.isConnected) return close();
    const box = input.getBoundingClientRect(), below = innerHeight - box.bottom - 12, above = box.top - 12, up = below < 200 && above > below;
    list.style.maxHeight = Math.max(120, Math.min(384, up ? above : below)) + "px";
    list.style.width = Math.min(innerWidth - 16, Math.max(box.width, many ? 0 : 576)) + "px";
    list.style.left = Math.max(8, Math.min(innerWidth - list.offsetWidth - 8, box.left)) + "px";
    list.style.top = (up ? box.top - list.offsetHeight - 4 : box.bottom + 4) + "px";
  }
  function mark(i) {
    at = Math.min(shown.length - 1, i);
    [...list.children].forEach((el, j) => el.classList.toggle("at", j === at));
    const el = /** @type {HTMLElement} */ (list.children[at]);
    if (!el) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", el.id);
    el.scrollIntoView({ block: "nearest" });
  }
  function close() {
    opened.abort();
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    if (isOpen()) list.hidePopover();
  }
  function leave() {
    if (document.activeElement === input) return; // another window has the focus
    close();
    if (many) add(input.value);
    typing = false;
    input.value = "";
    settle();
  }
  function key(event) {
    const move = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (move) {
      event.preventDefault();
      if (!isOpen()) return open();
      mark(Math.max(0, at + move));
    } else if (event.key === "Enter" && isOpen() && shown[at]) {
      event.preventDefault();
      pick(shown[at]);
    } else if (event.key === "Escape" && isOpen()) {
      event.preventDefault(); // a dialog stays open
      event.stopPropagation();
      typing = false;
      settle();
      close();
    } else if (event.key === "Backspace" && many && !input.value && chosen.length) remove(chosen[chosen.length - 1]);
  }
  async function read() {
    const now = await models();
    if (now === all) return;
    all = now;
    isOpen() ? show() : settle();
  }
  function open() {
    input.focus();
    input.select();
    show();
    void read();
  }
  list.addEventListener("mousedown", (event) => event.preventDefault()); // the box keeps the focus
  settle();
  if (many) void read();
  return { el, open };
}

function item(o, id, chosen, onclick) {
  const m = o.model, state = m && stateOf(m), cost = m?.price_usd_per_million_tokens;
  return h("li", { id, role: "option", "aria-selected": String(chosen), "aria-disabled": o.off ? "true" : null, onclick },
    h("span", { class: "elide mono", title: o.id }, o.id),
    h("span", { class: "soft" }, m ? m.owned_by : o.sub),
    state && state.kind !== "good" ? h("span", { class: "tag " + (state.kind === "off" ? "" : state.kind) }, [state.text, state.sub].filter(Boolean).join(", ")) : null,
    cost ? h("span", { class: "soft price" }, `$${price(cost.input)} / $${price(cost.output)}`) : null);
}
