// @ts-check
// One plan as columns, and what follows from them: lifetimes by time, live bytes, who lies under whom.

import { nameText } from "./text.js";
import { Verdict } from "./verdict.js";

/**
 * @typedef {Object} Pool
 * @property {string} name
 * @property {number} [size]
 * @property {number} [used]
 * @property {number} [lower_bound]
 * @property {number} [base_address]
 * @property {number} [bank_size]
 * @property {number} [alignment]
 * @property {[number, number][]} [reserved]
 */

/** @typedef {{time: Float64Array, bytes: Float64Array}} Load  bytes alive from each time on, until the next */

/** The names of more buffers are not parted into groups. */
const GROUPED = 50_000;

/** The columns of a plan. Times are steps after `origin`; `pool` is -1 for a buffer that is not placed. */
export class PlanModel {
  /** @param {any} view  a view of the kind `plan` */
  constructor(view) {
    /** @type {string} */ this.title = view.title;
    /** @type {Pool[]} */ this.pools = view.pools;
    /** @type {any} */ this.facts = view.plan;
    /** @type {(string | number)[]} */ this.ids = view.ids;
    this.exactSize = exact(view.size);
    this.exactOffset = exact(view.offset);
    this.size = plain(view.size);
    this.offset = plain(view.offset);
    this.pool = Int32Array.from(view.pool);
    this.start = plain(view.life.start);
    this.end = ends(this.start, view.life.length);
    this.lifeBuffer = Int32Array.from(view.life.buffer);
    this.first = firstLifetimes(this.lifeBuffer, this.count);
    this.origin = BigInt(view.origin);
    this.span = Math.max(1, this.end.reduce((most, end) => Math.max(most, end), 0));
    this.root = roots(this.count, view.aliases);
    this.pins = new Set(view.pins);
    this.timeless = new Set(view.timeless);
    /** @type {Float64Array | null} */ this.alignment = view.alignment ? plain(view.alignment) : null;
    /** @type {Float64Array | null} */ this.traffic = view.traffic ? plain(view.traffic) : null;
    /** @type {string[] | null} */ this.times = view.times ?? null;
    /** @type {Map<number, number>} */ this.distance = new Map([...view.aliases.buffer].map((i, k) => [i, Number(view.aliases.distance[k])]));
    /** @type {{problem: string, of: ArrayLike<number>, text: string[]}} */ this.rest = view.rest ?? { problem: "{}", of: [], text: [] };
    this.roles = view.roles ?? guessedRoles(this);
    this.operations = view.operations ?? null;
    this.types = view.types ?? null;
    this.models = view.models ?? null;
    this.steps = steps(view.steps, this.origin);
    this.spans = (view.spans ?? []).map((/** @type {string[]} */ [kind, name, start, end]) => ({
      kind, name, start: Number(BigInt(start) - this.origin), end: Number(BigInt(end) - this.origin),
    }));
    /** @type {string | undefined} */ this.prefix = undefined;
    /** @type {{of: number[], names: string[]} | null | undefined} */ this._groups = undefined;
    /** @type {Map<number, Load>} */ this._loads = new Map();
    /** All buffers are in the one pool. */ this.isWhole = this.pools.length === 1 && !this.pool.includes(-1);
    /** @type {Map<string | number, number>} */ this._index = new Map();
    this.verdict = new Verdict(this, view.inspection ?? null, view.isPending);
  }

  get count() {
    return this.ids.length;
  }

  /** The lifetimes of a buffer, as positions in `start` and `end`, in the order of time. @param {number} i @returns {number[]} */
  lifetimes(i) {
    const found = [];
    for (let row = this.first.head[i]; row >= 0; row = this.first.next[row]) found.push(row);
    return found;
  }

  /** @param {number} i */
  birth(i) {
    return this.start[this.first.head[i]];
  }

  /** @param {number} i */
  death(i) {
    return this.lifetimes(i).reduce((most, row) => Math.max(most, this.end[row]), 0);
  }

  /** True where a buffer is alive at a time. @param {number} i @param {number} time */
  isAlive(i, time) {
    return this.lifetimes(i).some((row) => this.start[row] <= time && time < this.end[row]);
  }

  /** The buffers that are alive at a time. @param {number} time @returns {number[]} */
  liveAt(time) {
    const found = [];
    for (let row = 0; row < this.start.length && this.start[row] <= time; row++) {
      if (time < this.end[row]) found.push(this.lifeBuffer[row]);
    }
    return found;
  }

