// @ts-check
// Lists as files.

import { get } from "./api.js";
import { h } from "./dom.js";
import { button, toast } from "./ui.js";

/**
 * A button that saves all rows of a list as a table. what says, at the click, where the list is, with which filters, and how the
 * file is called.
 * @param {any} page @param {() => { path: string, params: any, name: string }} what @param {string} [title]
 */
export function fileButton(page, what, title = "Save all rows as a table") {
  return button("CSV", async () => {
    const { path, params, name } = what();
    try {
      save(await get(path, params, { accept: "text/csv", signal: page.signal }), name);
      toast(name + " is saved");
    } catch (error) {
      if (!page.signal.aborted) toast("It could not be saved. " + /** @type {any} */ (error).message);
    }
  }, { icon: "down", title });
}

/** Saves a text as a file. @param {string} text @param {string} name */
function save(text, name) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1e3);
}
