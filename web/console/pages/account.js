// @ts-check
// One's own account.

import { send } from "../lib/api.js";
import { fill, h } from "../lib/dom.js";
import { full } from "../lib/format.js";
import { currentSession, loginMethods, remember, remembered } from "../lib/state.js";
import { button, card, confirm, field, formData, formError, note, tag, toast } from "../lib/ui.js";
import { formDialog } from "./people/limits.js";
import { signIns } from "./people/signins.js";
import { providerName, refusal } from "./signin.js";

export const title = "Your account";

/** What account_exists means where one is signed in already. */
const taken = "This identity, or its e-mail address, belongs to another account. Sign in to that account, or unlink the identity there first.";

/** @param {any} page */
export async function show(page) {
  const { user, password, expires_at: ends } = page.me, error = page.query.get("error");
  const load = () => show(page), [methods, programs] = await Promise.all([loginMethods(), signIns({ base: "/auth", signal: page.signal, load })]);
  page.head({ line: user.email });
  fill(page.root, h("div", { class: "stack narrow" },
    error ? note("bad", error === "account_exists" ? taken : refusal(error)) : null,
    card({ title: "You", pad: true }, facts(user, ends), changeName(page)),
    password ? changePassword(user.email) : null,
    methods.identity_provider ? identity(page, methods.identity_provider) : null,
    programs,
    card({ title: "Keyboard", pad: true }, letters()),
    card({ title: "Sessions", pad: true }, h("p", { class: "soft" }, "Ends all your sessions and tokens, on this device too, and signs your programs out. Your API keys go on working."),
      h("div", { class: "acts mt" }, button("Sign out everywhere", () => everywhere(page.me), { class: "danger" })))));
}

function facts(user, ends) {
  const rows = [
    ["Name", user.name || "–"],
    ["E-mail", [user.email, " ", user.verified ? tag("good", "Confirmed") : tag("warn", "Not confirmed")]],
    ["Role", user.admin ? "Administrator" : "User"],
    ["Teams", user.teams.map((t) => `${t.name} (${t.role})`).join(", ") || "None"],
    ["This session ends", full(ends * 1000)],
  ];
  return h("dl", { class: "facts" }, rows.map(([name, value]) => [h("dt", null, name), h("dd", null, value)]));
}

/** The form for another name. @param {any} page */
function changeName(page) {
  const place = h("div"), submit = h("button", { class: "btn", type: "submit" }, "Save name");
  const form = h("form", { class: "form mt", novalidate: true },
    place, field({ label: "Your name", name: "name", value: page.me.user.name, autocomplete: "name", required: true }), h("div", { class: "acts" }, submit));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    submit.disabled = true;
    fill(place);
    try {
      await send("PATCH", "/auth/user", { name: formData(form).name });
      await page.renew();
      toast("Your name is changed"); // after the frame is made again, which takes away what is shown
    } catch (error) {
      fill(place, formError(form, error));
      submit.disabled = false;
    }
  });
  return form;
}

function letters() {
  const box = h("input", {
    type: "checkbox", checked: remembered("letters", "on") === "on", onchange: () => remember("letters", box.checked ? "on" : "off"),
  });
  return h("label", { class: "check" }, box, "Single letters are commands: / finds, j and k go to the older and the newer call");
}

/** @param {string} email for password managers */
function changePassword(email) {
  const place = h("div"), submit = h("button", { class: "btn first", type: "submit" }, "Change password");
  const form = h("form", { class: "form", novalidate: true },
    place, h("input", { class: "vh", type: "email", autocomplete: "username", value: email, tabindex: "-1", "aria-hidden": "true", readonly: true }),
    field({ label: "Current password", name: "current_password", type: "password", autocomplete: "current-password", required: true }),
    field({
      label: "New password", name: "new_password", type: "password", autocomplete: "new-password", required: true,
      hint: "8 to 72 characters. Your other sessions and tokens end.",
    }),
    h("div", { class: "acts" }, submit));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    submit.disabled = true;
    fill(place);
    try {
      const { current_password, new_password } = formData(form);
      await send("POST", "/auth/password", { current_password, new_password }, { anonymous: true }); // a 401 is the wrong password
      form.reset();
      fill(place, note("good", "Your password is changed. Your other sessions and tokens have ended."));
    } catch (error) {
      fill(place, formError(form, error));
    }
    submit.disabled = false;
  });
  return card({ title: "Password", pad: true }, form);
}

/** Links an identity of the provider to the account, or removes it. */
function identity(page, idp) {
  const name = providerName(idp), linked = page.me.identity_provider !== null, place = h("div");
  const act = async (what) => {
    try {
      await what();
    } catch (error) {
      fill(place, note("bad", /** @type {any} */ (error).message));
    }
  };
  const begin = async (body) => location.assign((await send("POST", "/auth/idp/link", body, { anonymous: true })).url); // a 401 is the wrong password
  const link = () => act(async () => {
    try {
      await begin({});
    } catch (error) {
      if (/** @type {any} */ (error).code !== "password_required" || !page.me.password) throw error;
      formDialog({
        title: "Link " + name, action: "Go on",
        fields: field({ label: "Current password", name: "current_password", type: "password", autocomplete: "current-password", required: true }),
        read: (form) => ({ current_password: formData(form).current_password }), save: begin,
      });
    }
  });
  const unlink = () => act(async () => {
    await send("DELETE", "/auth/idp/link");
    await currentSession(true);
    toast(name + " is no longer linked");
    page.go("/account", { replace: true });
  });
  return card({ title: "Identity provider", pad: true }, place,
    page.me.identities.length > 0 ? h("dl", { class: "facts" }, page.me.identities.map((i) => [
      h("dt", null, i.email ?? "Identity"), h("dd", null, `${i.issuer}, linked on ${full(i.created_at * 1000)}`)])) : null,
    h("p", { class: "soft" }, linked ? `You can sign in with ${name}.` : `Link your identity at ${name} to sign in with it.`),
    h("div", { class: "acts mt" }, linked
      ? button("Remove the link", unlink, { disabled: !page.me.password, title: page.me.password ? "" : "It is your only way to sign in" })
      : button("Link " + name, link)));
}

/** @param {any} me of GET /auth/session */
async function everywhere(me) {
  const unlink = h("input", { type: "checkbox" });
  const yes = await confirm({
    title: "Sign out everywhere?", text: [
      h("p", null, "All your sessions and tokens end, on this device too, and your programs are signed out. Your API keys go on working."),
      me.password && me.identities.length ? h("label", { class: "check mt" }, unlink, "Also remove my linked identities: only my password signs in then") : null,
    ],
    action: "Sign out everywhere", keep: "Stay signed in",
  });
  if (!yes) return;
  try {
    await send("POST", "/auth/logout", { everywhere: true, unlink: unlink.checked });
    location.assign("/signin");
  } catch (error) {
    toast(/** @type {any} */ (error).message);
  }
}