  /** A time of the page as the problem counts it. @param {number} time @returns {string} */
  timeText(time) {
    const at = Math.round(time);
    if (this.times) return this.times[Math.max(0, Math.min(this.times.length - 1, at))];
    return String(this.origin + BigInt(at));
  }

  /** The time of the page that the problem counts so. @param {string | number | bigint} time @returns {number} */
  timeOf(time) {
    return this.times ? this.times.indexOf(String(time)) : Number(BigInt(time) - this.origin);
  }

  /** The buffer of an id, -1 for none; 1 and "1" are two. @param {string | number | bigint | null | undefined} id @returns {number} */
  indexOf(id) {
    const key = /** @type {any} */ (typeof id === "bigint" ? Number(id) : id);
    if (!this._index.has(key)) this.seek([key]);
    return this._index.get(key) ?? -1;
  }

  /** Find the buffers of ids, all in one pass: a table of a million ids takes a second. @param {any[]} ids */
  seek(ids) {
    const wanted = new Set(ids);
    for (let i = 0; i < this.count; i++) if (wanted.has(this.ids[i])) this._index.set(this.ids[i], i);
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

  /** A name without what all names begin with. @param {number} i */
  label(i) {
    this.prefix ??= sharedPrefix(this.ids);
    return nameText(String(this.ids[i]).slice(this.prefix.length));
  }

  /** Buffers by the first part of their names, after what all begin with; null where names have no parts. */
  get groups() {
    if (this._groups !== undefined) return this._groups;
    this.prefix ??= sharedPrefix(this.ids);
    const of = this.count > GROUPED ? [] : this.ids.map((id) => /^[^/.:]+(?=[/.:])/.exec(String(id).slice(this.prefix?.length))?.[0] ?? "");
    const names = [...new Set(of)];
    const at = new Map(names.map((name, k) => [name, k]));
    this._groups = names.length > 1 ? { of: of.map((name) => at.get(name) ?? 0), names: names.map((name) => name || "others") } : null;
    return this._groups;
  }

  /** @param {number} i */
  isAlias(i) {
    return this.root[i] !== i;
  }

  /** @param {number} i @returns {string} */
  role(i) {
    return this.isAlias(i) ? "alias" : this.roles.names[this.roles.of[i]];
  }

  /** Bytes alive over time in a pool, or in all of them (-1), where each byte of an alias counts in its root alone. @param {number} pool @returns {Load} */
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

  /** The highest end offset of a pool's buffers. @param {number} pool */
  top(pool) {
    let top = 0;
    for (let i = 0; i < this.count; i++) {
      if (this.pool[i] === pool && this.size[i] > 0) top = Math.max(top, this.offset[i] + this.size[i]);
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

/** What all names begin with, up to a sign that parts them. @param {(string | number)[]} ids */
function sharedPrefix(ids) {
  let prefix = ids.length > 1 ? String(ids[0]) : "";
  for (const id of ids) while (!String(id).startsWith(prefix)) prefix = prefix.slice(0, -1);
  return /^.*[/.:_]/.exec(prefix)?.[0] ?? "";
}

/** @param {any} column @returns {BigInt64Array | null} */
function exact(column) {
  return column instanceof BigInt64Array ? column : null;
}

/** @param {any} column @returns {Float64Array} */
function plain(column) {
  if (column instanceof Float64Array) return column;
  return column instanceof BigInt64Array || Array.isArray(column) ? Float64Array.from(/** @type {any} */ (column), Number) : new Float64Array(column);
}

/** @param {Float64Array} start @param {any} length */
function ends(start, length) {
  const end = new Float64Array(start.length);
  for (let row = 0; row < end.length; row++) end[row] = start[row] + Number(length[row]);
  return end;
}

/** Lifetimes as a chain for each buffer: its first row, and from a row to the next of the same buffer. @param {Int32Array} lifeBuffer @param {number} count */
function firstLifetimes(lifeBuffer, count) {
  const head = new Int32Array(count).fill(-1);
  const next = new Int32Array(lifeBuffer.length).fill(-1);
  for (let row = lifeBuffer.length - 1; row >= 0; row--) {
    next[row] = head[lifeBuffer[row]];
    head[lifeBuffer[row]] = row;
  }
  return { head, next };
}

/** @param {number} count @param {any} aliases */
function roots(count, aliases) {
  const root = new Int32Array(count);
  for (let i = 0; i < count; i++) root[i] = i;
  for (let k = 0; k < aliases.buffer.length; k++) root[aliases.buffer[k]] = aliases.root[k];
  return root;
}

/** @param {any} given @param {bigint} origin */
function steps(given, origin) {
  if (!given) return null;
  const time = Float64Array.from(given.time, (/** @type {string} */ at) => Number(BigInt(at) - origin));
  return { time, name: given.name.map((/** @type {string} */ name) => nameText(name)) };
}

/** Roles as lifetimes show them: alive from the first step on, to the last one, or both. @param {PlanModel} plan */
function guessedRoles(plan) {
  const of = new Uint8Array(plan.count);
  for (let row = 0; row < plan.start.length; row++) {
    const i = plan.lifeBuffer[row];
    if (plan.start[row] === 0) of[i] |= 1;
    if (plan.end[row] === plan.span) of[i] |= 2;
  }
  return { of, names: ["temporary", "alive at the start", "alive at the end", "alive throughout"] };
}

/** @param {PlanModel} plan @param {number} pool @returns {Load} */
function loadOf(plan, pool) {
  const { start, end, size } = demandRows(plan, pool);
  const count = start.length;
  // What ends, by time: as in a merge of two sorted lists, sizes follow their ends through the sort.
  const byEnd = sortedBy(end);
  const time = new Float64Array(2 * count);
  const bytes = new Float64Array(2 * count);
  let sum = 0;
  let k = 0;
  let e = 0;
  let n = 0;
  while (e < count) {
    const ending = end[byEnd[e]];
    const now = k < count && start[k] < ending ? start[k] : ending;
    while (e < count && end[byEnd[e]] === now) sum -= size[byEnd[e++]];
    while (k < count && start[k] === now) sum += size[k++];
    time[n] = now;
    bytes[n++] = sum;
  }
  return { time: time.slice(0, n), bytes: bytes.slice(0, n) };
}

/** The positions of values in their order. Times are often small integers, which are counted rather than compared. @param {Float64Array} values @returns {Uint32Array} */
function sortedBy(values) {
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

/** What needs bytes when, by start: lifetimes of buffers, those with aliases joined with their aliases' lifetimes. @param {PlanModel} plan @param {number} pool */
function demandRows(plan, pool) {
  /** @type {Map<number, number[]>} */
  const joined = new Map();
  for (let i = 0; i < plan.count; i++) if (plan.root[i] !== i) joined.set(plan.root[i], []);
  const most = plan.start.length;
  const found = { start: new Float64Array(most), end: new Float64Array(most), size: new Float64Array(most) };
  let n = 0;
  const add = (/** @type {number} */ start, /** @type {number} */ end, /** @type {number} */ i) => {
    found.start[n] = start;
    found.end[n] = end;
    found.size[n++] = plan.size[i];
  };
  for (let row = 0; row < most; row++) {
    const i = plan.root[plan.lifeBuffer[row]];
    if (plan.size[i] === 0 || plan.timeless.has(plan.lifeBuffer[row]) || (pool >= 0 && plan.pool[i] !== pool)) continue;
    const known = joined.size ? joined.get(i) : undefined;
    if (known) known.push(row);
    else add(plan.start[row], plan.end[row], i);
  }
  for (const [i, lifetimes] of joined) addUnion(plan, lifetimes, (start, end) => add(start, end, i));
  const cut = { start: found.start.slice(0, n), end: found.end.slice(0, n), size: found.size.slice(0, n) };
  if (!joined.size) return cut;
  const order = sortedBy(cut.start);
  const taken = (/** @type {Float64Array} */ values) => Float64Array.from(order, (k) => values[k]);
  return { start: taken(cut.start), end: taken(cut.end), size: taken(cut.size) };
}

/** Tell the union of lifetimes, which are in the order of their starts, as ranges that do not meet. @param {PlanModel} plan @param {number[]} lifetimes @param {(start: number, end: number) => void} tell */
function addUnion(plan, lifetimes, tell) {
  let start = -1;
  let end = -1;
  for (const row of lifetimes) {
    if (plan.start[row] > end) {
      if (start >= 0) tell(start, end);
      start = plan.start[row];
    }
    end = Math.max(end, plan.end[row]);
  }
  if (start >= 0) tell(start, end);
}
