// @ts-check
// Buffers and stretches of time that a number picks out: those alive, those that end above a line, the full times.

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */

/** The buffers of a pool (-1: of all), no aliases, whose bytes are needed at a time. @param {PlanModel} plan @param {number} pool @param {number} time */
export function aliveAt(plan, pool, time) {
  const found = new Set(plan.liveAt(time).filter((i) => !plan.timeless.has(i)).map((i) => plan.root[i]));
  return [...found].filter((i) => plan.size[i] > 0 && (pool < 0 || plan.pool[i] === pool));
}

/** The buffers that end above a line in a pool, the highest first. @param {PlanModel} plan @param {number} pool @param {number} line */
export function endAbove(plan, pool, line) {
  const found = [];
  for (let i = 0; i < plan.count; i++) {
    if (plan.pool[i] === pool && !plan.isAlias(i) && plan.size[i] > 0 && plan.offset[i] + plan.size[i] > line) found.push(i);
  }
  return found.sort((a, b) => plan.offset[b] + plan.size[b] - plan.offset[a] - plan.size[a]);
}

/** The stretches of time in which more than so many bytes of a pool are alive. @param {PlanModel} plan @param {number} pool @param {number} size */
export function fullTimes(plan, pool, size) {
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
  return stretches;
}

/** The most bytes in each of so many equal parts of a range of time. @param {Float64Array} time @param {Float64Array} bytes @param {number} start @param {number} end @param {number} count */
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

/** The highest end of what is alive in each of so many equal parts of time, the sum of all pools. @param {PlanModel} plan @param {number} count */
export function highestEnds(plan, count) {
  const sum = new Float64Array(count);
  const scale = count / plan.span;
  plan.pools.forEach((_, q) => {
    // A lifetime raises the two parts of 2^k that cover it; from long parts to short ones, each hands on to its halves.
    const most = Array.from({ length: 32 - Math.clz32(count) }, () => new Float64Array(count));
    const raise = (/** @type {number} */ k, /** @type {number} */ x, /** @type {number} */ end) => { if (end > most[k][x]) most[k][x] = end; };
    for (let row = 0; row < plan.start.length; row++) {
      const i = plan.lifeBuffer[row];
      if (plan.pool[i] !== q || plan.size[i] === 0) continue;
      const from = Math.min(count - 1, Math.floor(plan.start[row] * scale));
      const to = Math.max(from, Math.min(count - 1, Math.ceil(plan.end[row] * scale) - 1));
      const k = 31 - Math.clz32(to - from + 1);
      raise(k, from, plan.offset[i] + plan.size[i]);
      raise(k, to - 2 ** k + 1, plan.offset[i] + plan.size[i]);
    }
    for (let k = most.length - 1; k > 0; k--) {
      most[k].forEach((end, x) => end && [x, x + 2 ** (k - 1)].forEach((half) => raise(k - 1, half, end)));
    }
    most[0].forEach((end, x) => { sum[x] += end; });
  });
  return sum;
}
