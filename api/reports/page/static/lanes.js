// @ts-check
// The world that is drawn: a lane for each pool, one below the other, time to the right. Both axes go from 0 to 1.

import { blocksOf } from "./raster.js";

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */
/** @typedef {import("./raster.js").Rectangles} Rectangles */
/** @typedef {{pool: number, top: number, bottom: number, bytes: number}} Lane  bytes: what fits between both ends */

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

  /** The place of an offset of a pool. @param {number} pool @param {number} offset */
  y(pool, offset) {
    const lane = this.all[pool];
    return lane.bottom - (offset / lane.bytes) * (lane.bottom - lane.top);
  }

  /** The pool and the offset at a place; null between lanes. @param {number} y */
  at(y) {
    const lane = this.all.find(({ top, bottom }) => top <= y && y <= bottom);
    if (!lane) return null;
    return { pool: lane.pool, offset: ((lane.bottom - y) / (lane.bottom - lane.top)) * lane.bytes };
  }

  /**
   * The rectangles of all lifetimes of placed buffers, in the order of their starts; `row[k]` is rectangle k's lifetime.
   * Aliases lie within others, which are drawn first; `colour` is to be filled.
   * @returns {{rectangles: Rectangles, row: Int32Array}}
   */
  rectangles() {
    const { plan } = this;
    const seen = [];
    for (let row = 0; row < plan.start.length; row++) {
      const i = plan.lifeBuffer[row];
      if (plan.pool[i] >= 0 && plan.size[i] > 0 && !plan.isAlias(i)) seen.push(row);
    }
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
      rows.top[k] = this.y(plan.pool[i], plan.offset[i] + plan.size[i]);
      rows.bottom[k] = this.y(plan.pool[i], plan.offset[i]);
    }
    const rectangles = { ...rows, colour: new Uint8Array(count), blocks: blocksOf(rows) };
    return { rectangles, row: Int32Array.from(seen) };
  }
}

/** The bytes that a lane shows: all that is used and bounded, and the capacity where that is near. @param {PlanModel} plan @param {number} q */
function laneBytes(plan, q) {
  const pool = plan.pools[q];
  let most = Math.max(1, plan.top(q), pool.lower_bound ?? 0);
  if (plan.facts.status === "infeasible") most = Math.max(most, plan.fullest(-1).bytes);
  for (const [offset, size] of pool.reserved ?? []) if (offset <= most) most = Math.max(most, offset + size);
  if (pool.size !== undefined && pool.size <= SEEN_CAPACITY * most) most = Math.max(most, pool.size);
  return most * HEADROOM;
}
