// @ts-check
// The world that is drawn: a lane for each pool, one below the other, time to the right. Both axes of each go from 0 to 1.

import { demandOf } from "./demand.js";
import { blocksOf } from "./raster.js";

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */
/** @typedef {import("./raster.js").Rectangles} Rectangles */
/** @typedef {{pool: number, top: number, bottom: number, bytes: number}} Lane  its part of the picture's height, and what fits there */

const GAP = 0.012;
const LEAST_SHARE = 0.12;
const HEADROOM = 1.06;
const SEEN_CAPACITY = 2;

/** Lanes, and where times and offsets are in the world. */
export class Lanes {
  /** @param {PlanModel} plan */
  constructor(plan) {
    this.plan = plan;
    const bytes = plan.pools.map((_, q) => laneBytes(plan, q));
    const shown = plan.pools.map((_, q) => q);
    const whole = Math.max(1, bytes.reduce((sum, most) => sum + most, 0));
    const shares = bytes.map((most) => Math.max(LEAST_SHARE, most / whole));
    const sum = shares.reduce((total, share) => total + share, 0);
    const free = 1 - GAP * Math.max(0, shown.length - 1);
    let top = 0;
    /** @type {Lane[]} */
    this.all = shown.map((pool) => {
      const height = (shares[pool] / sum) * free;
      const lane = { pool, top, bottom: top + height, bytes: bytes[pool] };
      top += height + GAP;
      return lane;
    });
  }

  /** @param {number} time */
  x(time) {
    return time / this.plan.span;
  }

  /** @param {number} x */
  time(x) {
    return x * this.plan.span;
  }

  /** The place of an offset in the lane of its pool, of which it may be outside. @param {number} pool @param {number} offset */
  y(pool, offset) {
    return 1 - offset / this.all[pool].bytes;
  }

  /** True for a lifetime that has a rectangle: aliases lie within others, which have one. @param {number} row */
  isDrawn(row) {
    const i = this.plan.lifeBuffer[row];
    return this.plan.pool[i] >= 0 && this.plan.size[i] > 0 && this.plan.root[i] === i;
  }

  /** The rectangles of a lane, in the order of their starts; `row[k]` is rectangle k's lifetime, `colour` is to be filled. @param {number} pool @returns {{rectangles: Rectangles, row: Int32Array}} */
  rectangles(pool) {
    const { plan } = this;
    const seen = [];
    for (let row = 0; row < plan.start.length; row++) if (plan.pool[plan.lifeBuffer[row]] === pool && this.isDrawn(row)) seen.push(row);
    const count = seen.length;
    const rows = {
      left: new Float64Array(count), right: new Float64Array(count),
      top: new Float64Array(count), bottom: new Float64Array(count),
    };
    for (let k = 0; k < count; k++) {
      const row = seen[k];
      const i = plan.lifeBuffer[row];
      rows.left[k] = plan.start[row] / plan.span;
      rows.right[k] = plan.end[row] / plan.span;
      rows.top[k] = this.y(pool, plan.offset[i] + plan.size[i]);
      rows.bottom[k] = this.y(pool, plan.offset[i]);
    }
    return { rectangles: { ...rows, colour: new Uint8Array(count), blocks: blocksOf(rows) }, row: Int32Array.from(seen) };
  }
}

/** The bytes that a lane shows: all that is used and bounded, and the capacity where that is near. @param {PlanModel} plan @param {number} q */
function laneBytes(plan, q) {
  const pool = plan.pools[q];
  let most = Math.max(1, plan.top(q), pool.lower_bound ?? 0);
  const demand = demandOf(plan);
  if (demand?.pool === q) most = Math.max(most, demand.most);
  for (const [offset, size] of pool.reserved ?? []) if (offset <= most) most = Math.max(most, offset + size);
  if (pool.size !== undefined && pool.size <= SEEN_CAPACITY * most) most = Math.max(most, pool.size);
  return most * HEADROOM;
}
