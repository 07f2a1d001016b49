// @ts-check
// One plan as columns, and what follows from them: lifetimes by time, live bytes, who lies under whom.

import { written } from "./from_json.js";
import { joined, lifetimesOf, roots, rowsOf } from "./lifetimes.js";
import { loadOf } from "./live_bytes.js";
import { nameText } from "./text.js";
import { Verdict } from "./verdict.js";

/**
 * A pool, and what the plan takes of it; `exact` are the same values, where numbers are too coarse.
 * @typedef {{name: string, size?: number, used?: number, lower_bound?: number, base_address?: number, bank_size?: number, alignment?: number, cost?: number,
 *   reserved?: [number, number][], exact: {size?: any, used?: any, lower_bound?: any}}} Pool
 */

/** @typedef {import("./live_bytes.js").Load} Load */
/** @typedef {{of: ArrayLike<number>, names: string[]}} Column  for each buffer the position of its name */
/**
 * A problem and its plan in the wire format; `names` are those of operations and of times, `inspection` is the answer of
 * `verify`, which is still to come where `isPending`.
 * @typedef {{title: string, problem: any, plan: any, names?: any, inspection?: any, isPending?: boolean}} View
 */

const MAX = 2n ** 63n;

/** What parts names: `/`, `.` and `:`. */
const PARTS = new Set([47, 46, 58]);

/** The fields of a problem and of its buffers that a table of buffers has in columns of its own. */
const IN_COLUMNS = { problem: ["buffers", "interval"],
  buffer: ["id", "size", "start", "end", "lifetimes", "alignment", "alias_of", "alias_offset"] };

/** The columns of a plan. Times are steps after `origin`; `pool` is -1 for a buffer that is not placed. */
export class PlanModel {
  /**
   * Throws an Error for a problem that cannot be drawn, and for a plan of other buffers, unless the verifier tells of these.
   * @param {View} view
   */
  constructor({ title, problem, plan, names = null, inspection = null, isPending = false }) {
    this.title = title;
    this.problem = problem;
    /** @type {any[]} */ this.rows = problem.buffers;
    this.rows.forEach(refuseUndrawable);
    /** @type {(string | number | bigint)[]} */ this.ids = this.rows.map(({ id }) => id);
    /** @type {Map<any, number>} */ this._index = new Map();
    /** What the plan claims, without what is absent. @type {any} */
    this.facts = plan ? Object.fromEntries(Object.entries(plan).filter(([name, value]) => value !== null && name !== "placements")) : { status: "unknown" };
    this.isPlanned = Boolean(plan);
    /** @type {Pool[]} */ this.pools = (problem.pools?.length ? problem.pools : [{}]).map((/** @type {any} */ row) => poolOf(row, plan));
    const places = this.placesOf(plan?.placements ?? [], Boolean(inspection));
    this.pool = places.pool;
    this.exactSize = exact(this.rows.map(({ size }) => size));
    this.exactOffset = exact(places.offset);
    this.size = Float64Array.from(this.rows, ({ size }) => Number(size));
    this.offset = Float64Array.from(places.offset, Number);
    const aliases = this.rows.map((row) => row.alias_of).filter((of) => of !== undefined && of !== null);
    this.seek(aliases);
    const { root, distance } = roots(this.rows, (id) => this.indexOf(id));
    this.root = root;
    this.distance = distance;
    const { lives, origin, times, lastTime, timeless } = lifetimesOf(problem, root);
    /** The lifetimes of the problem; an alias without any has those of what it lies in. */ this.lives = lives;
    this.origin = origin;
    this.times = times;
    /** The end of the last lifetime; what has no times is drawn after it, a column each. */ this.lastTime = lastTime;
    this.timeless = timeless;
    this.span = Math.max(1, lives.end.reduce((most, end) => Math.max(most, end), 0));
    /** When the bytes of each buffer that is no alias are taken: until the last of its aliases ends. */
    this.taken = aliases.length ? joined(this) : lives;
    this.pins = new Set(this.rows.flatMap(({ offset }, i) => (offset === undefined || offset === null ? [] : [i])));
    this.pinnedRoots = new Set([...this.pins].map((i) => root[i]));
    /** True where buffers may lie on the same bytes: then bytes are counted by where they lie. */
    this.isShared = Boolean(problem.may_share?.length) || this.rows.some(({ relative }) => relative);
    /** Pairs that share bytes at a price, what comes first in front. @type {{pair: number[], cost: number}[]} */
    this.reused = (this.facts.reused ?? []).map((/** @type {any} */ { buffers: [a, b], first, cost }) =>
      ({ pair: (first === b ? [b, a] : [a, b]).map((id) => this.indexOf(id)), cost }));
    this.roles = column(names?.roles) ?? guessedRoles(this);
    this.operations = column(names?.operations);
    this.types = column(names?.types);
    this.models = column(names?.models);
    this.steps = this.times || !names?.steps?.length ? null : stepsOf(names.steps, origin);
    this.spans = (names?.spans ?? []).map((/** @type {any} */ { kind, name, start, end }) =>
      ({ kind, name, start: this.timeOf(start), end: this.timeOf(end) }));
    /** @type {string | undefined} */ this.prefix = undefined;
    /** @type {string | undefined} */ this.suffix = undefined;
    /** @type {Column | null | undefined} */ this._groups = undefined;
    /** @type {Map<number, Load>} */ this._loads = new Map();
    /** All buffers are in the one pool. */ this.isWhole = this.pools.length === 1 && !this.pool.includes(-1);
    this.verdict = new Verdict(this, inspection, isPending);
  }

