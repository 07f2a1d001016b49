// @ts-check
// The picture of one plan: a canvas of rectangles, a canvas over it, and what is at a place.

import { Camera, bindGestures } from "./camera.js";
import { colouring } from "./colours.js";
import { h } from "./dom.js";
import { Lanes } from "./lanes.js";
import { aliveAt } from "./live_bytes.js";
import { Overlay } from "./overlay.js";
import { GUTTER } from "./pencil.js";
import { paint, targetOf } from "./raster.js";

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */

const LABEL = { width: 34, height: 13 };
const LABELLED_AT_MOST = 600;
const FADE = 0.2;

/**
 * What a picture shows of a plan besides its buffers.
 * @typedef {Object} Look
 * @property {string} by  one of COLOUR_BY
 * @property {number} selected  a buffer, or -1
 * @property {number} hovered
 * @property {number[]} chain  buffers under the selected one
 * @property {number[]} peak  buffers that decide the peaks
 * @property {number[]} wrong  buffers that break a rule
 * @property {number | null} time  the time that is looked at
 * @property {Uint8Array | null} found  1 for buffers that a search found
 * @property {Uint8Array | null} moved
 * @property {number[]} marks  times
 * @property {{pool: number, times: [number, number], offsets: [number, number]} | null} area  that was dragged
 */

