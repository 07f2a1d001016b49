// @ts-check
// One plan as columns, and what follows from them: lifetimes by time, live bytes, who lies under whom.

import { written } from "./from_json.js";
import { joined, lifetimesOf, roots, rowsOf } from "./lifetimes.js";
import { loadOf } from "./live_bytes.js";
import { nameText } from "./text.js";
import { Verdict } from "./verdict.js";

/**
 * A pool, and how much of it the plan uses. `exact` has the same values as integers if numbers are too imprecise.
 * @typedef {{name: string, size?: number, used?: number, lower_bound?: number, base_address?: number, bank_size?: number, alignment?: number, cost?: number,
 *   reserved?: [number, number][], exact: {size?: any, used?: any, lower_bound?: any}}} Pool
 */

/** @typedef {import("./live_bytes.js").Load} Load */
/** @typedef {{of: ArrayLike<number>, names: string[]}} Column  for each buffer the position of its name */
/**
 * A problem and its plan in the wire format. `names` are those of operations and times. `inspection` is the answer of `verify`; while `isPending`, it is still
 * to come.
 * @typedef {{title: string, problem: any, plan: any, names?: any, inspection?: any, isPending?: boolean}} View
 */

const MAX = 2n ** 63n;

/** The codes of the characters that separate parts of names: `/`, `.` and `:`. */
const PARTS = new Set([47, 46, 58]);

/** The fields of a problem and of its buffers that have their own columns in a table of buffers. */
const IN_COLUMNS = { problem: ["buffers", "interval"],
  buffer: ["id", "size", "start", "end", "lifetimes", "alignment", "alias_of", "alias_offset"] };

/** The columns of a plan. Times are steps after `origin`; `pool` is -1 for a buffer without a placement. */
export class PlanModel {
  /**
   * Throws an Error for a problem that cannot be drawn, and for a plan of other buffers, unless the verifier reports these.
   * @param {View} view
   */
  constructor({ title, problem, plan, names = null, inspection = null, isPending = false }) {
    this.title = title;
    this.problem = problem;
    /** @type {any[]} */ this.rows = problem.buffers;
    this.rows.forEach(refuseUndrawable);
    /** @type {(string | number | bigint)[]} */ this.ids = this.rows.map(({ id }) => id);
    /** @type {Map<any, number>} */ this._index = new Map();
    /** The claims of the plan, without absent fields. @type {any} */
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
    /** The lifetimes of the problem; an alias without lifetimes has those of its root. */ this.lives = lives;
    this.origin = origin;
    this.times = times;
    /** The end of the last lifetime; buffers without times are drawn after it, in one column each. */ this.lastTime = lastTime;
    this.timeless = timeless;
    this.span = Math.max(1, lives.end.reduce((most, end) => Math.max(most, end), 0));
    /** The times at which the bytes of each root are in use: until its last alias ends. */
    this.taken = aliases.length ? joined(this) : lives;
    this.pins = new Set(this.rows.flatMap(({ offset }, i) => (offset === undefined || offset === null ? [] : [i])));
    this.pinnedRoots = new Set([...this.pins].map((i) => root[i]));
    /** True if live buffers may share bytes, so that bytes are counted by their positions. */
    this.isShared = Boolean(problem.may_share?.length) || this.rows.some(({ relative }) => relative);
    /** Pairs that share bytes at a price, with the earlier buffer first. @type {{pair: number[], cost: number}[]} */
    this.reused = (this.facts.reused ?? []).map((/** @type {any} */ { buffers: [a, b], first, cost }) =>
      ({ pair: (first === b ? [b, a] : [a, b]).map((id) => this.indexOf(id)), cost }));
    /** The copies of buffers that move, each with the positions of the pieces that it reads and writes. @type {{at: number, pair: number[]}[]} */
    this.copies = (this.facts.copies ?? []).filter((/** @type {any} */ { pair }) => pair)
      .map((/** @type {any} */ { time, pair }) => ({ at: this.timeOf(time), pair }));
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
    /** True if all buffers are in a single pool. */ this.isWhole = this.pools.length === 1 && !this.pool.includes(-1);
    this.verdict = new Verdict(this, inspection, isPending);
  }

  get count() {
    return this.ids.length;
  }

