// @ts-check
// What lies over the rectangles: axes, lines of capacities and bounds, names, marks, and what is selected.

import { scaleLinear } from "./vendor/d3.js";
import { byteTicks } from "./svg.js";
import { highest } from "./live_bytes.js";
import { nameText, sizeText, tail } from "./text.js";

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */
/** @typedef {import("./lanes.js").Lane} Lane */
/** @typedef {{paper: string, ink: string, soft: string, faint: string, capacity: string, bound: string, select: string, chain: string, hatch: string, load: string}} Theme */

export const GUTTER = { left: 92, bottom: 40, strip: 12 };
const FONT = "11px system-ui, sans-serif";
const LETTER = 6.2;

/** A canvas in which times and offsets become pixels. */
export class Overlay {
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
    this.c.font = FONT;
  }

  /** @param {number} x */
  px(x) {
    const { left, right } = this.picture.camera.times;
    return GUTTER.left + ((x - left) / (right - left)) * this.width;
  }

  /** The pixels between which a lane is. @param {number} pool @returns {[number, number]} */
  band(pool) {
    const { top, bottom } = this.lanes.all[pool];
    return [top * this.height, bottom * this.height];
  }

  /** The pixel of an offset, which may be outside of its lane. @param {number} pool @param {number} offset */
  py(pool, offset) {
    const { top, bottom } = this.picture.camera.heights[pool];
    const [high, low] = this.band(pool);
    return high + ((this.lanes.y(pool, offset) - top) / (bottom - top)) * (low - high);
  }

  /** The pixels of a lifetime's rectangle, or of one at another place, cut to its lane; null where it is out of sight. @param {number} row @param {number} [slack]  pixels over the edge @param {number} [pool] @param {number} [offset] */
  box(row, slack = 2, pool = this.plan.pool[this.plan.lifeBuffer[row]], offset = this.plan.offset[this.plan.lifeBuffer[row]]) {
    if (pool < 0) return null;
    const [high, low] = this.band(pool);
    const x0 = Math.max(GUTTER.left - slack, this.px(this.lanes.x(this.plan.start[row])));
    const x1 = Math.min(GUTTER.left + this.width + slack, this.px(this.lanes.x(this.plan.end[row])));
    const y0 = Math.max(high - slack, this.py(pool, offset + this.plan.size[this.plan.lifeBuffer[row]]));
    const y1 = Math.min(low + slack, this.py(pool, offset));
    return x1 < x0 || y1 < y0 ? null : { x: x0, y: y0, width: x1 - x0, height: y1 - y0 };
  }

  /** Take a place for a text, if none is there. @param {number} x @param {number} y @param {number} width @param {number} height */
  take(x, y, width, height) {
    const isFree = this.taken.every(([left, top, right, bottom]) => x >= right || x + width <= left || y >= bottom || y + height <= top);
    if (isFree) this.taken.push([x, y, x + width, y + height]);
    return isFree;
  }

  /** Draw only within the picture. */
  clipped(/** @type {() => void} */ draw) {
    this.c.save();
    this.c.beginPath();
    this.c.rect(GUTTER.left, 0, this.width, this.height);
    this.c.clip();
    draw();
    this.c.restore();
  }

  /** Reserved ranges, banks, and the names of pools with their lines. */
  pools() {
    const { plan, lanes, theme } = this;
    for (const lane of lanes.all) {
      const pool = plan.pools[lane.pool];
      const [high, low] = this.band(lane.pool);
      this.title(lane.pool, (x, y, width) => this.take(x, y, width, 17));
      this.level(lane, 0, theme.soft, []);
      for (const [offset, size] of pool.reserved ?? []) {
        const top = Math.max(high, this.py(lane.pool, Math.min(lane.bytes, offset + size)));
        const bottom = Math.min(low, this.py(lane.pool, offset));
        if (bottom > top) this.hatch(GUTTER.left, top, this.width, bottom - top);
      }
      if (pool.bank_size) this.banks(lane, pool);
      this.level(lane, pool.size, theme.capacity, [], "capacity");
      this.level(lane, known(plan.verdict.pools[lane.pool]?.bound), theme.bound, [6, 4], "bound");
    }
  }

  /** @param {Lane} lane @param {import("./plan_model.js").Pool} pool */
  banks(lane, pool) {
    const step = /** @type {number} */ (pool.bank_size);
    const shift = step - ((pool.base_address ?? 0) % step || step);
    if ((lane.bytes / step) > 4000) return;
    for (let at = shift || step; at < lane.bytes; at += step) this.level(lane, at, this.theme.soft, [1, 3]);
  }

  /** A line at an offset, with a word. @param {Lane} lane @param {number | undefined} bytes @param {string} colour @param {number[]} dash @param {string} [word] */
  level(lane, bytes, colour, dash, word) {
    if (bytes === undefined || bytes === null || bytes > lane.bytes) return;
    const y = Math.round(this.py(lane.pool, bytes)) + 0.5;
    const [high, low] = this.band(lane.pool);
    if (y < high || y > low + 1) return;
    this.line(GUTTER.left, y, GUTTER.left + this.width, y, colour, dash, word ? 1.5 : 1);
    if (word) this.tag(`${word} ${sizeText(bytes)}`, GUTTER.left + this.width - 6, y, colour, word === "bound" || y < high + 16 ? [2, -15] : [-15, 2]);
  }

  /** A small text on paper, right-aligned, where no other is: at one of these distances of a line, or left of there. */
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

  /** The place of a pool's name, at the upper left of its lane. @param {number} pool @param {(x: number, y: number, width: number, text: string) => void} tell */
  title(pool, tell) {
    const [high, low] = this.band(pool);
    if ((this.lanes.all.length < 2 && this.plan.pools[0].name === "default") || low - high < 20) return;
    const text = nameText(this.plan.pools[pool].name, 40);
    this.c.font = `600 ${FONT}`;
    tell(GUTTER.left + 4, high + 3, this.c.measureText(text).width + 10, text);
    this.c.font = FONT;
  }

  titles() {
    const { c, theme } = this;
    c.textAlign = "left";
    c.textBaseline = "top";
    this.lanes.all.forEach(({ pool }) => this.title(pool, (x, y, width, text) => {
      this.ground(x, y, width, 17);
      c.fillStyle = theme.ink;
      c.fillText(text, x + 5, y + 3);
    }));
  }

  /** The axis of offsets, for each lane, and that of time. */
  axes() {
    const { c, theme, lanes } = this;
    c.fillStyle = theme.soft;
    c.textAlign = "right";
    c.textBaseline = "middle";
    const left = GUTTER.left - GUTTER.strip - 4;
    for (const { pool, bytes } of lanes.all) {
      const [high, low] = this.band(pool);
      if (low - high < 12) continue;
      const { top, bottom } = this.picture.camera.heights[pool];
      for (const offset of byteTicks([Math.max(0, 1 - bottom) * bytes, Math.min(1, 1 - top) * bytes], Math.max(2, (low - high) / 42))) {
        const y = this.py(pool, offset);
        const at = Math.max(6, Math.min(this.height - 5, y));
        if (y < high || y > low + 1 || !this.take(0, at - 6, left, 12)) continue;
        c.fillText(sizeText(offset), left - 4, at);
        this.line(left, y, left + 3, y, theme.soft, []);
      }
    }
    this.times();
    this.line(GUTTER.left, this.height, GUTTER.left + this.width, this.height, theme.soft, []);
    this.line(GUTTER.left, 0, GUTTER.left, this.height, theme.soft, []);
  }

  /** The addresses of each lane at a time, as a strip beside it: what is alive, and in grey what is idle below the highest end. @param {number[]} alive */
  strip(alive) {
    const { c, plan } = this;
    this.lanes.all.forEach(({ pool }) => {
      const [high, low] = this.band(pool);
      const here = alive.filter((i) => plan.pool[i] === pool);
      const fill = (/** @type {number} */ from, /** @type {number} */ to, /** @type {string} */ colour) => {
        const [y0, y1] = [Math.max(high, this.py(pool, to)), Math.min(low, this.py(pool, from))];
        c.fillStyle = colour;
        if (y1 > y0) c.fillRect(GUTTER.left - GUTTER.strip - 1, y0, GUTTER.strip, Math.max(0.5, y1 - y0));
      };
      fill(0, here.reduce((end, i) => Math.max(end, plan.offset[i] + plan.size[i]), 0), this.theme.hatch);
      for (const i of here) fill(plan.offset[i], plan.offset[i] + plan.size[i], `rgb(${this.picture.ink(i)})`);
    });
  }

  /** What a problem that does not fit asks for, in red where it is above the capacity, and its core, piled up. @param {import("./demand.js").Demand} asked */
  demand({ pool, core }) {
    const { c, plan, lanes, theme } = this;
    const size = plan.pools[pool].size ?? Infinity;
    const { left, right } = this.picture.camera.times;
    const { time, bytes } = plan.load(-1);
    const bar = (/** @type {number} */ x, /** @type {number} */ from, /** @type {number} */ to, /** @type {string} */ colour) => {
      c.fillStyle = colour;
      if (to > from) c.fillRect(GUTTER.left + x, this.py(pool, to), 1, this.py(pool, from) - this.py(pool, to));
    };
    if (lanes.all.length === 1) {
      highest(time, bytes, lanes.time(left), lanes.time(right), Math.round(this.width)).forEach((most, x) => {
        bar(x, 0, Math.min(most, size), theme.load);
        bar(x, size, most, theme.capacity);
      });
    }
    for (const { i, offset } of core) {
      for (const row of plan.lifetimes(i)) {
        const box = this.box(row, 2, pool, offset);
        if (!box) continue;
        this.ground(box.x, box.y, box.width, box.height);
        c.strokeStyle = theme.chain;
        c.lineWidth = 2;
        c.strokeRect(box.x, box.y, box.width, box.height);
        this.label(box, i, theme.ink);
      }
    }
  }

  times() {
    const { c, plan, lanes, theme } = this;
    const { left, right } = this.picture.camera.times;
    const scale = scaleLinear().domain([lanes.time(left), lanes.time(right)]);
    c.textBaseline = "top";
    c.fillStyle = theme.soft;
    const room = Math.max(90, c.measureText(plan.timeText(lanes.time(right))).width + 20);
    const known = scale.ticks(Math.max(2, this.width / room)).filter((/** @type {number} */ time) => Number.isInteger(time) && time >= 0 && time <= plan.span);
    const apart = known.length > 1 ? this.px(lanes.x(known[1])) - this.px(lanes.x(known[0])) : this.width;
    for (const time of known) {
      const x = this.px(lanes.x(time));
      this.line(x, this.height, x, this.height + 4, theme.soft, []);
      const texts = [plan.timeText(time), tail(plan.stepName(time) ?? "", Math.floor((apart - 8) / LETTER))];
      texts.forEach((text, k) => {
        const width = c.measureText(text).width;
        const from = Math.max(0, Math.min(x - width / 2, GUTTER.left + this.width - width)); // the last one is not cut
        c.textAlign = "left";
        if (text && this.take(from - 3, this.height + 6 + 14 * k, width + 6, 12)) c.fillText(text, from, this.height + 6 + 14 * k);
      });
    }
    c.textAlign = "center";
    if (!plan.steps) c.fillText("time (program order)", GUTTER.left + this.width / 2, this.height + 22);
  }

  /** Loops and regions, as bars along the lower edge. */
  spans() {
    const { c, plan, lanes, theme } = this;
    plan.spans.slice(0, 400).forEach((/** @type {any} */ span, /** @type {number} */ k) => {
      const x0 = this.px(lanes.x(span.start));
      const x1 = this.px(lanes.x(span.end));
      if (x1 < GUTTER.left || x0 > GUTTER.left + this.width) return;
      const y = this.height - 5 - 5 * (k % 3);
      c.fillStyle = span.kind === "loop" ? theme.bound : theme.select;
      c.globalAlpha = 0.75;
      c.fillRect(x0, y, Math.max(1, x1 - x0), 3);
      c.globalAlpha = 1;
      if (x1 - x0 > 60) {
        c.textAlign = "left";
        c.textBaseline = "bottom";
        const text = `${span.kind} ${nameText(span.name, 24)}`;
        const from = Math.max(x0, GUTTER.left) + 2;
        const width = c.measureText(text).width;
        if (!this.take(from, y - 13, width + 4, 12)) return;
        this.ground(from - 1, y - 13, width + 2, 12);
        c.fillStyle = theme.ink;
        c.fillText(text, from, y - 1);
      }
    });
  }

  /** Names within rectangles. @param {number[]} rows */
  labels(rows) {
    for (const row of rows) {
      const i = this.plan.lifeBuffer[row];
      const [red, green, blue] = this.picture.ink(i);
      const box = this.box(row);
      const light = (0.21 * red ** 2 + 0.72 * green ** 2 + 0.07 * blue ** 2) / 255 ** 2;
      if (box) this.label(box, i, light > 0.21 ? "#101010" : "#ffffff"); // the one of more contrast
    }
  }

  /** A name within a box, upright in a tall one, its end where it is too long, and its size under it. @param {{x: number, y: number, width: number, height: number}} box @param {number} i @param {string} colour */
  label(box, i, colour) {
    const { c, plan } = this;
    const name = plan.label(i);
    const isUpright = box.height > box.width && name.length * LETTER > box.width - 8;
    const [along, across] = isUpright ? [box.height - 8, box.width] : [box.width - 8, box.height];
    let text = tail(name, Math.floor(along / LETTER));
    const width = c.measureText(text).width;
    if (width > along) text = tail(name, Math.floor((text.length * along) / width) - 1);
    if (text.length < 3 && text !== name) return;
    const size = sizeText(plan.size[i]);
    const isSized = across >= 30 && size.length * LETTER <= along;
    c.save();
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.fillStyle = colour;
    c.translate(box.x + box.width / 2, box.y + box.height / 2);
    if (isUpright) c.rotate(-Math.PI / 2);
    c.fillText(text, 0, isSized ? -7 : 0);
    if (isSized) c.fillText(size, 0, 7);
    c.restore();
  }

  /** An outline around the rectangles of a buffer, and a thin line through the times when it is not alive. @param {number} i @param {string} colour @param {number} width @param {number[]} [dash] */
  outline(i, colour, width, dash = []) {
    const { c } = this;
    const boxes = this.plan.lifetimes(i).map((row) => this.box(row)).filter((box) => box !== null);
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.setLineDash(dash);
    boxes.forEach((box, k) => {
      if (!box) return;
      c.strokeRect(box.x, box.y, Math.max(1, box.width), Math.max(1, box.height));
      const next = boxes[k + 1];
      if (next) this.line(box.x + box.width, box.y + box.height / 2, next.x, next.y + next.height / 2, colour, [2, 2]);
    });
    c.setLineDash([]);
  }

  /** A pin at the lower left of a buffer whose offset the problem gives. @param {number} i */
  pin(i) {
    const box = this.box(this.plan.first.head[i]);
    if (!box || box.width < 6 || box.height < 6) return;
    const { c } = this;
    c.beginPath();
    c.moveTo(box.x + 1, box.y + box.height - 1);
    c.lineTo(box.x + 9, box.y + box.height - 1);
    c.lineTo(box.x + 1, box.y + box.height - 9);
    c.closePath();
    c.fillStyle = "#101010";
    c.fill();
  }

  /** @param {number} time @param {string} colour @param {number[]} dash */
  timeLine(time, colour, dash) {
    const x = Math.round(this.px(this.lanes.x(time))) + 0.5;
    if (x >= GUTTER.left && x <= GUTTER.left + this.width) this.line(x, 0, x, this.height, colour, dash, 1.5);
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
}

/** @param {number | bigint | null | undefined} bytes */
function known(bytes) {
  return bytes === null || bytes === undefined ? undefined : Number(bytes);
}
