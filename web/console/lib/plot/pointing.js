// @ts-check
// Pointing at a plot with the mouse, a finger or the keys: what is under it is shown in a tooltip.

import { fill, h, svg } from "../dom.js";
import { spanOf } from "./axis.js";
import { fillOf } from "./draw.js";

const moves = { ArrowLeft: -1, ArrowRight: 1, PageUp: -7, PageDown: 7, Home: -Infinity, End: Infinity };

/**
 * Listens on a plot. The function that is returned takes what was drawn.
 * @param {HTMLElement} el
 * @param {() => import("../plot.js").Options} options
 */
export function pointing(el, options) {
  const tip = h("div", { class: "tip", hidden: true }), say = h("div", { class: "vh", "aria-live": "polite" });
  /** @type {import("./draw.js").Scale} */
  let scale;
  let hover, at = -1, from = -1;

  function show(i, spoken = false) {
    const o = options(), last = o.times.length - 1;
    if (last < 0) return;
    at = Math.max(0, Math.min(last, i));
    fill(hover, markOf(o, scale, from, at));
    fill(tip, tipOf(o, scale, from < 0 ? at : Math.min(from, at), from < 0 ? at : Math.max(from, at)));
    tip.hidden = false;
    const width = tip.offsetWidth, right = scale.x(at) + scale.step + 12;
    const left = at > last / 2 ? scale.x(at) - width - 12 : right;
    tip.style.transform = `translate(${Math.round(Math.max(0, Math.min(left, Math.max(0, el.clientWidth - width))))}px, 8px)`;
    if (spoken) say.textContent = spokenOf(o, scale, at);
  }
  function hide() {
    at = from = -1;
    tip.hidden = true;
    hover?.replaceChildren();
  }
  const indexOf = (event) => Math.floor((event.clientX - el.getBoundingClientRect().left - scale.left) / scale.step);
  function chosen() {
    const o = options(), [first, last] = [Math.min(from < 0 ? at : from, at), Math.max(from, at)], many = from >= 0 && last > first;
    hide();
    if (many) o.zoom?.(first, last);
    else if (first >= 0) o.pick?.(first);
  }

  el.addEventListener("pointermove", (event) => show(indexOf(event)));
  el.addEventListener("pointerleave", () => from < 0 && hide());
  el.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0 || !(options().zoom || options().pick)) return show(indexOf(event));
    show(indexOf(event));
    from = at;
    el.setPointerCapture(event.pointerId);
  });
  el.addEventListener("pointerup", () => from >= 0 && chosen());
  el.addEventListener("pointercancel", hide);
  el.addEventListener("blur", hide);
  el.addEventListener("keydown", (event) => {
    if (event.key in moves) {
      event.preventDefault();
      const last = options().times.length - 1;
      if (event.shiftKey && options().zoom && at >= 0 && from < 0) from = at;
      if (!event.shiftKey) from = -1;
      show(at < 0 && moves[event.key] !== -Infinity ? last : at + moves[event.key], true);
    } else if (event.key === "Enter" && at >= 0) {
      chosen();
    } else if (event.key === "Escape" && at >= 0) {
      event.stopPropagation();
      hide();
    }
  });
  return {
    /** Takes what was drawn. @param {SVGElement} shape @param {SVGElement} group @param {import("./draw.js").Scale} s */
    drawn(shape, group, s) {
      scale = s;
      hover = group;
      fill(el, shape, tip, say);
      if (at >= 0) show(at);
    },
  };
}

// A band or a line where it is pointed at, or the steps that are being chosen.
function markOf(o, s, from, at) {
  if (from >= 0) {
    return svg("rect", { x: s.x(Math.min(from, at)), y: s.top, width: s.step * (Math.abs(from - at) + 1), height: s.inside.height, class: "brush" });
  }
  if (o.kind !== "lines") return svg("rect", { x: s.x(at), y: s.top, width: s.step, height: s.inside.height, class: "band" });
  const x = Math.round(s.x(at) + s.step / 2) + 0.5;
  return [svg("line", { x1: x, x2: x, y1: s.top, y2: s.top + s.inside.height, class: "cross" }),
    s.shown.map((series) => (series.values[at] == null ? null : svg("circle", { cx: x, cy: s.y(series.values[at]), r: 3.5, class: fillOf(series) })))];
}

function tipOf(o, s, first, last) {
  const end = o.times[last + 1] ?? o.end;
  const title = first === last ? spanOf(o.times[first], end) : spanOf(o.times[first], o.times[first + 1]) + " to " + spanOf(o.times[last], end);
  if (first !== last) {
    const total = s.totals.slice(first, last + 1).reduce((a, b) => a + b, 0);
    return [h("h3", null, title), o.kind === "lines" ? null : line(null, "Total", o.format(total))];
  }
  const parts = s.shown.map((series) => ({ series, value: series.values[first] }));
  if (o.kind !== "lines") parts.reverse();
  const seen = parts.filter(({ value }) => o.kind === "lines" || value);
  return [
    h("h3", null, title),
    seen.map(({ series, value }) => line(series, series.name, value == null ? "–" : o.format(value))),
    o.kind !== "lines" && s.shown.length > 1 ? line(null, "Total", o.format(s.totals[first]), "sum") : null,
    o.kind !== "lines" && seen.length === 0 && s.shown.length < 2 ? line(null, "None", "") : null,
    o.compare?.[first] != null ? line(null, o.compareName ?? "Previous period", o.format(o.compare[first]), "soft") : null,
    o.partial && first === o.times.length - 1 ? h("p", { class: "soft" }, "Still counting") : null,
  ];
}

function line(series, name, value, kind) {
  const colour = series && svg("svg", { class: "sw", viewBox: "0 0 10 10", "aria-hidden": "true" }, svg("rect", { width: 10, height: 10, rx: 2, class: fillOf(series) }));
  return h("p", { class: kind }, colour, h("span", null, name), h("b", null, value));
}

function spokenOf(o, s, at) {
  const end = o.times[at + 1] ?? o.end, values = s.shown.map((series) => series.name + " " + (series.values[at] == null ? "none" : o.format(series.values[at])));
  const text = o.kind === "lines" ? values.join(", ") : s.shown.length > 1 ? "total " + o.format(s.totals[at]) + "; " + values.filter((_, i) => s.shown[i].values[at]).join(", ") : values[0] ?? "";
  return spanOf(o.times[at], end) + ": " + text + (o.partial && at === o.times.length - 1 ? ", still counting" : "");
}