  get count() {
    return this.ids.length;
  }

  /** The lifetimes of a buffer, as positions in `lives`, in the order of time. @param {number} i @returns {number[]} */
  lifetimes(i) {
    return rowsOf(this.lives, i);
  }

  /** The ranges of time in which the bytes of a buffer are taken; of an alias, its own. @param {number} i @returns {[number, number][]} */
  held(i) {
    const lives = this.isAlias(i) ? this.lives : this.taken;
    return rowsOf(lives, i).map((row) => [lives.start[row], lives.end[row]]);
  }

  /** @param {number} i */
  birth(i) {
    return this.held(i)[0]?.[0] ?? 0;
  }

  /** @param {number} i */
  death(i) {
    return this.held(i).at(-1)?.[1] ?? 0;
  }

  /** True where the bytes of a buffer are taken at a time. @param {number} i @param {number} time */
  isAlive(i, time) {
    return this.held(i).some(([start, end]) => start <= time && time < end);
  }

  /** The buffers, no aliases, whose bytes are taken at a time. @param {number} time @returns {number[]} */
  liveAt(time) {
    const { start, end, buffer } = this.taken;
    const found = [];
    for (let row = 0; row < start.length && start[row] <= time; row++) if (time < end[row]) found.push(buffer[row]);
    return found;
  }

  /** A time of the page as the problem counts it. @param {number} time @returns {string} */
  timeText(time) {
    const at = Math.round(time);
    if (at > this.lastTime) return "no time";
    if (this.times) return this.times[Math.max(0, Math.min(this.times.length - 1, at))];
    return String(this.origin + BigInt(at));
  }

  /** The time of the page that the problem counts so. @param {string | number | bigint} time @returns {number} */
  timeOf(time) {
    return this.times ? this.times.indexOf(String(time)) : Number(BigInt(time) - this.origin);
  }

  /** The pool and the offset of each buffer. @param {any[]} placements @param {boolean} isVerified */
  placesOf(placements, isVerified) {
    const pool = new Int32Array(this.count).fill(-1);
    /** @type {(number | bigint)[]} */ const offset = new Array(this.count).fill(0);
    const pools = new Map(this.pools.map(({ name }, q) => [name, q]));
    const isInOrder = placements.every(({ id }, k) => id === this.ids[k]);
    if (!isInOrder) this.seek(placements.map(({ id }) => id));
    placements.forEach((row, k) => {
      const [i, q] = [isInOrder ? k : this.indexOf(row.id), pools.get(row.pool ?? "default")];
      if (isVerified && (i < 0 || q === undefined)) return;
      if (i < 0) throw new Error(`plan: places ${JSON.stringify(String(row.id))}, which is no buffer of the problem`);
      if (q === undefined) throw new Error(`plan: names the pool ${JSON.stringify(String(row.pool))}, which the problem lacks`);
      pool[i] = q;
      offset[i] = row.offset;
    });
    return { pool, offset };
  }

  /** The other fields of a buffer, or of the problem (-1), as JSON, for a table of buffers. @param {number} i */
  rest(i) {
    const known = i < 0 ? IN_COLUMNS.problem : IN_COLUMNS.buffer;
    return written(Object.fromEntries(Object.entries(i < 0 ? this.problem : this.rows[i]).filter(([name, value]) => value !== null && !known.includes(name))));
  }

