// The page works without this file, which adds the colours of the console, search, copying and a switch of the language at each
// example. Text is only ever set as text.
"use strict";
const $$ = (query, root = document) => [...root.querySelectorAll(query)];
const stored = (name) => {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}; // a browser may refuse its storage
const store = (name, value) => {
  try {
    value === null ? localStorage.removeItem(name) : localStorage.setItem(name, value);
  } catch {
    /* it is for this page only */
  }
};

function make(tag, props, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(props))
    name.startsWith("on") ? el.addEventListener(name.slice(2), value) : el.setAttribute(name, value);
  el.append(...children);
  return el;
}

// Before the first paint, so that the page does not change its colours.
const theme = stored("theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
document.documentElement.classList.add("scripted");

document.addEventListener("DOMContentLoaded", () => {
  colours();
  copies();
  if (!document.querySelector("article")) return; // a guide: it has guide.js
  languages();
  search();
  place();
});

function colours() {
  const buttons = $$("[data-colours]");
  const mark = (now) => buttons.forEach((b) => b.setAttribute("aria-pressed", String(b.dataset.colours === now)));
  mark(theme ?? "auto");
  for (const b of buttons) {
    b.addEventListener("click", () => {
      const chosen = b.dataset.colours;
      store("theme", chosen === "auto" ? null : chosen);
      if (chosen === "auto") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = chosen;
      mark(chosen);
    });
  }
}

function copies() {
  const said = document.getElementById("said");
  for (const text of $$(".text")) text.append(make("button", { type: "button", class: "copy" }, "Copy"));
  document.addEventListener("click", async (e) => {
    const button = e.target.closest(".copy");
    if (!button) return;
    const shown = $$("pre", button.parentElement).find((pre) => pre.offsetParent);
    let done = "Copied";
    try {
      await navigator.clipboard.writeText(shown.textContent);
    } catch {
      // no clipboard without https: the text is selected instead
      getSelection().selectAllChildren(shown);
      done = "Selected";
    }
    button.textContent = said.textContent = done;
    setTimeout(() => {
      button.textContent = "Copy";
      said.textContent = "";
    }, 1500);
  });
}

function languages() {
  const radios = $$("input[name=lang]");
  const chosen = radios.find((r) => r.value === stored("language"));
  if (chosen) chosen.checked = true;
  for (const line of $$(".try")) {
    if (!line.parentElement.querySelector(".python")) continue;
    const buttons = radios.map((r) => make("button", { type: "button", value: r.value }, r.parentElement.textContent.trim()));
    line.append(make("div", { class: "seg", role: "group", "aria-label": "Language" }, ...buttons));
  }
  const switches = $$(".try .seg button");
  const mark = () => {
    const now = radios.find((r) => r.checked).value;
    store("language", now);
    switches.forEach((b) => b.setAttribute("aria-pressed", String(b.value === now)));
  };
  mark();
  for (const r of radios) r.addEventListener("change", mark);
  document.addEventListener("click", (e) => {
    const button = e.target.closest(".try .seg button");
    if (!button) return;
    const before = button.getBoundingClientRect().top; // examples above become longer or shorter
    radios.find((r) => r.value === button.value).checked = true;
    mark();
    scrollBy({ top: button.getBoundingClientRect().top - before, behavior: "instant" });
  });
}

function search() {
  const input = document.getElementById("search"),
    list = document.querySelector("nav .list"),
    menu = document.querySelector("nav");
  const groups = $$("section", list),
    found = make("section", { hidden: "" });
  list.append(found);
  const operations = $$("article").map((article) => ({
    article,
    link: list.querySelector(`a[href="#${CSS.escape(article.id)}"]`),
    name: [article.closest("section").querySelector("h2"), ...$$("h3, .summary", article)]
      .map((el) => el.textContent)
      .join(" ")
      .toLowerCase(),
  }));
  const text = (o) => (o.text ??= o.article.textContent.toLowerCase());

  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const g of groups) g.hidden = words.length > 0;
    found.hidden = words.length === 0;
    if (!words.length) return;
    const named = operations.filter((o) => words.every((w) => o.name.includes(w)));
    const times = (o) => words.reduce((n, w) => Math.min(n, text(o).split(w).length - 1), Infinity);
    const mentioned = operations
      .filter((o) => !named.includes(o))
      .map((o) => ({ o, n: times(o) }))
      .filter((x) => x.n > 0)
      .sort((a, b) => b.n - a.n)
      .slice(0, 12);
    found.replaceChildren(
      ...part(
        "Found",
        named.map((o) => entry(o)),
      ),
      ...part(
        "Mentioned in",
        mentioned.map(({ o }) => entry(o, words)),
      ),
    );
    if (!found.children.length) found.append(make("p", { class: "none" }, "Nothing here has these words."));
    list.scrollTop = 0;
  });
  const part = (name, entries) => (entries.length ? [make("h2", {}, name), make("ul", {}, ...entries)] : []);
  const entry = (o, words) => {
    const link = o.link.cloneNode(true);
    if (words) link.addEventListener("click", () => setTimeout(() => show(o.article, words))); // after the browser has gone there
    return make("li", {}, link);
  };
  searchKeys({ input, list, menu, found });
}

// searchKeys handles the keys of a search, also that of guide.js: Enter opens the first entry
// that was found, Escape empties the box, and / goes to it from anywhere. A menu that covers the
// page closes when an entry is opened.
function searchKeys({ input, list, menu, found }) {
  input.addEventListener("keydown", (e) => {
    if (e.key === "Enter") found.querySelector("a")?.click();
    if (e.key === "Escape" && input.value) {
      e.preventDefault();
      input.value = "";
      input.dispatchEvent(new Event("input"));
    }
  });
  list.addEventListener("click", (e) => {
    if (e.target.closest("a") && menu.matches(":popover-open")) menu.hidePopover();
  });
  document.addEventListener("keydown", (e) => {
    if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || /INPUT|TEXTAREA|SELECT/.test(e.target.tagName)) return;
    e.preventDefault();
    if (getComputedStyle(menu).display === "none") menu.showPopover();
    input.focus();
  });
}

// show opens what hides the first place that has one of the words, and goes there.
function show(article, words) {
  const walk = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    if (!words.some((w) => node.data.toLowerCase().includes(w)) || node.parentElement.closest(".copy, .seg, pre")) continue;
    for (let el = node.parentElement; el !== article; el = el.parentElement) if (el.tagName === "DETAILS") el.open = true;
    node.parentElement.scrollIntoView({ block: "center" });
    return;
  }
}

// place marks the operation that is read in the list.
function place() {
  const links = new Map($$("nav .list a").map((a) => [a.hash.slice(1), a])),
    seen = new Set();
  let current;
  const watch = new IntersectionObserver(
    (entries) => {
      for (const e of entries) e.isIntersecting ? seen.add(e.target) : seen.delete(e.target);
      const first = [...seen].sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)[0];
      const link = first && links.get(first.id);
      if (!link || link === current) return;
      current?.removeAttribute("aria-current");
      link.setAttribute("aria-current", "true");
      current = link;
      const box = link.closest(".list"),
        top = link.offsetTop - box.offsetTop;
      if (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 40) box.scrollTop = top - box.clientHeight / 3;
    },
    { rootMargin: "-10% 0px -60% 0px" },
  );
  for (const a of $$("article")) watch.observe(a);
}
