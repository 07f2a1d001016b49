// @ts-check
// Colours of buffers: each buffer has a class (0 to 255), which depends on what colours show, and each class an ink.

import { aliveAt } from "./live_bytes.js";
import { column } from "./plan_model.js";
import { counted } from "./text.js";

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */
/** @typedef {{of: Uint8Array, legend: {name: string, ink: number}[], inks: Uint8Array}} Colouring */

/** Okabe and Ito's colours, which people with any colour vision can tell apart, and grey for all other kinds. */
const DISTINCT = [0x56b4e9, 0xe69f00, 0x009e73, 0xcc79a7, 0x0072b2, 0xd55e00, 0xd8c93a, 0x9a8fd0];
/** A colour scale from few to many: steps of equal brightness difference from blue through green to yellow (after cividis). */
const SCALE = [0x1f4a7f, 0x3a5f8a, 0x53748f, 0x6b8792, 0x839a92, 0x9cad8e, 0xb6bf85, 0xd1cf77, 0xeddd62, 0xffe945];
/**
 * Colours for more than eight kinds, each at least as far from all others, grey and paper as two of the first eight are (in OKLab, also without red or green).
 */
const MORE = [0x9c2410, 0xb0d8c4, 0x2424ec, 0x106060, 0x104c9c, 0x74c488, 0x7474ec, 0x607460];
const KINDS = [...DISTINCT, ...MORE];
/** The fraction of all bytes with colours of their own above which no further kinds get colours. */
const ENOUGH = 0.95;
const REST = 0x8c8c8c;
/** The number of classes of sizes between one power of two and the next. */
const STEPS = 8;
const MOVED = { "not moved": 0xc3cad1, moved: 0xf0c9a4, "new here": 0x0072b2, "makes the peak grow": 0xd55e00 };

/** The properties by which buffers can be coloured, in menu order. */
export const COLOUR_BY = ["buffer", "size", "lifetime", "group", "role", "operation", "type", "model", "pool", "moved"];

/**
 * Return the classes and colours of all buffers by one property of COLOUR_BY; null if the plan lacks the property.
 * @param {PlanModel} plan @param {string} by @param {Uint8Array | null} moved  positions in MOVED @returns {Colouring | null}
 */
export function colouring(plan, by, moved) {
  if (by === "size") return bySize(plan);
  if (by === "lifetime") return byLifetime(plan);
  if (by === "role") return byRole(plan);
  if (by === "pool") return byPool(plan);
  if (by === "moved") return moved ? named(moved, Object.keys(MOVED), Object.values(MOVED)) : null;
  if (by === "buffer") return named(Uint8Array.from(plan.ids, (_, i) => i % DISTINCT.length), [], DISTINCT);
  const { groups: group, operations: operation, models: model, types } = plan;
  const kinds = { group, operation, model, type: types && column(Array.from(types.of, (k) => types.names[k].split(" ")[0] || "not told")) }[by];
  return kinds ? byName(plan, kinds) : null;
}

/** Return the fraction of all bytes whose colour is not that of the remaining kinds. @param {PlanModel} plan @param {string} by */
export function colouredPart(plan, by) {
  const found = colouring(plan, by, null);
  const rest = found?.legend.findIndex(({ ink }) => ink === REST);
  const bytes = (/** @type {(i: number) => boolean} */ counts) => plan.size.reduce((sum, size, i) => sum + (counts(i) ? size : 0), 0);
  return found ? bytes((i) => found.of[i] !== rest) / bytes(() => true) : 0;
}

/** Return the text colour with the higher contrast on a background colour. @param {Iterable<number>} rgb */
export function inkOn([red, green, blue]) {
  return (0.21 * red ** 2 + 0.72 * green ** 2 + 0.07 * blue ** 2) / 255 ** 2 > 0.21 ? "#101010" : "#ffffff";
}

