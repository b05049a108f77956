// The search over all guides. It reads the pages once, when the reader first searches, so that no
// index has to be kept beside them. page.js is loaded before and has $$, make and searchKeys.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  const input = document.getElementById("search"),
    list = document.querySelector("nav .list"),
    menu = document.querySelector("nav");
  const groups = $$("section", list),
    found = make("section", { hidden: "", "aria-live": "polite" });
  const guides = $$("section > ul > li > a", list).filter((a) => !a.getAttribute("href").startsWith("../"));
  list.append(found);

  let reading;
  const sections = () =>
    (reading ??= Promise.all(guides.map(read)).then(
      (all) => all.flat(),
      (fault) => {
        reading = undefined; // the next search tries again
        throw fault;
      },
    ));
  input.addEventListener("focus", () => sections().catch(() => {}));

  let latest = 0;
  input.addEventListener("input", async () => {
    const mine = ++latest;
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const g of groups) g.hidden = words.length > 0;
    found.hidden = words.length === 0;
    if (!words.length) return;
    let shown;
    try {
      shown = entries(await sections(), words);
    } catch {
      shown = [make("p", { class: "none" }, "The guides could not be read. Type again to try again.")];
    }
    if (mine !== latest) return;
    found.replaceChildren(...shown);
    list.scrollTop = 0;
  });
  searchKeys({ input, list, menu, found });
});

// read divides a guide at its headings.
async function read(link) {
  const answer = await fetch(link.href.split("#")[0]);
  if (!answer.ok) throw new Error(answer.statusText);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const sections = [];
  for (const el of page.querySelector("main").children) {
    if (/^H[1-3]$/.test(el.tagName)) {
      $$(".here", el).forEach((a) => a.remove());
      const href = link.getAttribute("href") + (el.tagName === "H1" ? "" : "#" + el.id);
      sections.push({ href, page: link.textContent, name: el.textContent, text: "" });
    } else if (sections.length) sections.at(-1).text += " " + el.textContent.toLowerCase();
  }
  return sections;
}

// entries are the sections with all words: those first that have them in the heading.
function entries(sections, words) {
  const rank = (s) => {
    const name = (s.page + " " + s.name).toLowerCase();
    const named = words.filter((w) => name.includes(w)).length;
    const count = words.reduce((n, w) => Math.min(n, s.text.split(w).length - 1 + (name.includes(w) ? 1 : 0)), Infinity);
    return count === 0 ? 0 : named * 1000 + count;
  };
  const best = sections
    .map((s) => ({ s, n: rank(s) }))
    .filter((x) => x.n > 0)
    .sort((a, b) => b.n - a.n)
    .slice(0, 30);
  if (!best.length) return [make("p", { class: "none" }, "No guide has these words.")];
  const items = best.map(({ s }) => make("li", {}, make("a", { href: s.href }, s.name, make("span", { class: "where" }, s.page))));
  return [make("h2", {}, "Found"), make("ul", {}, ...items)];
}