  /** Return the lifetimes of a buffer as positions in `lives`, in order of time. @param {number} i @returns {number[]} */
  lifetimes(i) {
    return rowsOf(this.lives, i);
  }

  /** Return the time ranges in which the bytes of a buffer are in use; for an alias, only its own. @param {number} i @returns {[number, number][]} */
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

  /** Return true if the bytes of a buffer are in use at a time. @param {number} i @param {number} time */
  isAlive(i, time) {
    return this.held(i).some(([start, end]) => start <= time && time < end);
  }

  /** Return the buffers, without aliases, whose bytes are in use at a time. @param {number} time @returns {number[]} */
  liveAt(time) {
    const { start, end, buffer } = this.taken;
    const found = [];
    for (let row = 0; row < start.length && start[row] <= time; row++) if (time < end[row]) found.push(buffer[row]);
    return found;
  }

  /** Return a time of the page as the problem numbers it. @param {number} time @returns {string} */
  timeText(time) {
    const at = Math.round(time);
    if (at > this.lastTime) return "no time";
    if (this.times) return this.times[Math.max(0, Math.min(this.times.length - 1, at))];
    return String(this.origin + BigInt(at));
  }

  /** Return the page's time for a time as the problem numbers it. @param {string | number | bigint} time @returns {number} */
  timeOf(time) {
    return this.times ? this.times.indexOf(String(time)) : Number(BigInt(time) - this.origin);
  }

  /** Return the pool and the offset of each buffer. @param {any[]} placements @param {boolean} isVerified */
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

  /** Return the other fields of a buffer, or of the problem (-1), as JSON for a table of buffers. @param {number} i */
  rest(i) {
    const known = i < 0 ? IN_COLUMNS.problem : IN_COLUMNS.buffer;
    return written(Object.fromEntries(Object.entries(i < 0 ? this.problem : this.rows[i]).filter(([name, value]) => value !== null && !known.includes(name))));
  }

  /** Return the buffer with an id, or -1; the ids 1 and "1" differ. @param {any} id @returns {number} */
  indexOf(id) {
    if (!this._index.has(id)) this.seek([id]);
    return this._index.get(id) ?? -1;
  }

  /** Find the buffers of all given ids in one pass, because building a table of a million ids takes a second. @param {any[]} ids */
  seek(ids) {
    const wanted = new Set(ids);
    for (let i = 0; i < this.count && wanted.size; i++) if (wanted.has(this.ids[i])) this._index.set(this.ids[i], i);
    for (const id of wanted) if (!this._index.has(id)) this._index.set(id, -1);
  }

  /** Return the name of the operation that runs at a time, if known. @param {number} time @returns {string | null} */
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

  /** Return a name without the prefix and suffix that all names share. @param {number} i */
  label(i) {
    this.prefix ??= sharedPrefix(this.ids);
    this.suffix ??= sharedSuffix(this.ids, this.prefix);
    const name = String(this.ids[i]);
    return nameText(name.slice(this.prefix.length, name.length - this.suffix.length));
  }

  /** The buffers by the first part of their names after the common prefix; null if names have no parts. */
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

  /** Return true for a buffer whose offset the problem fixes. @param {number} i */
  isPinned(i) {
    return this.pins.has(i) || this.pinnedRoots.has(i);
  }

  /** @param {number} i @returns {string} */
  role(i) {
    return this.isAlias(i) ? "alias" : this.roles.names[this.roles.of[i]];
  }

  /**
   * Return the live bytes over time in a pool, or in all pools (-1); bytes of an alias count only in its root.
   * @param {number} pool @returns {Load}
   */
  load(pool) {
    const key = this.isWhole ? -1 : pool;
    const found = this._loads.get(key) ?? loadOf(this, key);
    this._loads.set(key, found);
    return found;
  }

  /** Return the first time with the maximum live bytes, and these bytes. @param {number} pool @returns {{time: number, bytes: number}} */
  fullest(pool) {
    const { time, bytes } = this.load(pool);
    let best = 0;
    for (let k = 1; k < bytes.length; k++) if (bytes[k] > bytes[best]) best = k;
    return { time: time[best] ?? 0, bytes: bytes[best] ?? 0 };
  }

