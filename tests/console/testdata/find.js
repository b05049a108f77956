// Finds what a person means by a name, and where they would press it. Returns { x, y }, or { problem }.
(kind, name) => {
  const kinds = {
    button: "button, a[href], summary, label, [role=button], [role=menuitem], [role=tab], [role=option], [role=row][tabindex], tr[tabindex], input[type=checkbox], input[type=radio], input[type=submit]",
    field: "input, select, textarea",
  };
  const tidy = (text) => (text ?? "").replace(/\s+/g, " ").trim();
  const nameOf = (e) => {
    if (e.ariaLabel) return tidy(e.ariaLabel);
    const by = e.getAttribute("aria-labelledby");
    if (by) return tidy(by.split(" ").map((id) => document.getElementById(id)?.textContent).join(" "));
    if (e.labels?.length) return tidy([...e.labels].map((l) => l.innerText).join(" "));
    return tidy(e.innerText) || tidy(e.title) || tidy(e.placeholder) || tidy(e.value);
  };
  const modal = [...document.querySelectorAll("dialog:modal")].pop(); // what lies below it cannot be pressed
  const all = [...(modal ?? document).querySelectorAll(kinds[kind])].filter((e) => e.checkVisibility({ visibilityProperty: true }) && e.getClientRects().length);
  const named = all.map((e) => ({ e, name: nameOf(e) }));
  const found = named.find((n) => n.name === name) ?? named.find((n) => n.name.startsWith(name) && !/^\p{L}/u.test(n.name.slice(name.length)));
  if (!found) return { problem: "is not there; there are: " + named.map((n) => n.name).filter(Boolean).slice(0, 80).join(" | ") };
  const e = found.e;
  if (e.disabled || e.ariaDisabled === "true") return { problem: "is disabled" };
  let box = e.getBoundingClientRect();
  if (box.top < 0 || box.bottom > innerHeight || box.left < 0 || box.right > innerWidth) {
    e.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    box = e.getBoundingClientRect();
  }
  const x = box.x + Math.min(box.width / 2, 200), y = box.y + box.height / 2;
  const hit = document.elementFromPoint(x, y);
  if (!hit || !(e.contains(hit) || hit.contains(e) || hit.control === e || hit.closest("label")?.control === e)) return { problem: "is covered by " + (hit ? tidy(hit.outerHTML).slice(0, 120) : "nothing") };
  if (kind === "button") {
    window.missed = true; // a page that draws itself anew between the press and the release of the mouse has no click
    addEventListener("click", ({ target }) => {
      if (target === hit || target.closest(kinds.button)) window.missed = false;
    }, { capture: true, once: true });
  }
  return { x, y, tag: e.tagName, focused: e === document.activeElement, problem: "" };
}
