// @ts-check
// Elements of SVG, with text as text, and axes with round numbers.

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

/** Return a number of an axis as readable text. @param {number} value @param {string} unit  bytes, number or ratio */
export function valueText(value, unit) {
  if (unit === "bytes") return sizeText(value);
  if (unit === "ratio") return `${value.toFixed(value < 10 ? 3 : 1)}×`;
  return countText(value);
}

/** @typedef {{(value: number): number, domain: [number, number], range: [number, number]}} Scale  from values to pixels */

/** @param {[number, number]} domain @param {[number, number]} range @returns {Scale} */
export function scaleOf([low, high], [from, to]) {
  return Object.assign((/** @type {number} */ value) => from + ((value - low) / (high - low || 1)) * (to - from),
    { domain: /** @type {[number, number]} */ ([low, high]), range: /** @type {[number, number]} */ ([from, to]) });
}

/** Return a scale for values, with a margin at both ends. @param {number[]} values @param {number} from @param {number} to */
export function niceScale(values, from, to) {
  const known = values.filter((value) => Number.isFinite(value));
  const [least, most] = known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
  const margin = (most - least) * 0.06 || Math.max(1, Math.abs(most) * 0.06);
  return scaleOf([Math.max(0, least - margin), most + margin], [from, to]);
}

/**
 * Return about `count` round values of a range: multiples of 1, 2 or 5 times a power of ten.
 * @param {[number, number]} range @param {number} count @param {number} [unit]
 */
export function roundTicks([least, most], count, unit = 1) {
  const rough = (most - least) / Math.max(1, count) / unit || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = /** @type {number} */ ([1, 2, 5, 10].find((each) => each * power >= rough * 0.999)) * power;
  const found = [];
  for (let k = Math.ceil(least / unit / step - 1e-9); k * step * unit <= most * (1 + 1e-12) && found.length < 100; k++) found.push(k * step * unit);
  return found;
}

/**
 * Return round offsets of a range, each with its text, all in the unit of the largest.
 * @param {[number, number]} range @param {number} count @returns {[number, string][]}
 */
export function byteTicks([least, most], count) {
  const power = Math.max(0, Math.min(6, Math.floor(Math.log2(Math.max(1, most)) / 10)));
  const unit = 2 ** (10 * power);
  const ticks = roundTicks([least, most], power ? count : Math.min(count, most - least), unit);
  return ticks.map((at) => [Math.round(at), at ? `${Number((at / unit).toPrecision(12))} ${["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"][power]}` : "0"]);
}

/**
 * Draw the two axes of a chart.
 * @param {Scale} x @param {Scale} y @param {{name: string, unit: string}} xAxis @param {{name: string, unit: string}} yAxis @param {number} height
 */
export function axes(x, y, xAxis, yAxis, height) {
  const group = svg("g", { class: "axes" });
  const [left, right] = x.range;
  const [bottom, top] = y.range;
  for (const [at, text] of ticks(x, (right - left) / 110, xAxis.unit)) {
    group.append(svg("line", { x1: x(at), x2: x(at), y1: top, y2: bottom, class: "grid" }),
      svg("text", { x: x(at), y: bottom + 16, "text-anchor": "middle" }, text));
  }
  for (const [at, text] of ticks(y, (bottom - top) / 34, yAxis.unit)) {
    group.append(svg("line", { x1: left, x2: right, y1: y(at), y2: y(at), class: "grid" }),
      svg("text", { x: left - 8, y: y(at) + 4, "text-anchor": "end" }, text));
  }
  group.append(svg("text", { x: (left + right) / 2, y: height - 4, "text-anchor": "middle", class: "name" }, xAxis.name),
    svg("text", { x: 12, y: (top + bottom) / 2, transform: `rotate(-90 12 ${(top + bottom) / 2})`, "text-anchor": "middle", class: "name" }, yAxis.name));
  return group;
}

/** @param {Scale} scale @param {number} count @param {string} unit @returns {[number, string][]} */
function ticks(scale, count, unit) {
  if (unit === "bytes") return byteTicks(scale.domain, Math.max(2, count));
  return roundTicks(scale.domain, Math.max(2, count)).map((at) => [at, unit === "ratio" ? `${Number(at.toPrecision(6))}×` : countText(at)]);
}
