// @ts-check
// The live bytes over all of time, with a brush for the times that the picture shows.

import { h } from "./dom.js";
import { highest, highestEnds } from "./live_bytes.js";
import { GUTTER } from "./pencil.js";
import { sizeText } from "./text.js";

/** @typedef {import("./picture.js").Picture} Picture */

const LEAST_PIXELS = 3;

/** A strip below a picture that shows the live bytes over all times. */
export class Minimap {
  /** @param {Picture} picture */
  constructor(picture) {
    this.picture = picture;
    this.canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { "aria-hidden": "true" }));
    this.brush = h("div", { class: "brush", hidden: true });
    this.element = h("div", { class: "minimap", title: "Live bytes over time; lighter: unused below the highest end. Drag to choose times." },
      this.canvas, this.brush);
    /** @type {Float64Array | null} */ this.ends = null;
    this.bind();
    picture.listeners.push(() => this.follow());
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  resize() {
    this.width = Math.max(1, this.element.clientWidth - GUTTER.left);
    this.height = Math.max(1, this.element.clientHeight);
    this.draw();
    this.follow();
  }

  /** Let a drag select times, and let a drag that starts inside the selection move it. */
  bind() {
    const part = (/** @type {PointerEvent} */ event) =>
      Math.max(0, Math.min(1, (event.clientX - this.element.getBoundingClientRect().left - GUTTER.left) / (this.width ?? 1)));
    /** @type {{from: number, times: {left: number, right: number} | null} | null} */ let drag = null;
    this.element.addEventListener("pointerdown", (event) => {
      const [from, { left, right }] = [part(event), this.picture.camera.times];
      drag = { from, times: right - left < 0.999 && from > left && from < right ? { left, right } : null };
      this.element.setPointerCapture(event.pointerId);
    });
    this.element.addEventListener("pointermove", (event) => {
      if (!drag) return;
      const [at, { from, times }] = [part(event), drag];
      if (Math.abs(at - from) * (this.width ?? 1) < LEAST_PIXELS) return;
      this.picture.camera.show(times ? { left: times.left + at - from, right: times.right + at - from }
        : { left: Math.min(from, at), right: Math.max(from, at) });
    });
    this.element.addEventListener("pointerup", () => { drag = null; });
  }

  /** Move the selection to the times that the picture shows. */
  follow() {
    const { left, right } = this.picture.camera.times;
    const [low, high] = [left, right].map((at) => Math.max(0, Math.min(1, at)) * (this.width ?? 1));
    this.brush.hidden = left <= 0 && right >= 1;
    this.brush.style.left = `${GUTTER.left + low}px`;
    this.brush.style.width = `${high - low}px`;
  }

  draw() {
    const { width, height = 1 } = this;
    if (!width) return; // it has no place yet
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    this.canvas.width = Math.round((width + GUTTER.left) * ratio);
    this.canvas.height = Math.round(height * ratio);
    const c = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { plan, style } = this.picture;
    const { time, bytes } = plan.load(-1);
    const live = highest(time, bytes, 0, plan.span, Math.round(width));
    const ends = this.ends?.length === live.length ? this.ends : highestEnds(plan, live.length);
    this.ends = ends;
    const fullest = plan.fullest(-1);
    const most = Math.max(fullest.bytes, ...ends);
    if (most === 0) return;
    c.fillStyle = style("soft");
    c.font = "11px system-ui, sans-serif";
    c.textAlign = "right";
    c.textBaseline = "top";
    c.fillText(sizeText(most), GUTTER.left - 8, 2);
    c.textBaseline = "bottom";
    c.fillText("live bytes", GUTTER.left - 8, height - 2);
    for (const [colour, columns] of /** @type {[string, Float64Array][]} */ ([["faint", ends], ["load", live]])) {
      c.fillStyle = style(colour);
      columns.forEach((top, x) => c.fillRect(GUTTER.left + x, height - (top / most) * (height - 3), 1, (top / most) * (height - 3)));
    }
    c.fillStyle = style("bound");
    if (fullest.bytes > 0) c.fillRect(GUTTER.left + (fullest.time / plan.span) * width, 0, 2, height);
  }
}
