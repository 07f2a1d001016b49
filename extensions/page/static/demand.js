// @ts-check
// What a problem without a plan asks for, one that does not fit above all: bytes over time, and the buffers that cannot all be placed, piled up.

import { nameText } from "./text.js";

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */
/**
 * A core's stacked buffers, the maximum bytes that are requested or stacked, and the sum of all pools if they are drawn as one.
 * @typedef {{pool: number, sum: import("./plan_model.js").Pool | null, core: {i: number, offset: number}[], most: number}} Demand
 */

const PILED = 400;

/**
 * Return the requested bytes of a problem without any placement; null for other plans. If all pools together are too small, the request is compared with the
 * sum of their sizes.
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
 * Return the live peak with its time and the capacity if it exceeds all pools together, so that no plan exists; else null, also if buffers may share bytes.
 * @param {PlanModel} plan
 */
export function excessOf(plan) {
  const capacity = plan.pools.reduce((sum, { size }) => sum + (size ?? Infinity), 0);
  const { time, bytes } = plan.fullest(-1);
  return plan.isShared || bytes <= capacity ? null : { time, bytes, capacity };
}

/**
 * Stack buffers in order of birth, each at the lowest offset free of earlier buffers alive with it. The stack is only a picture, not a plan.
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