/** Return classes of sizes that cover about equal areas of bytes and time, so that no colour dominates the picture. @param {PlanModel} plan */
function bySize(plan) {
  const { start, end, buffer } = plan.taken;
  const area = new Float64Array(64 * STEPS);
  const most = new Float64Array(64 * STEPS);
  const step = (/** @type {number} */ i) => Math.floor(STEPS * Math.log2(Math.max(1, plan.size[i])));
  for (let row = 0; row < buffer.length; row++) {
    const i = buffer[row];
    area[step(i)] += plan.size[i] * (end[row] - start[row]);
    most[step(i)] = Math.max(most[step(i)], plan.size[i]);
  }
  const whole = area.reduce((sum, part) => sum + part, 0);
  const classOf = new Uint8Array(area.length);
  /** @type {number[]} */ const largest = [];
  let sum = 0;
  let last = -1;
  area.forEach((part, k) => {
    if (!part) return;
    const at = Math.floor((SCALE.length * (sum + part / 2)) / whole);
    if (at > last) [last] = [at, largest.push(0)];
    classOf[k] = largest.length - 1;
    largest[largest.length - 1] = most[k];
    sum += part;
  });
  const inks = largest.map((_, k) => SCALE[largest.length < 2 ? 4 : Math.round((k * (SCALE.length - 1)) / (largest.length - 1))]);
  return named(Uint8Array.from(plan.size, (_, i) => classOf[step(i)]), largest.map(String), inks.length ? inks : SCALE);
}

/** Return classes of lifetimes: one for each power of four of time steps, and one for buffers that are always alive. @param {PlanModel} plan */
function byLifetime(plan) {
  const { start, end, buffer } = plan.taken;
  const lived = new Float64Array(plan.count);
  for (let row = 0; row < buffer.length; row++) lived[buffer[row]] += end[row] - start[row];
  const classes = Array.from(lived, (steps) => (steps >= plan.span ? Infinity : 4 ** Math.ceil(Math.log2(Math.max(1, steps)) / 2)));
  const most = [...new Set(classes)].sort((a, b) => a - b).slice(0, 128);
  const inks = most.map((_, k) => SCALE[most.length < 2 ? 4 : Math.round((k * (SCALE.length - 1)) / (most.length - 1))]);
  return named(Uint8Array.from(classes, (steps) => Math.max(0, most.indexOf(steps))),
    most.map((steps) => (steps === Infinity ? "from end to end" : `up to ${counted(steps, "step")}`)), inks.length ? inks : SCALE);
}

/** @param {PlanModel} plan */
function byRole(plan) {
  const names = [...plan.roles.names, "alias"];
  const of = Uint8Array.from(plan.roles.of);
  for (let i = 0; i < of.length; i++) if (plan.isAlias(i)) of[i] = names.length - 1;
  return named(of, names, KINDS);
}

/** @param {PlanModel} plan */
function byPool(plan) {
  return named(Uint8Array.from(plan.pool, (q) => (q < 0 ? 0 : q % KINDS.length)), plan.pools.map((pool) => pool.name), KINDS);
}

/**
 * Return a colour for each name. If there are too many names, those with the most bytes at the live peak, then in total, get colours.
 * @param {PlanModel} plan @param {{of: ArrayLike<number>, names: string[]}} column
 */
function byName(plan, { of: kinds, names }) {
  const [peak, all] = [new Float64Array(names.length), new Float64Array(names.length)];
  for (const i of aliveAt(plan, -1, plan.fullest(-1).time)) peak[kinds[i]] += plan.size[i];
  for (let i = 0; i < plan.count; i++) all[kinds[i]] += plan.size[i];
  const bySize = [...names.keys()].sort((a, b) => peak[b] - peak[a] || all[b] - all[a] || a - b);
  const whole = all.reduce((sum, bytes) => sum + bytes, 0);
  let [count, sum] = [0, 0];
  while (count < KINDS.length && (count < DISTINCT.length || sum < ENOUGH * whole)) sum += all[bySize[count++]];
  const large = names.length > DISTINCT.length ? bySize.slice(0, count) : [...names.keys()];
  const classOf = new Uint8Array(names.length).fill(large.length);
  large.forEach((name, k) => { classOf[name] = k; });
  const rest = names.length > large.length ? [`${names.length - large.length} others`] : [];
  return named(Uint8Array.from(kinds, (kind) => classOf[kind]), [...large.map((name) => names[name]), ...rest], [...KINDS.slice(0, large.length), REST]);
}

/** @param {Uint8Array} of @param {string[]} names @param {number[]} rgb @returns {Colouring} */
function named(of, names, rgb) {
  const inks = new Uint8Array(3 * 256);
  for (let k = 0; k < 256; k++) {
    const ink = rgb[k % rgb.length];
    inks.set([ink >> 16, (ink >> 8) & 255, ink & 255], 3 * k);
  }
  return { of, legend: names.map((name, k) => ({ name, ink: rgb[k % rgb.length] })), inks };
}
