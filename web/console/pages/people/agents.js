// @ts-check
// The settings that Claude Code gets where it is signed in: of a team, or of all teams without any.

import { get, send } from "../../lib/api.js";
import { h } from "../../lib/dom.js";
import { field, formData, note, toast } from "../../lib/ui.js";
import { formDialog } from "./limits.js";

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw Object.assign(new Error("This is no JSON: " + /** @type {any} */ (error).message), { param: "settings" });
  }
}

/** The dialog for them. @param {{ title: string, path: string, usual: string, done?: () => any }} o path: of the team, or /admin */
export async function agentSettings({ title, path, usual, done }) {
  const at = path + "/agent-settings", { settings } = await get(at);
  formDialog({
    title, action: "Save settings",
    fields: [
      note("warn", "They can run commands on the machines of all who sign in with Claude Code."),
      field({ label: "Settings", name: "settings", type: "textarea", rows: 12, spellcheck: false, value: settings ? JSON.stringify(settings, null, 2) : "",
        hint: ["JSON as in a managed-settings.json of Claude Code, which asks for them about once an hour. ", usual] }),
    ],
    read: formData,
    save: (/** @type {{ settings: string }} */ { settings: text }) => (text ? send("PUT", at, { settings: parsed(text) }) : send("DELETE", at)),
    done: () => {
      toast("The settings of agents are saved");
      done?.();
    },
  });
}