/** The picture of a plan in its own element. Once it has colours, it redraws itself after changes, at most once per frame. */
export class Picture {
  /** @param {PlanModel} plan @param {(name: string) => string} style  a colour of the page by its name */
  constructor(plan, style) {
    this.plan = plan;
    this.style = style;
    this.lanes = new Lanes(plan);
    this.drawn = this.lanes.all.map(({ pool }) => this.lanes.rectangles(pool));
    /** @type {number[]} */ this.aliases = [];
    for (let i = 0; i < plan.count && this.aliases.length < 2000; i++) if (plan.isAlias(i)) this.aliases.push(i);
    /** @type {Look} */
    this.look = { by: "buffer", selected: -1, hovered: -1, chain: [], peak: [], wrong: [], time: null, found: null, moved: null, marks: [], area: null };
    /** @type {(overlay: Overlay) => void} */ this.extra = () => {};
    /** @type {((picture: Picture) => void)[]} */ this.listeners = [];
    this.base = /** @type {HTMLCanvasElement} */ (h("canvas", { class: "base", "aria-hidden": "true" }));
    this.over = /** @type {HTMLCanvasElement} */ (h("canvas", { class: "over", tabindex: "0", role: "application",
      "aria-label": "Picture of the plan. Arrow keys go from buffer to buffer; ? lists all keys. The tables beside it say the same." }));
    this.element = h("div", { class: "picture" }, this.base, this.over);
    /** Live buffers that share bytes with another live buffer. @type {number[]} */
    this.shared = plan.isShared ? sharing(plan) : [];
    this.camera = new Camera(this.lanes.all, () => this.moved());
    this.demand = this.lanes.demand;
    /** The buffers whose names are drawn. */ this.named = new Set();
    /** @type {number | null} */ this.cutAt = null;
    /** @type {number[]} */ this.alive = [];
    this.isStale = true;
    bindGestures(this.over, this.camera, GUTTER, (event) => event.shiftKey);
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  /** Apply the colours of `look` again. */
  colour() {
    const known = colouring(this.plan, this.look.by, this.look.moved) ?? colouring(this.plan, "buffer", null);
    if (!known) return;
    this.legend = known.legend;
    const { found } = this.look;
    this.classes = known.of.map((k, i) => (k & 127) | (found && !found[i] ? 128 : 0));
    for (const { rectangles: { colour }, row } of this.drawn) {
      for (let k = 0; k < colour.length; k++) colour[k] = this.classes[this.plan.taken.buffer[row[k]]];
    }
    const paper = rgb(this.style("paper"));
    this.inks = Uint8Array.from(known.inks);
    for (let k = 128; k < 256; k++) {
      for (let part = 0; part < 3; part++) {
        this.inks[3 * k + part] = known.inks[3 * (k - 128) + part] * FADE + paper[part] * (1 - FADE);
      }
    }
    this.moved();
  }

  resize() {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const { clientWidth, clientHeight } = this.element;
    this.width = Math.max(1, clientWidth - GUTTER.left);
    this.height = Math.max(1, clientHeight - GUTTER.bottom);
    this.ratio = ratio;
    this.over.width = Math.max(1, Math.round(clientWidth * ratio));
    this.over.height = Math.max(1, Math.round(clientHeight * ratio));
    this.base.width = Math.max(1, Math.round(this.width * ratio));
    this.base.height = Math.max(1, Math.round(this.height * ratio));
    this.context = /** @type {CanvasRenderingContext2D} */ (this.base.getContext("2d", { willReadFrequently: true }));
    this.image = this.context.createImageData(this.base.width, this.base.height);
    // Buffers that are summed up look blurred, so that on a 2x screen a quarter of its pixels are enough.
    const { width, height } = this.base;
    const pixels = new Uint32Array(this.image.data.buffer);
    this.targets = this.lanes.all.map(({ top, bottom }) => {
      const [from, to] = [Math.round(top * height), Math.round(bottom * height)];
      return targetOf(pixels.subarray(from * width, to * width), width, to - from, Math.round(ratio));
    });
    this.base.style.left = `${GUTTER.left}px`;
    this.base.style.width = `${this.width}px`;
    this.base.style.height = `${this.height}px`;
    this.moved();
  }

  /** Repaint the rectangles after the frame has changed. */
  moved() {
    this.isStale = true;
    this.changed();
  }

  /** Redraw everything above the rectangles. */
  changed() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.draw();
      for (const listener of this.listeners) listener(this);
    });
  }

  /** Paint the rectangles; return those with labels. @returns {number[]} */
  paintBase() {
    const { targets, image, inks, ratio = 1 } = this;
    if (!targets || !image || !inks) return [];
    const paper = rgb(this.style("paper"));
    const cell = targets[0].step / ratio;
    const painted = this.drawn.map(({ rectangles }, q) =>
      paint(targets[q], rectangles, this.camera.of(q), inks, paper, (width, height) => isLabelled(width * cell, height * cell)));
    this.context?.putImageData(image, 0, 0);
    this.summed = painted.reduce((sum, { summed }) => sum + summed, 0);
    this.filled = painted.reduce((sum, { filled }) => sum + filled, 0);
    this.isStale = false;
    return painted.flatMap(({ labelled }, q) => labelled.slice(0, LABELLED_AT_MOST).map((k) => this.drawn[q].row[k]));
  }

  draw() {
    if (!this.targets || !this.image || !this.inks || !this.width || !this.height || !this.ratio) return;
    if (this.isStale) this.labelled = this.paintBase();
    const context = /** @type {CanvasRenderingContext2D} */ (this.over.getContext("2d"));
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.over.width, this.over.height);
    this.drawOver(context, this.labelled ?? []);
  }

  /** @param {CanvasRenderingContext2D} context @param {number[]} labelled */
  drawOver(context, labelled) {
    const { look } = this;
    const theme = /** @type {import("./pencil.js").Theme} */ (Object.fromEntries(
      ["paper", "ink", "soft", "faint", "capacity", "bound", "select", "chain", "hatch", "load"].map((name) => [name, this.style(name)])));
    const overlay = new Overlay(context, this, theme);
    overlay.clipped(() => {
      if (this.demand) overlay.demand(this.demand);
      overlay.pools();
      overlay.labels(look.found ? labelled.filter((row) => look.found?.[this.plan.taken.buffer[row]]) : labelled);
      overlay.spans();
      overlay.clipped(() => {
        overlay.later.forEach((draw) => draw());
        if (look.time !== null) overlay.timeLine(Math.min(look.time + 0.5, this.plan.span), theme.soft, [4, 3]);
        this.drawMarks(overlay, theme);
        this.extra(overlay);
      }, overlay.taken);
      overlay.titles();
    });
    overlay.axes();
    if (look.time !== null) overlay.strip(this.cut(look.time));
  }

  /** Return the red, green and blue of a buffer. @param {number} i */
  ink(i) {
    const k = 3 * (this.classes?.[i] ?? 0);
    return this.inks?.slice(k, k + 3) ?? [128, 128, 128];
  }

  /** Return the buffers in the strip of addresses at a time; the result is cached for this time. @param {number} time */
  cut(time) {
    if (this.cutAt !== time) [this.cutAt, this.alive] = [time, aliveAt(this.plan, -1, time)];
    return this.alive;
  }

  /** @param {Overlay} overlay @param {import("./pencil.js").Theme} theme */
  drawMarks(overlay, theme) {
    const { look, plan } = this;
    for (const i of this.aliases) overlay.outline(i, theme.ink, 1, [3, 2]);
    for (const i of [...plan.pins].slice(0, 2000)) overlay.pin(i);
    for (const i of look.peak.slice(0, 2000)) overlay.outline(i, theme.bound, 1.5, [], 5);
    for (const i of look.wrong.slice(0, 2000)) overlay.outline(i, theme.capacity, 2.5);
    for (const i of look.chain) overlay.outline(i, theme.chain, 2.5);
    for (const time of look.marks) overlay.timeLine(Math.min(time + 0.5, plan.span), theme.bound, []);
    if (look.area) overlay.area(look.area);
    for (const one of plan.reused.slice(0, 400)) overlay.paid(one);
    for (const one of plan.copies.slice(0, 400)) overlay.copied(one);
    if (plan.isShared) for (const i of this.shared) overlay.outline(i, theme.chain, 1.5, [2, 2]);
    if (look.hovered >= 0) overlay.outline(look.hovered, theme.ink, 1.5);
    if (look.selected >= 0) overlay.outline(look.selected, theme.select, 3);
  }

  /** Return the lane and the picture coordinates under a pixel of the element; null outside of the lanes. @param {number} x @param {number} y */
  place(x, y) {
    const across = (x - GUTTER.left) / (this.width ?? 1);
    const along = y / (this.height ?? 1);
    const q = this.lanes.all.findIndex((lane) => lane.top <= along && along <= lane.bottom);
    if (across < 0 || across > 1 || q < 0) return null;
    const lane = this.lanes.all[q];
    const { left, right, top, bottom } = this.camera.of(q);
    return { lane: q, x: left + across * (right - left), y: top + ((along - lane.top) / (lane.bottom - lane.top)) * (bottom - top) };
  }

  /** Return the buffer at a place, or -1; thin buffers are found within a pixel or two. @param {{lane: number, x: number, y: number}} place */
  bufferAt(place) {
    const { rectangles: { left, right, top, bottom, blocks }, row } = this.drawn[place.lane];
    const frame = this.camera.of(place.lane);
    const band = this.lanes.all[place.lane];
    const slackX = (1.5 * (frame.right - frame.left)) / (this.width ?? 1);
    const slackY = (1.5 * (frame.bottom - frame.top)) / ((this.height ?? 1) * (band.bottom - band.top));
    let near = -1;
    let distance = Infinity;
    for (let b = 0; b < blocks.left.length && blocks.left[b] <= place.x + slackX; b++) {
      if (blocks.right[b] < place.x - slackX || blocks.top[b] > place.y + slackY || blocks.bottom[b] < place.y - slackY) continue;
      const end = Math.min(left.length, (b + 1) * 1024);
      for (let k = b * 1024; k < end; k++) {
        const dx = Math.max(0, left[k] - place.x, place.x - right[k]);
        const dy = Math.max(0, top[k] - place.y, place.y - bottom[k]);
        if (dx > slackX || dy > slackY) continue;
        const away = dx / slackX + dy / slackY;
        if (away < distance) [near, distance] = [k, away];
      }
    }
    return near < 0 ? -1 : this.plan.taken.buffer[row[near]];
  }

  /** Return the bounding rectangle of buffers in the lane of the first placed one; null if none is placed. @param {number[]} buffers */
  boxOf(buffers) {
    const lane = this.plan.pool[buffers.find((i) => this.plan.pool[i] >= 0) ?? -1] ?? -1;
    if (lane < 0) return null;
    const box = { lane, left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity };
    for (const i of buffers) {
      if (this.plan.pool[i] !== lane) continue;
      box.left = Math.min(box.left, this.lanes.x(this.plan.birth(i)));
      box.right = Math.max(box.right, this.lanes.x(this.plan.death(i)));
      box.top = Math.min(box.top, this.lanes.y(lane, this.plan.offset[i] + this.plan.size[i]));
      box.bottom = Math.max(box.bottom, this.lanes.y(lane, this.plan.offset[i]));
    }
    return box;
  }
}

/** Return the buffers that share bytes with another buffer. @param {PlanModel} plan */
function sharing(plan) {
  const found = new Set();
  const placed = plan.ids.map((_, i) => i).filter((i) => plan.pool[i] >= 0 && !plan.isAlias(i) && plan.size[i] > 0).slice(0, 2000);
  const meets = (/** @type {number} */ a, /** @type {number} */ b) => plan.pool[a] === plan.pool[b] && plan.offset[a] < plan.offset[b] + plan.size[b]
    && plan.offset[b] < plan.offset[a] + plan.size[a] && plan.areTogether(a, b);
  placed.forEach((a, k) => placed.slice(k + 1).forEach((b) => meets(a, b) && found.add(a).add(b)));
  return [...found];
}

/** Return true for a rectangle with room for a name, horizontal or upright. @param {number} width @param {number} height  pixels of the page */
export function isLabelled(width, height) {
  return width >= LABEL.height && height >= LABEL.height && (width >= LABEL.width || height >= LABEL.width);
}

/** Return the red, green and blue of a colour in the form `#rrggbb`. @param {string} text @returns {[number, number, number]} */
export function rgb(text) {
  const value = parseInt(text.trim().slice(1, 7), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}
