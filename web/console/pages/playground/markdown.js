// @ts-check
/**
 * Shows what a model wrote: the part of Markdown that models use, as elements. Texts are only ever set as text, links lead to
 * http and https alone. Patterns have bounds, so that no text takes long.
 */
import { h } from "../../lib/dom.js";
import { code } from "../../lib/ui.js";

/**
 * Shows text in root. What has not changed since the last call keeps its elements: a stream may call this at every event.
 * @param {HTMLElement} root @param {string} text
 */
export function write(root, text) {
  const all = blocks(text);
  all.forEach((block, i) => {
    const have = root.children[i];
    if (have && shown.get(have) === block.source) return;
    const el = element(block, 0);
    shown.set(el, block.source);
    if (have) have.replaceWith(el);
    else root.append(el);
  });
  while (root.children.length > all.length) root.lastElementChild?.remove();
}

/** @type {WeakMap<Element, string>} the text that an element shows */
const shown = new WeakMap();

const fence = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]{0,40})/;
const heading = /^(#{1,6}) +(.*)$/;
const item = /^( {0,3})([-*+]|\d{1,9}[.)]) +(.*)$/;
const rule = /^ {0,3}([-*_])( *\1){2,} *$/;
const quote = /^ {0,3}> ?/;
const divider = /^ *\|?( *:?-+:? *\|)+ *:?-* *:? *$/;

/** Splits a text into blocks, each with the lines that it is made of. */
function blocks(text) {
  const lines = text.split("\n"),
    all = [];
  for (let i = 0; i < lines.length;) {
    if (!lines[i].trim()) {
      i++;
      continue;
    }
    const begin = i,
      block = next(lines, i);
    i = Math.max(block.end, begin + 1);
    all.push({ ...block, source: lines.slice(begin, i).join("\n") });
  }
  return all;
}

function next(lines, i) {
  const line = lines[i],
    until = (fits) => {
      let j = i + 1;
      while (j < lines.length && fits(lines[j], j)) j++;
      return j;
    };
  const open = line.match(fence);
  if (open) {
    const close = until((l) => !(l.trimStart().startsWith(open[1]) && !l.trim().slice(open[1].length).trim()));
    return { kind: "code", lang: open[2], text: lines.slice(i + 1, close).join("\n"), end: close + 1 };
  }
  const head = line.match(heading);
  if (head) return { kind: "heading", level: head[1].length, text: head[2].replace(/ +#+ *$/, ""), end: i + 1 };
  if (rule.test(line)) return { kind: "rule", end: i + 1 };
  if (quote.test(line)) {
    const end = until((l) => quote.test(l));
    return {
      kind: "quote",
      text: lines
        .slice(i, end)
        .map((l) => l.replace(quote, ""))
        .join("\n"),
      end,
    };
  }
  if (line.includes("|") && divider.test(lines[i + 1] ?? "")) {
    const end = until((l) => l.includes("|"));
    return { kind: "table", rows: [line, ...lines.slice(i + 2, end)].map(cells), end };
  }
  if (item.test(line)) return list(lines, i);
  const end = until(
    (l, j) =>
      l.trim() &&
      !fence.test(l) &&
      !heading.test(l) &&
      !item.test(l) &&
      !quote.test(l) &&
      !(l.includes("|") && divider.test(lines[j + 1] ?? "")),
  );
  return {
    kind: "text",
    text: lines
      .slice(i, end)
      .map((l) => l.trim())
      .join("\n"),
    end,
  };
}

const cells = (line) =>
  line
    .trim()
    .replace(/^\||\|$/g, "")
    .split("|")
    .map((c) => c.trim());

function list(lines, i) {
  const first = /** @type {RegExpMatchArray} */ (lines[i].match(item)),
    ordered = /\d/.test(first[2]),
    items = [];
  for (; i < lines.length; i++) {
    const found = lines[i].match(item);
    if (found && /\d/.test(found[2]) === ordered) items.push([found[3]]);
    else if (!lines[i].trim()) {
      const after = lines[i + 1] ?? "";
      if (!/^ {2,}\S/.test(after) && !(item.test(after) && /^\s*\d/.test(after) === ordered)) break;
      items.at(-1)?.push("");
    } else if (/^( {2,}|\t)/.test(lines[i])) items.at(-1)?.push(lines[i].replace(/^(\t| {1,4})/, ""));
    else if (found || fence.test(lines[i]) || heading.test(lines[i]) || quote.test(lines[i])) break;
    else items.at(-1)?.push(lines[i]);
  }
  return { kind: "list", ordered, start: parseInt(first[2], 10) || 1, items: items.map((l) => l.join("\n")), end: i };
}

/** @returns {HTMLElement} */
function element(b, depth) {
  const inner = (text) => (depth < 6 ? blocks(text).map((x) => element(x, depth + 1)) : [text]);
  switch (b.kind) {
    case "code":
      return code(b.text, b.lang ? "Code in " + b.lang : "Code");
    case "heading":
      return h("p", { class: "md-h", role: "heading", "aria-level": String(Math.min(6, b.level + 2)) }, inline(b.text));
    case "rule":
      return h("hr");
    case "quote":
      return h("blockquote", {}, inner(b.text));
    case "list":
      return h(
        b.ordered ? "ol" : "ul",
        b.ordered && b.start > 1 ? { start: String(b.start) } : {},
        b.items.map((t) => {
          const parts = blocks(t); // a single line needs no paragraph
          return h(
            "li",
            {},
            parts.length && parts[0].kind === "text" ? [inline(parts[0].text), parts.slice(1).map((x) => element(x, depth + 1))] : inner(t),
          );
        }),
      );
    case "table":
      return h(
        "div",
        { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table" },
        h(
          "table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              b.rows[0].map((c) => h("th", { scope: "col" }, inline(c))),
            ),
          ),
          h(
            "tbody",
            {},
            b.rows.slice(1).map((r) =>
              h(
                "tr",
                {},
                r.map((c) => h("td", {}, inline(c))),
              ),
            ),
          ),
        ),
      );
    default:
      return h("p", {}, inline(b.text));
  }
}

const span = new RegExp(
  [
    "(`{1,3})([^`]{1,2000})\\1",
    "\\*\\*(?=\\S)((?:[^*\\n]|\\*(?!\\*)){1,1000}?)\\*\\*",
    "(?<![\\w*])\\*(?=[^\\s*])([^*\\n]{1,1000})\\*(?![\\w*])",
    "\\[([^\\]\\n]{1,300})\\]\\((https?://[^\\s)]{1,2000})\\)",
  ].join("|"),
  "g",
);

/** @param {string} text @returns {(string | HTMLElement)[]} */
function inline(text) {
  const out = [];
  let at = 0;
  for (const m of text.matchAll(span)) {
    if (m.index > at) out.push(text.slice(at, m.index));
    at = m.index + m[0].length;
    if (m[2] !== undefined) out.push(h("code", {}, m[2].replace(/^ (.+) $/, "$1")));
    else if (m[3] !== undefined) out.push(h("strong", {}, inline(m[3])));
    else if (m[4] !== undefined) out.push(h("em", {}, inline(m[4])));
    else out.push(h("a", { href: m[6], target: "_blank", rel: "noopener noreferrer" }, m[5]));
  }
  if (at < text.length) out.push(text.slice(at));
  return out;
}
