// @ts-check
// The pages of links: the set-up of the first administrator, invitations, and links for another password or to confirm an
// address. The token of a link stands behind the # of the address, so that no log has it.

import { send } from "../../lib/api.js";
import { h } from "../../lib/dom.js";
import { field, note } from "../../lib/ui.js";
import { back, email, enter, form, password, person } from "./form.js";

/** @typedef {import("./form.js").State} State */
/** @typedef {{ issuer: string, email: string | null }} Identity */
/** @typedef {{ keys: string[], identities: Identity[], teams: string[], admin: boolean }} Ends */
/** @typedef {{ purpose: string, email: string | null, team: string | null, identities: Identity[], ends: Ends | null }} Link of POST /auth/link */

/** The page of each purpose. @type {Record<string, (state: State, link: Link) => void>} */
const purposes = { setup, invite, reset, verify };

/** Shows what the link is for. @param {State} state */
export async function openLink(state) {
  try {
    const opened = await send("POST", "/auth/link", { token: state.token }, { anonymous: true });
    purposes[opened.purpose](state, opened);
  } catch (error) {
    const { status, message } = /** @type {any} */ (error);
    const said = note("bad", status === 403 ? "This link is not valid any more: it was used before, or is too old. Ask for another one." : message);
    history.replaceState(null, "", "/signin");
    state.token = "";
    state.methods.setup ? setup(state, null, said) : state.signIn({ said });
  }
}

/** @param {State} state @param {Link | null} [opened] null: its token has to be typed @param {any} [said] */
export function setup(state, opened = null, said = null) {
  form(state, {
    title: "Set up this gateway", button: "Create administrator", before: said,
    text: opened ? "This makes the first account: an administrator."
      : "There is no account yet. When the gateway started, it wrote a link for the first administrator to its log: open that link, or paste it here.",
    fields: [
      opened ? null : field({ label: "Link from the log", name: "token", required: true, spellcheck: false }),
      ...person(),
    ],
    submit: async (v) => {
      const token = opened ? state.token : /mgw_setup_\w+/.exec(v.token)?.[0] ?? v.token;
      await send("POST", "/auth/setup", { ...v, token }, { anonymous: true });
      await enter(state, v.email, v.password);
    },
    after: opened ? null : back(state),
  });
}

/** @param {State} state @param {Link} opened */
function invite(state, opened) {
  form(state, {
    title: "Create your account", button: "Create account", before: ending(opened), fields: person(opened.email ?? undefined),
    text: ["You were invited to this gateway", opened.team ? [", to the team ", h("b", null, opened.team)] : null, "."],
    submit: async (v) => {
      await send("POST", "/auth/register", { ...v, invitation: state.token }, { anonymous: true });
      await enter(state, v.email, v.password);
    },
    after: back(state),
  });
}

/** @param {State} state @param {Link} opened */
function reset(state, opened) {
  form(state, {
    title: "Choose a password", button: "Set password", before: ending(opened),
    fields: [
      email(opened.email ?? ""), password("New password", "new_password"),
      opened.identities.length ? h("label", { class: "check" }, h("input", { type: "checkbox", name: "unlink", value: "yes" }),
        h("span", null, "Also remove ", opened.identities.map(identityName).join(", "), ", with which one can sign in without the password")) : null,
    ],
    submit: async (v) => {
      await send("POST", "/auth/password/reset", { token: state.token, new_password: v.new_password, unlink: Boolean(v.unlink) }, { anonymous: true });
      await enter(state, v.email, v.new_password);
    },
    after: back(state),
  });
}

/** @param {State} state @param {Link} opened */
function verify(state, opened) {
  form(state, {
    title: "Confirm your e-mail address", button: "Confirm", before: ending(opened), text: "Set a password of your own.",
    fields: [email(opened.email ?? ""), password("New password", "new_password")],
    submit: async (v) => {
      await send("POST", "/auth/verify", { token: state.token, new_password: v.new_password }, { anonymous: true });
      await enter(state, v.email, v.new_password);
    },
    after: back(state),
  });
}

/** @param {Identity} i */
const identityName = (i) => (i.email ? `${i.email} at ${i.issuer}` : i.issuer);

/** What ends with the first proof of the address. @param {Link} opened */
function ending({ ends }) {
  if (!ends) return null;
  const rows = /** @type {[string, string[]][]} */ ([["Keys", ends.keys], ["Linked logins", ends.identities.map(identityName)], ["Teams", ends.teams],
    ["Rights", ends.admin ? ["Administrator"] : []]]).filter(([, all]) => all.length > 0);
  return note("warn", "Your address was registered without proof, perhaps by another person. What the account has so far ends: its password, sessions and other links",
    rows.length ? [", and", h("dl", { class: "facts" }, rows.map(([name, all]) => [h("dt", null, name), h("dd", null, all.join(", "))]))] : ".");
}
