// @ts-check
/** One answer in the talk of a lane: its reasoning, its text, its tool calls, its error. */
import { h, icon } from "../../lib/dom.js";
import { code, copy } from "../../lib/ui.js";
import { count, duration } from "../../lib/format.js";
import { write } from "./markdown.js";
import { sendKeys } from "./parts.js";

/**
 * @param {import("./conversation.js").Answer} a
 * @param {{ again: () => void, results: () => void }} on again: ask once more; results: all results of tools are there
 * @returns {{ el: HTMLElement, update: () => void }}
 */
export function answerView(a, on) {
  const thought = h("div", { class: "thought" }),
    summary = h("summary");
  const think = h("details", { class: "think", hidden: true }, summary, thought);
  const said = h("div", { class: "said" }),
    media = h("div", { class: "shots" }),
    calls = h("div", { class: "calls-made" }),
    end = h("div", { class: "end" });
  const el = h("div", { class: "msg" }, think, said, media, calls, end);
  let shownState = "",
    shownImages = 0;

  function update() {
    const busy = ["waiting", "reasoning", "writing"].includes(a.state);
    el.classList.toggle("writing", busy);
    const reasoned = a.usage?.completion_tokens_details?.reasoning_tokens ?? 0;
    think.hidden = !a.reasoning && !reasoned;
    summary.textContent = reasoningLine(a, reasoned);
    write(thought, a.reasoning || "The provider does not show what the model reasoned.");
    write(said, a.text || a.refusal);
    for (; shownImages < a.images.length; shownImages++) {
      if (a.images[shownImages].startsWith("data:image/"))
        media.append(h("img", { src: a.images[shownImages], alt: "Picture that the model made" }));
    }
    if (shownState !== a.state) {
      shownState = a.state;
      if (!busy) {
        calls.replaceChildren(...(a.state === "done" && a.calls.length ? callForm(a, on.results) : []));
        end.replaceChildren(...ending(a, on.again));
      }
    }
  }
  update();
  return { el, update };
}

function reasoningLine(a, tokens) {
  if (a.state === "reasoning") return "Reasoning…";
  const parts = [a.reasonedMs ? "for " + duration(a.reasonedMs) : "", tokens ? count(tokens) + " tokens" : ""].filter(Boolean);
  return "Reasoned" + (parts.length ? " " + parts.join(", ") : "");
}

/** What stands below an answer that has ended. */
function ending(a, again) {
  const retry = () => h("button", { type: "button", class: "btn", onclick: again }, "Try again");
  if (a.state === "failed") return [failure(a.error), retry()];
  if (a.state === "stopped") return [h("p", { class: "soft xs" }, "You stopped this answer."), retry()];
  const why = {
    length: "The answer ended at the limit of output tokens. Raise “Max output tokens” for a longer one.",
    content_filter: "The provider's filter ended this answer.",
  }[a.finish ?? ""];
  const nothing = !a.text && !a.refusal && !a.calls.length && !a.images.length && a.finish === "stop";
  return [
    why || nothing ? h("p", { class: "soft xs" }, why ?? "The model answered with nothing.") : null,
    a.text ? copy(a.text, { label: "Copy answer", class: "copy" }) : null,
  ].filter((x) => x !== null);
}

function failure(e) {
  const offline = e instanceof TypeError;
  const text = offline ? "The gateway does not answer. Check your connection." : e?.message || "The call failed.";
  const facts = offline ? [] : [e?.status, e?.code, e?.param, e?.requestId].filter(Boolean);
  return h(
    "div",
    { class: "note bad", role: "alert" },
    icon("warn"),
    h("div", {}, h("p", {}, text), facts.length ? h("p", { class: "soft xs" }, facts.join(" · ")) : null),
  );
}

/** The tool calls of an answer, each with a box for its result. */
function callForm(a, onresults) {
  const boxes = a.calls.map((c) => ({
    c,
    box: /** @type {HTMLTextAreaElement} */ (
      h("textarea", {
        class: "in mono",
        rows: "2",
        "aria-label": "Result of " + c.name,
        placeholder: "The result, as text or JSON",
        spellcheck: "false",
      })
    ),
  }));
  const error = h("p", { class: "err bad xs", role: "alert", hidden: true }, "Write what each tool returned. An empty result is {}.");
  const button = h("button", { type: "submit", class: "btn first" }, boxes.length > 1 ? "Send results" : "Send result");
  const form = h(
    "form",
    { class: "results" },
    boxes.map(({ c, box }) =>
      h(
        "div",
        { class: "call" },
        h("p", { class: "call-name" }, icon("tool"), h("code", {}, c.name), h("span", { class: "soft xs" }, "wants to be called with")),
        code(indented(c.arguments), "JSON"),
        c.result === null ? box : h("div", { class: "result" }, h("p", { class: "soft xs" }, "Result"), code(c.result)),
      ),
    ),
  );
  if (a.calls.every((c) => c.result !== null)) return [form];
  form.append(error, h("div", { class: "acts" }, button, h("kbd", { class: "c-s" }, sendKeys)));
  const done = (e) => {
    e.preventDefault();
    const blank = boxes.find(({ box }) => !box.value.trim());
    error.hidden = !blank;
    if (blank) return blank.box.focus();
    for (const { c, box } of boxes) c.result = box.value;
    form.replaceWith(...callForm(a, onresults));
    onresults();
  };
  form.addEventListener("submit", done);
  form.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && (e.metaKey || e.ctrlKey)) done(e);
  });
  return [form];
}

function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
