// @ts-check
// Problems and plans in JSON, as the wire format has them: told apart, and made into the view of a plan.

import { readCsv } from "./from_csv.js";
import { idKey } from "./text.js";

/** @typedef {{problem: any, plan: any, schedule?: any}} Found  what a file holds; null for what it does not */

const MAX = 2n ** 63n;
/** The command for a file, by a field that only such files have. @type {Record<string, string>} */
const COMMANDS = { ops: "order FILE or memplan cascade FILE", widths: "schedule FILE", memories: "schedule FILE --target", symbols: "shapes FILE",
  functions: "plan FILE", models: "plan FILE" };
const IN_COLUMNS = ["id", "size", "start", "end", "lifetimes", "alignment", "alias_of", "alias_offset"];

/**
 * What a text of JSON holds, if it is something of memplan's: a problem, a plan, both (a baseline), a schedule; else null. Throws a SyntaxError for
 * what is no JSON.
 * @param {string} text @returns {Found | null}
 */
export function recognised(text) {
  const value = parsed(text);
  if (!isObject(value)) return null;
  if (isSchedule(value)) return { problem: null, plan: null, schedule: value };
  const problem = isProblem(value) ? value : isProblem(value.problem) ? value.problem : null;
  const plan = isPlan(value) ? value : isPlan(value.plan) ? value.plan : null;
  return problem || plan ? { problem, plan } : null;
}

