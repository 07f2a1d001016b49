// @ts-check
// The live bytes over all of time, with a brush for the times that the picture shows.

import { brushX, select } from "./vendor/d3.js";
import { h } from "./dom.js";
import { highest, highestEnds } from "./live_bytes.js";
import { GUTTER } from "./overlay.js";
import { svg } from "./svg.js";
import { sizeText } from "./text.js";

/** @typedef {import("./picture.js").Picture} Picture */

/** A strip under a picture. */
export class Minimap {
  /** @param {Picture} picture */
  constructor(picture) {
    this.picture = picture;
    this.canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { "aria-hidden": "true" }));
    this.element = h("div", { class: "minimap", title: "Live bytes over time, and in grey those idle below the highest end; drag to choose what is shown" }, this.canvas);
    this.svg = svg("svg", { "aria-hidden": "true" });
    this.element.append(this.svg);
    this.brush = brushX().on("brush end", (/** @type {any} */ event) => this.brushed(event));
    this.group = select(this.svg).append("g");
    /** @type {number[]} */ this.shown = [];
    /** @type {Float64Array | null} */ this.ends = null;
    picture.listeners.push(() => this.follow());
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  resize() {
    const { clientWidth, clientHeight } = this.element;
    this.width = Math.max(1, clientWidth - GUTTER.left);
    this.height = Math.max(1, clientHeight);
    this.svg.setAttribute("width", String(clientWidth));
    this.svg.setAttribute("height", String(clientHeight));
    this.group.attr("transform", `translate(${GUTTER.left},0)`);
    this.brush.extent([[0, 0], [this.width, this.height]]);
    this.group.call(this.brush);
    this.draw();
    this.follow();
  }

  /** @param {any} event */
  brushed(event) {
    if (!event.sourceEvent || !this.width) return;
    const [low, high] = event.selection ?? [0, this.width];
    if (high - low < 1 && event.selection) return;
    this.picture.camera.show({ left: low / this.width, right: high / this.width });
  }

  /** Move the brush to what the picture shows. */
  follow() {
    if (!this.width) return;
    const { left, right } = this.picture.camera.frame;
    const low = Math.max(0, Math.min(this.width, left * this.width));
    const high = Math.max(0, Math.min(this.width, right * this.width));
    if (this.shown[0] === low && this.shown[1] === high) return;
    this.shown = [low, high];
    this.group.call(this.brush.move, left <= 0 && right >= 1 ? null : [low, high]);
  }

  draw() {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const width = this.width ?? 1;
    const height = this.height ?? 1;
    this.canvas.width = Math.round((width + GUTTER.left) * ratio);
    this.canvas.height = Math.round(height * ratio);
    const c = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    const { plan, style } = this.picture;
    const { time, bytes } = plan.load(-1);
    const live = highest(time, bytes, 0, plan.span, Math.round(width));
    const ends = this.ends?.length === live.length ? this.ends : highestEnds(plan, live.length);
    this.ends = ends;
    const most = Math.max(1, plan.fullest(-1).bytes, ...ends);
    c.fillStyle = style("soft");
    c.font = "11px system-ui, sans-serif";
    c.textAlign = "right";
    c.textBaseline = "top";
    c.fillText(sizeText(most), GUTTER.left - 8, 2);
    c.textBaseline = "bottom";
    c.fillText("live bytes", GUTTER.left - 8, height - 2);
    for (const [colour, columns] of /** @type {[string, Float64Array][]} */ ([["hatch", ends], ["load", live]])) {
      c.fillStyle = style(colour);
      columns.forEach((top, x) => c.fillRect(GUTTER.left + x, height - (top / most) * (height - 3), 1, (top / most) * (height - 3)));
    }
    c.fillStyle = style("bound");
    c.fillRect(GUTTER.left + (plan.fullest(-1).time / plan.span) * width, 0, 2, height);
  }
}
