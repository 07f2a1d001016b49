// @ts-check
// What draws on a canvas, as SVG: the part of a canvas's context that the overlay of a picture uses.

import { nameText } from "./text.js";

const ANCHOR = /** @type {Record<string, string>} */ ({ left: "start", center: "middle", right: "end" });
/** The distance in pixels from each alignment point of an 11-pixel text to its baseline; few programs support other SVG baselines. */
const BELOW = /** @type {Record<string, number>} */ ({ top: 9.5, middle: 4, bottom: -2.5, alphabetic: 0 });

/** The number of clip paths of all drawings, because two drawings may be in one document. */
let clips = 0;

/** A drawing context whose `parts` are SVG elements. */
export class SvgContext {
  constructor() {
    /** @type {string[]} */ this.parts = [];
    this.fillStyle = this.strokeStyle = "#000000";
    this.font = "11px sans-serif";
    this.textAlign = "left";
    this.textBaseline = "alphabetic";
    this.globalAlpha = this.lineWidth = 1;
    this.path = "";
    /** @type {number[]} */ this.groups = [];
    /** @type {number[]} */ this.dash = [];
    this.measure = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  }

  beginPath() {
    this.path = "";
  }

  /** @param {number} x @param {number} y */
  moveTo(x, y) {
    this.path += `M${f(x)} ${f(y)}`;
  }

  /** @param {number} x @param {number} y */
  lineTo(x, y) {
    this.path += `L${f(x)} ${f(y)}`;
  }

  closePath() {
    this.path += "Z";
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  rect(x, y, width, height) {
    this.path += `M${f(x)} ${f(y)}h${f(width)}v${f(height)}h${f(-width)}Z`;
  }

  save() {
    this.groups.push(0);
  }

  restore() {
    this.parts.push("</g>".repeat(this.groups.pop() ?? 0));
  }

  /** @param {string} [rule]  `evenodd` or `nonzero` */
  clip(rule = "nonzero") {
    clips += 1;
    this.parts.push(`<clipPath id="c${clips}"><path d="${this.path}" clip-rule="${rule}"/></clipPath>`);
    this.group(`clip-path="url(#c${clips})"`);
  }

  /** @param {number} x @param {number} y */
  translate(x, y) {
    this.group(`transform="translate(${f(x)} ${f(y)})"`);
  }

  /** @param {number} angle */
  rotate(angle) {
    this.group(`transform="rotate(${f((180 * angle) / Math.PI)})"`);
  }

  /** Begin a group that ends with the next `restore`. @param {string} attributes */
  group(attributes) {
    this.parts.push(`<g ${attributes}>`);
    this.groups.push((this.groups.pop() ?? 0) + 1);
  }

  /** @param {number[]} dash */
  setLineDash(dash) {
    this.dash = dash;
  }

  stroke() {
    this.parts.push(`<path d="${this.path}" ${this.stroked}/>`);
  }

  fill() {
    this.parts.push(`<path d="${this.path}" fill="${this.fillStyle}"/>`);
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  strokeRect(x, y, width, height) {
    this.parts.push(`<rect x="${f(x)}" y="${f(y)}" width="${f(width)}" height="${f(height)}" ${this.stroked}/>`);
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  fillRect(x, y, width, height) {
    this.parts.push(`<rect x="${f(x)}" y="${f(y)}" width="${f(width)}" height="${f(Math.max(0, height))}" fill="${this.fillStyle}"${this.opacity}/>`);
  }

  /** @param {string} text @param {number} x @param {number} y */
  fillText(text, x, y) {
    const weight = this.font.startsWith("600") ? ' font-weight="600"' : "";
    this.parts.push(`<text x="${f(x)}" y="${f(y + BELOW[this.textBaseline])}" text-anchor="${ANCHOR[this.textAlign]}"
      fill="${this.fillStyle}"${weight}>${escaped(text)}</text>`);
  }

  /** @param {string} text */
  measureText(text) {
    this.measure.font = this.font;
    return this.measure.measureText(text);
  }

  get opacity() {
    return this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : "";
  }

  get stroked() {
    return `fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"${this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"`
      : ""}${this.opacity}`;
  }
}

/** Return a number of pixels as a short text. @param {number} value */
export function f(value) {
  return value.toFixed(1).replace(/\.0$/, "");
}

/** Return a text with its markup characters escaped. @param {string} text */
export function escaped(text) {
  return nameText(text, 400).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
