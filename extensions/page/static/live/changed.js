// @ts-check
// A problem as a point of a chart has changed it.

/** Return a problem with changed pool sizes, alignments and buffers. @param {any} problem @param {{sizes?: any, alignment?: number, changes: any[]}} by */
export function changedBy(problem, { sizes = {}, alignment, changes }) {
  const buffers = problem.buffers.flatMap((/** @type {any} */ row) => {
    const change = changes.find(({ buffer }) => buffer === row.id);
    if (change) return change.fields ? [{ ...row, ...change.fields }] : [];
    const isFree = alignment && (row.alias_of ?? row.relative ?? null) === null;
    return [isFree ? { ...row, alignment: leastMultiple(alignment, row.alignment ?? 1) } : row];
  });
  const pools = (problem.pools?.length ? problem.pools : [{ name: "default" }]).map((/** @type {any} */ pool) =>
    ({ ...pool, ...(pool.name in sizes ? { size: [sizes[pool.name]].flat()[0] } : {}) }));
  return { ...problem, buffers, pools };
}

/** @param {number} a @param {number} b */
function leastMultiple(a, b) {
  let [one, other] = [a, b];
  while (other) [one, other] = [other, one % other];
  return (a / one) * b;
}
