// @ts-check
// Buffers and times that a number selects: buffers alive at a time, buffers that end above a line, the fullest times.

import { sortedBy } from "./lifetimes.js";

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */
/** @typedef {{time: Float64Array, bytes: Float64Array}} Load  bytes alive from each time on, until the next */

/** The maximum number of buffers for which shared bytes are counted by their positions. */
const SHARED = 3000;

/** Return the rows that use bytes of a pool, in order of start. @param {PlanModel} plan @param {number} pool */
function demandRows({ taken: { start, end, buffer }, size, timeless, pool: pools }, pool) {
  const row = /** @type {number[]} */ ([]);
  for (let k = 0; k < start.length; k++) {
    if (size[buffer[k]] > 0 && !timeless.has(buffer[k]) && (pool < 0 || pools[buffer[k]] === pool)) row.push(k);
  }
  const of = (/** @type {ArrayLike<number>} */ values) => Float64Array.from(row, (k) => values[k]);
  return { start: of(start), end: of(end), size: Float64Array.from(row, (k) => size[buffer[k]]), row };
}

/** Return the live bytes over time in a pool, or in all pools (-1). @param {PlanModel} plan @param {number} pool @returns {Load} */
export function loadOf(plan, pool) {
  if (plan.isShared && plan.count <= SHARED) return sharedLoad(plan, pool);
  const { start, end, size } = demandRows(plan, pool);
  const count = start.length;
  // What ends, by time: as in a merge of two sorted lists, sizes follow their ends through the sort.
  const byEnd = sortedBy(end);
  const time = new Float64Array(2 * count);
  const bytes = new Float64Array(2 * count);
  let sum = 0;
  let k = 0;
  let e = 0;
  let n = 0;
  while (e < count) {
    const ending = end[byEnd[e]];
    const now = k < count && start[k] < ending ? start[k] : ending;
    while (e < count && end[byEnd[e]] === now) sum -= size[byEnd[e++]];
    while (k < count && start[k] === now) sum += size[k++];
    time[n] = now;
    bytes[n++] = sum;
  }
  return { time: time.slice(0, n), bytes: bytes.slice(0, n) };
}

/** Return the live bytes over time if buffers may share bytes: each covered byte counts once. @param {PlanModel} plan @param {number} pool @returns {Load} */
function sharedLoad(plan, pool) {
  const { start, end, row } = demandRows(plan, pool);
  const time = Float64Array.from(new Set([...start, ...end])).sort();
  const bytes = time.map((now) => {
    const here = row.filter((_, k) => start[k] <= now && now < end[k]).map((k) => plan.taken.buffer[k]);
    let [sum, top, lane] = [0, 0, -2];
    for (const i of here.sort((a, b) => plan.pool[a] - plan.pool[b] || plan.offset[a] - plan.offset[b])) {
      if (plan.pool[i] !== lane) [top, lane] = [0, plan.pool[i]];
      sum += Math.max(0, plan.offset[i] + plan.size[i] - Math.max(top, plan.offset[i]));
      top = Math.max(top, plan.offset[i] + plan.size[i]);
    }
    return sum;
  });
  return { time, bytes };
}

/**
 * Return the buffers of a pool (-1: all), without aliases, whose bytes are in use at a time.
 * @param {PlanModel} plan @param {number} pool @param {number} time
 */
export function aliveAt(plan, pool, time) {
  return [...new Set(plan.liveAt(time))].filter((i) => plan.size[i] > 0 && !plan.timeless.has(i) && (pool < 0 || plan.pool[i] === pool));
}

/** Return the buffers of a pool that end above an offset, highest first. @param {PlanModel} plan @param {number} pool @param {number} line */
export function endAbove(plan, pool, line) {
  const found = [];
  for (let i = 0; i < plan.count; i++) {
    if (plan.pool[i] === pool && !plan.isAlias(i) && plan.size[i] > 0 && plan.offset[i] + plan.size[i] > line) found.push(i);
  }
  return found.sort((a, b) => plan.offset[b] + plan.size[b] - plan.offset[a] - plan.size[a]);
}

/** Return the time ranges in which more than `size` bytes of a pool are live. @param {PlanModel} plan @param {number} pool @param {number} size */
export function fullTimes(plan, pool, size) {
  const { time, bytes } = plan.load(pool);
  /** @type {{start: number, end: number, most: number, at: number}[]} */
  const stretches = [];
  for (let k = 0; k < time.length; k++) {
    if (bytes[k] <= size) continue;
    const last = stretches[stretches.length - 1];
    if (last && last.end === time[k]) {
      if (bytes[k] > last.most) [last.most, last.at] = [bytes[k], time[k]];
      last.end = time[k + 1] ?? plan.lastTime;
    } else stretches.push({ start: time[k], end: time[k + 1] ?? plan.lastTime, most: bytes[k], at: time[k] });
  }
  return stretches;
}

/**
 * Return the maximum live bytes in each of `count` equal parts of a time range.
 * @param {Float64Array} time @param {Float64Array} bytes @param {number} start @param {number} end @param {number} count
 */
export function highest(time, bytes, start, end, count) {
  const found = new Float64Array(count);
  const part = (/** @type {number} */ at) => ((at - start) / (end - start)) * count;
  for (let k = 0; k < time.length; k++) {
    const from = Math.max(0, Math.floor(part(time[k])));
    const to = Math.min(count - 1, Math.ceil(part(time[k + 1] ?? time[k])) - 1);
    for (let x = from; x <= Math.max(from, to) && x < count; x++) if (bytes[k] > found[x]) found[x] = bytes[k];
  }
  return found;
}
