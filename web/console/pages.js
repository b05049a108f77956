// @ts-check
// The pages, in the order of the navigation. A page that has no module yet is not in this list.

/**
 * @typedef {{ path: string, icon: string, title: string, load: () => Promise<any>,
 *   admin?: boolean, managers?: boolean, hidden?: boolean, one?: () => Promise<any> }} Entry
 * admin: administrators only; managers: also those who manage a team; hidden: not in the navigation;
 * one: the page of a single thing of the list, which says itself who may not see it
 */

/** The page of an address. @param {string} path */
export const entryOf = (path) => pages.find((p) => p.path === path || (p.one && path.startsWith(p.path + "/") && path.length > p.path.length + 1));

/** @type {Entry[]} */
export const pages = [
  { path: "/", icon: "home", title: "Home", load: () => import("./pages/home.js") },
  { path: "/keys", icon: "key", title: "Keys", load: () => import("./pages/keys.js"), one: () => import("./pages/things/key.js") },
  { path: "/usage", icon: "chart", title: "Usage", load: () => import("./pages/usage.js") },
  { path: "/calls", icon: "list", title: "Calls", load: () => import("./pages/calls.js") },
  { path: "/sessions", icon: "code", title: "Sessions", load: () => import("./pages/sessions.js") },
  { path: "/playground", icon: "play", title: "Playground", load: () => import("./pages/playground.js") },
  { path: "/models", icon: "cube", title: "Models", load: () => import("./pages/models.js"), one: () => import("./pages/things/model.js") },
  { path: "/users", icon: "user", title: "Users", load: () => import("./pages/users.js"), one: () => import("./pages/things/user.js"), admin: true },
  { path: "/teams", icon: "team", title: "Teams", load: () => import("./pages/teams.js"), one: () => import("./pages/people/team.js"), admin: true, managers: true },
  { path: "/providers", icon: "pulse", title: "Providers", load: () => import("./pages/providers.js"), one: () => import("./pages/things/provider.js"), admin: true },
  { path: "/alerts", icon: "mail", title: "Alerts", load: () => import("./pages/alerts.js"), admin: true },
  { path: "/statement", icon: "list", title: "Statement", load: () => import("./pages/statement.js"), admin: true },
  { path: "/audit", icon: "audit", title: "Audit log", load: () => import("./pages/audit.js"), admin: true },
  { path: "/settings", icon: "gear", title: "Settings", load: () => import("./pages/settings.js"), admin: true },
  { path: "/device", icon: "code", title: "Sign in a program", load: () => import("./pages/device.js"), hidden: true },
  { path: "/account", icon: "user", title: "Your account", load: () => import("./pages/account.js"), hidden: true },
];
