// @ts-check
/** The playground: one or two models answer the same messages side by side. Nothing of it is stored; it is kept while the tab is open. */
import { fill, h, icon } from "../lib/dom.js";
import { get } from "../lib/api.js";
import { money } from "../lib/format.js";
import { find, load } from "../lib/models.js";
import { announce, empty, failed } from "../lib/ui.js";
import { keysMade } from "../lib/state.js";
import { messageBox } from "./playground/box.js";
import { codebox } from "./playground/codebox.js";
import { nextOrLast, request, running, settings, unanswered } from "./playground/conversation.js";
import { end, keptLane, lane } from "./playground/lane.js";
import { compare } from "./playground/meter.js";
import { dropZone } from "./playground/pictures.js";
import { settingsForm } from "./playground/settings.js";

export const title = "Playground";
export const admin = false;

const tries = {
  "Partial indexes": "When does a partial index help in PostgreSQL? Two sentences and one example.",
  "A haiku about latency": "Write a haiku about latency.",
  "Process or thread": "Explain the difference between a process and a thread to a ten-year-old.",
};

/** What is kept while other pages are shown, for one user. */
let kept = fresh("");

function fresh(user) {
  return {
    user,
    key: "",
    models: /** @type {any[]} */ ([]),
    lanes: /** @type {import("./playground/lane.js").Kept[]} */ ([]),
    settings: /** @type {import("./playground/settings.js").Kept} */ ({ same: true, shown: 0, of: [settings(), settings()] }),
    message: { text: "", pictures: [] },
  };
}

/** @param {any} page */
export async function show(page) {
  if (kept.user !== page.me.user.id) kept = fresh(page.me.user.id);
  for (const l of kept.lanes) end(l); // a call ends with the page that made it
  const keys = keysMade(),
    key = keys.find((k) => [k.id, k.name].includes(page.query.get("key") ?? ""));
  if (key && key.id !== kept.key) {
    kept.key = key.id;
    kept.models = [];
  }
  const secret = () => keys.find((k) => k.id === kept.key)?.secret;
  if (!kept.models.length) {
    try {
      kept.models = (await load({ key: secret(), signal: page.signal })).models;
    } catch (e) {
      if (!page.signal.aborted)
        fill(
          page.root,
          failed(e, () => show(page)),
        );
      return;
    }
  }
  choose(
    page.query
      .getAll("model")
      .flatMap((m) => m.split(","))
      .filter(Boolean),
  );
  if (kept.lanes.length) return draw(page, keys, secret);
  const text = "No provider has a key. Set one, such as OPENAI_API_KEY, and start the gateway again.";
  fill(page.root, empty({ title: "No model can be used.", text, action: h("a", { class: "btn", href: "/models" }, "See the models") }));
}

/** Questions to begin with. @param {(text: string) => void} pick */
function beginnings(pick) {
  const button = ([name, text]) => h("button", { type: "button", class: "btn", title: text, onclick: () => pick(text) }, name);
  return h("div", { class: "tries" }, Object.entries(tries).map(button));
}

/** Sets the models that the address asks for; without any, those of before or the first ones. */
function choose(wanted) {
  const names = (wanted.length ? wanted : kept.lanes.length ? kept.lanes.map((l) => l.model) : first(kept.models)).slice(0, 2);
  kept.lanes = names.map((name, i) => {
    const have = kept.lanes[i];
    return have && have.model === name ? have : keptLane(name);
  });
}

/** The first models that can be used, of two providers where there are two. */
function first(models) {
  const usable = models.filter((m) => m.available && m.kind === "chat" && m.state === "active");
  const a = usable[0],
    b = usable.find((m) => m.owned_by !== a?.owned_by) ?? usable[1];
  return [a, b].filter(Boolean).map((m) => m.id);
}

