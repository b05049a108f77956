// @ts-check
/** The box below the lanes: the message, its pictures, and the button that sends it. */
import { fill, h, icon } from "../../lib/dom.js";
import { toast } from "../../lib/ui.js";
import { sendKeys } from "./parts.js";
import { most, picture } from "./pictures.js";

/** What is kept of the box while other pages are shown. @typedef {{ text: string, pictures: import("./conversation.js").Picture[] }} Kept */

/**
 * @param {{ kept: Kept, onsend: () => void, onstop: () => void, ontool: () => void, onpictures: () => void }} of onpictures: they are others now
 */
export function messageBox({ kept, onsend, onstop, ontool, onpictures }) {
  const text = /** @type {HTMLTextAreaElement} */ (
    h("textarea", {
      id: "say",
      rows: "2",
      "aria-label": "Message",
      oninput: () => {
        kept.text = text.value;
        grow();
      },
    })
  );
  text.value = kept.text;
  const file = /** @type {HTMLInputElement} */ (
    h("input", {
      type: "file",
      accept: "image/png,image/jpeg,image/webp,image/gif",
      multiple: true,
      hidden: true,
      "aria-label": "Pictures",
      onchange: () => {
        void add([...(file.files ?? [])]);
        file.value = "";
      },
    })
  );
  const shots = h("ul", { class: "shots", "aria-label": "Pictures of the message" }),
    verdict = h("p", { class: "verdict soft xs", role: "status" });
  const send = h("button", { type: "button", class: "btn first", id: "send" });
  let busy = false;
  send.addEventListener("click", () => (busy ? onstop() : onsend()));

  const el = h(
    "div",
    { class: "say" },
    shots,
    text,
    h(
      "div",
      {},
      h(
        "button",
        { type: "button", class: "btn bare icon", "aria-label": "Add picture", title: "Add picture", onclick: () => file.click() },
        icon("clip"),
      ),
      h("button", { type: "button", class: "btn bare icon", "aria-label": "Add tool", title: "Add tool", onclick: ontool }, icon("tool")),
      file,
      verdict,
      h("kbd", { class: "c-s", "aria-hidden": "true" }, sendKeys),
      send,
    ),
  );

  text.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && (e.metaKey || e.ctrlKey) && !busy) {
      e.preventDefault();
      onsend();
    }
  });
  text.addEventListener("paste", (e) => {
    const files = [...(e.clipboardData?.files ?? [])];
    if (files.length) {
      e.preventDefault();
      void add(files);
    }
  });
  const grow = () => {
    text.style.height = "auto";
    text.style.height = Math.min(text.scrollHeight, innerHeight * 0.3) + "px";
  };

  /** @param {File[]} files */
  async function add(files) {
    for (const f of files) {
      if (kept.pictures.length >= most) return toast(`A message has ${most} pictures at most.`);
      try {
        kept.pictures.push(await picture(f));
      } catch (e) {
        toast(/** @type {Error} */ (e).message);
      }
    }
    changed();
  }

  function draw() {
    fill(
      shots,
      kept.pictures.map((p) =>
        h(
          "li",
          {},
          h("img", { src: p.url, alt: p.name, title: p.name }),
          h(
            "button",
            {
              type: "button",
              "aria-label": "Remove " + p.name,
              onclick: () => {
                kept.pictures.splice(kept.pictures.indexOf(p), 1);
                changed();
              },
            },
            icon("x"),
          ),
        ),
      ),
    );
    shots.hidden = !kept.pictures.length;
  }
  const changed = () => {
    draw();
    onpictures();
    text.focus();
  };
  draw();

  return {
    el,
    text,
    add,
    grow,
    /** @param {string} message */
    write(message) {
      text.value = kept.text = message;
      grow();
      text.focus();
    },
    /** Empties the box and returns what it had. */
    take() {
      const had = { text: kept.text.trim(), pictures: kept.pictures };
      Object.assign(kept, { text: "", pictures: [] });
      text.value = "";
      grow();
      draw();
      return had;
    },
    /** @param {{ lanes: number, running: number, verdict: string }} now */
    show(now) {
      busy = now.running > 0;
      send.replaceChildren(...(busy ? [icon("stop"), now.running > 1 ? "Stop both" : "Stop"] : [now.lanes > 1 ? "Send to both" : "Send"]));
      text.placeholder = now.lanes > 1 ? "Message to both models" : "Message to the model";
      verdict.textContent = verdict.title = now.verdict;
    },
  };
}
