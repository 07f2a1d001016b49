// @ts-check
// What a problem without a plan asks for, one that does not fit above all: bytes over time, and the buffers that cannot all be placed, piled up.

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */
/** @typedef {{pool: number, core: {i: number, offset: number}[], most: number}} Demand  a core, piled; the most bytes that are asked for or piled */

const PILED = 400;

/** What is asked for where nothing has a place, and cannot all be placed; null for other plans. @param {PlanModel} plan @returns {Demand | null} */
export function demandOf(plan) {
  const found = plan.facts.explanation;
  if (plan.pool.some((q) => q >= 0)) return null;
  const buffers = (found?.buffers ?? []).slice(0, PILED).map((/** @type {any} */ id) => plan.indexOf(id)).filter((/** @type {number} */ i) => i >= 0);
  const core = piled(plan, buffers);
  const most = core.reduce((high, { i, offset }) => Math.max(high, offset + plan.size[i]), plan.fullest(-1).bytes);
  return { pool: Math.max(0, plan.pools.findIndex(({ name }) => name === found?.pool)), core, most };
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
