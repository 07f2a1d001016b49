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

/** The lanes of a picture, with conversions of times and offsets to the picture's coordinates. */
export class Lanes {
  /** @param {PlanModel} plan */
  constructor(plan) {
    this.plan = plan;
    this.demand = demandOf(plan);
    /** The pools, each with a lane, or a single one that represents their sum. */
    this.pools = this.demand?.sum ? [this.demand.sum] : plan.pools;
    const bytes = this.pools.map((_, q) => laneBytes(plan, this.pools, q, this.demand));
    const whole = Math.max(1, bytes.reduce((sum, most) => sum + most, 0));
    const shares = bytes.map((most) => Math.max(LEAST_SHARE, most / whole));
    const sum = shares.reduce((total, share) => total + share, 0);
    const free = 1 - GAP * (bytes.length - 1);
    let top = 0;
    /** @type {Lane[]} */
    this.all = bytes.map((most, pool) => {
      const height = (shares[pool] / sum) * free;
      const lane = { pool, top, bottom: top + height, bytes: most };
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

  /** Return the coordinate of an offset in the lane of its pool; it may be outside of the lane. @param {number} pool @param {number} offset */
  y(pool, offset) {
    return 1 - offset / this.all[pool].bytes;
  }

  /** Return true if a row of `taken` has a rectangle. @param {number} row */
  isDrawn(row) {
    const i = this.plan.taken.buffer[row];
    return this.plan.pool[i] >= 0 && this.plan.size[i] > 0 && this.plan.root[i] === i;
  }

  /**
   * Return the rectangles of a lane in order of start. `row[k]` is the row of `taken` of rectangle k; the caller fills in `colour`.
   * @param {number} pool @returns {{rectangles: Rectangles, row: Int32Array}}
   */
  rectangles(pool) {
    const { plan } = this;
    const { start, end, buffer } = plan.taken;
    const row = Int32Array.from(start.keys()).filter((at) => plan.pool[buffer[at]] === pool && this.isDrawn(at));
    const of = (/** @type {(i: number, at: number) => number} */ value) => Float64Array.from(row, (at) => value(buffer[at], at));
    const rows = {
      left: of((_, at) => start[at] / plan.span), right: of((_, at) => end[at] / plan.span),
      top: of((i) => this.y(pool, plan.offset[i] + plan.size[i])), bottom: of((i) => this.y(pool, plan.offset[i])),
    };
    return { rectangles: { ...rows, colour: new Uint8Array(row.length), blocks: blocksOf(rows) }, row };
  }
}

/**
 * Return the bytes that a lane shows: up to the used, bounded and requested bytes, and up to the capacity if that is close.
 * @param {PlanModel} plan @param {import("./plan_model.js").Pool[]} pools @param {number} q @param {import("./demand.js").Demand | null} demand
 */
function laneBytes(plan, pools, q, demand) {
  const pool = pools[q];
  let most = Math.max(1, plan.top(q), pool.lower_bound ?? 0);
  if (demand?.pool === q) most = Math.max(most, demand.most);
  for (const [offset, size] of pool.reserved ?? []) if (offset <= most) most = Math.max(most, offset + size);
  if (pool.size !== undefined && pool.size <= SEEN_CAPACITY * most) most = Math.max(most, pool.size);
  return most * HEADROOM;
}
