// @ts-check
// The programs that are signed in as a user.

import { attempt } from "../../lib/act.js";
import { get, send } from "../../lib/api.js";
import { h } from "../../lib/dom.js";
import { ago, full } from "../../lib/format.js";
import { button, card, confirm, empty, table } from "../../lib/ui.js";

/** Their list, with a button that ends each. @param {{ base: string, userId?: string, signal: AbortSignal, load: () => any }} o base: /auth or /admin */
export async function signIns({ base, userId, signal, load }) {
  const { data } = await get(base + "/sign-ins", { user_id: userId }, { signal });
  const end = async (s) => {
    const yes = await confirm({
      title: "End this sign-in?", text: `${s.client || "The program"} is refused within a second, and asks its user to sign in again.`,
      action: "End sign-in", keep: "Keep it",
    });
    if (yes) await attempt(() => send("DELETE", `${base}/sign-ins/${s.id}`), "The sign-in has ended", load);
  };
  const time = (at) => h("span", { title: full(at * 1000) }, ago(at * 1000));
  const columns = [
    { key: "client", title: "Program", class: "clip p-name", cell: (s) => [h("span", { class: "name elide" }, s.client || "Unnamed"), h("span", { class: "sub elide" }, "from " + s.address)] },
    { key: "team_name", title: "Team", class: "clip", cell: (s) => s.team_name ?? "None" },
    { key: "created_at", title: "Signed in", class: "nw", cell: (s) => time(s.created_at) },
    { key: "refreshed_at", title: "Last renewed", class: "nw", cell: (s) => time(s.refreshed_at) },
    { key: "actions", title: "", label: "Actions", class: "num p-act", cell: (s) => button("End", () => end(s), { title: "End the sign-in of " + (s.client || "this program") }) },
  ];
  return card({ title: "Signed-in programs" },
    table({ label: "Signed-in programs", class: "rt", columns, rows: data, empty: empty({ text: "No program is signed in. Claude Code asks for it with /login." }) }));
}
