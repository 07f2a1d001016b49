// @ts-check
// Colours of buffers: each buffer has a class (0 to 255), which depends on what colours show, and each class an ink.

import { aliveAt } from "./live_bytes.js";
import { column } from "./plan_model.js";
import { counted } from "./text.js";

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */
/** @typedef {{of: Uint8Array, legend: {name: string, ink: number}[], inks: Uint8Array}} Colouring */

/** Okabe and Ito's colours, which people with any kind of colour vision can tell apart; grey for the rest. */
const DISTINCT = [0x56b4e9, 0xe69f00, 0x009e73, 0xcc79a7, 0x0072b2, 0xd55e00, 0xd8c93a, 0x9a8fd0];
/** From few to many: light steps of one scale from blue over green to yellow, evenly bright (after cividis). */
const SCALE = [0x1f4a7f, 0x3a5f8a, 0x53748f, 0x6b8792, 0x839a92, 0x9cad8e, 0xb6bf85, 0xd1cf77, 0xeddd62, 0xffe945];
/** For more kinds than eight: each farther from all others, from grey and from paper (in OKLab, also without red or green) than two of the eight are. */
const MORE = [0x9c2410, 0xb0d8c4, 0x2424ec, 0x106060, 0x104c9c, 0x74c488, 0x7474ec, 0x607460];
const KINDS = [...DISTINCT, ...MORE];
/** The part of all bytes from which on no more kinds have a colour of their own. */
const ENOUGH = 0.95;
const REST = 0x8c8c8c;
/** The parts into which sizes from one power of two to the next are told apart. */
const STEPS = 8;
const MOVED = { "not moved": 0xc3cad1, moved: 0xf0c9a4, "new here": 0x0072b2, "makes the peak grow": 0xd55e00 };

/** What buffers can be coloured by, in the order of the menu. */
export const COLOUR_BY = ["buffer", "size", "lifetime", "group", "role", "operation", "type", "model", "pool", "moved"];

/**
 * The classes and inks of all buffers by one of COLOUR_BY; null where the plan does not tell it.
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

/** The part of all bytes that have a colour other than that of the rest. @param {PlanModel} plan @param {string} by */
export function colouredPart(plan, by) {
  const found = colouring(plan, by, null);
  const rest = found?.legend.findIndex(({ ink }) => ink === REST);
  const bytes = (/** @type {(i: number) => boolean} */ counts) => plan.size.reduce((sum, size, i) => sum + (counts(i) ? size : 0), 0);
  return found ? bytes((i) => found.of[i] !== rest) / bytes(() => true) : 0;
}

/** The ink of a text on a colour: the one of more contrast. @param {Iterable<number>} rgb */
export function inkOn([red, green, blue]) {
  return (0.21 * red ** 2 + 0.72 * green ** 2 + 0.07 * blue ** 2) / 255 ** 2 > 0.21 ? "#101010" : "#ffffff";
}

/** Classes of sizes, each of about the same area of bytes and time: or most of a picture may have one colour. @param {PlanModel} plan */
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

/** Classes of lifetimes: each of up to a power of four of time steps, and one of those that are alive from end to end. @param {PlanModel} plan */
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
 * A colour for each name; where there are too many, for those with the most bytes at the fullest time, then in all.
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
