// @ts-check
// What a plot shows, as SVG.

import { svg } from "../dom.js";
import { lengthOf, rounded, timesNamed } from "./axis.js";

const top = 10, bottom = 22, widestDigit = 7.8, almostDay = 22 * 3600e3;

/**
 * Where the values of a plot are.
 * @param {import("../plot.js").Options} o
 * @param {number} width px
 */
export function scaleOf(o, width) {
  const shown = o.series.filter((series) => !series.off), isLines = o.kind === "lines";
  const totals = o.times.map((_, i) => shown.reduce((sum, series) => sum + (series.values[i] ?? 0), 0));
  const all = isLines ? shown.flatMap((series) => series.values.map((value) => value ?? 0)) : totals;
  const most = all.concat(o.compare ?? []).reduce((a, b) => Math.max(a, b ?? 0), 0);
  const height = o.height ?? 220, right = isLines ? 44 : 2;
  const values = most ? rounded(most, height < 110 ? 2 : height < 180 ? 3 : 4, o.wholes) : [0];
  const left = Math.max(o.left ?? 46, Math.max(...values.map((value) => o.axis(value).length)) * widestDigit + 10);
  const inside = { width: Math.max(1, width - left - right), height: height - top - bottom };
  const step = inside.width / Math.max(1, o.times.length);
  return {
    shown, totals, most, values, width, height, left, right, top, inside, step,
    x: (i) => left + i * step,
    y: (value) => top + inside.height * (1 - value / (values.at(-1) || 1)),
  };
}

/** @typedef {ReturnType<typeof scaleOf>} Scale */

/** The lines of the axes with their labels. @param {import("../plot.js").Options} o @param {Scale} s */
export function axes(o, s) {
  const parts = s.values.map((value) => {
    const y = Math.round(s.y(value)) + 0.5;
    return [
      svg("line", { x1: s.left, x2: s.width - s.right, y1: y, y2: y, class: value ? "g" : "ax" }),
      svg("text", { x: s.left - 8, y: y + 4, "text-anchor": "end" }, o.axis(value)),
    ];
  });
  const centred = lengthOf(o.times, o.end) >= almostDay;
  const labels = timesNamed(o.times, o.end, s.inside.width).map(([i, text]) => {
    const at = s.x(i) + (centred ? s.step / 2 : 0), late = at > s.width - s.right - 24;
    const anchor = late ? "end" : at < s.left + 14 ? "start" : "middle";
    return svg("text", { x: late ? Math.min(at + 18, s.width - s.right) : at, y: s.height - 4, "text-anchor": anchor }, text);
  });
  // A line may be there although all of its values are 0.
  const some = s.most > 0 || (o.kind === "lines" && s.shown.some((series) => series.values.some((value) => value != null)));
  const nothing = some ? null : svg("text", { x: s.left + s.inside.width / 2, y: top + s.inside.height / 2, "text-anchor": "middle" },
    o.nothing ?? "None in this time");
  return [parts, labels, nothing];
}

/** The class that fills a series. @param {import("../plot.js").Series} series */
export const fillOf = (series) => series.class ?? "f" + series.colour;

/** @param {import("../plot.js").Options} o @param {Scale} s */
export function barsOf(o, s) {
  const gap = s.step > 14 ? 3 : s.step > 6 ? 2 : s.step > 3 ? 1 : 0.5, width = Math.max(0.5, s.step - gap);
  const rects = o.times.map((_, i) => {
    let base = 0;
    return s.shown.map((series) => {
      const value = series.values[i];
      if (!value) return null;
      const low = s.y(base), high = s.y(base + value);
      // A pixel between two parts, so that they are told apart without their colours.
      const height = Math.max(0.5, low - high - (base && low - high > 3 ? 1 : 0));
      base += value;
      return svg("rect", { x: (s.x(i) + gap / 2).toFixed(2), y: high.toFixed(2), width: width.toFixed(2), height: height.toFixed(2), class: fillOf(series) });
    });
  });
  if (!o.compare?.some((value) => value)) return rects;
  const marks = o.compare.map((value, i) =>
    value == null ? "" : `M${(s.x(i) + gap / 2).toFixed(1)} ${Math.round(s.y(value)) + 0.5}h${width.toFixed(1)}`).join("");
  return [rects, marks ? ["ghost under", "ghost"].map((name) => svg("path", { class: name, d: marks })) : null];
}

/** Lines, broken where there is no value, with their names at the end. @param {import("../plot.js").Options} o @param {Scale} s */
export function linesOf(o, s) {
  const middle = (i) => s.x(i) + s.step / 2, labels = [];
  const drawn = s.shown.map((series) => {
    const runs = runsOf(series.values);
    const last = runs.at(-1)?.at(-1);
    if (last !== undefined) labels.push({ y: s.y(series.values[last]), text: series.name });
    return runs.map((run) => {
      const line = run.map((i, k) => `${k ? "L" : "M"}${middle(i).toFixed(1)} ${s.y(series.values[i]).toFixed(1)}`).join("");
      const area = `${line}L${middle(/** @type {number} */ (run.at(-1)))} ${s.y(0)}L${middle(run[0])} ${s.y(0)}Z`;
      return run.length === 1
        ? svg("circle", { cx: middle(run[0]), cy: s.y(series.values[run[0]]), r: 2, class: fillOf(series) })
        : [series.fill ? svg("path", { d: area, class: "area " + fillOf(series) }) : null, svg("path", { d: line, class: "ln l" + series.colour })];
    });
  });
  labels.sort((a, b) => a.y - b.y);
  const between = 14;
  let lowest = s.top + s.inside.height;
  for (const label of labels.toReversed()) {
    label.y = Math.min(label.y, lowest);
    lowest = label.y - between;
  }
  const names = labels.map((label) => {
    return svg("text", { x: s.width - s.right + 4, y: label.y + 4, class: "lbl" }, label.text);
  });
  return [drawn, names];
}

// The indices of values that follow each other without a gap.
function runsOf(values) {
  const runs = [];
  values.forEach((value, i) => {
    if (value == null) return;
    if (runs.at(-1)?.at(-1) === i - 1) runs.at(-1).push(i);
    else runs.push([i]);
  });
  return runs;
}
