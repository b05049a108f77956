// @ts-check
/** The form of what a lane asks with. */
import { fill, h, icon } from "../../lib/dom.js";
import { toolForm } from "./tools.js";

/** @typedef {import("./conversation.js").Settings} Settings */

/**
 * What is kept of the settings while other pages are shown: those of A, and of B where they differ.
 * @typedef {{ same: boolean, shown: 0 | 1, of: [Settings, Settings] }} Kept
 */

const efforts = [
  ["", "The model's own"],
  ["none", "Off"],
  ["minimal", "Minimal"],
  ["low", "Low"],
  ["medium", "Medium"],
  ["high", "High"],
  ["xhigh", "Very high"],
  ["max", "Maximum"],
];
const choices = [
  ["auto", "The model decides"],
  ["required", "It must call one"],
  ["none", "It calls none"],
];

/**
 * @param {{ kept: Kept, lanes: () => number, keys: { id: string, name: string }[], key: string, onkey: (id: string) => void }} of
 * keys: those that were made in this tab
 */
export function settingsForm(of) {
  const { kept } = of;
  const el = h("div", { class: "set" });
  const now = () => kept.of[kept.same ? 0 : kept.shown];
  let fault = /** @type {HTMLElement | null} */ (null);

  function draw() {
    const s = now(),
      two = of.lanes() > 1;
    fault = null;
    fill(
      el,
      h("div", { class: "set-head" }, h("h2", {}, "Settings"), two && !kept.same ? whose() : null),
      payer(),
      system(s),
      temperature(s),
      limit(s),
      select("Reasoning", "pg-effort", efforts, s.effort, (v) => {
        s.effort = v;
      }),
      h(
        "fieldset",
        { class: "stack" },
        h("legend", { class: "vh" }, "Options"),
        check("Stream", s.stream, (on) => {
          s.stream = on;
        }),
        two
          ? check("Same settings for A and B", kept.same, (on) => {
              kept.same = on;
              kept.shown = 0;
              if (!on) kept.of[1] = structuredClone(kept.of[0]);
              draw();
            })
          : null,
      ),
      tools(s),
    );
  }

  const whose = () =>
    h(
      "div",
      { class: "seg tiny", role: "group", "aria-label": "Settings of" },
      ["A", "B"].map((name, i) =>
        h(
          "button",
          {
            type: "button",
            "aria-pressed": String(kept.shown === i),
            onclick: () => {
              kept.shown = /** @type {0 | 1} */ (i);
              draw();
            },
          },
          name,
        ),
      ),
    );

  const payer = () =>
    of.keys.length
      ? select("Call with", "pg-key", [["", "Your session"], ...of.keys.map((k) => [k.id, "Key " + k.name])], of.key, (v) => {
          of.key = v;
          of.onkey(v);
        })
      : null;

  function system(s) {
    const box = /** @type {HTMLTextAreaElement} */ (
      h("textarea", {
        class: "in",
        id: "pg-system",
        rows: "4",
        placeholder: "Such as: You answer in one sentence.",
        oninput: () => {
          s.system = box.value;
        },
      })
    );
    box.value = s.system;
    return h("div", { class: "field" }, h("label", { for: "pg-system" }, "System prompt"), box);
  }

  function temperature(s) {
    const out = h("output", { for: "pg-temperature" }),
      reset = h("button", { type: "button", class: "btn bare tiny", "aria-label": "Reset temperature" }, "Reset");
    const slide = /** @type {HTMLInputElement} */ (h("input", { type: "range", id: "pg-temperature", min: "0", max: "2", step: "0.1" }));
    const show = () => {
      out.textContent = s.temperature === null ? "The model's own" : s.temperature.toFixed(1);
      slide.value = String(s.temperature ?? 1);
      slide.classList.toggle("unset", s.temperature === null);
      reset.hidden = s.temperature === null;
    };
    slide.addEventListener("input", () => {
      s.temperature = Number(slide.value);
      show();
    });
    reset.addEventListener("click", () => {
      s.temperature = null;
      show();
      slide.focus();
    });
    show();
    return h(
      "div",
      { class: "field" },
      h(
        "span",
        { class: "slide" },
        h("label", { class: "lab", for: "pg-temperature" }, "Temperature"),
        h("span", { class: "st-row" }, reset, out),
      ),
      slide,
    );
  }

  function limit(s) {
    const error = h("p", { class: "err", id: "pg-max-error", hidden: true }, "Write a whole number, such as 1024.");
    const box = /** @type {HTMLInputElement} */ (
      h("input", {
        class: "in",
        id: "pg-max",
        inputmode: "numeric",
        placeholder: "The model's own",
        autocomplete: "off",
        "aria-describedby": "pg-max-error",
      })
    );
    box.value = s.max === null ? "" : String(s.max);
    box.addEventListener("input", () => {
      const text = box.value.replace(/[,\s]/g, ""),
        good = text === "" || /^[1-9]\d{0,8}$/.test(text);
      error.hidden = good;
      box.setAttribute("aria-invalid", String(!good));
      fault = good ? null : box;
      if (good) s.max = text ? Number(text) : null;
    });
    return h("div", { class: "field" }, h("label", { for: "pg-max" }, "Max output tokens"), box, error);
  }

  function tools(s) {
    const others = (t) => s.tools.filter((x) => x !== t).map((x) => x.name);
    const edit = (t) =>
      toolForm({
        tool: t,
        taken: others(t),
        onsave: (made) => {
          const at = t ? s.tools.indexOf(t) : s.tools.length;
          s.tools.splice(at, t ? 1 : 0, ...made.filter((m) => !others(t).includes(m.name)));
          draw();
        },
      });
    return h(
      "div",
      { class: "field" },
      h("span", { class: "lab" }, "Tools"),
      s.tools.length
        ? h(
            "ul",
            { class: "tags" },
            s.tools.map((t) =>
              h(
                "li",
                { class: "chip" },
                h(
                  "button",
                  { type: "button", class: "chip-name mono", title: t.description, "aria-label": "Edit " + t.name, onclick: () => edit(t) },
                  t.name,
                ),
                h(
                  "button",
                  {
                    type: "button",
                    "aria-label": "Remove " + t.name,
                    onclick: () => {
                      s.tools.splice(s.tools.indexOf(t), 1);
                      draw();
                    },
                  },
                  icon("x"),
                ),
              ),
            ),
          )
        : null,
      s.tools.length
        ? select(
            "Use of tools",
            "pg-choice",
            choices,
            s.choice,
            (v) => {
              s.choice = v;
            },
            true,
          )
        : null,
      h("button", { type: "button", class: "btn", onclick: () => edit(null) }, icon("plus"), "Add tool"),
    );
  }

  draw();
  return {
    el,
    draw,
    /** The settings of a lane. @param {number} lane */
    of: (lane) => kept.of[kept.same ? 0 : lane],
    /** Goes to what is wrong; false when nothing is. */
    refuse() {
      fault?.focus();
      return fault !== null;
    },
    /** Goes on with the settings of one lane. @param {number} lane */
    keep(lane) {
      kept.of[0] = kept.of[kept.same ? 0 : lane];
      Object.assign(kept, { same: true, shown: 0 });
    },
    addTool: () => /** @type {HTMLElement} */ (el.querySelector(".field:last-child > .btn"))?.click(),
  };
}

function select(label, id, options, value, onchange, quiet) {
  const el = /** @type {HTMLSelectElement} */ (
    h(
      "select",
      { id, onchange: () => onchange(el.value) },
      options.map(([v, text]) => h("option", { value: v }, text)),
    )
  );
  el.value = value;
  return h("div", { class: "field" }, h("label", { for: id, class: quiet ? "vh" : null }, label), el);
}

function check(text, on, onchange) {
  const box = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox", onchange: () => onchange(box.checked) }));
  box.checked = on;
  return h("label", { class: "check" }, box, text);
}
