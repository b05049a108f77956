// @ts-check
// What is shown without a session: the sign-in, registration, and the pages of links.

import { get, send } from "../lib/api.js";
import { fill, h, icon } from "../lib/dom.js";
import { keepWanted, loginMethods } from "../lib/state.js";
import { field, note, status, url as urlBox } from "../lib/ui.js";
import { brand } from "../frame.js";
import { back, email, enter, form, link, person } from "./signin/form.js";
import { openLink, setup } from "./signin/links.js";
import { clients } from "./snippets.js";

export const title = "Sign in";

const reasons = {
  token_expired: "Your session is over. Sign in again.",
  invalid_token: "You were signed out: by another device, or because your password was changed.",
  account_expired: "The access of this account has ended. Ask an administrator.",
};
const providers = { google: "Google", github: "GitHub", gitlab: "GitLab", azureadv2: "Microsoft", oidc: "your organization’s sign-in" };
const refusals = {
  invalid_state: "That sign-in took too long, or was begun in another window. Try again.",
  idp_rejected: "The identity provider did not confirm the sign-in.",
  email_domain_not_allowed: "Addresses of this domain may not sign in here.",
  email_not_verified: "The identity provider has not confirmed your address.",
  account_exists: "An account with this address exists. Sign in with its password; then link the identity in Your account.",
  registration_closed: "There is no account for this address. Ask an administrator for an invitation.",
  invitation_required: "There is no account for this address. Ask an administrator for an invitation.",
};

/** What an error of the sign-in through an identity provider means. @param {string} code */
export const refusal = (code) => refusals[code] ?? `The sign-in there has failed: ${code.replaceAll("_", " ")}.`;

/** The name of an identity provider. @param {string} id */
export const providerName = (id) => providers[id] ?? id;

/** @param {any} page */
export async function show(page) {
  const methods = await loginMethods(true), { searchParams: query } = page.url;
  const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "", error = query.get("error");
  const to = error && methods.session ? "/account?error=" + encodeURIComponent(error) : safe(query.get("to"));
  if (methods.session && !token) return page.signedIn(to);
  const place = h("div"), state = { page, methods, place, to, token, signIn: (o) => signIn(state, o?.said) };
  fill(document.body, h("div", { class: "door" }, about(methods, page.welcome), h("main", null, place)));
  if (token) return openLink(state);
  methods.setup ? setup(state) : signIn(state);
}

/** Only a path of this gateway. @param {string | null} to */
const safe = (to) => (to && new URL(to, location.origin).origin === location.origin && !to.startsWith("/signin") ? to : "/");

function about(methods, welcome) {
  const health = h("span");
  const put = (report) => fill(health, healthLine(report));
  get("/health", null, { anonymous: true }).then(put, (error) => put(error.status === 503 ? {} : null));
  return h("aside", { "aria-label": "About this gateway" },
    h("div", { class: "brand" }, brand()),
    h("div", { class: "stack" },
      h("h2", null, "One address for every model, with keys, budgets and a ledger of your own."),
      h("p", { class: "wide" }, "Point any OpenAI or Anthropic client at the base URL. Sign in to make a key, see what it spends and try models side by side."),
      h("div", { class: "field" }, h("span", { class: "lab" }, "Base URL"), urlBox(location.origin + "/v1", { label: "Copy the base URL" })),
      methods.open ? note("bad", "Anyone who reaches this address can use it: calls need no key. Set REQUIRE_AUTH=true to change that.") : null,
      methods.simulated ? note("warn", "The providers are simulated: answers are made up.") : null,
      welcome ? h("div", { class: "wide" }, clients()) : null),
    h("div", { class: "links" }, health, h("a", { href: "/docs" }, "Docs"), h("a", { href: "/health" }, "Health"),
      h("span", { class: "soft" }, "Version " + methods.version)));
}

/** @param {any} report of GET /health; {} of a gateway that serves no calls, null without an answer */
function healthLine(report) {
  if (!report) return status("bad", "The gateway does not answer");
  const states = Object.values(report.providers ?? {}), good = states.filter((s) => s === "healthy").length;
  const kind = { healthy: "good", degraded: "warn" }[report.status];
  return kind ? status(kind, `Running, ${good} of ${states.length} providers`) : status("bad", "No calls are served now");
}

function signIn(state, said = null) {
  const { methods, page } = state, { searchParams: query } = page.url, reason = query.get("reason"), error = query.get("error");
  const idp = methods.identity_provider;
  form(state, {
    title: "Sign in", button: "Sign in",
    before: [
      said,
      reason && !said ? note("warn", reasons[reason] ?? "Your session is over. Sign in again.") : null,
      error && !said ? note("bad", refusal(error)) : null,
      idp ? h("a", { class: "btn", href: "/auth/idp?console=1", onclick: () => keepWanted(state.to) }, icon("lock"), "Continue with " + providerName(idp)) : null,
      idp ? h("div", { class: "or" }, "or") : null,
    ],
    fields: [email(), field({ label: "Password", name: "password", type: "password", autocomplete: "current-password", required: true })],
    after: h("p", { class: "soft xs lines" },
      h("span", null, "Forgotten password? ", methods.mail ? link("Send a link", () => forgotten(state)) : "Ask an administrator for a reset link."),
      h("span", null, "No account? ", methods.registration === "open" ? link("Create one", () => register(state)) : "Ask an administrator for an invitation.")),
    submit: async (v) => {
      try {
        await send("POST", "/auth/session", v, { anonymous: true });
      } catch (e) {
        const error = /** @type {any} */ (e);
        throw error.code === "invalid_credentials" ? Object.assign(new Error("E-mail or password is wrong."), { wrong: true }) : error;
      }
      await page.signedIn(state.to);
    },
  });
}

function register(state) {
  form(state, {
    title: "Create your account", button: "Create account", fields: person(),
    submit: async (v) => {
      await send("POST", "/auth/register", v, { anonymous: true });
      await enter(state, v.email, v.password);
    },
    after: back(state),
  });
}

function forgotten(state) {
  form(state, {
    title: "Forgotten password", button: "Send link", text: "A link is sent to the address, if an account with a password has it.", fields: [email()],
    submit: async (v) => {
      await send("POST", "/auth/password/forgot", v, { anonymous: true });
      signIn(state, note("good", "If an account has this address, a link was sent to it."));
    },
    after: back(state),
  });
}
