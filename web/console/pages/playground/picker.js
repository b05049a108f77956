// @ts-check
/** The choice of a model: a button with its name, and a list with search. */
import { h, icon } from "../../lib/dom.js";
import { fits, price, stateOf } from "./catalogue.js";

let lists = 0;

/**
 * @param {{ label: string, value: string, models: () => any[], onpick: (name: string) => void }} of
 * @returns {{ el: HTMLElement, set: (name: string) => void, open: () => void }}
 */
export function picker({ label, value, models, onpick }) {
  const id = "models-" + ++lists;
  const name = h("span", { class: "elide" }, value || "Choose a model");
  const list = h("ul", { id, role: "listbox", "aria-label": "Models" });
  const input = /** @type {HTMLInputElement} */ (
    h("input", {
      type: "text",
      role: "combobox",
      "aria-expanded": "true",
      "aria-controls": id,
      "aria-autocomplete": "list",
      "aria-label": "Find a model",
      placeholder: "Name, alias or provider",
      autocomplete: "off",
      spellcheck: "false",
    })
  );
  const panel = h("div", { class: "models-panel", popover: "auto" }, input, list);
  const button = h(
    "button",
    { type: "button", class: "btn bare model", "aria-haspopup": "listbox", "aria-label": label },
    name,
    icon("chevron"),
  );
  let shown = [],
    at = 0,
    current = value;

  const set = (to) => {
    current = to;
    name.textContent = to || "Choose a model";
    button.setAttribute("aria-label", label + ": " + (to || "none"));
    button.title = to;
  };
  const pick = (option) => {
    if (!option || option.off) return;
    panel.hidePopover();
    button.focus();
    if (option.id === current) return;
    set(option.id);
    onpick(option.id);
  };
  const mark = (i) => {
    at = Math.max(0, Math.min(shown.length - 1, i));
    [...list.children].forEach((el, j) => el.setAttribute("aria-selected", String(j === at)));
    const el = /** @type {HTMLElement} */ (list.children[at]);
    if (!el) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", el.id);
    el.scrollIntoView({ block: "nearest" });
  };
  const fill = () => {
    const typed = input.value.trim();
    const found = models().filter((m) => m.kind !== "embedding" && fits(m, typed));
    shown = found.map((m) => ({ id: m.id, model: m, off: !m.available }));
    // a provider may sell more than the list has: what was typed is sent as it is
    if (typed && !found.some((m) => m.id === typed)) shown.push({ id: typed, model: null, off: false });
    list.replaceChildren(...shown.map((o, i) => option(o, id + "-" + i, o.id === current, () => pick(o))));
    mark(Math.max(0, typed ? shown.findIndex((o) => !o.off) : shown.findIndex((o) => o.id === current)));
  };

  input.addEventListener("input", fill);
  input.addEventListener("keydown", (e) => {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 8, PageUp: at - 8 }[e.key];
    if (to !== undefined) {
      e.preventDefault();
      mark(to);
    }
    if (e.key === "Enter") {
      e.preventDefault();
      pick(shown[at]);
    }
  });
  panel.addEventListener("toggle", (e) => button.setAttribute("aria-expanded", String(/** @type {any} */ (e).newState === "open")));
  const open = () => {
    input.value = "";
    panel.showPopover();
    const box = button.getBoundingClientRect();
    panel.style.left = Math.max(8, Math.min(innerWidth - panel.offsetWidth - 8, box.left)) + "px";
    panel.style.top = Math.max(8, Math.min(innerHeight - panel.offsetHeight - 8, box.bottom + 4)) + "px";
    fill();
    input.focus();
  };
  button.addEventListener("click", open);
  set(value);
  return { el: h("div", { class: "model-pick" }, button, panel), set, open };
}

function option(o, id, chosen, onclick) {
  const m = o.model,
    state = m && stateOf(m),
    cost = m?.price_usd_per_million_tokens;
  return h(
    "li",
    { id, role: "option", "aria-selected": "false", "aria-disabled": o.off ? "true" : null, class: chosen ? "chosen" : null, onclick },
    h("span", { class: "elide mono" }, m ? o.id : "Use “" + o.id + "”"),
    m ? h("span", { class: "soft" }, m.owned_by) : null,
    state && state.kind !== "good"
      ? h("span", { class: "tag " + (state.kind === "off" ? "" : state.kind) }, [state.text, state.sub].filter(Boolean).join(", "))
      : null,
    cost ? h("span", { class: "soft price" }, `$${price(cost.input)} / $${price(cost.output)}`) : null,
  );
}
