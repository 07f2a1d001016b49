// @ts-check
// A canvas that turns times and offsets into pixels, and draws single buffers and texts.

import { sizeText } from "./text.js";

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */
/** @typedef {import("./lanes.js").Lane} Lane */
/**
 * @typedef {Record<"paper" | "ink" | "soft" | "faint" | "capacity" | "bound" | "select" | "chain" | "hatch" | "load", string>} Theme
 */

export const GUTTER = { left: 92, bottom: 40, strip: 12 };
export const FONT = "11px system-ui, sans-serif";
export const LETTER = 6.2;

/** A canvas that converts times and offsets to pixels. */
export class Pencil {
  /** @param {CanvasRenderingContext2D} context @param {import("./picture.js").Picture} picture @param {Theme} theme */
  constructor(context, picture, theme) {
    this.c = context;
    this.picture = picture;
    this.lanes = picture.lanes;
    this.plan = picture.plan;
    this.theme = theme;
    this.width = picture.width ?? 1;
    this.height = picture.height ?? 1;
    /** @type {number[][]} */ this.taken = [];
    /** Lines that are drawn once all texts have their places. @type {(() => void)[]} */ this.later = [];
    this.c.font = FONT;
  }

  /** @param {number} x */
  px(x) {
    const { left, right } = this.picture.camera.times;
    return GUTTER.left + ((x - left) / (right - left)) * this.width;
  }

  /** Return the first and last pixel of a lane. @param {number} pool @returns {[number, number]} */
  band(pool) {
    const { top, bottom } = this.lanes.all[pool];
    return [top * this.height, bottom * this.height];
  }

  /** Return the pixel of an offset; it may be outside of its lane. @param {number} pool @param {number} offset */
  py(pool, offset) {
    const { top, bottom } = this.picture.camera.heights[pool];
    const [high, low] = this.band(pool);
    return high + ((this.lanes.y(pool, offset) - top) / (bottom - top)) * (low - high);
  }

  /**
   * Return the pixels of a buffer's rectangle in a time range, or at another place, cut to its lane; null if it is not visible.
   * @param {number} i @param {[number, number]} held @param {{slack?: number, pool?: number, offset?: number, size?: number}} [at]  `slack` are pixels over
   * the edge
   */
  box(i, [start, end], { slack = 2, pool = this.plan.pool[i], offset = this.plan.offset[i], size = this.plan.size[i] } = {}) {
    if (pool < 0) return null;
    const [high, low] = this.band(pool);
    const x0 = Math.max(GUTTER.left - slack, this.px(this.lanes.x(start)));
    const x1 = Math.min(GUTTER.left + this.width + slack, this.px(this.lanes.x(end)));
    const y0 = Math.max(high - slack, this.py(pool, offset + size));
    const y1 = Math.min(low + slack, this.py(pool, offset));
    return x1 < x0 || y1 < y0 ? null : { x: x0, y: y0, width: x1 - x0, height: y1 - y0 };
  }

  /** Return the buffer and the pixels of a row of `taken`. @param {number} row @param {number} [slack] */
  rowBox(row, slack) {
    const { buffer, start, end } = this.plan.taken;
    return this.box(buffer[row], [start[row], end[row]], { slack });
  }

  /** Reserve a rectangle for a text; return false if another text is there. @param {number} x @param {number} y @param {number} width @param {number} height */
  take(x, y, width, height) {
    const isFree = this.taken.every(([left, top, right, bottom]) => x >= right || x + width <= left || y >= bottom || y + height <= top);
    if (isFree) this.taken.push([x, y, x + width, y + height]);
    return isFree;
  }

  /** Draw with the picture's borders as a clip, and with gaps at `texts`, so that no line crosses a word. */
  clipped(/** @type {() => void} */ draw, /** @type {number[][]} */ texts = []) {
    this.c.save();
    this.c.beginPath();
    this.c.rect(GUTTER.left, 0, this.width, this.height);
    for (const [left, top, right, bottom] of texts) this.c.rect(left, top, right - left, bottom - top);
    this.c.clip("evenodd");
    draw();
    this.c.restore();
  }

