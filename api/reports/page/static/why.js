// @ts-check
// Why a buffer is where it is: what it stands on, where else it would fit, and what would lower a peak.

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */
/** @typedef {{i: number, idle: number}} Link  a buffer, and the bytes under it that nothing uses while it is alive */

const CHAIN_AT_MOST = 1000;
const ASKED_AT_MOST = 12;

/**
 * The chain from a buffer down to the bottom: of each, the highest that it must not share bytes with.
 * @param {PlanModel} plan
 * @param {number} i
 * @returns {Link[]}
 */
export function chainUnder(plan, i) {
  const links = [];
  let at = plan.root[i];
  while (at >= 0 && links.length < CHAIN_AT_MOST) {
    let below = -1;
    let end = reservedEnd(plan, at);
    for (const j of rivals(plan, at)) {
      const high = plan.offset[j] + plan.size[j];
      if (high <= plan.offset[at] && high > end) [below, end] = [j, high];
    }
    links.push({ i: at, idle: plan.offset[at] - end });
    at = below;
  }
  return links;
}

/** The end of the highest reserved range under a buffer. @param {PlanModel} plan @param {number} i */
function reservedEnd(plan, i) {
  const ends = (plan.pools[plan.pool[i]].reserved ?? []).map(([offset, size]) => offset + size);
  return Math.max(0, ...ends.filter((end) => end <= plan.offset[i]));
}

/**
 * The placed buffers of a buffer's pool, no aliases, that are alive while it is, or that conflict with it by a pair.
 * @param {PlanModel} plan
 * @param {number} i
 * @returns {number[]}
 */
export function rivals(plan, i) {
  const found = new Set();
  const mine = plan.lifetimes(i);
  const last = plan.death(i);
  for (let row = 0; row < plan.start.length && plan.start[row] < last; row++) {
    const j = plan.lifeBuffer[row];
    if (j === i || plan.pool[j] !== plan.pool[i] || plan.root[j] !== j || plan.size[j] === 0) continue;
    if (plan.timeless.size && (plan.timeless.has(i) || plan.timeless.has(j))) continue;
    if (mine.some((own) => plan.start[own] < plan.end[row] && plan.start[row] < plan.end[own])) found.add(j);
  }
  for (const j of plan.conflictsOf(i)) if (plan.pool[j] === plan.pool[i] && plan.root[j] === j) found.add(j);
  return [...found];
}

/**
 * The lowest offset at which a buffer would fit while all others stay: its own where that is the lowest.
 * @param {PlanModel} plan
 * @param {number} i
 */
export function lowestFit(plan, i) {
  const pool = plan.pools[plan.pool[i]];
  const taken = rivals(plan, i).map((j) => [plan.offset[j], plan.offset[j] + plan.size[j]]);
  for (const [offset, size] of pool.reserved ?? []) taken.push([offset, offset + size]);
  taken.sort((a, b) => a[0] - b[0]);
  const step = Math.max(plan.alignment ? plan.alignment[i] : 1, pool.alignment ?? 1);
  const base = (pool.base_address ?? 0) % step;
  let at = raised(0, step, base);
  let widest = 0;
  for (const [low, high] of taken) {
    if (low - at >= plan.size[i]) break;
    if (at <= plan.offset[i]) widest = Math.max(widest, Math.min(low, plan.offset[i]) - at);
    at = Math.max(at, raised(high, step, base));
  }
  return { offset: Math.min(at, plan.offset[i]), widest: Math.max(0, widest) };
}

/** @param {number} offset @param {number} step @param {number} base */
function raised(offset, step, base) {
  return Math.ceil((offset + base) / step) * step - base;
}

/**
 * The bottleneck of a pool: the fullest time, and the buffers that are alive then, the largest first.
 * @param {PlanModel} plan
 * @param {number} pool  -1 for all of them
 */
export function bottleneck(plan, pool) {
  const { time, bytes } = plan.fullest(pool);
  const buffers = aliveAt(plan, pool, time).sort((a, b) => plan.size[b] - plan.size[a]);
  return { time, bytes, buffers };
}

/**
 * The buffers of a pool, no aliases, whose bytes are needed at a time.
 * @param {PlanModel} plan
 * @param {number} pool
 * @param {number} time
 */
export function aliveAt(plan, pool, time) {
  const found = new Set(plan.liveAt(time).filter((i) => !plan.timeless.has(i)).map((i) => plan.root[i]));
  return [...found].filter((i) => plan.size[i] > 0 && (pool < 0 || plan.pool[i] === pool));
}

/**
 * The buffers that end above a line in a pool, the highest first.
 * @param {PlanModel} plan
 * @param {number} pool
 * @param {number} line
 */
export function endAbove(plan, pool, line) {
  const found = [];
  for (let i = 0; i < plan.count; i++) {
    if (plan.pool[i] === pool && !plan.isAlias(i) && plan.size[i] > 0 && plan.offset[i] + plan.size[i] > line) found.push(i);
  }
  return found.sort((a, b) => plan.offset[b] + plan.size[b] - plan.offset[a] - plan.size[a]);
}

/**
 * What the most bytes alive would be without single buffers of a bottleneck: the largest are asked.
 * @param {PlanModel} plan
 * @param {number} pool
 * @param {number[]} buffers
 * @returns {{i: number, bytes: number}[]}  the best first
 */
export function without(plan, pool, buffers) {
  const { time, bytes } = plan.load(pool);
  const asked = buffers.slice(0, ASKED_AT_MOST).map((i) => {
    const rows = plan.lifetimes(i);
    let most = 0;
    for (let k = 0; k < time.length; k++) {
      const isAlive = rows.some((row) => plan.start[row] <= time[k] && time[k] < plan.end[row]);
      most = Math.max(most, bytes[k] - (isAlive ? plan.size[i] : 0));
    }
    return { i, bytes: most };
  });
  return asked.sort((a, b) => a.bytes - b.bytes);
}

/**
 * The answer to: would a pool of so many bytes do? Stretches of time in which more is alive, and what ends above.
 * @param {PlanModel} plan
 * @param {number} pool
 * @param {number} size
 */
export function fits(plan, pool, size) {
  const { time, bytes } = plan.load(pool);
  /** @type {{start: number, end: number, most: number, at: number}[]} */
  const stretches = [];
  for (let k = 0; k < time.length; k++) {
    if (bytes[k] <= size) continue;
    const last = stretches[stretches.length - 1];
    if (last && last.end === time[k]) {
      if (bytes[k] > last.most) [last.most, last.at] = [bytes[k], time[k]];
      last.end = time[k + 1] ?? plan.span;
    } else stretches.push({ start: time[k], end: time[k + 1] ?? plan.span, most: bytes[k], at: time[k] });
  }
  return { stretches, above: endAbove(plan, pool, size) };
}

/**
 * The bytes that a text says: `256 KiB`, `64K`, `0x10000`, `1048576`; null for other texts.
 * @param {string} text
 */
export function readSize(text) {
  const found = /^\s*(0x[0-9a-f]+|[0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(?:i?b)?\s*$/i.exec(text);
  if (!found) return null;
  const power = " kmgt".indexOf(found[2].toLowerCase() || " ");
  return Math.floor(Number(found[1]) * 1024 ** power);
}
