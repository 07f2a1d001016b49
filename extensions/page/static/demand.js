// @ts-check
// What a problem without a plan asks for, one that does not fit above all: bytes over time, and the buffers that cannot all be placed, piled up.

import { nameText } from "./text.js";

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */
/**
 * A core, piled; the most bytes that are asked for or piled; and the pool that stands for all of them, where they are drawn as one.
 * @typedef {{pool: number, sum: import("./plan_model.js").Pool | null, core: {i: number, offset: number}[], most: number}} Demand
 */

const PILED = 400;

/**
 * What is asked for where nothing has a place, and cannot all be placed; null for other plans. What all pools together are too small for
 * is asked of their sum.
 * @param {PlanModel} plan @returns {Demand | null}
 */
export function demandOf(plan) {
  const found = plan.facts.explanation;
  if (plan.pool.some((q) => q >= 0)) return null;
  const excess = plan.pools.length > 1 ? excessOf(plan) : null;
  const buffers = (excess ? [] : found?.buffers ?? []).slice(0, PILED).map((/** @type {any} */ id) => plan.indexOf(id))
    .filter((/** @type {number} */ i) => i >= 0);
  const core = piled(plan, buffers);
  const most = core.reduce((high, { i, offset }) => Math.max(high, offset + plan.size[i]), plan.fullest(-1).bytes);
  const sum = excess && { name: plan.pools.map(({ name }) => nameText(name, 20)).join(" + "), size: excess.capacity, exact: {} };
  return { pool: sum ? 0 : Math.max(0, plan.pools.findIndex(({ name }) => name === found?.pool)), sum, core, most };
}

/**
 * The bytes alive at a time that all pools together have no space for: no plan can have it, as no two of these buffers may share bytes. Null
 * where there are none, or where that is not known.
 * @param {PlanModel} plan
 */
export function excessOf(plan) {
  const capacity = plan.pools.reduce((sum, { size }) => sum + (size ?? Infinity), 0);
  const { time, bytes } = plan.fullest(-1);
  return plan.isShared || bytes <= capacity ? null : { time, bytes, capacity };
}

/**
 * Buffers one on the other, each as low as those before it that are alive with it let it lie: a picture, not a plan.
 * @param {PlanModel} plan @param {number[]} buffers
 */
function piled(plan, buffers) {
  /** @type {{i: number, offset: number}[]} */ const pile = [];
  for (const i of [...buffers].sort((a, b) => plan.birth(a) - plan.birth(b) || a - b)) {
    let offset = 0;
    const others = pile.filter((other) => plan.areTogether(i, other.i)).sort((a, b) => a.offset - b.offset);
    for (const other of others) if (other.offset < offset + plan.size[i]) offset = Math.max(offset, other.offset + plan.size[other.i]);
    pile.push({ i, offset });
  }
  return pile;
}
