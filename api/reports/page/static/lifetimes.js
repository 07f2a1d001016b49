// @ts-check
// Lifetimes as rows by their starts: those of the problem, and when bytes are taken, aliases counted.

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */

/**
 * Lifetimes by their starts: each is of a buffer, whose first row is `head` and from one row to the next `next`.
 * @typedef {{start: Float64Array, end: Float64Array, buffer: Int32Array, head: Int32Array, next: Int32Array}} Lives
 */

/**
 * Rows by their starts, with the first of each buffer.
 * @param {Float64Array} start @param {Float64Array} end @param {Int32Array} buffer @param {number} count @returns {Lives}
 */
function livesOf(start, end, buffer, count) {
  const head = new Int32Array(count).fill(-1);
  const next = new Int32Array(buffer.length).fill(-1);
  for (let row = buffer.length - 1; row >= 0; row--) {
    next[row] = head[buffer[row]];
    head[buffer[row]] = row;
  }
  return { start, end, buffer, head, next };
}

/** @param {Lives} lives @param {number} i @returns {number[]} */
export function rowsOf(lives, i) {
  const found = [];
  for (let row = lives.head[i]; row >= 0; row = lives.next[row]) found.push(row);
  return found;
}

/**
 * Lifetimes in steps after the origin, or in positions among all times where these lie too far apart.
 * @param {PlanModel} plan @param {any} life @returns {Lives}
 */
export function timed(plan, { start, length, buffer }) {
  const of = Int32Array.from(buffer);
  if (!isFar(start) && !isFar(length)) {
    const since = plain(start);
    return livesOf(since, Float64Array.from(since, (at, row) => at + Number(length[row])), of, plan.count);
  }
  const since = Array.from(start, (at) => BigInt(at) + plan.origin);
  const until = since.map((at, row) => at + BigInt(length[row]));
  const known = [...new Set([...since, ...until])].sort((a, b) => (a < b ? -1 : Number(a > b)));
  const rank = new Map(known.map((at, k) => [at, k]));
  plan.times = known.map(String);
  const ranks = (/** @type {bigint[]} */ times) => Float64Array.from(times, (at) => rank.get(at) ?? 0);
  return livesOf(ranks(since), ranks(until), of, plan.count);
}

/** True for times that numbers are too coarse for. @param {any} column */
function isFar(column) {
  return column instanceof BigInt64Array || typeof column[0] === "string";
}

/**
 * Lifetimes for all buffers: aliases without any have those of their roots, what has no times a column after the last one.
 * @param {PlanModel} plan @param {Lives} given @returns {Lives}
 */
export function completed(plan, given) {
  const rows = /** @type {number[][]} */ ([]);
  const column = new Map();
  for (let i = 0; i < plan.count; i++) {
    if (given.head[i] >= 0) continue;
    const root = plan.root[i];
    if (given.head[root] >= 0) rows.push(...rowsOf(given, root).map((row) => [given.start[row], given.end[row], i]));
    else {
      plan.timeless.add(i);
      if (!column.has(root)) column.set(root, column.size);
    }
  }
  const width = Math.max(1, plan.lastTime / Math.max(24, column.size));
  const from = plan.lastTime && plan.lastTime + width / 2;
  for (const i of plan.timeless) {
    const at = from + width * column.get(plan.root[i]);
    rows.push([at, at + width, i]);
  }
  if (!rows.length) return given;
  return sortedLives([...given.start, ...rows.map(([start]) => start)], [...given.end, ...rows.map(([, end]) => end)],
    [...given.buffer, ...rows.map(([, , i]) => i)], plan.count);
}

/** @param {number[]} start @param {number[]} end @param {number[]} buffer @param {number} count */
function sortedLives(start, end, buffer, count) {
  const order = sortedBy(Float64Array.from(start));
  const taken = (/** @type {number[]} */ values) => Float64Array.from(order, (k) => values[k]);
  return livesOf(taken(start), taken(end), Int32Array.from(taken(buffer)), count);
}

/** When the bytes of roots are taken: the lifetimes of each and of its aliases, joined where they meet. @param {PlanModel} plan @returns {Lives} */
export function joined({ lives, root, count }) {
  const [start, end, buffer] = /** @type {number[][]} */ ([[], [], []]);
  const last = new Int32Array(count).fill(-1);
  for (let row = 0; row < lives.start.length; row++) {
    const i = root[lives.buffer[row]];
    const before = last[i];
    if (before >= 0 && lives.start[row] <= end[before]) end[before] = Math.max(end[before], lives.end[row]);
    else {
      last[i] = start.push(lives.start[row]) - 1;
      end.push(lives.end[row]);
      buffer.push(i);
    }
  }
  return livesOf(Float64Array.from(start), Float64Array.from(end), Int32Array.from(buffer), count);
}

/**
 * For each buffer what it lies in at last, and how far from the start of that.
 * @param {number} count @param {any} aliases @returns {{root: Int32Array, distance: Map<number, number>}}
 */
export function roots(count, { buffer, of, distance }) {
  const root = Int32Array.from({ length: count }, (_, i) => i);
  const parent = new Map([...buffer].map((i, k) => [i, { of: Number(of[k]), distance: Number(distance[k]) }]));
  const far = new Map();
  for (const i of parent.keys()) {
    let sum = 0;
    for (let up = parent.get(i), steps = 0; up && steps <= parent.size; up = parent.get(up.of), steps++) {
      root[i] = up.of;
      sum += up.distance;
    }
    far.set(i, sum);
  }
  return { root, distance: far };
}

/**
 * The positions of values in their order. Times are often small integers, which are counted rather than compared.
 * @param {Float64Array} values @returns {Uint32Array}
 */
export function sortedBy(values) {
  const most = values.reduce((known, value) => Math.max(known, value), 0);
  const order = new Uint32Array(values.length);
  if (most > 8 * values.length + 1024 || !values.every(Number.isInteger)) {
    for (let k = 0; k < order.length; k++) order[k] = k;
    return order.sort((a, b) => values[a] - values[b]);
  }
  const at = new Uint32Array(most + 2);
  for (let k = 0; k < values.length; k++) at[values[k] + 1] += 1;
  for (let t = 1; t < at.length; t++) at[t] += at[t - 1];
  for (let k = 0; k < values.length; k++) order[at[values[k]]++] = k;
  return order;
}

/** @param {any} column @returns {Float64Array} */
export function plain(column) {
  if (column instanceof Float64Array) return column;
  return column instanceof BigInt64Array || Array.isArray(column) ? Float64Array.from(/** @type {any} */ (column), Number) : new Float64Array(column);
}
