// @ts-check
// The part of the world that is seen, and how gestures change it.

/** @typedef {import("./raster.js").Frame} Frame */

const MARGIN = 0.25;
const NEAREST = 1e-9;

/** @typedef {{top: number, bottom: number}} Band  parts of a height */

/** The visible part of a picture: one range of times for all lanes, and a range of the height of each lane. */
export class Camera {
  /** @param {Band[]} bands  the parts of the picture's height that the lanes take @param {() => void} changed */
  constructor(bands, changed) {
    this.bands = bands;
    this.changed = changed;
    this.times = { left: 0, right: 1 };
    this.heights = bands.map(() => ({ top: 0, bottom: 1 }));
    this.lane = 0;
  }

  /** The visible part of the lane that gestures move. @returns {Frame} */
  get frame() {
    return this.of(this.lane);
  }

  /** Return the visible part of a lane. @param {number} lane @returns {Frame} */
  of(lane) {
    return { ...this.times, ...this.heights[lane] };
  }

  /** All visible ranges as a list of numbers: times, then the height of each lane. */
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

  /** Choose the lane nearest to `at`, a fraction of the picture's height, as the one that gestures move; return its number. @param {number} at */
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

  /** Show a rectangle of a lane with a margin around it; `space` is a fraction of the rectangle. @param {Frame & {lane: number}} box @param {number} [space] */
  fit(box, space = 0.4) {
    const x = space * (box.right - box.left) || 1e-6;
    const y = space * (box.bottom - box.top) || 1e-6;
    this.show({ left: box.left - x, right: box.right + x, top: box.top - y, bottom: box.bottom + y }, box.lane);
  }

  /**
   * Zoom around a point that keeps its position; points and shifts are fractions of the frame's width and height.
   * @param {number} x @param {number} y @param {number} across @param {number} along
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
 * Let the wheel, drags and pinches on an element move a camera: times of all lanes, and offsets of the lane under the pointer. Shift restricts them to times,
 * Alt to offsets. `gutter` gives the pixels beside and below the frame.
 * @param {HTMLElement} element @param {Camera} camera @param {{left: number, bottom: number}} gutter @param {(event: PointerEvent) => boolean} isOther  true
 * for drags that are not moves
 */
export function bindGestures(element, camera, gutter, isOther) {
  /** @type {Map<number, {x: number, y: number}>} */ const down = new Map();
  const size = () => ({ width: Math.max(1, element.clientWidth - gutter.left), height: Math.max(1, element.clientHeight - gutter.bottom) });
  const at = (/** @type {MouseEvent} */ event) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const magnify = (/** @type {{x: number, y: number}} */ place, /** @type {number} */ across, /** @type {number} */ along) => {
    const { width, height } = size();
    const { top, bottom } = camera.bands[camera.lane];
    camera.magnify(clamped((place.x - gutter.left) / width), clamped((place.y / height - top) / (bottom - top)), across, along);
  };
  const pick = (/** @type {{y: number}} */ { y }) => camera.pick(y / size().height);
  element.addEventListener("wheel", (event) => {
    event.preventDefault();
    // With Shift, browsers turn the wheel of a mouse to the side; a pinch of a trackpad comes with Ctrl.
    const turned = (event.deltaY || event.deltaX) * (event.deltaMode === 1 ? 0.05 : event.deltaMode ? 1 : 0.002) * (event.ctrlKey ? 8 : 1);
    pick(at(event));
    magnify(at(event), event.altKey ? 1 : 2 ** -turned, event.shiftKey && !event.ctrlKey ? 1 : 2 ** -turned);
  }, { passive: false });
  element.addEventListener("pointerdown", (event) => {
    if (event.button || isOther(event)) return;
    if (!down.size) pick(at(event));
    down.set(event.pointerId, at(event));
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (event) => {
    const last = down.get(event.pointerId);
    if (!last) return;
    const now = at(event);
    const { width, height } = size();
    const { top, bottom } = camera.bands[camera.lane];
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    camera.shift((now.x - last.x) / width / down.size, (now.y - last.y) / (height * (bottom - top)) / down.size);
    if (other) {
      const apart = (/** @type {{x: number, y: number}} */ one) => Math.max(12, Math.hypot(one.x - other.x, one.y - other.y));
      magnify({ x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 }, apart(now) / apart(last), apart(now) / apart(last));
    }
    down.set(event.pointerId, now);
  });
  for (const kind of /** @type {const} */ (["pointerup", "pointercancel"])) element.addEventListener(kind, (event) => down.delete(event.pointerId));
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
