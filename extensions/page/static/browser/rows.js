// @ts-check
// A problem of one memory as the numbers that the core takes in the browser (`browser/plan_rows.cpp`), and its answer as a plan.

const MOST = 2n ** 63n - 1n;
const FREE = -(2n ** 63n);
/** Fields that this page's planner uses; `hint`, `traffic` and the pool fields after `reserved` do not affect the peak of one memory. */
const TAKEN = {
  "": ["buffers", "conflicts", "format", "interval", "name", "objective", "pools", "read_with"],
  "buffers": ["id", "size", "start", "end", "lifetimes", "alignment", "offset", "pools", "hint", "traffic"],
  "pools": ["name", "size", "alignment", "base_address", "reserved", "bank_size", "cost", "device", "direct"],
};
/** Other fields of problems; they are accepted only if they are empty. */
const OTHERS = ["accesses", "alias_of", "alias_offset", "bank", "end_at_most", "start_at_least", "equal_use", "forbid_pools", "given", "kept_in",
  "may_share", "moves", "no_cross", "offset_mod", "relative", "reuse", "same_offset", "together"];
const COLUMNS = ["id", "lower", "upper", "start", "end", "size", "alignment", "offset", "gaps", "alias_of", "alias_offset", "rest", "placed", "pool"];

/** @typedef {{name: string, capacity: bigint, ids: any[], lives: [bigint, bigint][][], rows: BigInt64Array}} Rows */

/** Return the error for a rule of a problem that this page cannot plan. @param {string} what @param {string} rule @returns {Error} */
function refusal(what, rule) {
  return new Error(`${what}: ${rule}; memplan plan FILE takes problems with every rule`);
}

/** Throw an Error if a row has a field that this page's planner does not use. @param {keyof typeof TAKEN} kind @param {string} at @param {any} row */
function refuseOthers(kind, at, row) {
  if (row === null || typeof row !== "object" || Array.isArray(row)) throw new Error(`${at}: must be an object`);
  for (const [name, value] of Object.entries(row)) {
    const isEmpty = value === null || value === false || (Array.isArray(value) && !value.length);
    if (TAKEN[kind].includes(name) || (isEmpty && OTHERS.includes(name))) continue;
    throw refusal(at + (at && ".") + name, "this page plans sizes, lifetimes, alignments, pins, conflicts and reserved ranges of one memory");
  }
}

/** Throw an Error if a table has a column that this page does not read. @param {string} text */
export function refuseColumns(text) {
  const other = text.replace(/^\ufeff/, "").split(/\r?\n/, 1)[0].split(",").find((name) => !COLUMNS.includes(name.replaceAll('"', "")));
  if (other !== undefined) throw refusal(`column ${other}`, `this page reads ${COLUMNS.slice(0, 7).join(", ")}`);
}

/** @param {any} value @param {string} name @param {bigint} [least] @returns {bigint} */
function whole(value, name, least = FREE) {
  const isWhole = typeof value === "bigint" || Number.isSafeInteger(value);
  if (isWhole && BigInt(value) >= least && BigInt(value) <= MOST) return BigInt(value);
  throw new Error(`${name}: must be an integer ${least === FREE ? "of 64 bits" : `from ${least} on`}, got ${String(value)}`);
}

/** @param {any} value @param {string} name @returns {any[]} */
function listed(value, name) {
  if (!Array.isArray(value)) throw new Error(`${name}: must be a list, got ${String(value)}`);
  return value;
}

/** Return ranges in ascending order, with ranges that touch merged. @param {[bigint, bigint][]} ranges @returns {[bigint, bigint][]} */
function joined(ranges) {
  /** @type {[bigint, bigint][]} */ const found = [];
  for (const [begin, end] of [...ranges].sort(([a], [b]) => (a < b ? -1 : Number(a > b)))) {
    const last = found.at(-1);
    if (!last || last[1] < begin) found.push([begin, end]);
    else if (end > last[1]) last[1] = end;
  }
  return found;
}

/** Return a buffer's half-open lifetimes. @param {any} row @param {string} at @param {bigint} more  what a closed end lacks @returns {[bigint, bigint][]} */
function livesOf({ start, end, lifetimes }, at, more) {
  if (lifetimes && (start ?? end ?? null) !== null) throw new Error(`${at}.lifetimes: must not be given beside start and end`);
  const given = lifetimes ? listed(lifetimes, `${at}.lifetimes`) : (start ?? end ?? null) === null ? [] : [[start, end]];
  if (!given.length) throw refusal(at, "this page plans buffers with a lifetime");
  return joined(given.map((one) => {
    const [from, last] = listed(one, `${at}.lifetimes`);
    const [begin, until] = [whole(from, `${at}.start`), whole(last, `${at}.end`) + more];
    if (until <= begin) throw new Error(`${at}.end: must be greater than start (${begin}), got ${last}`);
    return [begin, until];
  }));
}

/** Return the least common multiple of two numbers. @param {bigint} a @param {bigint} b @returns {bigint} */
function multipleOf(a, b) {
  let [x, y] = [a, b];
  while (y) [x, y] = [y, x % y];
  return (a / x) * b;
}

/**
 * Return a problem as numbers for the core. Throws an Error for a rule that this page cannot plan, and for a wrong value.
 * @param {any} problem @param {number} seconds  the limit of the search @returns {Rows}
 */
