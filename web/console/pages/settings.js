// @ts-check
// The settings in effect, with where each comes from. Secrets never leave the gateway.

import { get } from "../lib/api.js";
import { fill, h } from "../lib/dom.js";
import { ago, full } from "../lib/format.js";
import { button, card, copy, empty, find, note, segments, table, tag } from "../lib/ui.js";
import { agentSettings } from "./people/agents.js";
import { plural } from "./people/lists.js";

export const title = "Settings";
export const admin = true;

/** @param {any} page */
export async function show(page) {
  const settings = await get("/admin/settings", null, { signal: page.signal });
  const state = { q: page.query.get("q") ?? "", show: page.query.get("show") ?? "" };
  const groups = h("div", { class: "stack" });
  const own = settings.data.filter((s) => s.source !== "default").length;
  const agents = () => agentSettings({ title: "Settings of agents", path: "/admin", usual: "They hold for all teams that have none of their own. Without any, Claude Code is told to show the gateway's models." });
  page.head({ actions: button("Settings of agents", agents, { icon: "code" }), line: [
    `Read only: settings come from the environment and files and take effect at a start. Version ${settings.version}, started `,
    h("span", { title: full(settings.started_at * 1000) }, ago(settings.started_at * 1000)), ". Secrets are never shown.",
  ] });
  const choose = (changes) => {
    page.setQuery(Object.assign(state, changes));
    draw();
  };
  fill(page.root, settings.warnings.length ? h("div", { class: "stack mb" }, settings.warnings.map(warning)) : null,
    h("div", { class: "filters" },
      find({ label: "Find a setting", placeholder: "Name, value or description", value: state.q, oninput: (q) => choose({ q }), wait: 80 }),
      segments({ label: "Show", options: [["", `All ${settings.data.length}`], ["set", `Set here, ${own}`]], value: state.show, onchange: (value) => choose({ show: value }) })), groups);

  function draw() {
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (s) => `${s.name} ${s.description} ${s.value ?? ""} ${s.group}`.toLowerCase();
    const found = settings.data.filter((s) => (state.show !== "set" || s.source !== "default") && words.every((w) => text(s).includes(w)));
    if (!found.length) return fill(groups, h("section", { class: "card" }, empty({ text: "No setting matches.", action: button("Clear filters", () => page.go("/settings")) })));
    const names = [...new Set(found.map((s) => s.group))];
    fill(groups, names.map((name) => card({ title: name }, table({ label: name, class: "rt settings", columns, rows: found.filter((s) => s.group === name), key: (s) => s.name }))));
  }
  draw();
}

/** The name of the setting stands before what is wrong with it. */
function warning({ setting, message }) {
  if (!setting) return note("warn", message);
  return note(setting === "REQUIRE_AUTH" ? "bad" : "warn", message.startsWith(setting) ? [h("b", null, setting), message.slice(setting.length)] : [h("b", null, setting + ": "), message]);
}

const columns = [
  { key: "name", title: "Setting", class: "s-name", cell: (s) => [h("span", { class: "id" }, h("code", null, s.name), copy(s.name, { bare: true, label: "Copy " + s.name, class: "quiet" })), h("span", { class: "sub wrap" }, s.description)] },
  { key: "value", title: "Value", class: "s-value", cell: value },
  { key: "source", title: "Source", class: "s-source nw", cell: (s) => (s.source === "default" ? h("span", { class: "soft" }, "default") : tag("info", s.source)) },
];

function value(s) {
  if (s.secret) return s.set ? h("span", null, s.count ? plural(s.count, "secret") + ", hidden" : "set, hidden") : h("span", { class: "soft" }, "not set");
  if (s.value === null || s.value === "") return h("span", { class: "soft" }, "–");
  const differs = s.source !== "default" && s.default !== null && s.default !== s.value;
  return [h("code", { class: s.source === "default" ? "soft" : null }, s.value), differs ? h("span", { class: "sub" }, "default ", h("code", null, s.default)) : null];
}