/** What a file of JSON or CSV holds; throws an Error that says what to do with others. @param {string} text @param {string} name @returns {Found} */
export function readText(text, name) {
  const table = /^\s*[[{]/.test(text) ? null : readCsv(text);
  if (table) return table;
  const commands = "memplan plan FILE --open draws other files, memplan serve reads them here";
  let found;
  try {
    found = recognised(text);
  } catch (error) {
    if (!/^\s*[[{]/.test(text)) throw new Error(`${name}: is no JSON and no table of buffers; ${commands}`);
    throw new Error(`${name}: is not JSON: ${/** @type {Error} */ (error).message}`);
  }
  if (found) return found;
  const [, command] = Object.entries(COMMANDS).find(([key]) => key in (parsed(text) ?? {})) ?? [];
  throw new Error(command ? `${name}: is for memplan ${command}, whose -o FILE.html draws it; memplan serve opens it here`
    : `${name}: must be a problem, a plan or a schedule; ${commands}`);
}

/** True for the answer of a schedule. @param {any} value */
export function isSchedule(value) {
  return ["subgraphs", "subgraph_latencies", "slots"].every((name) => Array.isArray(value?.[name]));
}

/** @param {string} text JSON whose integers past 2^53 become BigInt, where the browser can tell them */
export function parsed(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const exactly = (/** @type {string} */ _key, /** @type {any} */ value, /** @type {any} */ context) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
      ? BigInt(context.source)
      : value;
  return JSON.parse(text, /** @type {any} */ (exactly));
}

/** @param {any} value as JSON, where BigInt is written as a number */
export function written(value) {
  const raw = /** @type {any} */ (JSON).rawJSON;
  return JSON.stringify(value, (_key, entry) => {
    if (typeof entry !== "bigint") return entry;
    return raw ? raw(String(entry)) : Number(entry);
  });
}

/** @param {any} value */
function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** @param {any} value */
function isProblem(value) {
  return isObject(value) && Array.isArray(value.buffers) && value.buffers.every(isObject) && !value.symbols;
}

/** @param {any} value */
function isPlan(value) {
  return isObject(value) && (Array.isArray(value.placements) || (typeof value.status === "string" && "peak" in value));
}

/**
 * The view of a plan for a problem, as `plan_view.py` packs it; without a plan, nothing is placed. Throws an Error for a plan that names other
 * buffers.
 * @param {any} problem @param {any} plan @param {string} title @param {any} [program]  names of times and buffers, as `POST /v1/import` answers them
 */
export function planView(problem, plan, title, program = null) {
  const pools = problem.pools?.length ? problem.pools : [{}];
  const names = new Map(pools.map((/** @type {any} */ pool, /** @type {number} */ q) => [pool.name ?? "default", q]));
  const ids = problem.buffers.map((/** @type {any} */ row) => row.id);
  const index = new Map(ids.map((/** @type {any} */ id, /** @type {number} */ i) => [idKey(id), i]));
  const { pool, offset } = places(plan, index, names, ids.length);
  problem.buffers.forEach(sound);
  return {
    kind: "plan",
    title,
    pools: pools.map((/** @type {any} */ row) => poolRow(row, plan)),
    plan: factsOf(plan),
    ids,
    size: column(problem.buffers.map((/** @type {any} */ row) => row.size)),
    pool,
    offset: column(offset),
    aliases: aliases(problem.buffers, index),
    pins: positions(problem.buffers, (/** @type {any} */ row) => row.offset !== undefined && row.offset !== null),
    ...lifetimes(problem),
    ...optional(problem),
    ...(program ? programNames(program) : {}),
  };
}

/** Refuse a buffer that cannot be drawn; what else is wrong with it, memplan says. @param {any} row @param {number} i */
function sound({ id, size }, i) {
  if (id === undefined || id === null) throw new Error(`buffers[${i}].id: is required`);
  if (!(typeof size === "bigint" || Number.isSafeInteger(size))
    || size < 0) throw new Error(`buffers[${i}].size: must be an integer of at least 0, got ${JSON.stringify(String(size))}`);
}

/** @param {any} names */
function programNames(names) {
  /** @type {any} */
  const found = {
    steps: { time: names.steps.map((/** @type {any} */ step) => String(step.time)), name: names.steps.map((/** @type {any} */ step) => step.name) },
    spans: names.spans.map((/** @type {any} */ span) => [span.kind, span.name, String(span.start), String(span.end)]),
  };
  for (const kind of ["roles", "operations", "types", "models"]) {
    const values = /** @type {string[]} */ (names[kind]);
    const known = new Map([...new Set(values)].map((value, k) => [value, k]));
    if (values.length) found[kind] = { of: Uint32Array.from(values, (value) => known.get(value) ?? 0), names: [...known.keys()] };
  }
  return found;
}

/**
 * The view of another plan of the problem that a view is of; throws an Error for a plan that names other buffers.
 * @param {any} view @param {any} plan @param {string} title
 */
export function replanned(view, plan, title) {
  const index = new Map(view.ids.map((/** @type {any} */ id, /** @type {number} */ i) => [idKey(id), i]));
  const names = new Map(view.pools.map((/** @type {any} */ pool, /** @type {number} */ q) => [pool.name, q]));
  const { pool, offset } = places(plan, index, names, view.ids.length);
  return { ...view, inspection: null, title, plan: factsOf(plan), pool, offset: column(offset),
    pools: view.pools.map((/** @type {any} */ row) => poolRow(row, plan)) };
}

/** What a plan claims, without what is absent. @param {any} plan */
function factsOf(plan) {
  const facts = { ...(plan ?? { status: "unknown" }) };
  delete facts.placements;
  delete facts.pools;
  for (const [name, value] of Object.entries(facts)) if (value === null) delete facts[name];
  return facts;
}

/** @param {any[]} values @returns {Float64Array | BigInt64Array} */
function column(values) {
  const isExact = values.some((value) => typeof value === "bigint" && value < MAX);
  return isExact ? BigInt64Array.from(values, (value) => BigInt(value)) : Float64Array.from(values, Number);
}

/** @param {any[]} rows @param {(row: any) => boolean} holds */
function positions(rows, holds) {
  return Uint32Array.from(rows.flatMap((row, i) => (holds(row) ? [i] : [])));
}

/** @param {any} row @param {any} plan */
function poolRow(row, plan) {
  const name = row.name ?? "default";
  const use = plan?.pools?.find((/** @type {any} */ one) => one.name === name) ?? {};
  const found = {
    name, size: row.size, base_address: row.base_address ?? 0, bank_size: row.bank_size, reserved: row.reserved ?? [],
    alignment: row.alignment ?? 1, used: use.used, lower_bound: use.lower_bound,
  };
  return Object.fromEntries(Object.entries(found)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => [name, typeof value === "bigint" ? Number(value) : value]));
}

/** @param {any} plan @param {Map<any, number>} index @param {Map<any, number>} names @param {number} count */
function places(plan, index, names, count) {
  const pool = new Int32Array(count).fill(-1);
  const offset = new Array(count).fill(0);
  for (const row of plan?.placements ?? []) {
    const i = index.get(idKey(row.id));
    const q = names.get(row.pool ?? "default");
    if (i === undefined) throw new Error(`plan: places ${JSON.stringify(String(row.id))}, which is no buffer of the problem`);
    if (q === undefined) throw new Error(`plan: names the pool ${JSON.stringify(String(row.pool))}, which the problem lacks`);
    pool[i] = q;
    offset[i] = row.offset;
  }
  return { pool, offset };
}

/** @param {any[]} rows @param {Map<any, number>} index */
function aliases(rows, index) {
  const buffer = positions(rows, ({ alias_of: of }) => of !== undefined && of !== null);
  return { buffer, of: buffer.map((i) => index.get(idKey(rows[i].alias_of)) ?? i), distance: [...buffer].map((i) => Number(rows[i].alias_offset ?? 0)) };
}

/** Lifetimes by their starts, as `plan_view.py` packs them. @param {any} problem */
function lifetimes({ buffers, interval }) {
  const last = interval === "closed" ? 1n : 0n;
  const rows = buffers.flatMap((/** @type {any} */ row, /** @type {number} */ i) => {
    const pairs = row.lifetimes ?? (row.start === undefined || row.start === null ? [] : [[row.start, row.end]]);
    return pairs.map((/** @type {any[]} */ pair) => {
      const [start, end] = [time(pair[0], i, "start"), time(pair[1], i, "end") + last];
      if (end <= start) throw new Error(`buffers[${i}].end: must be greater than start (${start}), got ${end - last}`);
      return { start, length: end - start, i };
    });
  }).sort((/** @type {any} */ a, /** @type {any} */ b) => (a.start < b.start ? -1 : Number(a.start > b.start)));
  const origin = rows[0]?.start ?? 0n;
  const isFar = rows.some((/** @type {any} */ { start, length }) => start + length - origin > BigInt(Number.MAX_SAFE_INTEGER));
  const steps = (/** @type {bigint[]} */ values) => (isFar ? values.map(String) : Float64Array.from(values, Number));
  return {
    origin: String(origin),
    life: { start: steps(rows.map((/** @type {any} */ row) => row.start - origin)), length: steps(rows.map((/** @type {any} */ row) => row.length)),
      buffer: Int32Array.from(rows, (/** @type {any} */ row) => row.i) },
  };
}

/** @param {any} value @param {number} i @param {string} name @returns {bigint} */
function time(value, i, name) {
  if (typeof value === "bigint" || Number.isSafeInteger(value)) return BigInt(value);
  throw new Error(`buffers[${i}].${name}: must be an integer, got ${JSON.stringify(value)}`);
}

/** @param {any} problem */
function optional(problem) {
  /** @type {any} */
  const found = {};
  const rows = problem.buffers;
  if (rows.some((/** @type {any} */ row) => (row.alignment ?? 1) !== 1)) {
    found.alignment = column(rows.map((/** @type {any} */ row) => row.alignment ?? 1));
  }
  const rests = rows.map((/** @type {any} */ row) => rest(row, IN_COLUMNS));
  const of = positions(rests, (text) => text !== "{}");
  found.rest = { problem: rest(problem, ["buffers", "interval"]), of, text: [...of].map((i) => rests[i]) };
  return found;
}

/** The other fields of a row, as JSON. @param {any} row @param {string[]} known */
function rest(row, known) {
  return written(Object.fromEntries(Object.entries(row).filter(([name, value]) => value !== null && !known.includes(name))));
}
