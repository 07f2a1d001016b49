// @ts-check
// What lies over the rectangles: axes, lines of capacities and bounds, names, marks, and what is selected.

import { inkOn } from "./colours.js";
import { highest } from "./live_bytes.js";
import { FONT, GUTTER, LETTER, Pencil } from "./pencil.js";
import { byteTicks, roundTicks } from "./svg.js";
import { countText, nameText, sizeText } from "./text.js";

/** @typedef {import("./lanes.js").Lane} Lane */

/** The number of deciding buffers whose names are always drawn. */
const NAMED = 8;

/** Everything that is drawn over a picture. */
export class Overlay extends Pencil {
  /** Draw reserved ranges, banks, and the names and lines of pools. */
  pools() {
    const { plan, lanes, theme } = this;
    for (const lane of lanes.all) {
      const pool = lanes.pools[lane.pool];
      const [high, low] = this.band(lane.pool);
      this.title(lane.pool, (x, y, width) => this.take(x, y, width, 17));
      this.level(lane, 0, theme.soft, []);
      for (const [offset, size] of pool.reserved ?? []) {
        const top = Math.max(high, this.py(lane.pool, Math.min(lane.bytes, offset + size)));
        const bottom = Math.min(low, this.py(lane.pool, offset));
        if (bottom > top) this.hatch(GUTTER.left, top, this.width, bottom - top);
      }
      if (pool.bank_size) this.banks(lane, pool);
      const found = lanes.demand?.sum ? undefined : plan.verdict.pools[lane.pool]?.bound;
      const bound = found === null || found === undefined ? undefined : Number(found);
      this.level(lane, pool.size, theme.capacity, [], "capacity", [-15, 2]);
      this.level(lane, bound, theme.bound, [6, 4], "bound", [2, -15]);
    }
  }

  /** @param {Lane} lane @param {import("./plan_model.js").Pool} pool */
  banks(lane, pool) {
    const step = /** @type {number} */ (pool.bank_size);
    const shift = step - ((pool.base_address ?? 0) % step || step);
    if ((lane.bytes / step) > 4000) return;
    for (let at = shift || step; at < lane.bytes; at += step) this.level(lane, at, this.theme.soft, [1, 3]);
  }

  /**
   * Draw a word above or below an offset, and later a line there.
   * @param {Lane} lane @param {number | undefined} bytes @param {string} colour @param {number[]} dash
   * @param {string} [word] @param {number[]} [sides]
   */
  level(lane, bytes, colour, dash, word, sides = []) {
    if (bytes === undefined || bytes === null) return;
    if (bytes > lane.bytes) {
      // Where the lane ends far below it, the word alone: or an unused memory would look full.
      const [high, low] = this.band(lane.pool);
      if (word && low - high > 36) this.tag(`${word} ${sizeText(bytes)}, far above`, GUTTER.left + this.width - 6, high, colour, [1]);
      return;
    }
    const y = Math.round(this.py(lane.pool, bytes)) + 0.5;
    const [high, low] = this.band(lane.pool);
    if (y < high || y > low + 1) return;
    this.later.push(() => this.line(GUTTER.left, y, GUTTER.left + this.width, y, colour, dash, word ? 1.5 : 1));
    if (word) this.tag(`${word} ${sizeText(bytes)}`, GUTTER.left + this.width - 6, y, colour, y < high + 16 && word === "capacity" ? [1] : sides);
  }

