// @ts-check
// What the pages share while the document is open. Nothing of it is stored.

import { get } from "./api.js";

/**
 * @typedef {{ user: any, expires_at: number, password: boolean, identity_provider: string | null }} Session
 */

/** @type {Session | null} */
let session = null;
/** @type {any} */
let methods = null;

/** The session, or null without one. It is asked for once, and again with fresh. @returns {Promise<Session | null>} */
export async function currentSession(fresh = false) {
  if (session && !fresh) return session;
  session = (await loginMethods(true)).session ? await get("/auth/session", null, { anonymous: true }) : null;
  return session;
}

/** Forgets the session, and the keys that it made. */
export function forgetSession() {
  session = null;
  made.length = 0;
}

/** What GET /auth/methods says. */
export async function loginMethods(fresh = false) {
  methods = methods && !fresh ? methods : await get("/auth/methods", null, { anonymous: true });
  return methods;
}

/** @type {{ id: string, name: string, secret: string }[]} */
const made = [];

/** Keeps the secret of a key that was made in this tab. @param {{ id: string, name: string, secret: string }} key */
export function rememberKey(key) {
  made.unshift(key);
}

/** The keys made in this tab, the newest first. */
export const keysMade = () => made;

const most = 7;
/** @type {Map<string, number>} */
const colours = new Map();

/** The number of a series' colour, 1 to 7, the same while the document is open. @param {string} name */
export function colourOf(name) {
  if (!colours.has(name)) colours.set(name, (colours.size % most) + 1);
  return /** @type {number} */ (colours.get(name));
}

/** The colour of "Other". */
export const otherColour = 8;

/** A choice that this browser remembers, such as the tab of the snippets. @param {string} name @param {string} fallback */
export function remembered(name, fallback) {
  try {
    return localStorage.getItem("console." + name) ?? fallback;
  } catch {
    return fallback;
  }
}

/** @param {string} name @param {string} value */
export function remember(name, value) {
  try {
    localStorage.setItem("console." + name, value);
  } catch {
    // A private window keeps nothing.
  }
}

/** Keeps where one wanted to go while an identity provider has the tab. @param {string} to */
export function keepWanted(to) {
  try {
    sessionStorage.setItem("console.to", to);
  } catch {
    // A private window keeps nothing.
  }
}

/** Where one wanted to go, once. @returns {string | null} */
export function takeWanted() {
  try {
    const to = sessionStorage.getItem("console.to");
    sessionStorage.removeItem("console.to");
    return to === "/" ? null : to;
  } catch {
    return null;
  }
}
