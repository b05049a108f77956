// @ts-check
// Starts the console: the session, and the way from one page to the next.

import { get, onReach, onSessionLost, send } from "./lib/api.js";
import { fill, h } from "./lib/dom.js";
import { followRows } from "./lib/rows.js";
import { currentSession, forgetSession, takeWanted } from "./lib/state.js";
import { confirm, empty, failed, loading, toast } from "./lib/ui.js";
import { makeFrame } from "./frame.js";
import { openPalette, paletteKey } from "./palette.js";
import { entryOf, pages } from "./pages.js";

const signin = () => import("./pages/signin.js");

/** @type {any} The page that is shown: what ends it, and its timers. */
let shown = null;
/** @type {import("./lib/state.js").Session | null} */
let me = null;
/** @type {any} The frame, when there is one. */
let frame = null;
let moved = false;
/** Whether only a new document can show what has failed. */
let anew = false;

/** Goes to a page of the console. @param {string} href @param {{ replace?: boolean }} [options] */
function go(href, options = {}) {
  const to = new URL(href, location.href);
  if (to.origin !== location.origin || !isPage(to.pathname)) return location.assign(to);
  history[options.replace ? "replaceState" : "pushState"](null, "", to);
  moved = true;
  return show();
}

const isPage = (path) => path === "/signin" || entryOf(path) !== undefined;

/** May this user open the page? @param {import("./pages.js").Entry} entry */
function opens(entry) {
  const user = me?.user;
  return !entry.admin || user?.admin || (entry.managers && user?.teams.some((t) => t.role === "manager"));
}

/** Shows the page of the address. */
async function show() {
  const url = new URL(location.href), entry = entryOf(url.pathname);
  leave();
  const turn = (shown = { abort: new AbortController(), timers: [] });
  const current = () => shown === turn;
  try {
    if (url.pathname === "/signin") return await showOutside(turn, url, false);
    me = await currentSession();
    if (!current()) return;
    if (!me && url.pathname === "/") return await showOutside(turn, url, true);
    if (!me) return go("/signin?to=" + encodeURIComponent(url.pathname + url.search), { replace: true });
    const wanted = url.pathname === "/" ? takeWanted() : null;
    if (wanted) return go(wanted, { replace: true });
    await showPage(turn, url, entry);
  } catch (error) {
    if (!current() || turn.abort.signal.aborted || /** @type {any} */ (error).name === "AbortError") return;
    broken(error);
  }
}

/** What is shown without a session: the sign-in, and at "/" what this is. */
async function showOutside(turn, url, welcome) {
  const module = await signin();
  if (shown !== turn) return;
  frame = null;
  await module.show({ root: fill(document.body, h("div")), url, go, signal: turn.abort.signal, signedIn, welcome });
}

async function showPage(turn, url, entry) {
  frame ??= makeFrame({ user: me?.user, entries: pages.filter((p) => !p.hidden && opens(p)), find: palette, signOut, signOutEverywhere });
  frame.current(entry?.path ?? "");
  const one = entry && entry.path !== url.pathname ? entry.one : null;
  const name = entry?.title ?? "Not found", context = contextOf(turn, url, name);
  document.title = name + " · Model Gateway";
  if (!entry) {
    return fill(context.root, empty({
      title: "There is no such page.", text: "The address may be wrong.", action: h("a", { class: "btn", href: "/" }, "Go to Home"),
    }));
  }
  if (!one && !opens(entry)) return refuse(context, entry);
  const wait = setTimeout(() => shown === turn && context.root.childElementCount === 0 && fill(context.root, loading("table")), 200);
  const module = await (one ?? entry.load)().catch(notLoaded).finally(() => clearTimeout(wait));
  if (shown !== turn) return;
  fill(context.root);
  await module.show(context);
}

/** A module did not come. A browser may remember that, so that only a new document asks again. */
async function notLoaded(error) {
  anew = true;
  await get("/auth/methods", null, { anonymous: true }); // throws where the gateway does not answer
  throw error;
}

function leave() {
  shown?.abort.abort();
  shown?.timers.forEach(clearInterval);
  for (const el of document.querySelectorAll("dialog[open]")) /** @type {HTMLDialogElement} */ (el).close();
}

function broken(error) {
  const again = failed(error, retry, "The page");
  if (frame) return fill(frame.content, again);
  fill(document.body, h("main", null, again));
}

