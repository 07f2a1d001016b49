// @ts-check
// The part of the world that is seen, and how gestures change it.

import { select, zoom } from "./vendor/d3.js";

/** @typedef {import("./raster.js").Frame} Frame */

const MARGIN = 0.25;
const NEAREST = 1e-9;

/** A frame that stays near the world, and tells when it changes. */
export class Camera {
  /** @param {() => void} changed */
  constructor(changed) {
    /** @type {Frame} */
    this.frame = { left: 0, right: 1, top: 0, bottom: 1 };
    this.changed = changed;
  }

  /** @param {Partial<Frame>} frame */
  show(frame) {
    this.frame = bounded({ ...this.frame, ...frame });
    this.changed();
  }

  all() {
    this.show({ left: 0, right: 1, top: 0, bottom: 1 });
  }

  /** Show a rectangle of the world with some space around it. @param {Frame} box @param {number} [space]  as a part of the box */
  fit(box, space = 0.4) {
    const x = space * (box.right - box.left) || 1e-6;
    const y = space * (box.bottom - box.top) || 1e-6;
    this.show({ left: box.left - x, right: box.right + x, top: box.top - y, bottom: box.bottom + y });
  }

  /**
   * Magnify around a place, which stays where it is; places and shifts are parts of the frame's width and height.
   * @param {number} x
   * @param {number} y
   * @param {number} across
   * @param {number} along
   */
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

/**
 * Let wheel, drag, pinch and double click of an element move a camera: both axes, time alone with Shift, offsets alone
 * with Alt.
 * @param {HTMLElement} element
 * @param {Camera} camera
 * @param {{left: number, bottom: number}} gutter  the pixels beside and beneath the frame
 */
export function bindGestures(element, camera, gutter) {
  let last = { k: 1, x: 0, y: 0 };
  const behaviour = zoom()
    .filter((/** @type {any} */ event) => !event.button)
    .wheelDelta((/** @type {WheelEvent} */ event) => {
      // With Shift, browsers turn the wheel of a mouse to the side.
      const turned = event.deltaY || event.deltaX;
      return -turned * (event.deltaMode === 1 ? 0.05 : event.deltaMode ? 1 : 0.002);
    })
    .on("zoom", (/** @type {any} */ event) => {
      const { k, x, y } = event.transform;
      const width = Math.max(1, element.clientWidth - gutter.left);
      const height = Math.max(1, element.clientHeight - gutter.bottom);
      const ratio = k / last.k;
      if (Math.abs(ratio - 1) > 1e-12) {
        // The fixed point of the change from the last transform to this one.
        const atX = ((x - ratio * last.x) / (1 - ratio) - gutter.left) / width;
        const atY = (y - ratio * last.y) / (1 - ratio) / height;
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
