// @ts-check
/** One lane: a model, the talk with it, and the foot with what the last answer took. */
import { h, icon } from "../../lib/dom.js";
import { find, price, tokens } from "../../lib/models.js";
import { picker } from "../../lib/picker.js";
import { announce } from "../../lib/ui.js";
import { answerView } from "./answer.js";
import { answer, question, request, running, take, unanswered } from "./conversation.js";
import { account, meter } from "./meter.js";
import { ask } from "./stream.js";

/**
 * What is kept of a lane while other pages are shown.
 * @typedef {{ model: string, entries: import("./conversation.js").Entry[], abort: AbortController | null }} Kept
 */

/** @param {string} model @returns {Kept} */
export const keptLane = (model) => ({ model, entries: [], abort: null });

/** Ends the call of a lane. @param {Kept} kept */
export function end(kept) {
  const last = kept.entries.at(-1);
  if (last?.role !== "assistant" || !running(kept.entries)) return;
  kept.abort?.abort();
  last.state = "stopped";
  last.durationMs = performance.now() - last.startedAt;
}

/**
 * @param {{
 *   kept: Kept, letter: "A" | "B", signal: AbortSignal, models: () => any[], settings: () => import("./conversation.js").Settings,
 *   key: () => string | undefined, onmodel: () => void, onclose: () => void, oncode: () => void, onchange: () => void, oncounted: () => void,
 * }} of onchange: an answer began, ended, or its cost is known; oncounted: its cost is known
 */
export function lane(of) {
  const { kept, letter } = of;
  const choice = picker({
    props: { "aria-label": "Model " + letter, class: "in model" },
    value: [kept.model],
    models: of.models,
    onpick: ([name]) => {
      kept.model = name;
      of.onmodel();
      refresh();
    },
  });
  const stop = h(
    "button",
    { type: "button", class: "btn", hidden: true, "aria-label": "Stop " + letter, onclick: () => kept.abort?.abort() },
    icon("stop"),
    "Stop",
  );
  const close = h(
    "button",
    { type: "button", class: "btn bare icon", "aria-label": "Close " + letter, title: "Close", onclick: of.onclose },
    icon("x"),
  );
  const talk = h("div", { class: "talk", tabindex: "0", role: "log", "aria-live": "off", "aria-label": "Conversation " + letter });
  const blank = h("div", { class: "blank" }),
    foot = meter();
  const el = h(
    "section",
    { class: "lane l" + letter.toLowerCase(), "aria-label": "Answer " + letter },
    h(
      "header",
      {},
      h("span", { class: "letter " + letter.toLowerCase(), "aria-hidden": "true" }, letter),
      choice.el,
      stop,
      h(
        "button",
        { type: "button", class: "btn bare icon", "aria-label": "Request of " + letter + " as code", title: "As code", onclick: of.oncode },
        icon("code"),
      ),
      close,
    ),
    talk,
    foot.el,
  );
  /** @type {Map<object, { el: HTMLElement, update?: () => void }>} */
  const views = new Map();
  let better = new Set(),
    drawing = 0,
    follow = true; // not for one who has scrolled up to read
  talk.addEventListener("scroll", () => {
    follow = talk.scrollHeight - talk.scrollTop - talk.clientHeight < 40;
  });

  const last = () => {
    const e = kept.entries.at(-1);
    return e?.role === "assistant" ? e : undefined;
  };

  function draw() {
    drawing = 0;
    for (const e of kept.entries) {
      if (views.has(e)) continue;
      const view = e.role === "user" ? { el: questionView(e) } : answerView(e, { again, results: () => void run() });
      views.set(e, view);
      talk.append(view.el);
    }
    for (const [e, view] of views) {
      if (!kept.entries.includes(/** @type {any} */ (e))) {
        view.el.remove();
        views.delete(e);
      }
    }
    views.get(kept.entries.at(-1) ?? {})?.update?.();
    if (follow) talk.scrollTop = talk.scrollHeight;
    foot.show(
      kept.entries.findLast((e) => e.role === "assistant"),
      better,
    );
  }

  function refresh() {
    const busy = running(kept.entries);
    stop.hidden = !busy;
    if (!kept.entries.length) {
      introduce();
      talk.append(blank);
    } else blank.remove();
    draw();
  }

  function introduce() {
    const m = find(of.models(), kept.model),
      cost = m?.price_usd_per_million_tokens;
    const facts = m
      ? [
          m.owned_by,
          m.context_window && tokens(m.context_window) + " context",
          cost && `$${price(cost.input)} in, $${price(cost.output)} out per million tokens`,
        ]
      : [];
    blank.replaceChildren(
      h("p", { class: "name mono" }, kept.model || "No model is chosen"),
      h("p", { class: "soft xs" }, facts.filter(Boolean).join(" · ")),
    );
  }

  async function run() {
    const a = answer(kept.model),
      key = of.key(),
      abort = new AbortController();
    a.body = request(kept.model, kept.entries, of.settings());
    kept.entries.push(a);
    kept.abort = abort;
    refresh();
    of.onchange();
    const tick = setInterval(draw, 100); // the duration goes on while nothing comes
    const signal = AbortSignal.any([abort.signal, of.signal]);
    try {
      await ask({
        body: a.body,
        key,
        signal,
        onhead: (headers) => begin(a, headers),
        onchunk(chunk) {
          take(a, chunk, performance.now());
          drawing ||= requestAnimationFrame(draw);
        },
      });
      a.state = "done";
    } catch (e) {
      a.state = signal.aborted ? "stopped" : "failed";
      a.error = e;
    }
    clearInterval(tick);
    a.durationMs = performance.now() - a.startedAt;
    kept.abort = null;
    refresh();
    of.onchange();
    announce(
      `Answer ${letter} ${{ done: unanswered(kept.entries).length ? "wants a tool to be called" : "is complete", stopped: "is stopped", failed: "has failed" }[a.state]}`,
    );
    await account(a, key, of.signal);
    draw();
    of.onchange();
    of.oncounted();
  }

  /** Asks the last question again. */
  function again() {
    if (running(kept.entries)) return;
    if (last()) kept.entries.pop();
    void run();
  }

  refresh();
  return {
    el,
    refresh,
    run,
    kept,
    last,
    /** @param {string} text @param {import("./conversation.js").Picture[]} pictures */
    say(text, pictures) {
      kept.entries.push(question(text, pictures));
      follow = true;
      void run();
    },
    stop: () => kept.abort?.abort(),
    choose: choice.open,
    /** @param {Set<string>} figures in which this lane is the better one */
    judge(figures) {
      better = figures;
      draw();
    },
    /** Goes to the first tool call that has no result. */
    waits() {
      const box = /** @type {HTMLElement | null} */ (talk.querySelector(".results textarea"));
      box?.scrollIntoView({ block: "center" });
      box?.focus();
    },
    closable(yes) {
      close.hidden = !yes;
    },
  };
}

function begin(a, headers) {
  a.requestId = headers.get("x-request-id") ?? "";
  a.provider = headers.get("x-gateway-provider") ?? "";
  a.ignored = (headers.get("x-gateway-ignored-params") ?? "")
    .split(",")
    .map((s) => s.trim())
    .filter(Boolean);
}

/** @param {import("./conversation.js").Question} q */
function questionView(q) {
  const shots = q.pictures.length
    ? h(
        "div",
        { class: "shots" },
        q.pictures.map((p) => h("img", { src: p.url, alt: p.name })),
      )
    : null;
  return h("div", { class: "msg me" }, shots, q.text);
}
