// @ts-check
// What lies over the rectangles: axes, lines of capacities and bounds, names, marks, and what is selected.

import { scaleLinear } from "./vendor/d3.js";
import { byteTicks } from "./svg.js";
import { nameText, sizeText } from "./text.js";

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */
/** @typedef {import("./lanes.js").Lanes} Lanes */
/** @typedef {import("./raster.js").Frame} Frame */
/** @typedef {{paper: string, ink: string, soft: string, faint: string, capacity: string, bound: string, select: string, chain: string, hatch: string}} Theme */
/** @typedef {{i: number, kind: "selected" | "chain" | "hover" | "peak"}} Mark */

export const GUTTER = { left: 76, bottom: 40 };
const FONT = "11px system-ui, sans-serif";

/** A canvas in which world coordinates become pixels. */
export class Overlay {
  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Lanes} lanes
   * @param {Theme} theme
   * @param {Frame} frame
   * @param {number} width  of the picture without its axes
   * @param {number} height
   */
  constructor(context, lanes, theme, frame, width, height) {
    this.c = context;
    this.lanes = lanes;
    this.plan = lanes.plan;
    this.theme = theme;
    this.frame = frame;
    this.width = width;
    this.height = height;
    this.c.font = FONT;
  }

  /** @param {number} x */
  px(x) {
    return GUTTER.left + ((x - this.frame.left) / (this.frame.right - this.frame.left)) * this.width;
  }

  /** @param {number} y */
  py(y) {
    return ((y - this.frame.top) / (this.frame.bottom - this.frame.top)) * this.height;
  }

  /** The pixels of a lifetime's rectangle, cut to the picture; null where it is out of sight. @param {number} row */
  box(row) {
    const i = this.plan.lifeBuffer[row];
    if (this.plan.pool[i] < 0) return null;
    const x0 = Math.max(GUTTER.left - 2, this.px(this.lanes.x(this.plan.start[row])));
    const x1 = Math.min(GUTTER.left + this.width + 2, this.px(this.lanes.x(this.plan.end[row])));
    const y0 = Math.max(-2, this.py(this.lanes.y(this.plan.pool[i], this.plan.offset[i] + this.plan.size[i])));
    const y1 = Math.min(this.height + 2, this.py(this.lanes.y(this.plan.pool[i], this.plan.offset[i])));
    return x1 < x0 || y1 < y0 ? null : { x: x0, y: y0, width: x1 - x0, height: y1 - y0 };
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
    const { c, plan, lanes, theme } = this;
    for (const lane of lanes.all) {
      const pool = plan.pools[lane.pool];
      const base = this.py(lane.bottom);
      this.line(GUTTER.left, base, GUTTER.left + this.width, base, theme.soft, []);
      for (const [offset, size] of pool.reserved ?? []) {
        if (offset > lane.bytes) continue;
        const top = this.py(lanes.y(lane.pool, Math.min(lane.bytes, offset + size)));
        this.hatch(GUTTER.left, top, this.width, this.py(lanes.y(lane.pool, offset)) - top);
      }
      if (pool.bank_size) this.banks(lane, pool);
      this.level(lane, pool.size, theme.capacity, [], "capacity");
      this.level(lane, known(plan.verdict.pools[lane.pool]?.bound), theme.bound, [6, 4], "bound");
      c.textBaseline = "top";
    }
  }

  /** @param {import("./lanes.js").Lane} lane @param {import("./plan_model.js").Pool} pool */
  banks(lane, pool) {
    const step = /** @type {number} */ (pool.bank_size);
    const shift = step - ((pool.base_address ?? 0) % step || step);
    if ((lane.bytes / step) > 4000) return;
    for (let at = shift || step; at < lane.bytes; at += step) {
      const y = this.py(this.lanes.y(lane.pool, at));
      if (y > 0 && y < this.height) this.line(GUTTER.left, y, GUTTER.left + this.width, y, this.theme.soft, [1, 3]);
    }
  }

  /** @param {import("./lanes.js").Lane} lane @param {number | undefined} bytes @param {string} colour @param {number[]} dash @param {string} word */
  level(lane, bytes, colour, dash, word) {
    if (bytes === undefined || bytes === null || bytes > lane.bytes) return;
    const y = Math.round(this.py(this.lanes.y(lane.pool, bytes))) + 0.5;
    if (y < 0 || y > this.height) return;
    this.line(GUTTER.left, y, GUTTER.left + this.width, y, colour, dash, 1.5);
    this.tag(`${word} ${sizeText(bytes)}`, GUTTER.left + this.width - 6, y, colour, word === "bound" || y < 16 ? "under" : "over");
  }

  /** A small text on paper, right-aligned, over or under a line. */
  tag(/** @type {string} */ text, /** @type {number} */ x, /** @type {number} */ y, /** @type {string} */ colour, /** @type {string} */ side) {
    const { c } = this;
    const width = c.measureText(text).width;
    const top = side === "over" ? y - 15 : y + 2;
    c.globalAlpha = 0.82;
    c.fillStyle = this.theme.paper;
    c.fillRect(x - width - 3, top, width + 6, 13);
    c.globalAlpha = 1;
    c.fillStyle = colour;
    c.textAlign = "right";
    c.textBaseline = "top";
    c.fillText(text, x, top + 1);
  }

  /** The names of pools, at the upper left of their lanes or of what is seen of them. */
  titles() {
    if (this.lanes.all.length < 2 && this.plan.pools[0].name === "default") return;
    const { c, theme } = this;
    for (const lane of this.lanes.all) {
      const top = Math.max(0, this.py(lane.top));
      if (this.py(lane.bottom) < 16 || top > this.height - 16) continue;
      const text = nameText(this.plan.pools[lane.pool].name, 40);
      c.font = `600 ${FONT}`;
      const width = c.measureText(text).width;
      c.globalAlpha = 0.85;
      c.fillStyle = theme.paper;
      c.fillRect(GUTTER.left + 4, top + 3, width + 10, 17);
      c.globalAlpha = 1;
      c.fillStyle = theme.ink;
      c.textAlign = "left";
      c.textBaseline = "top";
      c.fillText(text, GUTTER.left + 9, top + 6);
      c.font = FONT;
    }
  }

  /** The axis of offsets, for each lane, and that of time. */
  axes() {
    const { c, theme, frame, lanes } = this;
    c.fillStyle = theme.soft;
    c.textAlign = "right";
    c.textBaseline = "middle";
    for (const lane of lanes.all) {
      const high = Math.max(0, this.py(lane.top));
      const low = Math.min(this.height, this.py(lane.bottom));
      if (low - high < 12) continue;
      const most = lanes.at(clamp(frame.top + (high / this.height) * (frame.bottom - frame.top), lane))?.offset ?? lane.bytes;
      const least = lanes.at(clamp(frame.top + (low / this.height) * (frame.bottom - frame.top), lane))?.offset ?? 0;
      for (const offset of byteTicks([least, most], Math.max(2, (low - high) / 42))) {
        const y = this.py(lanes.y(lane.pool, offset));
        if (y < 6 || y > this.height - 4) continue;
        c.fillText(sizeText(offset), GUTTER.left - 8, y);
        this.line(GUTTER.left - 4, y, GUTTER.left, y, theme.soft, []);
      }
    }
    this.times();
    this.line(GUTTER.left, this.height, GUTTER.left + this.width, this.height, theme.soft, []);
    this.line(GUTTER.left, 0, GUTTER.left, this.height, theme.soft, []);
  }

  times() {
    const { c, plan, frame, lanes, theme } = this;
    const scale = scaleLinear().domain([lanes.time(frame.left), lanes.time(frame.right)]);
    c.textAlign = "center";
    c.textBaseline = "top";
    const known = scale.ticks(Math.max(2, this.width / 90)).filter((/** @type {number} */ time) => Number.isInteger(time));
    for (const time of known) {
      if (time < 0 || time > plan.span) continue;
      const x = this.px(lanes.x(time));
      this.line(x, this.height, x, this.height + 4, theme.soft, []);
      c.fillStyle = theme.soft;
      c.textAlign = x > GUTTER.left + this.width - 24 ? "right" : "center"; // the last one is not cut
      c.fillText(plan.timeText(time), x, this.height + 6);
      const name = plan.stepName(time);
      if (name) c.fillText(nameText(name, 16), x, this.height + 20);
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
        c.fillText(`${span.kind} ${nameText(span.name, 24)}`, Math.max(x0, GUTTER.left) + 2, y - 1);
      }
    });
  }

  /** Names within rectangles. @param {number[]} rows */
  labels(rows) {
    const { c, plan } = this;
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.fillStyle = "#101010";
    for (const row of rows) {
      const box = this.box(row);
      if (!box) continue;
      const most = Math.floor((box.width - 8) / 6.8);
      if (most < 2) continue;
      c.fillText(plan.name(plan.lifeBuffer[row], most), box.x + box.width / 2, box.y + box.height / 2);
    }
  }

  /**
   * An outline around the rectangles of a buffer, and a thin line through the times when it is not alive.
   * @param {number} i
   * @param {string} colour
   * @param {number} width
   * @param {number[]} [dash]
   */
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
    c.rect(x, Math.max(0, y), width, Math.min(this.height, y + height) - Math.max(0, y));
    c.clip();
    c.fillStyle = this.theme.faint;
    c.fillRect(x, y, width, height);
    c.beginPath();
    const from = Math.max(0, y), to = Math.min(this.height, y + height);
    for (let at = x - (to - from); at < x + width; at += 8) {
      c.moveTo(at, to);
      c.lineTo(at + (to - from), from);
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

/** @param {number} y @param {import("./lanes.js").Lane} lane */
function clamp(y, lane) {
  return Math.max(lane.top, Math.min(lane.bottom, y));
}
