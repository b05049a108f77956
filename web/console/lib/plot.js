// @ts-check
// Plots over time: stacked bars and lines, with a tooltip, drag to zoom and arrow keys; sparks and waterfalls.
// Positions are attributes of SVG or set through the CSSOM, which the Content-Security-Policy allows.

import { fill, h, svg } from "./dom.js";
import { spanOf } from "./plot/axis.js";
import { axes, barsOf, fillOf, linesOf, scaleOf } from "./plot/draw.js";
import { pointing } from "./plot/pointing.js";

/**
 * @typedef {{ name: string, values: (number | null)[], colour?: number, class?: string, off?: boolean, fill?: boolean }} Series
 * A series is filled by the colour of its number, 1 to 8, or by a class.
 *
 * @typedef {{
 *   kind?: "bars" | "lines",
 *   label: string,              // what is shown, for screen readers
 *   times: number[],            // the beginnings of the steps, ms
 *   end: number,                // the end of the last step, ms
 *   series: Series[],           // bottom up
 *   axis: (value: number) => string,
 *   format: (value: number) => string,
 *   height?: number, left?: number,  // px; left: room for the labels of the axis
 *   wholes?: boolean,           // the values are counts
 *   partial?: boolean,          // the last step is not over
 *   compare?: (number | null)[] | null,  // totals of the previous period
 *   compareName?: string,       // what the tooltip calls them
 *   nothing?: string,           // what stands where all values are 0
 *   zoom?: ((first: number, last: number) => void) | null,  // steps were chosen by dragging
 *   pick?: ((index: number) => void) | null                 // one step was chosen
 * }} Options
 */

/**
 * A plot of stacked bars.
 * @param {Options} options
 * @returns {{ el: HTMLElement, update: (options: Options) => void }}
 */
export const bars = (options) => plot({ ...options, kind: "bars" });

/** A plot of lines; a null is a gap. @param {Options} options */
export const lines = (options) => plot({ ...options, kind: "lines" });

/** Low bars of calls, those that failed on top, in red. @param {Options} options */
export const strip = (options) => plot({ height: 96, left: 36, wholes: true, ...options, kind: "bars" });

/** A small square in the colour of a series. @param {Series | string} series or a class */
export function swatch(series) {
  return svg("svg", { class: "sw", viewBox: "0 0 10 10", "aria-hidden": "true" },
    svg("rect", { width: 10, height: 10, rx: 2, class: typeof series === "string" ? series : fillOf(series) }));
}

function plot(options) {
  const el = h("div", { class: "plot", tabindex: "0", role: "group", "aria-roledescription": "plot" });
  let o = options, drawn = -1;
  const over = pointing(el, () => o);
  function draw() {
    drawn = el.clientWidth;
    const scale = scaleOf(o, drawn || 600);
    const hover = svg("g");
    const shape = svg("svg", { width: scale.width, height: scale.height, viewBox: `0 0 ${scale.width} ${scale.height}`, "aria-hidden": "true" },
      axes(o, scale), o.kind === "lines" ? [hover, linesOf(o, scale)] : [hover, barsOf(o, scale)]);
    over.drawn(shape, hover, scale);
  }
  function update(next) {
    o = { ...next, kind: options.kind, height: next.height ?? options.height, left: next.left ?? options.left, wholes: next.wholes ?? options.wholes };
    el.setAttribute("aria-label", o.label + ". Arrow keys read the values.");
    el.style.height = (o.height ?? 220) + "px"; // nothing moves when it is drawn
    draw();
  }
  new ResizeObserver(() => el.clientWidth !== drawn && draw()).observe(el);
  update(options);
  return { el, update };
}

/**
 * The numbers of a plot as a table, the newest first.
 * @param {Options} o
 */
export function numbers(o) {
  const shown = o.series.filter((series) => !series.off), sum = o.kind !== "lines" && shown.length > 1;
  const rows = o.times.map((at, i) => h("tr", null, h("th", { scope: "row", class: "nw" }, spanOf(at, o.times[i + 1] ?? o.end)),
    shown.map((series) => h("td", { class: "num" }, series.values[i] == null ? "–" : o.format(/** @type {number} */ (series.values[i])))),
    sum ? h("td", { class: "num" }, o.format(shown.reduce((total, series) => total + (series.values[i] ?? 0), 0))) : null));
  return h("table", { "aria-label": o.label }, h("thead", null, h("tr", null, h("th", { scope: "col" }, "Time"),
    shown.map((series) => h("th", { scope: "col", class: "num" }, series.name)), sum ? h("th", { scope: "col", class: "num" }, "Total") : null)),
  h("tbody", null, rows.reverse()));
}

/** "Show as table" under a plot: the table is made when it is opened. @param {string} label */
export function asTable(label) {
  const box = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label + " as a table" });
  /** @type {Options | null} */
  let latest = null;
  const make = () => el.open && latest && fill(box, numbers(latest));
  const el = h("details", { class: "data", ontoggle: make }, h("summary", null, "Show as table"), box);
  return { el, update: (/** @type {Options} */ o) => ((latest = o), make()) };
}

/**
 * Bars without axes, in the height of a line; the last one is the present.
 * @param {(number | null)[]} values @param {string} label @param {string} [fill] the class of those before
 */
export function spark(values, label, fill = "fok") {
  const most = Math.max(...values.map(Number), 1e-9), wide = 5, high = 24;
  return svg("svg", { class: "spark", role: "img", "aria-label": label, viewBox: `0 0 ${values.length * wide} ${high}`, preserveAspectRatio: "none" },
    values.map((value, i) => {
      const height = Math.max(1, (Number(value) / most) * (high - 1));
      return svg("rect", { x: i * wide, y: high - height, width: wide - 1, height, class: !value ? "fok" : i === values.length - 1 && fill === "fok" ? "f1" : fill });
    }));
}

/**
 * What took the time, one line for each part on one axis of milliseconds.
 * @param {{ name: string, note: string, label: string, parts: { from: number, to: number, class: string }[] }[]} rows
 * @param {number} end ms
 * @param {(ms: number) => string} format
 */
export function waterfall(rows, end, format) {
  const most = end * 1.03 || 1, share = (ms) => ((Math.min(ms, most) / most) * 100).toFixed(2) + "%";
  const ticks = ticksOf(end);
  const names = ticks.map((at) => svg("text", { x: share(at), y: 14, "text-anchor": at ? "middle" : "start" }, at ? format(at) : "0"));
  return h("div", { class: "fall" }, h("div", { class: "top" }), h("div", { class: "top" }, svg("svg", { "aria-hidden": "true" }, names)),
    rows.map((row) => [
      h("div", null, h("b", null, row.name), h("span", { class: "soft" }, row.note)),
      h("div", null, svg("svg", { role: "img", "aria-label": row.label },
        ticks.map((at) => svg("line", { class: "tick", x1: share(at), x2: share(at), y1: -10, y2: 34 })),
        row.parts.map((part) => svg("rect", {
          x: share(part.from), width: Math.max(0.4, ((part.to - part.from) / most) * 100).toFixed(2) + "%", y: 7, height: 10, rx: 2, class: part.class,
        })))),
    ]));
}

// Three or four round times.
function ticksOf(end) {
  if (!(end > 0)) return [0];
  const raw = end / 3, power = 10 ** Math.floor(Math.log10(raw)), first = raw / power;
  const step = Math.max(1, (first < 2 ? 1 : first < 5 ? 2 : 5) * power);
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, i) => i * step);
}