  /** Return the live bytes at a time. @param {number} pool @param {number} at */
  bytesAt(pool, at) {
    const { time, bytes } = this.load(pool);
    return bytes[below(time, at)] ?? 0;
  }

  /** Return the padding bytes that the alignments of a buffer and its pool add. @param {number} i */
  padding(i) {
    const [own, pool] = [this.rows[i].alignment ?? 1, this.pools[this.pool[i]]?.alignment ?? 1];
    const step = own % pool === 0 ? own : pool % own === 0 ? pool : own * pool;
    return Math.ceil(this.size[i] / step) * step - this.size[i];
  }

  /** Return true if the bytes of two buffers are ever in use at the same time. @param {number} a @param {number} b */
  areTogether(a, b) {
    return this.held(a).some((one) => this.held(b).some((other) => one[0] < other[1] && other[0] < one[1]));
  }

  /** The sum of the highest end offsets of all pools. */
  get peak() {
    return this.pools.reduce((sum, _, q) => sum + this.top(q), 0);
  }

  /** Return the highest end offset of a pool's buffers. @param {number} pool */
  top(pool) {
    let top = 0;
    for (let i = 0; i < this.count; i++) {
      if (this.pool[i] === pool && this.size[i] > 0) top = Math.max(top, this.offset[i] + this.size[i]);
    }
    return top;
  }
}

/** Return the position of the last of sorted values that is at most `value`; -1 if all are larger. @param {ArrayLike<number>} values @param {number} value */
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

/** Return the common prefix of all names, up to a separator. @param {any[]} ids */
function sharedPrefix(ids) {
  let prefix = ids.length > 1 ? String(ids[0]) : "";
  for (const id of ids) while (!String(id).startsWith(prefix)) prefix = prefix.slice(0, -1);
  return /^.*[/.:_]/.exec(prefix)?.[0] ?? "";
}

/** Return the common suffix of all names, starting with a separator; no name becomes empty. @param {any[]} ids @param {string} prefix */
function sharedSuffix(ids, prefix) {
  let suffix = ids.length > 1 ? String(ids[0]).slice(prefix.length + 1) : "";
  for (const id of ids) while (!String(id).slice(prefix.length + 1).endsWith(suffix)) suffix = suffix.slice(1);
  return /[/.:_].*$/.exec(suffix)?.[0] ?? "";
}

/** Throw an Error for a buffer that cannot be drawn; memplan reports its other faults. @param {any} row @param {number} i */
function refuseUndrawable({ id, size }, i) {
  if (id === undefined || id === null) throw new Error(`buffers[${i}].id: is required`);
  if (!(typeof size === "bigint" || Number.isSafeInteger(size))
    || size < 0) throw new Error(`buffers[${i}].size: must be an integer of at least 0, got ${JSON.stringify(String(size))}`);
}

/** Return the values that numbers cannot represent exactly, as integers; null if there are none. @param {any[]} values @returns {BigInt64Array | null} */
function exact(values) {
  return values.some((value) => typeof value === "bigint" && value < MAX) ? BigInt64Array.from(values, BigInt) : null;
}

/** Return a pool of the problem, with the bytes that the plan uses of it. @param {any} row @param {any} plan @returns {Pool} */
function poolOf(row, plan) {
  const name = row.name ?? "default";
  const { used, lower_bound } = plan?.pools?.find((/** @type {any} */ one) => one.name === name) ?? {};
  const known = Object.entries({ ...row, used, lower_bound }).filter(([, value]) => value !== undefined && value !== null);
  return { ...Object.fromEntries(known.map(([key, value]) => [key, typeof value === "bigint" ? Number(value) : value])), name,
    exact: Object.fromEntries(known) };
}

/** Return names as a column; null if there are none. @param {string[] | undefined} values @returns {Column | null} */
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

/** Return roles guessed from lifetimes: alive from the first step, to the last step, or both. @param {PlanModel} plan */
function guessedRoles({ lives, count, lastTime }) {
  const of = new Uint8Array(count);
  for (let row = 0; row < lives.start.length; row++) {
    if (lives.start[row] === 0) of[lives.buffer[row]] |= 1;
    if (lives.end[row] === lastTime) of[lives.buffer[row]] |= 2;
  }
  return { of, names: ["temporary", "alive at the start", "alive at the end", "alive throughout"] };
}
