// @ts-check
// The frame around the pages: navigation, colours, the account's menu, and what says that the gateway does not answer.

import { get } from "./lib/api.js";
import { fill, h, icon, svg } from "./lib/dom.js";
import { button, menu } from "./lib/ui.js";

/** The name of the program with its sign. */
export function brand() {
  const line = { fill: "none", stroke: "currentColor", "stroke-width": "2", "stroke-linecap": "round" };
  const arch = svg("path", { d: "M3 17V9a7 7 0 0 1 14 0v8" }), door = svg("path", { d: "M8 17v-7a2 2 0 0 1 4 0v7" });
  return [svg("svg", { viewBox: "0 0 20 20", "aria-hidden": "true", ...line }, arch, door), "Model Gateway"];
}

/**
 * Fills the document with the frame.
 * @param {{ user: any, entries: import("./pages.js").Entry[], find: () => any, signOut: () => any, signOutEverywhere: () => any }} options
 * entries: of the navigation; find opens the palette
 */
export function makeFrame(options) {
  const content = h("main", { id: "main", tabindex: "-1" }), offline = h("div", { class: "offline", role: "status" });
  const side = navigation(options);
  const opener = button(null, () => drawer(true), { class: "bare icon", icon: "menu", label: "Menu" });
  opener.setAttribute("aria-controls", "side");
  const bar = h("header", { class: "bar" }, opener, h("a", { class: "brand", href: "/" }, brand()),
    button(null, options.find, { class: "bare icon", icon: "find", label: "Search or jump to" }));
  const page = h("div", null, offline, content);
  const drawer = (open) => {
    side.classList.toggle("open", open);
    bar.inert = page.inert = open; // what is behind the drawer is out of reach
    opener.setAttribute("aria-expanded", String(open));
    if (open) side.querySelector("a").focus();
  };
  const shut = () => {
    if (!side.classList.contains("open")) return;
    drawer(false);
    opener.focus();
  };
  side.addEventListener("keydown", (event) => event.key === "Escape" && shut());
  const app = h("div", { class: "app" }, side, page);
  app.addEventListener("click", (event) => side.contains(event.target) || shut());
  fill(document.body,
    h("a", { class: "skip", href: "#main", onclick: (event) => (event.preventDefault(), content.focus()) }, "Skip to content"), bar, app);
  if (options.user.admin) countWarnings(side);
  return {
    content,
    /** Marks the entry of the page that is shown. @param {string} path */
    current(path) {
      drawer(false);
      for (const a of side.querySelectorAll("li a")) {
        if (a.getAttribute("href") === path) a.setAttribute("aria-current", "page");
        else a.removeAttribute("aria-current");
      }
    },
    /** @param {boolean} is */
    offline: (is) => fill(offline, is ? h("div", { class: "note warn" }, "The gateway does not answer. Trying again in 5 s.") : null) /* no icon: it may not have come */,
  };
}

function navigation({ user, entries, find, signOut, signOutEverywhere }) {
  const warnings = (path) => h("span", { class: "count", hidden: true, dataset: { count: path } });
  const link = (p) => h("li", null, h("a", { href: p.path }, icon(p.icon), p.title, warnings(p.path)));
  const own = entries.filter((p) => !p.admin), administration = entries.filter((p) => p.admin), name = user.name || user.email;
  const items = [
    { text: "Your account", icon: "user", href: "/account" }, null,
    { text: "Sign out", onclick: signOut }, { text: "Sign out everywhere", onclick: signOutEverywhere },
  ];
  const who = h("button", { class: "who", type: "button", "aria-haspopup": "menu", onclick: () => menu(who, items) },
    h("span", { class: "face", "aria-hidden": "true" }, initials(name)),
    h("span", null, h("b", { title: user.email }, name), h("span", { class: "soft xs" }, user.admin ? "Administrator" : "User")));
  return h("nav", { class: "side", id: "side", "aria-label": "Main" },
    h("a", { class: "brand", href: "/" }, brand()),
    h("button", { class: "jump", type: "button", onclick: find }, icon("find"), "Search or jump to",
      h("kbd", null, /Mac|iP/.test(navigator.platform) ? "⌘K" : "Ctrl K")),
    h("ul", null, own.map(link)),
    administration.length ? [h("h2", null, "Administration"), h("ul", null, administration.map(link))] : null,
    h("footer", null, h("div", { class: "foot" }, h("a", { href: "/docs" }, "Docs"), themes()), who));
}

/** The numbers of warnings beside the entries; an answer that does not come leaves them out. @param {Element} side */
async function countWarnings(side) {
  const put = (path, n) => {
    const el = side.querySelector(`[data-count="${path}"]`);
    if (!el || n === 0) return;
    fill(el, n, h("span", { class: "vh" }, n === 1 ? " warning" : " warnings"));
    el.hidden = false;
  };
  const [providers, settings] = await Promise.allSettled([get("/admin/providers"), get("/admin/settings")]);
  const wrong = (p) => p.configured && p.status !== "healthy";
  if (providers.status === "fulfilled") put("/providers", providers.value.data.filter(wrong).length);
  if (settings.status === "fulfilled") put("/settings", settings.value.warnings.length);
}

const initials = (name) => name.split(/[\s@._-]+/).filter(Boolean).slice(0, 2).map((word) => [...word][0].toUpperCase()).join("");

/** The colours: auto, light or dark. theme.js sets them at the next visit. */
export const themeNow = () => document.documentElement.dataset.theme ?? "auto";

/** @param {string} theme auto, light or dark */
export function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    theme === "auto" ? localStorage.removeItem("theme") : localStorage.setItem("theme", theme);
  } catch {
    // A private window keeps nothing.
  }
  for (const b of document.querySelectorAll("[data-colours]")) {
    b.setAttribute("aria-pressed", String(/** @type {HTMLElement} */ (b).dataset.colours === theme));
  }
}

function themes() {
  const all = [["auto", "Like the system", "auto"], ["light", "Light", "sun"], ["dark", "Dark", "moon"]];
  return h("div", { class: "seg tiny", role: "group", "aria-label": "Colours" }, all.map(([theme, label, sign]) => h("button", {
    type: "button", "aria-label": label, title: label, "aria-pressed": String(themeNow() === theme),
    dataset: { colours: theme }, onclick: () => setTheme(theme),
  }, icon(sign))));
}