  /** The buffer of an id, -1 for none; 1 and "1" are two. @param {any} id @returns {number} */
  indexOf(id) {
    if (!this._index.has(id)) this.seek([id]);
    return this._index.get(id) ?? -1;
  }

  /** Find the buffers of ids, all in one pass: a table of a million ids takes a second. @param {any[]} ids */
  seek(ids) {
    const wanted = new Set(ids);
    for (let i = 0; i < this.count && wanted.size; i++) if (wanted.has(this.ids[i])) this._index.set(this.ids[i], i);
    for (const id of wanted) if (!this._index.has(id)) this._index.set(id, -1);
  }

  /** The name of what runs at a time, if one is known. @param {number} time @returns {string | null} */
  stepName(time) {
    if (!this.steps) return null;
    const k = below(this.steps.time, time);
    return k < 0 ? null : this.steps.name[k];
  }

  /** @param {number} i @returns {number | bigint} */
  sizeOf(i) {
    return this.exactSize ? this.exactSize[i] : this.size[i];
  }

  /** @param {number} i @returns {number | bigint} */
  offsetOf(i) {
    return this.exactOffset ? this.exactOffset[i] : this.offset[i];
  }

  /** @param {number} i @returns {number | bigint} */
  endOf(i) {
    return this.exactOffset || this.exactSize
      ? BigInt(this.offsetOf(i)) + BigInt(this.sizeOf(i))
      : this.offset[i] + this.size[i];
  }

  /** @param {number} i @param {number} [most] */
  name(i, most) {
    return nameText(this.ids[i], most);
  }

  /** A name without what all names begin with, and without what all end with. @param {number} i */
  label(i) {
    this.prefix ??= sharedPrefix(this.ids);
    this.suffix ??= sharedSuffix(this.ids, this.prefix);
    const name = String(this.ids[i]);
    return nameText(name.slice(this.prefix.length, name.length - this.suffix.length));
  }

  /** Buffers by the first part of their names, after what all begin with; null where names have no parts. */
  get groups() {
    if (this._groups !== undefined) return this._groups;
    this.prefix ??= sharedPrefix(this.ids);
    const { length } = this.prefix;
    const parts = this.ids.map((id) => {
      const name = String(id);
      let end = length;
      while (end < name.length && !PARTS.has(name.charCodeAt(end))) end += 1;
      return end > length && end < name.length ? name.slice(length, end) : "others";
    });
    const groups = column(parts);
    this._groups = groups && groups.names.length > 1 ? groups : null;
    return this._groups;
  }

  /** @param {number} i */
  isAlias(i) {
    return this.root[i] !== i;
  }

  /** True for a buffer whose offset the problem gives. @param {number} i */
  isPinned(i) {
    return this.pins.has(i) || this.pinnedRoots.has(i);
  }

  /** @param {number} i @returns {string} */
  role(i) {
    return this.isAlias(i) ? "alias" : this.roles.names[this.roles.of[i]];
  }

  /**
   * Bytes alive over time in a pool, or in all of them (-1), where each byte of an alias counts in its root alone.
   * @param {number} pool @returns {Load}
   */
  load(pool) {
    const key = this.isWhole ? -1 : pool;
    const found = this._loads.get(key) ?? loadOf(this, key);
    this._loads.set(key, found);
    return found;
  }

  /** The time at which most bytes are alive, the first of such, and the bytes. @param {number} pool @returns {{time: number, bytes: number}} */
  fullest(pool) {
    const { time, bytes } = this.load(pool);
    let best = 0;
    for (let k = 1; k < bytes.length; k++) if (bytes[k] > bytes[best]) best = k;
    return { time: time[best] ?? 0, bytes: bytes[best] ?? 0 };
  }

  /** The bytes alive at a time. @param {number} pool @param {number} at */
  bytesAt(pool, at) {
    const { time, bytes } = this.load(pool);
    return bytes[below(time, at)] ?? 0;
  }

  /** The bytes of a buffer that its alignment and that of its pool add. @param {number} i */
  padding(i) {
    const [own, pool] = [this.rows[i].alignment ?? 1, this.pools[this.pool[i]]?.alignment ?? 1];
    const step = own % pool === 0 ? own : pool % own === 0 ? pool : own * pool;
    return Math.ceil(this.size[i] / step) * step - this.size[i];
  }

