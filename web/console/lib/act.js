// @ts-check
// Actions on one thing: they are done and said, or it is said why not, and some can be undone.

import { send } from "./api.js";
import { h } from "./dom.js";
import { button, dialog, toast } from "./ui.js";

/** What a dialog says of an action whose toast has Undo. */
export const undoable = "For ten seconds you can undo it.";

/** Takes back that a key was revoked or a user disabled, at its address. @param {string} path @param {string} text @param {() => any} load */
export const restore = (path, text, load) => () => attempt(() => send("POST", path + "/restore"), text, load);

/**
 * Does something and says it, or says why it was refused. `undo` takes it back.
 * @param {() => Promise<any>} act @param {string} text @param {() => any} load @param {() => any} [undo]
 */
export async function attempt(act, text, load, undo) {
  try {
    await act();
    if (text) toast(text, undo);
    await load();
  } catch (error) {
    const { close } = dialog({ title: "It was not done", body: h("p", null, error.message), actions: button("Close", () => close(), { class: "first" }) });
  }
}
