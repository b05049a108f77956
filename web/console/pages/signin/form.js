// @ts-check
// The forms that are shown without a session, and their fields.

import { send } from "../../lib/api.js";
import { fill, h } from "../../lib/dom.js";
import { field, fieldError, formData, formError } from "../../lib/ui.js";

/**
 * @typedef {object} State
 * @property {any} page
 * @property {any} methods of GET /auth/methods
 * @property {Element} place of the form
 * @property {string} to where to go when there is a session
 * @property {string} token of a link; empty without one
 * @property {(o?: { said?: import("../../lib/dom.js").Child }) => void} signIn shows the form of the sign-in
 */

/**
 * Shows a form, with the focus in the first field that is empty.
 * @param {State} state
 * @param {{ title: string, text?: any, fields: any[], button: string, before?: any, after?: any,
 *   submit: (values: Record<string, any>) => Promise<any> }} o
 */
export function form(state, o) {
  const place = h("div"), submit = h("button", { class: "btn first", type: "submit" }, o.button);
  const el = h("form", { class: "form", novalidate: true },
    h("h1", null, o.title), o.text ? h("p", { class: "soft" }, o.text) : null, o.before, place, o.fields, submit, o.after);
  el.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (missing(el)) return;
    submit.disabled = true;
    fill(place);
    try {
      await o.submit(formData(el));
    } catch (error) {
      fill(place, formError(el, error));
      const password = /** @type {HTMLInputElement | null} */ (el.querySelector("input[type=password]"));
      if (/** @type {any} */ (error).wrong) password?.select();
    }
    submit.disabled = false;
  });
  fill(state.place, el);
  document.title = o.title + " · Model Gateway";
  const empty = [...el.querySelectorAll("input")].find((i) => !i.value);
  (empty ?? submit).focus({ preventScroll: true });
}

/** Marks required fields that are empty. */
function missing(el) {
  const empty = [...el.querySelectorAll("input[aria-required]")].filter((input) => {
    const at = input.closest(".field");
    fieldError(at, input.value ? "" : at.querySelector("label").textContent + " is missing.");
    return !input.value;
  });
  empty[0]?.focus();
  return empty.length > 0;
}

/** The field of the address. @param {string} [fixed] the only one that is possible */
export const email = (fixed) =>
  field({ label: "E-mail", name: "email", type: "email", autocomplete: "username", required: true, value: fixed, fixed: Boolean(fixed) });

export const password = (label = "Password", name = "password") =>
  field({ label, name, type: "password", autocomplete: "new-password", required: true, hint: "8 to 72 characters." });

/** The fields of a new account. @param {string} [address] the only one that is possible */
export const person = (address) => [email(address), field({ label: "Name", name: "name", autocomplete: "name" }), password()];

export const link = (text, onclick) => h("button", { type: "button", class: "btn link", onclick }, text);

/** @param {State} state */
export const back = (state) => h("p", { class: "xs" }, link("Back to sign in", () => (history.replaceState(null, "", "/signin"), state.signIn())));

/** Signs in with what has just been set. @param {State} state @param {string} address @param {string} secret */
export async function enter(state, address, secret) {
  await send("POST", "/auth/session", { email: address, password: secret }, { anonymous: true });
  await state.page.signedIn(state.to);
}
