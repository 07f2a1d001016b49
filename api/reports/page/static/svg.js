// @ts-check
// Elements of SVG, with text as text, and axes with round numbers.

import { scaleLinear } from "./vendor/d3.js";
import { countText, sizeText } from "./text.js";

const SPACE = "http://www.w3.org/2000/svg";

/** @param {string} name @param {Record<string, any>} [attributes] @param {...(Node | string)} children @returns {SVGElement} */
export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, String(value));
  }
  element.append(...children);
  return element;
}

/** A number of an axis as people read it. @param {number} value @param {string} unit  bytes, number or ratio */
export function valueText(value, unit) {
  if (unit === "bytes") return sizeText(value);
  if (unit === "ratio") return `${value.toFixed(value < 10 ? 3 : 1)}×`;
  return countText(value);
}

/** A scale from a range of values to pixels, with round ends. @param {number[]} values @param {number} from @param {number} to */
export function niceScale(values, from, to) {
  const known = values.filter((value) => Number.isFinite(value));
  const least = Math.min(...known, Infinity);
  const most = Math.max(...known, -Infinity);
  const [low, high] = least > most ? [0, 1] : [least, most];
  const margin = (high - low) * 0.06 || Math.max(1, Math.abs(high) * 0.06);
  return scaleLinear().domain([Math.max(0, low - margin), high + margin]).range([from, to]).nice();
}

/** The two axes of a chart. @param {any} x @param {any} y @param {{name: string, unit: string}} xAxis @param {{name: string, unit: string}} yAxis @param {number} width @param {number} height */
export function axes(x, y, xAxis, yAxis, width, height) {
  const group = svg("g", { class: "axes" });
  const [left, right] = x.range();
  const [bottom, top] = y.range();
  for (const at of ticks(x, (right - left) / 110, xAxis.unit)) {
    group.append(svg("line", { x1: x(at), x2: x(at), y1: top, y2: bottom, class: "grid" }),
      svg("text", { x: x(at), y: bottom + 16, "text-anchor": "middle" }, valueText(at, xAxis.unit)));
  }
  for (const at of ticks(y, (bottom - top) / 40, yAxis.unit)) {
    group.append(svg("line", { x1: left, x2: right, y1: y(at), y2: y(at), class: "grid" }),
      svg("text", { x: left - 8, y: y(at) + 4, "text-anchor": "end" }, valueText(at, yAxis.unit)));
  }
  group.append(svg("text", { x: (left + right) / 2, y: height - 4, "text-anchor": "middle", class: "name" }, xAxis.name),
    svg("text", { x: 12, y: (top + bottom) / 2, transform: `rotate(-90 12 ${(top + bottom) / 2})`, "text-anchor": "middle", class: "name" }, yAxis.name));
  return group;
}

/** Round values of a scale: bytes at multiples of a power of two. @param {any} scale @param {number} count @param {string} unit @returns {number[]} */
function ticks(scale, count, unit) {
  if (unit !== "bytes") return scale.ticks(Math.max(2, count));
  return byteTicks(/** @type {[number, number]} */ (scale.domain()), Math.max(1, count));
}

/** Round offsets of a range: multiples of a power of two, about so many. @param {[number, number]} range @param {number} count */
export function byteTicks([least, most], count) {
  const step = 2 ** Math.max(0, Math.ceil(Math.log2((most - least) / count || 1)));
  const found = [];
  for (let at = Math.ceil(least / step) * step; at <= most && found.length < 100; at += step) found.push(at);
  return found;
}
