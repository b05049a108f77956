// @ts-check
// The command palette: pages, actions, keys, models, users, and a request id that was pasted.

import { get } from "./lib/api.js";
import { fill, h, icon } from "./lib/dom.js";
import { addressOf } from "./lib/rows.js";
import { remembered } from "./lib/state.js";
import { dialog } from "./lib/ui.js";
import { setTheme } from "./frame.js";

/** Whether an event opens the palette; "/" goes to the box that finds. @param {KeyboardEvent} event */
export function paletteKey(event) {
  if (event.key === "/" && !typing(event) && !event.metaKey && !event.ctrlKey && remembered("letters", "on") === "on") {
    const box = /** @type {HTMLElement | null} */ (document.querySelector("main .find input"));
    if (box) event.preventDefault();
    box?.focus();
  }
  return event.key.toLowerCase() === "k" && (event.metaKey || event.ctrlKey) && !event.shiftKey && !event.altKey;
}

/** Whether a text is being written, so that a letter is no command. @param {Event} event */
export const typing = (event) => /** @type {Element} */ (event.target).matches?.("input, textarea, select, [contenteditable]") ?? false;

/** @typedef {{ text: string, kind: string, icon: string, href?: string, run?: () => any }} Item */
/** @typedef {{ me: any, go: (href: string) => any, pages: any[], signOut: () => any, signOutEverywhere: () => any }} Context */

/** @param {Context} context */
function fixed({ pages, signOut, signOutEverywhere }) {
  /** @type {Item[]} */
  const items = pages.map((p) => ({ text: p.title, kind: "Page", icon: p.icon, href: p.path }));
  const has = (path) => pages.some((p) => p.path === path);
  if (has("/keys")) items.push({ text: "Create key", kind: "Action", icon: "plus", href: "/keys?new=1" });
  items.push({ text: "Docs", kind: "Page", icon: "code", href: "/docs" });
  items.push({ text: "Light colours", kind: "Action", icon: "sun", run: () => setTheme("light") });
  items.push({ text: "Dark colours", kind: "Action", icon: "moon", run: () => setTheme("dark") });
  items.push({ text: "Colours like the system", kind: "Action", icon: "auto", run: () => setTheme("auto") });
  items.push({ text: "Sign out", kind: "Action", icon: "right", run: signOut });
  items.push({ text: "Sign out everywhere", kind: "Action", icon: "right", run: signOutEverywhere });
  return items;
}

/** Keys, models and users; of an administrator's those that begin with (keys) or contain (users) the text. */
async function things({ me, pages }, text) {
  const has = (path) => pages.some((p) => p.path === path), { admin } = me.user, most = 20;
  const lists = await Promise.allSettled([
    has("/keys") ? get(admin ? "/admin/keys" : "/auth/keys", admin ? { q: text, limit: most } : null) : null,
    has("/models") ? get("/v1/models", { kind: "all" }) : null,
    admin && has("/users") ? get("/admin/users", { q: text, limit: most }) : null,
  ]);
  const [keys, models, users] = lists.map((list) => (list.status === "fulfilled" && list.value?.data) || []);
  return [
    ...keys.map((k) => ({ text: k.name, kind: "Key", icon: "key", href: addressOf("key", k.id) })),
    ...models.map((m) => ({ text: m.id, kind: "Model", icon: "cube", href: addressOf("model", m.id) })),
    ...users.map((u) => ({ text: u.email, kind: "User", icon: "user", href: addressOf("user", u.id) })),
  ];
}

let open = false;

/** @param {Context} context */
export function openPalette(context) {
  if (open) return;
  open = true;
  const pages = fixed(context), seenMost = 30;
  /** @type {Item[]} */
  let found = [], seen = [], at = 0, timer = 0, turn = 0;
  const list = h("ul", { role: "listbox", id: "palette-list", "aria-label": "Results" });
  const input = h("input", {
    type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "palette-list", "aria-label": "Search or jump to",
    placeholder: "Page, key, user, model or request id", autocomplete: "off", spellcheck: "false", onkeydown: key,
    oninput: () => {
      clearTimeout(timer);
      timer = setTimeout(load, 150);
      render();
    },
  });
  const onclose = () => ((open = false), clearTimeout(timer));
  const { close } = dialog({ title: "Search or jump to", body: [input, list], class: "pal", onclose });
  render();
  load();

  async function load() {
    const mine = ++turn, got = await things(context, input.value.trim());
    if (mine !== turn || !open) return;
    found = got;
    render();
  }

  function render() {
    const text = input.value.trim(), wanted = text.toLowerCase();
    seen = [...pages, ...found].filter((item) => item.text.toLowerCase().includes(wanted)).slice(0, seenMost);
    if (/^(req|call)_\w{8,}$/.test(text) && context.pages.some((p) => p.path === "/calls")) {
      seen.unshift({ text, kind: "Call", icon: "list", href: "/calls?q=" + encodeURIComponent(text) });
    }
    at = 0;
    const option = (item, i) => h("li", { role: "option", id: "palette-" + i, "aria-selected": "false", onclick: () => run(item) },
      icon(item.icon), h("span", { class: "elide" }, item.text), h("span", null, item.kind));
    fill(list, seen.length ? seen.map(option) : h("li", { role: "option", "aria-disabled": "true" }, "Nothing matches."));
    mark();
  }

  function mark() {
    if (!seen.length) return input.removeAttribute("aria-activedescendant");
    [...list.children].forEach((li, i) => li.setAttribute("aria-selected", String(i === at)));
    list.children[at].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", "palette-" + at);
  }

  function key(event) {
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key];
    if (to !== undefined && seen.length) {
      event.preventDefault();
      at = (to + seen.length) % seen.length;
      mark();
    } else if (event.key === "Enter" && seen[at]) {
      event.preventDefault();
      run(seen[at]);
    }
  }

  function run(item) {
    close();
    item.href ? context.go(item.href) : item.run?.();
  }
}