function draw(page, keys, secret) {
  const duel = h("div", { class: "card duel", dataset: { show: "a" } });
  const examples = beginnings((text) => box.write(text));
  const form = settingsForm({ kept: kept.settings, lanes: () => kept.lanes.length, keys, key: kept.key, onkey: pay });
  const box = messageBox({
    kept: kept.message,
    onsend: send,
    onpictures: () => changed(),
    onstop: () => lanes.forEach((l) => l.stop()),
    ontool: () => form.addTool(),
  });
  const arena = h("div", { class: "arena" }, duel, h("div", { class: "below" }, examples, box.el));
  /** @type {ReturnType<typeof lane>[]} */
  let lanes = [],
    picks = /** @type {HTMLElement[]} */ ([]);

  const payer = h("span");
  const tell = (user) => {
    payer.textContent = line(user, keys);
  };
  tell(page.me.user);

  /** What is left of the budget, after a call was counted. */
  async function counted() {
    if (kept.key || !page.me.user.budget_usd) return;
    const session = await get("/auth/session", {}, { signal: page.signal }).catch(() => null);
    if (session) tell(session.user);
  }

  function build() {
    lanes = kept.lanes.map((k, i) =>
      lane({
        kept: k,
        letter: /** @type {"A" | "B"} */ ("AB"[i]),
        signal: page.signal,
        models: () => kept.models,
        settings: () => form.of(i),
        key: secret,
        onmodel: address,
        onclose: () => close(i),
        oncode: () => asCode(i),
        onchange: changed,
        oncounted: counted,
      }),
    );
    for (const l of lanes) l.closable(lanes.length > 1);
    duel.classList.toggle("solo", lanes.length < 2);
    fill(
      duel,
      lanes.map((l) => l.el),
    );
    form.draw();
    head();
    changed();
    address();
  }

  function head() {
    picks = lanes.map((_, i) =>
      h("button", {
        type: "button",
        onclick: () => {
          duel.dataset.show = "ab"[i];
          changed();
        },
      }),
    );
    const seg = h("div", { class: "seg pick", role: "group", "aria-label": "Answer" }, picks);
    page.head({
      line: payer,
      actions: [
        lanes.length > 1 ? seg : null,
        lanes.length < 2 ? h("button", { type: "button", class: "btn", onclick: add }, icon("plus"), "Compare") : null,
        h("button", { type: "button", class: "btn", onclick: clear }, "Clear"),
        h("button", { type: "button", class: "btn", onclick: () => asCode(duel.dataset.show === "b" ? 1 : 0) }, icon("code"), "As code"),
      ].filter(Boolean),
    });
  }

  function changed() {
    const [a, b] = lanes.map((l) => l.last()),
      even = lanes.length > 1 && turns(lanes[0]) === turns(lanes[1]);
    const { text, better } = even ? compare(a, b) : { text: "", better: [new Set(), new Set()] };
    lanes.forEach((l, i) => l.judge(better[i]));
    box.show({ lanes: lanes.length, running: kept.lanes.filter((l) => running(l.entries)).length, verdict: text || blind() });
    picks.forEach((b, i) => {
      // on a phone one lane hides the other
      b.setAttribute("aria-pressed", String(duel.dataset.show === "ab"[i]));
      b.textContent = "AB"[i] + (running(kept.lanes[i].entries) ? " …" : lanes[i].last()?.state === "failed" ? " failed" : "");
    });
    examples.hidden = kept.lanes.some((l) => l.entries.length);
  }

  /** Which model takes no pictures, when there are some. */
  function blind() {
    if (!kept.message.pictures.length) return "";
    const cannot = kept.lanes.filter((l) => find(kept.models, l.model)?.input_modalities?.includes("image") === false).map((l) => l.model);
    return cannot.length ? `${cannot.join(" and ")} ${cannot.length > 1 ? "take" : "takes"} no pictures.` : "";
  }

  function send() {
    const waiting = lanes.find((l) => unanswered(l.kept.entries).length);
    if (form.refuse()) return;
    if (waiting) {
      announce("A tool call waits for its result");
      return waiting.waits();
    }
    if (!kept.message.text.trim() && !kept.message.pictures.length) return box.text.focus();
    const { text, pictures } = box.take();
    for (const l of lanes) l.say(text, pictures);
  }

  function close(i) {
    kept.lanes[i].abort?.abort();
    kept.lanes.splice(i, 1);
    duel.dataset.show = "a";
    form.keep(1 - i);
    build();
  }

  function add() {
    const a = kept.lanes[0].model,
      others = kept.models.filter((m) => m.owned_by !== find(kept.models, a)?.owned_by);
    kept.lanes.push(keptLane(first(others)[0] ?? first(kept.models).find((m) => m !== a) ?? ""));
    build();
    lanes[1].choose();
  }

  function clear() {
    for (const l of kept.lanes) {
      l.abort?.abort();
      l.entries = [];
    }
    build();
    box.text.focus();
  }

  async function pay(id) {
    kept.key = id;
    tell(page.me.user);
    kept.models = (await load({ key: secret(), signal: page.signal }).catch(() => ({ models: kept.models }))).models;
    lanes.forEach((l) => l.refresh());
  }

  function asCode(i) {
    const l = kept.lanes[i],
      asked = request(l.model, nextOrLast(l.entries, kept.message), form.of(i));
    codebox({ letter: kept.lanes.length > 1 ? "AB"[i] : "", request: asked, base: location.origin });
  }

  function address() {
    const url = new URL(location.href);
    url.searchParams.delete("model");
    for (const l of kept.lanes) url.searchParams.append("model", l.model);
    history.replaceState(history.state, "", url);
  }

  dropZone(page.root, arena, box.add);
  fill(page.root, h("div", { class: "pg" }, h("section", { class: "card", "aria-label": "Settings" }, form.el), arena));
  build();
  box.grow();
}

const turns = (l) => l.kept.entries.filter((e) => e.role === "user").length;

/** Whose budget pays. */
function line(user, keys) {
  const key = keys.find((k) => k.id === kept.key);
  if (key) return `Calls are made with the key ${key.name} and count against its budget.`;
  if (!user.budget_usd) return "Calls count against your own budget, which has no limit.";
  const window = user.budget_window === "total" ? "in all" : "a " + user.budget_window;
  return `Calls count against your own budget of ${money(user.budget_usd)} ${window}, of which ${money(user.budget?.spent_usd ?? 0)} is spent.`;
}