  /** Draw a small right-aligned text with a paper background where no other text is: at one of several distances from a line, or further left. */
  tag(/** @type {string} */ text, /** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ colour, /** @type {number[]} */ sides) {
    const { c } = this;
    const width = c.measureText(text).width + 6;
    const places = [0, 1, 2].flatMap((k) => sides.map((side) => [x - k * (width + 4), y + side]));
    const [right, top] = places.find(([at, high]) => high >= 0 && this.take(at - width, high, width, 13)) ?? [];
    if (right === undefined || top === undefined) return;
    this.ground(right - width + 3, top, width, 13);
    c.fillStyle = colour;
    c.textAlign = "right";
    c.textBaseline = "top";
    c.fillText(text, right, top + 1);
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  ground(x, y, width, height) {
    this.c.globalAlpha = 0.85;
    this.c.fillStyle = this.theme.paper;
    this.c.fillRect(x, y, width, height);
    this.c.globalAlpha = 1;
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height */
  hatch(x, y, width, height) {
    const { c } = this;
    c.save();
    c.beginPath();
    c.rect(x, y, width, height);
    c.clip();
    c.fillStyle = this.theme.faint;
    c.fillRect(x, y, width, height);
    c.beginPath();
    for (let at = x - height; at < x + width; at += 8) {
      c.moveTo(at, y + height);
      c.lineTo(at + height, y);
    }
    c.strokeStyle = this.theme.hatch;
    c.lineWidth = 1;
    c.stroke();
    c.restore();
  }

  /** @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 @param {string} colour @param {number[]} dash @param {number} [width] */
  line(x0, y0, x1, y1, colour, dash, width = 1) {
    const { c } = this;
    c.beginPath();
    c.moveTo(x0, y0);
    c.lineTo(x1, y1);
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.setLineDash(dash);
    c.stroke();
    c.setLineDash([]);
  }

  /**
   * Draw a name inside a box (upright in a tall one) with its size below, or its last word alone; return true if it has room.
   * @param {{x: number, y: number, width: number, height: number}} box @param {number} i @param {string} colour @param {boolean} [isGrounded]  on paper
   */
  label(box, i, colour, isGrounded = false) {
    const { c, plan } = this;
    const name = plan.label(i);
    // Measured, not reckoned by its letters: or a box between two widths has a name neither way.
    const isUpright = box.height > box.width && c.measureText(name).width > box.width - 8;
    const [along, across] = isUpright ? [box.height - 8, box.width] : [box.width - 8, box.height];
    const text = [name, name.replace(/^.*[/;:](?=.)/, "")].find((each) => c.measureText(each).width <= along);
    if (across < 12 || text === undefined) return false;
    const size = sizeText(plan.size[i]);
    const isSized = across >= 30 && size.length * LETTER <= along;
    const wide = c.measureText(text).width;
    const high = isSized ? 30 : 14;
    const [w, l] = isUpright ? [high, wide] : [wide, high];
    if (!this.take(box.x + (box.width - w) / 2, box.y + (box.height - l) / 2, w, l)) return false;
    c.save();
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.translate(box.x + box.width / 2, box.y + box.height / 2);
    if (isUpright) c.rotate(-Math.PI / 2);
    if (isGrounded) this.ground(-wide / 2 - 3, isSized ? -15 : -8, wide + 6, isSized ? 30 : 16);
    c.fillStyle = colour;
    c.fillText(text, 0, isSized ? -7 : 0);
    if (isSized) c.fillText(size, 0, 7);
    c.restore();
    return true;
  }

  /**
   * Draw an outline around the rectangles of a buffer, and a thin line through the times between its lifetimes.
   * @param {number} i @param {string} colour @param {number} width @param {number[]} [dash]
   * @param {number} [least]  the pixels of a side below which the outline would hide the rectangle
   */
  outline(i, colour, width, dash = [], least = 0) {
    const { c } = this;
    const boxes = this.plan.held(i).map((held) => this.box(i, held)).filter((box) => box !== null);
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.setLineDash(dash);
    boxes.forEach((box, k) => {
      if (!box || Math.min(box.width, box.height) < least) return;
      c.strokeRect(box.x, box.y, Math.max(1, box.width), Math.max(1, box.height));
      const next = boxes[k + 1];
      if (next) this.line(box.x + box.width, box.y + box.height / 2, next.x, next.y + next.height / 2, colour, [2, 2]);
    });
    c.setLineDash([]);
  }
}
