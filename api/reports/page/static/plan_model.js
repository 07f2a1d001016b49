// @ts-check
// One plan as columns, and what follows from them: lifetimes by time, live bytes, who lies under whom.

import { completed, joined, plain, roots, rowsOf, timed } from "./lifetimes.js";
import { loadOf } from "./live_bytes.js";
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

/** @typedef {import("./live_bytes.js").Load} Load */

/** The names of more buffers are not parted into groups. */
const GROUPED = 50_000;

/** The columns of a plan. Times are steps after `origin`; `pool` is -1 for a buffer that is not placed. */
export class PlanModel {
  /** @param {any} view  a view of the kind `plan`, as `plan_view.py` packs it and `from_json.js` reads it */
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
    this.origin = BigInt(view.origin);
    const lying = roots(this.count, view.aliases);
    this.root = lying.root;
    this.distance = lying.distance;
    /** @type {string[] | null} */ this.times = null;
    const given = timed(this, view.life);
    /** The end of the last lifetime; what has no times is drawn after it, a column each. */
    this.lastTime = given.end.reduce((most, end) => Math.max(most, end), 0);
    /** @type {Set<number>} */ this.timeless = new Set();
    /** The lifetimes of the problem; an alias without any has those of what it lies in. */
    this.lives = completed(this, given);
    this.span = Math.max(1, this.lives.end.reduce((most, end) => Math.max(most, end), 0));
    /** When the bytes of each buffer that is no alias are taken: until the last of its aliases ends. */
    this.taken = view.aliases.buffer.length ? joined(this) : this.lives;
    this.pins = new Set(view.pins);
    this.pinnedRoots = new Set([...this.pins].map((i) => this.root[i]));
    /** @type {Float64Array | null} */ this.traffic = view.traffic ? plain(view.traffic) : null;
    /** @type {{problem: string, of: ArrayLike<number>, text: string[]}} */ this.rest = view.rest ?? { problem: "{}", of: [], text: [] };
    /** @type {Float64Array | null} */ this.alignment = view.alignment ? plain(view.alignment) : null;
    /** True where buffers may lie on the same bytes: then bytes are counted by where they lie. */
    this.isShared = /"may_share":\s*\[\s*[^\]\s]/.test(this.rest.problem) || [...this.rest.text].some((text) => text.includes('"relative"'));
    this.roles = view.roles ?? guessedRoles(this);
    this.operations = view.operations ?? null;
    this.types = view.types ?? null;
    this.models = view.models ?? null;
    this.sources = view.sources ?? null;
    this.steps = this.times ? null : steps(view.steps, this.origin);
    this.spans = (view.spans ?? []).map((/** @type {string[]} */ [kind, name, start, end]) => ({
      kind, name, start: this.timeOf(start), end: this.timeOf(end),
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
    const [own, pool] = [this.alignment?.[i] ?? 1, this.pools[this.pool[i]]?.alignment ?? 1];
    const step = own % pool === 0 ? own : pool % own === 0 ? pool : own * pool;
    return Math.ceil(this.size[i] / step) * step - this.size[i];
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

/** @param {any} given @param {bigint} origin */
function steps(given, origin) {
  if (!given) return null;
  const time = Float64Array.from(given.time, (/** @type {string} */ at) => Number(BigInt(at) - origin));
  return { time, name: given.name.map((/** @type {string} */ name) => nameText(name)) };
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