  /** True where the bytes of two buffers are taken at some time together. @param {number} a @param {number} b */
  areTogether(a, b) {
    return this.held(a).some((one) => this.held(b).some((other) => one[0] < other[1] && other[0] < one[1]));
  }

  /** The highest end offsets of all pools, added. */
  get peak() {
    return this.pools.reduce((sum, _, q) => sum + this.top(q), 0);
  }

  /** The highest end offset of a pool's buffers, one of them left out. @param {number} pool @param {number} [without] */
  top(pool, without = -1) {
    let top = 0;
    for (let i = 0; i < this.count; i++) {
      if (this.pool[i] === pool && this.size[i] > 0 && i !== without) top = Math.max(top, this.offset[i] + this.size[i]);
    }
    return top;
  }
}

/** The position of the last of sorted values that is not above one; -1 where all are. @param {ArrayLike<number>} values @param {number} value */
export function below(values, value) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** What all names begin with, up to a sign that parts them. @param {any[]} ids */
function sharedPrefix(ids) {
  let prefix = ids.length > 1 ? String(ids[0]) : "";
  for (const id of ids) while (!String(id).startsWith(prefix)) prefix = prefix.slice(0, -1);
  return /^.*[/.:_]/.exec(prefix)?.[0] ?? "";
}

/** What all names end with, from a sign that parts them on; no name is left empty. @param {any[]} ids @param {string} prefix */
function sharedSuffix(ids, prefix) {
  let suffix = ids.length > 1 ? String(ids[0]).slice(prefix.length + 1) : "";
  for (const id of ids) while (!String(id).slice(prefix.length + 1).endsWith(suffix)) suffix = suffix.slice(1);
  return /[/.:_].*$/.exec(suffix)?.[0] ?? "";
}

/** Refuse a buffer that cannot be drawn; what else is wrong with it, memplan says. @param {any} row @param {number} i */
function refuseUndrawable({ id, size }, i) {
  if (id === undefined || id === null) throw new Error(`buffers[${i}].id: is required`);
  if (!(typeof size === "bigint" || Number.isSafeInteger(size))
    || size < 0) throw new Error(`buffers[${i}].size: must be an integer of at least 0, got ${JSON.stringify(String(size))}`);
}

/** Integers that numbers are too coarse for; null where there are none. @param {any[]} values @returns {BigInt64Array | null} */
function exact(values) {
  return values.some((value) => typeof value === "bigint" && value < MAX) ? BigInt64Array.from(values, BigInt) : null;
}

/** A pool of the problem, and what the plan takes of it. @param {any} row @param {any} plan @returns {Pool} */
function poolOf(row, plan) {
  const name = row.name ?? "default";
  const { used, lower_bound } = plan?.pools?.find((/** @type {any} */ one) => one.name === name) ?? {};
  const known = Object.entries({ ...row, used, lower_bound }).filter(([, value]) => value !== undefined && value !== null);
  return { ...Object.fromEntries(known.map(([key, value]) => [key, typeof value === "bigint" ? Number(value) : value])), name,
    exact: Object.fromEntries(known) };
}

/** Names as a column; null where there are none. @param {string[] | undefined} values @returns {Column | null} */
export function column(values) {
  if (!values?.length) return null;
  const known = new Map();
  const of = Uint32Array.from(values, (value) => known.get(value) ?? known.set(value, known.size).size - 1);
  return { of, names: [...known.keys()] };
}

/** @param {{time: any, name: string}[]} rows @param {bigint} origin */
function stepsOf(rows, origin) {
  const sorted = [...rows].sort((a, b) => Number(a.time) - Number(b.time));
  return { time: Float64Array.from(sorted, ({ time }) => Number(BigInt(time) - origin)), name: sorted.map(({ name }) => nameText(name)) };
}

/** Roles as lifetimes show them: alive from the first step on, to the last one, or both. @param {PlanModel} plan */
function guessedRoles({ lives, count, lastTime }) {
  const of = new Uint8Array(count);
  for (let row = 0; row < lives.start.length; row++) {
    if (lives.start[row] === 0) of[lives.buffer[row]] |= 1;
    if (lives.end[row] === lastTime) of[lives.buffer[row]] |= 2;
  }
  return { of, names: ["temporary", "alive at the start", "alive at the end", "alive throughout"] };
}