  /**
   * Call `tell` with the place and the text of a pool's name, at the upper left of its lane; skip lanes without room.
   * @param {number} pool @param {(x: number, y: number, width: number, text: string) => void} tell
   */
  title(pool, tell) {
    const [high, low] = this.band(pool);
    if ((this.lanes.all.length < 2 && this.lanes.pools[0].name === "default") || low - high < 20) return;
    const text = nameText(this.lanes.pools[pool].name, 60);
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

  /** Draw the axis of offsets of each lane, and the time axis. */
  axes() {
    const { c, theme, lanes } = this;
    c.fillStyle = theme.soft;
    c.textAlign = "right";
    c.textBaseline = "middle";
    const left = GUTTER.left - GUTTER.strip - 4;
    for (const { pool, bytes } of lanes.all) {
      const [high, low] = this.band(pool);
      if (low - high < 12 || bytes < 2) continue; // nothing is there to be measured
      const { top, bottom } = this.picture.camera.heights[pool];
      for (const [offset, text] of byteTicks([Math.max(0, 1 - bottom) * bytes, Math.min(1, 1 - top) * bytes], Math.max(2, (low - high) / 42))) {
        const y = this.py(pool, offset);
        const at = Math.max(6, Math.min(this.height - 5, y));
        if (y < high || y > low + 1 || !this.take(0, at - 6, left, 12)) continue;
        c.fillText(text, left - 4, at);
        this.line(left, y, left + 3, y, theme.soft, []);
      }
    }
    this.times();
    this.line(GUTTER.left, this.height, GUTTER.left + this.width, this.height, theme.soft, []);
    this.line(GUTTER.left, 0, GUTTER.left, this.height, theme.soft, []);
  }

  /** Draw a strip beside each lane with its addresses at a time: live buffers, and in grey the idle bytes below the highest end. @param {number[]} alive */
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
      fill(0, here.reduce((end, i) => Math.max(end, plan.offset[i] + plan.size[i]), 0), this.theme.faint);
      for (const i of here) fill(plan.offset[i], plan.offset[i] + plan.size[i], `rgb(${this.picture.ink(i)})`);
    });
  }

  /** Draw the requested bytes of a problem that does not fit, in red above the capacity, and its stacked core. @param {import("./demand.js").Demand} asked */
  demand({ pool, core }) {
    const { c, plan, lanes, theme } = this;
    const size = lanes.pools[pool].size ?? Infinity;
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
      for (const held of plan.held(i)) {
        const box = this.box(i, held, { pool, offset });
        if (!box) continue;
        c.strokeStyle = theme.chain;
        c.lineWidth = 2;
        c.setLineDash([5, 3]);
        c.strokeRect(box.x, box.y, box.width, box.height);
        c.setLineDash([]);
        this.label(box, i, theme.ink, true);
      }
    }
  }

  times() {
    const { c, plan, lanes, theme } = this;
    const { left, right } = this.picture.camera.times;
    c.textBaseline = "top";
    c.fillStyle = theme.soft;
    const room = Math.max(90, c.measureText(plan.timeText(Math.min(lanes.time(right), plan.lastTime))).width + 20);
    const seen = /** @type {[number, number]} */ ([Math.max(0, lanes.time(left)), Math.min(plan.lastTime, lanes.time(right))]);
    const origin = plan.times ? 0 : Number(plan.origin);
    const round = roundTicks([seen[0] + origin, seen[1] + origin], Math.max(2, this.width / room));
    const known = round.filter((time) => Number.isInteger(time)).map((time) => time - origin);
    const apart = known.length > 1 ? this.px(lanes.x(known[1])) - this.px(lanes.x(known[0])) : this.width;
    for (const time of known) {
      const x = this.px(lanes.x(time));
      this.line(x, this.height, x, this.height + 4, theme.soft, []);
      const texts = [plan.timeText(time), nameText(plan.stepName(time) ?? "", Math.floor((apart - 8) / LETTER))];
      texts.forEach((text, k) => {
        const width = c.measureText(text).width;
        const from = Math.max(0, Math.min(x - width / 2, GUTTER.left + this.width - width)); // the last one is not cut
        c.textAlign = "left";
        if (text && this.take(from - 3, this.height + 6 + 14 * k, width + 6, 12)) c.fillText(text, from, this.height + 6 + 14 * k);
      });
    }
    c.textAlign = "center";
    const said = plan.timeless.size === plan.count ? "no times: a column for each buffer" : plan.timeless.size
      ? "time (program order); at the right: buffers without times" : "time (program order)";
    if (!plan.steps || plan.timeless.size) c.fillText(said, GUTTER.left + this.width / 2, this.height + 22);
  }

  /** Draw loops and regions as bars along the lower edge. */
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

  /** Draw names inside rectangles, those of deciding buffers first, and beside rectangles that are too small. @param {number[]} rows  of `taken` */
  labels(rows) {
    const { size, taken: { buffer, head } } = this.plan;
    const decides = new Set([...this.picture.look.peak].sort((a, b) => size[b] - size[a]).slice(0, NAMED));
    const named = new Set();
    const first = (/** @type {number} */ row) => Number(decides.has(buffer[row]));
    for (const row of [...rows].sort((a, b) => first(b) - first(a))) {
      const box = this.rowBox(row);
      if (box && this.label(box, buffer[row], inkOn(this.picture.ink(buffer[row])))) named.add(buffer[row]);
    }
    for (const i of decides) {
      const box = !named.has(i) && head[i] >= 0 && this.rowBox(head[i]);
      if (!box) continue;
      const width = this.c.measureText(this.plan.label(i)).width + 10;
      const x = Math.max(GUTTER.left, Math.min(box.x + (box.width - width) / 2, GUTTER.left + this.width - width));
      if (this.label({ x, y: box.y + (box.height - 14) / 2, width, height: 14 }, i, this.theme.ink, true)) named.add(i);
    }
    this.picture.named = named;
  }

  /** Draw a pin at the lower left of a buffer whose offset the problem fixes. @param {number} i */
  pin(i) {
    const box = this.box(i, this.plan.held(i)[0]);
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

  /** Draw a line from a buffer to the one that reuses its bytes at a price, with the price. @param {{pair: number[], cost: number}} reused */
  paid({ pair, cost }) {
    const [from, to] = pair.map((i, k) => this.box(this.plan.root[i], this.plan.held(this.plan.root[i]).at(k ? 0 : -1) ?? [0, 0]));
    if (!from || !to) return;
    const [x, y] = [to.x, to.y + to.height / 2];
    this.line(from.x + from.width, from.y + from.height / 2, x, y, this.theme.chain, [2, 2], 2);
    this.tag(`cost ${countText(cost)}`, x + 52, y, this.theme.chain, [-15, 2]);
  }

  /** Draw an arrow from the piece that a copy reads to the one that it writes. @param {{at: number, pair: number[]}} copy */
  copied({ at, pair }) {
    const [from, to] = pair.map((i) => this.box(i, this.plan.held(i)[0]));
    const x = this.px(this.lanes.x(at + 0.5));
    if (!from || !to || x < GUTTER.left - 2 || x > GUTTER.left + this.width + 2) return;
    const [begin, end] = [from, to].map(({ y, height }) => y + height / 2);
    const tail = end + 6 * Math.sign(begin - end);
    for (const [x0, y0] of [[x, begin], [x - 4, tail], [x + 4, tail]]) this.line(x0, y0, x, end, this.theme.select, [], 1.5);
  }

  /** Draw the selected area: times and offsets of a lane. @param {{pool: number, times: [number, number], offsets: [number, number]}} area */
  area({ pool, times: [start, end], offsets: [low, high] }) {
    const { c, theme } = this;
    const [x, y] = [this.px(this.lanes.x(start)), this.py(pool, high)];
    const [width, height] = [this.px(this.lanes.x(end)) - x, this.py(pool, low) - y];
    c.globalAlpha = 0.16;
    c.fillStyle = theme.select;
    c.fillRect(x, y, width, height);
    c.globalAlpha = 1;
    c.strokeStyle = theme.select;
    c.lineWidth = 1;
    c.strokeRect(x, y, width, height);
  }

  /** @param {number} time @param {string} colour @param {number[]} dash */
  timeLine(time, colour, dash) {
    const x = Math.round(this.px(this.lanes.x(time))) + 0.5;
    if (x < GUTTER.left || x > GUTTER.left + this.width) return;
    this.line(x, 0, x, this.height, colour, dash, 1);
    this.c.fillStyle = colour;
    this.c.beginPath();
    this.c.moveTo(x, this.height - 7);
    this.c.lineTo(x - 5, this.height);
    this.c.lineTo(x + 5, this.height);
    this.c.closePath();
    this.c.fill();
  }
}
