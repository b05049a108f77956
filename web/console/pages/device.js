// @ts-check
// A program asks to be signed in: its user confirms the code that it shows.

import { send } from "../lib/api.js";
import { fill, h } from "../lib/dom.js";
import { full } from "../lib/format.js";
import { button, card, field, formData, formError, note } from "../lib/ui.js";

export const title = "Sign in a program";

/** @param {any} page */
export function show(page) {
  page.head({ line: "A program such as Claude Code or Codex works as you, with your models and budgets." });
  const place = h("div", { class: "stack narrow" });
  fill(page.root, place);
  ask(page, place, page.query.get("user_code") ?? "");
}

/** The form for the code. A code of a link is only filled in: the user compares it. */
function ask(page, place, code) {
  const said = h("div"), submit = h("button", { class: "btn first", type: "submit" }, "Continue");
  const form = h("form", { class: "form", novalidate: true }, said,
    field({ label: "Code", name: "user_code", value: code, required: true, spellcheck: false, placeholder: "XXXX-XXXX", maxlength: 16,
      hint: "The program shows it. Continue only if both are the same." }),
    h("div", { class: "acts" }, submit));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    submit.disabled = true;
    fill(said);
    try {
      const { user_code } = formData(form);
      decide(page, place, user_code, await send("POST", "/auth/device", { user_code }));
    } catch (error) {
      fill(said, formError(form, error));
      submit.disabled = false;
    }
  });
  fill(place, card({ title: "The code of the program", pad: true }, form));
}

function decide(page, place, code, wish) {
  const said = h("div"), { teams } = page.me.user;
  const form = h("form", { class: "form mt", novalidate: true }, teams.length
    ? field({ label: "Team that pays", name: "team_id", type: "select", options: [...teams.map((t) => [t.id, t.name]), ["", "None, only me"]] })
    : null);
  const answer = async (approve) => {
    const buttons = /** @type {NodeListOf<HTMLButtonElement>} */ (place.querySelectorAll("button"));
    buttons.forEach((b) => (b.disabled = true));
    try {
      await send("POST", "/auth/device/confirm", { user_code: code, team_id: formData(form).team_id ?? "", approve });
      fill(place, approve
        ? note("good", "The program is signed in. You can close this page. ", h("a", { href: "/account" }, "Your account"), " lists it, and ends its sign-in.")
        : note("good", "The program is not let in."));
    } catch (error) {
      fill(said, note("bad", /** @type {any} */ (error).message));
      buttons.forEach((b) => (b.disabled = false));
    }
  };
  fill(place, card({ title: "Let this program in?", pad: true },
    h("dl", { class: "facts" }, [["Program", wish.client || "It does not say"], ["From the address", wish.address], ["Asked", full(wish.created_at * 1000)], ["You are", page.me.user.email]]
      .map(([name, value]) => [h("dt", null, name), h("dd", null, value)])),
    note("warn", "Only if you started this sign-in yourself, on this address. A person who sent you a link or a code would work as you."),
    form, said,
    h("div", { class: "acts mt" }, button("Let it in", () => answer(true), { class: "first" }), button("Refuse", () => answer(false)))));
}
