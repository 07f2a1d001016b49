// @ts-check
// Lifetimes as rows by their starts: those of the problem, and when bytes are taken, aliases counted.

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */

/**
 * Lifetimes in order of start. `head` is the first row of each buffer, and `next` leads from one row of a buffer to the next.
 * @typedef {{start: Float64Array, end: Float64Array, buffer: Int32Array, head: Int32Array, next: Int32Array}} Lives
 */

/**
 * Return lifetimes in order of start, with the first row of each buffer.
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
 * Return the lifetimes of all buffers: in steps after `origin`, or as positions among `times` if these are too far apart. An alias without lifetimes has those
 * of its root. A buffer without any gets a column after the last time.
 * @param {any} problem @param {Int32Array} root
 * @returns {{lives: Lives, origin: bigint, times: string[] | null, lastTime: number, timeless: Set<number>}}
 */
export function lifetimesOf({ buffers, interval }, root) {
  const { start: since, end: until, buffer } = givenTimes(buffers, interval === "closed");
  const least = since.reduce((known, at) => (at < known ? at : known), since[0] ?? 0);
  const most = until.reduce((known, at) => (at > known ? at : known), since[0] ?? 0);
  const isFar = BigInt(most) - BigInt(least) > Number.MAX_SAFE_INTEGER;
  const known = isFar ? [...new Set([...since, ...until].map(BigInt))].sort((a, b) => (a < b ? -1 : Number(a > b))) : [];
  const rank = new Map(known.map((at, k) => [at, k]));
  const step = (/** @type {number | bigint} */ at) =>
    (isFar ? rank.get(BigInt(at)) ?? 0 : typeof at === "number" && typeof least === "number" ? at - least : Number(BigInt(at) - BigInt(least)));
  const [start, end] = [since.map(step), until.map(step)];
  const lastTime = isFar ? known.length - 1 : step(most);
  const timeless = completed(start, end, buffer, root, lastTime);
  const order = sortedBy(Float64Array.from(start));
  const sorted = (/** @type {number[]} */ values) => Float64Array.from(order, (k) => values[k]);
  return { lives: livesOf(sorted(start), sorted(end), Int32Array.from(order, (k) => buffer[k]), root.length), origin: BigInt(least),
    times: isFar ? known.map(String) : null, lastTime, timeless };
}

/** Return the half-open lifetimes in a problem's rows. Throws an Error for one that cannot be drawn. @param {any[]} rows @param {boolean} isClosed */
function givenTimes(rows, isClosed) {
  /** @type {{start: (number | bigint)[], end: (number | bigint)[], buffer: number[]}} */
  const found = { start: [], end: [], buffer: [] };
  rows.forEach((row, i) => {
    const time = (/** @type {any} */ value, /** @type {string} */ name) => {
      if (typeof value === "bigint" || Number.isSafeInteger(value)) return value;
      throw new Error(`buffers[${i}].${name}: must be an integer, got ${JSON.stringify(value)}`);
    };
    for (const [from, last] of row.lifetimes ?? (row.start === undefined || row.start === null ? [] : [[row.start, row.end]])) {
      const [start, end] = [time(from, "start"), time(last, "end")];
      if (isClosed ? end < start : end <= start) throw new Error(`buffers[${i}].end: must be greater than start (${start}), got ${end}`);
      found.start.push(start);
      found.end.push(!isClosed ? end : typeof end === "bigint" ? end + 1n : end + 1);
      found.buffer.push(i);
    }
  });
  return found;
}

/**
 * Add lifetimes for buffers that have none; return the buffers that still lack any.
 * @param {number[]} start @param {number[]} end @param {number[]} buffer @param {Int32Array} root @param {number} lastTime
 */
function completed(start, end, buffer, root, lastTime) {
  const [timeless, column, given] = [new Set(), new Map(), buffer.length];
  const first = new Int32Array(root.length).fill(-1);
  for (let row = given - 1; row >= 0; row--) first[buffer[row]] = row;
  root.forEach((of, i) => {
    if (first[i] >= 0) return;
    for (let row = first[of]; row >= 0 && row < given && buffer[row] === of; row++) {
      start.push(start[row]);
      end.push(end[row]);
      buffer.push(i);
    }
    if (first[of] >= 0) return;
    timeless.add(i);
    if (!column.has(of)) column.set(of, column.size);
  });
  const width = Math.max(1, lastTime / Math.max(24, column.size));
  for (const i of timeless) {
    const at = (lastTime && lastTime + width / 2) + width * column.get(root[i]);
    start.push(at);
    end.push(at + width);
    buffer.push(i);
  }
  return timeless;
}

/** Return the times at which each root's bytes are in use: the merged lifetimes of the root and its aliases. @param {PlanModel} plan @returns {Lives} */
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
 * Return, for each buffer, its root (the outermost containing buffer) and its distance from the root's start.
 * @param {any[]} rows @param {(id: any) => number} indexOf @returns {{root: Int32Array, distance: Map<number, number>}}
 */
export function roots(rows, indexOf) {
  const root = Int32Array.from(rows.keys());
  const parent = new Map();
  rows.forEach(({ alias_of: of, alias_offset: offset }, i) => of !== undefined && of !== null && indexOf(of) >= 0
    && parent.set(i, { of: indexOf(of), distance: Number(offset ?? 0) }));
  const distance = new Map();
  for (const i of parent.keys()) {
    let sum = 0;
    for (let up = parent.get(i), steps = 0; up && steps <= parent.size; up = parent.get(up.of), steps++) {
      root[i] = up.of;
      sum += up.distance;
    }
    distance.set(i, sum);
  }
  return { root, distance };
}

/**
 * Return the positions of the values in ascending order. Small integers, which times often are, are counted, not compared.
 * @param {Float64Array} values @returns {Uint32Array}
 */
export function sortedBy(values) {
  const most = values.reduce((known, value) => Math.max(known, value), 0);
  const order = Uint32Array.from(values.keys());
  if (most > 8 * values.length + 1024 || !values.every(Number.isInteger)) return order.sort((a, b) => values[a] - values[b]);
  const at = new Uint32Array(most + 2);
  for (let k = 0; k < values.length; k++) at[values[k] + 1] += 1;
  for (let t = 1; t < at.length; t++) at[t] += at[t - 1];
  for (let k = 0; k < values.length; k++) order[at[values[k]]++] = k;
  return order;
}
