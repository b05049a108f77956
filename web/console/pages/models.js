// @ts-check
/** The models: what one's keys may ask for, what it costs, and what is missing for the others. */
import { fill, h, icon } from "../lib/dom.js";
import { empty, failed, toast } from "../lib/ui.js";
import { date, fits, load, price, stateOf, tokens } from "./playground/catalogue.js";

export const title = "Models";
export const admin = false;

/** @param {any} page */
export async function show(page) {
  let list;
  try {
    list = await load({ signal: page.signal });
  } catch (e) {
    if (!page.signal.aborted)
      fill(
        page.root,
        failed(e, () => show(page), "The list of models"),
      );
    return;
  }
  draw(page, list);
}

function draw(page, { models, pricesDate }) {
  const state = { q: page.query.get("q") ?? "", show: page.query.get("show") ?? "usable" };
  page.head({
    line: `What your keys may ask for. Prices in dollars per million tokens${pricesDate ? `, as of ${date(pricesDate)}` : ""}.`,
    actions: [],
  });
  const find = /** @type {HTMLInputElement} */ (
    h("input", {
      class: "in",
      type: "search",
      "aria-label": "Find a model",
      placeholder: "Name, alias or provider",
      oninput: () => set({ q: find.value.trim() }),
    })
  );
  find.value = state.q;
  const buttons = [
    ["usable", "Usable"],
    ["all", "All"],
  ].map(([id, name]) => h("button", { type: "button", onclick: () => set({ show: id }) }, name));
  const found = h("p", { class: "soft xs", role: "status" }),
    card = h("section", { class: "card", "aria-label": "Models" });

  const set = (change) => {
    Object.assign(state, change);
    page.setQuery({ q: state.q || null, show: state.show === "all" ? "all" : null }, { replace: true });
    fillIn();
  };
  const fillIn = () => {
    buttons.forEach((b, i) => b.setAttribute("aria-pressed", String((i === 0) === (state.show === "usable"))));
    const fitting = models.filter((m) => fits(m, state.q)),
      rows = fitting.filter((m) => state.show === "all" || m.available);
    found.textContent = rows.length === 1 ? "1 model" : rows.length + " models";
    fill(
      card,
      rows.length
        ? table(rows)
        : nothing(
            state,
            fitting.length,
            models.some((m) => m.available),
            set,
            page,
          ),
    );
  };
  fill(
    page.root,
    h(
      "div",
      { class: "filters" },
      h("div", { class: "find" }, icon("find"), find),
      h("div", { class: "seg", role: "group", "aria-label": "Show" }, buttons),
      h("span", { class: "grow" }, found),
    ),
    card,
  );
  fillIn();
}

function nothing(state, hidden, usable, set, page) {
  const all = h("button", { type: "button", class: "btn", onclick: () => set({ show: "all" }) }, "Show all");
  if (!usable && !state.q) {
    return empty({
      text: "No model can be used: no provider has a key. Set one, such as OPENAI_API_KEY, and start the gateway again.",
      action: page.me.user?.admin ? h("a", { class: "btn", href: "/settings" }, "See the settings") : all,
    });
  }
  return empty({
    text: `No model matches “${state.q}”.${hidden ? ` ${hidden} that cannot be used now ${hidden > 1 ? "do" : "does"}.` : ""}`,
    action: hidden
      ? all
      : h(
          "button",
          {
            type: "button",
            class: "btn",
            onclick: () => {
              set({ q: "" });
              /** @type {HTMLInputElement} */ (page.root.querySelector(".find input")).value = "";
            },
          },
          "Clear search",
        ),
  });
}

const columns = [
  ["Model", ""],
  ["State", ""],
  ["Provider", "c-l"],
  ["Context", "num c-l"],
  ["Input", "num c-s"],
  ["Cached", "num c-m"],
  ["Output", "num c-s"],
];

function table(rows) {
  return h(
    "table",
    { class: "rt models", role: "table", "aria-label": "Models" },
    h(
      "thead",
      { role: "rowgroup" },
      h(
        "tr",
        { role: "row" },
        columns.map(([name, rank]) => h("th", { scope: "col", role: "columnheader", class: rank }, name)),
        h("th", { scope: "col", role: "columnheader", class: "m-act" }, h("span", { class: "vh" }, "Actions")),
      ),
    ),
    h("tbody", { role: "rowgroup" }, rows.map(row)),
  );
}

function row(m) {
  const s = stateOf(m),
    p = m.price_usd_per_million_tokens ?? {},
    cell = (rank, ...content) => h("td", { role: "cell", class: rank }, content);
  const embeds = m.kind === "embedding";
  return h(
    "tr",
    { role: "row" },
    cell("m-name", h("span", { class: "name mono", title: m.id }, m.id), below(m)),
    cell("m-state", h("span", { class: "st " + s.kind }, h("span", {}, s.text)), s.sub ? h("span", { class: "sub" }, s.sub) : null),
    cell("c-l soft", m.owned_by),
    cell(
      "num c-l",
      h("span", { title: m.context_window ? m.context_window.toLocaleString("en-US") + " tokens" : "" }, tokens(m.context_window)),
    ),
    cell("num c-s", price(p.input), more(p, "input")),
    cell("num c-m", price(p.cache_read)),
    cell("num c-s", embeds ? "–" : price(p.output), embeds ? null : more(p, "output")),
    cell("m-price soft xs", p.input === undefined ? "no price" : `$${price(p.input)}${embeds ? "" : ` / $${price(p.output)}`}`),
    cell(
      "num m-act",
      h(
        "span",
        { class: "st-row" },
        m.available && !embeds
          ? h(
              "a",
              {
                class: "btn bare icon",
                href: "/playground?model=" + encodeURIComponent(m.id),
                "aria-label": "Try " + m.id + " in the playground",
                title: "Try in the playground",
              },
              icon("play"),
            )
          : null,
        h(
          "button",
          { type: "button", class: "btn bare icon", "aria-label": "Copy " + m.id, title: "Copy the name", onclick: () => copyName(m.id) },
          icon("copy"),
        ),
      ),
    ),
  );
}

/** What stands below the name: other names, and a price that is to come. */
function below(m) {
  const parts = [];
  if (m.aliases?.length)
    parts.push("also " + m.aliases.slice(0, 2).join(", ") + (m.aliases.length > 2 ? ` and ${m.aliases.length - 2} more` : ""));
  if (m.kind === "embedding") parts.push("embeddings" + (m.dimensions?.default ? `, ${m.dimensions.default} dimensions` : ""));
  if (m.next_price)
    parts.push(`from ${date(m.next_price.from)}: $${price(m.next_price.price.input)} in, $${price(m.next_price.price.output)} out`);
  if (m.price_usd_per_million_tokens?.of) parts.push("priced as " + m.price_usd_per_million_tokens.of);
  return parts.length ? h("span", { class: "sub", title: m.aliases?.join(", ") }, parts.join(" · ")) : null;
}

/** A longer prompt costs more. */
function more(p, name) {
  return p.above
    ? h(
        "span",
        { class: "sub c-m", title: `Over ${p.over_input_tokens.toLocaleString("en-US")} tokens of input` },
        `${price(p.above[name])} over ${tokens(p.over_input_tokens)}`,
      )
    : null;
}

async function copyName(name) {
  try {
    await navigator.clipboard.writeText(name);
    toast("Copied");
  } catch {
    // without https there is no clipboard
    toast("This browser does not let the page copy");
  }
}
