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
