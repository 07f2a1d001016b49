// @ts-check
// The part of the world that is seen, and how gestures change it.

import { select, zoom } from "./vendor/d3.js";

/** @typedef {import("./raster.js").Frame} Frame */

const MARGIN = 0.25;
const NEAREST = 1e-9;

/** @typedef {{top: number, bottom: number}} Band  parts of a height */

/** What is seen: one range of times, and of each lane a range of its height. All stay near the world; `lane` is the one that moves. */
export class Camera {
  /** @param {Band[]} bands  the parts of the picture's height that the lanes take @param {() => void} changed */
  constructor(bands, changed) {
    this.bands = bands;
    this.changed = changed;
    this.times = { left: 0, right: 1 };
    this.heights = bands.map(() => ({ top: 0, bottom: 1 }));
    this.lane = 0;
  }

  /** What is seen of the lane that moves. @returns {Frame} */
  get frame() {
    return this.of(this.lane);
  }

  /** What is seen of a lane. @param {number} lane @returns {Frame} */
  of(lane) {
    return { ...this.times, ...this.heights[lane] };
  }

  /** All ranges, one after the other. */
  get seen() {
    return [this.times.left, this.times.right, ...this.heights.flatMap(({ top, bottom }) => [top, bottom])];
  }

  set seen(numbers) {
    const { lane } = this;
    this.bands.forEach((_, q) => this.show({ left: numbers[0], right: numbers[1], top: numbers[2 * q + 2], bottom: numbers[2 * q + 3] }, q));
    this.lane = lane;
  }

  get isWhole() {
    return this.seen.every((at, k) => (k % 2 ? at >= 1 : at <= 0));
  }

  /** Let the lane move that is nearest to a part of the picture's height; return that. @param {number} at */
  pick(at) {
    const away = (/** @type {Band} */ { top, bottom }) => Math.max(top - at, at - bottom);
    return (this.lane = this.bands.reduce((best, band, q) => (away(band) < away(this.bands[best]) ? q : best), 0));
  }

  /** @param {Partial<Frame>} frame @param {number} [lane] */
  show(frame, lane = this.lane) {
    const { left, right, top, bottom } = bounded({ ...this.of(lane), ...frame });
    this.lane = lane;
    this.times = { left, right };
    this.heights[lane] = { top, bottom };
    this.changed();
  }

  all() {
    this.seen = [0, 1, ...this.bands.flatMap(() => [0, 1])];
  }

  /** Show a rectangle of a lane with some space around it, a part of the box. @param {Frame & {lane: number}} box @param {number} [space] */
  fit(box, space = 0.4) {
    const x = space * (box.right - box.left) || 1e-6;
    const y = space * (box.bottom - box.top) || 1e-6;
    this.show({ left: box.left - x, right: box.right + x, top: box.top - y, bottom: box.bottom + y }, box.lane);
  }

  /** Magnify around a place, which stays where it is; places and shifts are parts of the frame's width and height. @param {number} x @param {number} y @param {number} across @param {number} along */
  magnify(x, y, across, along) {
    const { left, right, top, bottom } = this.frame;
    const width = (right - left) / across;
    const height = (bottom - top) / along;
    const newLeft = left + x * (right - left - width);
    const newTop = top + y * (bottom - top - height);
    this.show({ left: newLeft, right: newLeft + width, top: newTop, bottom: newTop + height });
  }

  /** @param {number} x @param {number} y */
  shift(x, y) {
    const { left, right, top, bottom } = this.frame;
    const dx = x * (right - left);
    const dy = y * (bottom - top);
    this.show({ left: left - dx, right: right - dx, top: top - dy, bottom: bottom - dy });
  }
}

/** Let wheel, drag and pinch of an element move a camera: times of all, and offsets of the lane under the pointer; with Shift times alone, with Alt offsets alone. @param {HTMLElement} element @param {Camera} camera @param {{left: number, bottom: number}} gutter  the pixels beside and beneath the frame */
export function bindGestures(element, camera, gutter) {
  let last = { k: 1, x: 0, y: 0 };
  const behaviour = zoom()
    .filter((/** @type {any} */ event) => !event.button)
    .wheelDelta((/** @type {WheelEvent} */ event) => {
      // With Shift, browsers turn the wheel of a mouse to the side.
      const turned = event.deltaY || event.deltaX;
      return -turned * (event.deltaMode === 1 ? 0.05 : event.deltaMode ? 1 : 0.002);
    })
    .on("start", (/** @type {any} */ { sourceEvent: source }) => {
      const at = source?.touches?.[0] ?? source;
      if (at?.clientY !== undefined) camera.pick((at.clientY - element.getBoundingClientRect().top) / (element.clientHeight - gutter.bottom));
    })
    .on("zoom", (/** @type {any} */ event) => {
      const { k, x, y } = event.transform;
      const width = Math.max(1, element.clientWidth - gutter.left);
      const whole = Math.max(1, element.clientHeight - gutter.bottom);
      const { top, bottom } = camera.bands[camera.lane];
      const height = whole * (bottom - top);
      const ratio = k / last.k;
      if (Math.abs(ratio - 1) > 1e-12) {
        // The fixed point of the change from the last transform to this one.
        const atX = ((x - ratio * last.x) / (1 - ratio) - gutter.left) / width;
        const atY = ((y - ratio * last.y) / (1 - ratio) - top * whole) / height;
        const source = event.sourceEvent ?? {};
        camera.magnify(clamped(atX), clamped(atY), source.altKey ? 1 : ratio, source.shiftKey ? 1 : ratio);
      } else if (x !== last.x || y !== last.y) {
        camera.shift((x - last.x) / width, (y - last.y) / height);
      }
      last = { k, x, y };
    });
  const selection = select(element).call(behaviour);
  selection.on("dblclick.zoom", null);
}

/** @param {number} part */
function clamped(part) {
  return Math.max(0, Math.min(1, part));
}

/** @param {Frame} frame @returns {Frame} */
function bounded({ left, right, top, bottom }) {
  const [newLeft, newRight] = range(left, right);
  const [newTop, newBottom] = range(top, bottom);
  return { left: newLeft, right: newRight, top: newTop, bottom: newBottom };
}

/** @param {number} low @param {number} high @returns {[number, number]} */
function range(low, high) {
  const width = Math.max(NEAREST, Math.min(1 + 2 * MARGIN, high - low));
  const space = Math.min(MARGIN, width / 2);
  const middle = Math.max(width / 2 - space, Math.min(1 + space - width / 2, (low + high) / 2));
  return [middle - width / 2, middle + width / 2];
}