const retry = () => (anew ? location.reload() : show());

function refuse(context, entry) {
  fill(context.root, empty({
    title: `Only administrators see ${entry.title.toLowerCase()}.`,
    text: `You are signed in as ${me?.user.email}, a user. Ask an administrator of this gateway.`,
    action: h("a", { class: "btn", href: "/" }, "Go to Home"),
  }));
}

/** What a page is given; see pages/*.js. */
function contextOf(turn, url, name) {
  const root = h("div", { class: "page" }), line = h("p", { hidden: true }), actions = h("div", { class: "acts" });
  const title = h("h1", { tabindex: "-1" }, name), state = h("span", { class: "tags" });
  fill(frame.content, h("div", { class: "head" }, h("div", null, h("div", { class: "title" }, title, state), line), actions), root);
  if (moved) title.focus({ preventScroll: true });
  scrollTo(0, 0);
  return {
    root, url, query: url.searchParams, me, signal: turn.abort.signal, go,
    async renew() {
      await currentSession(true);
      frame = null; // which shows the name
      await show();
    },
    head(parts) {
      if (parts.title) {
        fill(title, parts.title);
        document.title = parts.title + " · Model Gateway";
      }
      fill(state, parts.state);
      fill(line, parts.line);
      line.hidden = !parts.line;
      if ("actions" in parts) fill(actions, parts.actions); // else they stay, and what is being pressed is pressed
    },
    setQuery(changes, options = {}) {
      const next = new URL(location.href);
      for (const [key, value] of Object.entries(changes)) {
        if (value === null || value === undefined || value === "") next.searchParams.delete(key);
        else next.searchParams.set(key, String(value));
      }
      history[options.replace === false ? "pushState" : "replaceState"](null, "", next);
      url.search = next.search;
    },
    every(ms, fn) {
      if (turn.abort.signal.aborted) return; // a page may be left while it loads
      turn.timers.push(setInterval(() => document.visibilityState === "visible" && fn(), ms));
    },
  };
}

async function signOut() {
  await send("DELETE", "/auth/session", undefined, { anonymous: true }).catch(() => {});
  signedOut();
}

async function signOutEverywhere() {
  const yes = await confirm({
    title: "Sign out everywhere?", text: "All your sessions and tokens end, on this device too. Your API keys go on working.",
    action: "Sign out everywhere", keep: "Stay signed in",
  });
  if (!yes) return;
  try {
    await send("POST", "/auth/logout", { everywhere: true });
    signedOut();
  } catch (error) {
    toast(/** @type {any} */ (error).message);
  }
}

function signedOut() {
  forgetSession();
  me = frame = null;
  go("/");
}

/** Called by the page of the sign-in when there is a session. @param {string} to */
async function signedIn(to) {
  me = await currentSession(true);
  frame = null;
  await go(to, { replace: true });
}

const palette = () => me && openPalette({ me, go, pages: pages.filter(opens), signOut, signOutEverywhere });

onSessionLost((error) => {
  if (!me) return;
  forgetSession();
  me = frame = null;
  const here = location.pathname + location.search;
  go("/signin?reason=" + encodeURIComponent(error.code || "session") + "&to=" + encodeURIComponent(here), { replace: true });
});

let asking = 0;
onReach((is) => {
  if (is === !asking) return;
  clearInterval(asking);
  asking = is ? 0 : setInterval(() => get("/auth/methods", null, { anonymous: true }).catch(() => {}), 5000);
  frame?.offline(!is);
  if (is && document.querySelector("main .empty[role=alert]")) retry(); // something failed meanwhile
});

document.addEventListener("click", (event) => {
  const a = /** @type {HTMLAnchorElement | null} */ (/** @type {Element} */ (event.target).closest?.("a[href]"));
  if (!a || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const to = new URL(a.href);
  if (a.hasAttribute("download") || a.target || to.origin !== location.origin || !isPage(to.pathname)) return;
  if (to.pathname === location.pathname && to.search === location.search && to.hash) return;
  event.preventDefault();
  go(to.href);
});
followRows(go);
document.addEventListener("keydown", (event) => {
  if (!paletteKey(event) || !me) return;
  event.preventDefault();
  palette();
});
addEventListener("popstate", () => {
  moved = true;
  show();
});
show();