export function rowsOf(problem, seconds) {
  refuseOthers("", "", problem);
  const { objective = "peak", interval = "half-open", format = null } = problem;
  if (format !== null && format !== "memplan/1") throw new Error(`format: must be memplan/1, got ${JSON.stringify(format)}`);
  if (objective !== "peak") throw refusal("objective", `this page plans for the least peak, got ${JSON.stringify(objective)}`);
  if (interval !== "half-open" && interval !== "closed") throw new Error(`interval: must be half-open or closed, got ${JSON.stringify(interval)}`);
  const pools = listed(problem.pools ?? [{}], "pools");
  if (pools.length !== 1) throw refusal("pools", `this page plans one memory, got ${pools.length}`);
  const [pool] = pools;
  refuseOthers("pools", "pools[0]", pool);
  const name = pool.name ?? "default";
  const common = whole(pool.alignment ?? 1, "pools[0].alignment", 1n);
  const capacity = whole(pool.size ?? MOST, "pools[0].size", 0n);
  const reserved = listed(pool.reserved ?? [], "pools[0].reserved").map((/** @type {any} */ range) => {
    const [offset, size] = listed(range, "pools[0].reserved").map((value) => whole(value, "pools[0].reserved", 0n));
    return /** @type {[bigint, bigint]} */ ([offset, offset + size]);
  });
  const ranges = joined(reserved.filter(([begin, end]) => begin < end));
  const known = new Map();
  /** @type {[bigint, bigint][][]} */ const lives = [];
  const buffers = listed(problem.buffers, "buffers").map((row, k) => {
    const at = `buffers[${k}]`;
    refuseOthers("buffers", at, row);
    if (known.has(row.id)) throw new Error(`${at}.id: must be unique, ${row.id} is that of buffers[${known.get(row.id)}] too`);
    known.set(row.id, k);
    const wrong = row.pools && listed(row.pools, `${at}.pools`).find((one) => one !== name);
    if (row.pools && (wrong !== undefined || !row.pools.length)) throw refusal(`${at}.pools`, `this page plans one memory, ${name}, got ${wrong}`);
    lives.push(livesOf(row, at, interval === "closed" ? 1n : 0n));
    return [whole(row.size, `${at}.size`, 0n), lives[k][0][0], lives[k].at(-1)?.[1] ?? 0n,
      multipleOf(whole(row.alignment ?? 1, `${at}.alignment`, 1n), common), (row.offset ?? null) === null ? FREE : whole(row.offset, `${at}.offset`, 0n)];
  });
  const gaps = lives.flatMap((own, k) => own.slice(1).map(([end], j) => [BigInt(k), own[j][1], end]));
  const pairs = listed(problem.conflicts ?? [], "conflicts").map((pair, k) => {
    const [a, b, ...more] = listed(pair, `conflicts[${k}]`).map((id) => known.get(id) ?? -1);
    if (!(a >= 0 && b >= 0 && a !== b) || more.length) throw new Error(`conflicts[${k}]: must name two buffers, got ${pair.join(", ")}`);
    return [BigInt(a), BigInt(b)];
  });
  const tables = [buffers, gaps, pairs, ranges];
  const rows = [...tables.map(({ length }) => BigInt(length)), capacity, whole(pool.base_address ?? 0, "pools[0].base_address", 0n),
    BigInt(Math.ceil(1000 * seconds)), ...tables.flat(2)];
  const large = rows.find((value) => value > MOST);
  if (large !== undefined) throw new Error(`${large}: must be an integer of 64 bits`);
  return { name, capacity, ids: [...known.keys()], lives, rows: BigInt64Array.from(rows) };
}

const number = (/** @type {bigint} */ value) => (Number.isSafeInteger(Number(value)) ? Number(value) : value);

/**
 * Return the plan in the core's answer, with the results of its checks. Throws an Error if the core refuses the problem.
 * @param {Rows} given @param {BigInt64Array} answer @param {(rule: number) => string} ruleText
 */
export function planOf({ name, capacity, ids, lives }, answer, ruleText) {
  const [, , , , peak, bound, isChecked, bytes, time, ...offsets] = answer;
  const [status, rule, row, other] = [...answer.subarray(0, 4)].map(Number);
  if (status >= 4) throw refusal(row < 0 ? "problem" : `row ${row}`, status === 4 ? ruleText(rule) : "the browser has too little memory for it");
  const isPlanned = status < 2;
  if (isPlanned && !isChecked) throw refusal("plan", "it breaks a rule, and so is not shown");
  const alive = lives.flatMap((own, k) => (own.some(([begin, end]) => begin <= time && time < end) ? [ids[k]] : []));
  const isAlive = isPlanned ? bytes === peak : bytes > capacity;
  const message = row >= 0 ? `${ids[row]} ${row === other ? "contradicts itself" : `and ${ids[other]} contradict each other`}: see their pins`
    : isAlive ? `${bytes} bytes are alive at time ${time}, and the memory has ${capacity}`
      : `no plan keeps all rules within the ${capacity} bytes of the memory`;
  const plan = { status: ["optimal", "feasible", "infeasible", "unknown"][status], peak: isPlanned ? number(peak) : null, lower_bound: number(bound),
    pools: [{ name, used: isPlanned ? number(peak) : 0, lower_bound: number(bound), size: capacity === MOST ? null : number(capacity) }],
    placements: isPlanned ? ids.map((id, k) => ({ id, pool: name, offset: number(offsets[k]) })) : [],
    explanation: status === 2 ? { message, pool: name, buffers: row >= 0 ? [ids[row], ids[other]] : isAlive ? alive : [] } : null };
  const by = isAlive && status !== 3 ? "live-set" : null;
  const claims = [...(isPlanned ? [{ claim: "peak", by: "placements" }] : []), { claim: "status", by }, { claim: "lower_bound", by: isPlanned ? by : null }];
  return { plan, inspection: { valid: true, violations: [], claims, pools: [], places: null } };
}
