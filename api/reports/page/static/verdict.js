// @ts-check
// What memplan found of a plan (`memplan verify`), as it is shown: nothing is concluded here.

import { countText, exactly } from "./text.js";

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */
/** @typedef {"verified" | "not valid" | "not checked" | "nothing placed" | "checking"} Badge */
/** @typedef {{i: number, idle: number}} Link  a buffer, and the bytes under it that nothing uses while it is alive */
/**
 * @typedef {Object} PoolVerdict
 * @property {number} used
 * @property {number | bigint | null} bound
 * @property {string | null} provedBy
 * @property {number | null} gap
 * @property {number[]} decides
 * @property {number} live
 * @property {number} time
 * @property {number[]} alive
 * @property {boolean} liveBounds
 * @property {{i: number, bytes: number}[]} without
 * @property {number} reserved
 * @property {string} sentence
 */

const ON_RESERVED = -2;

/** The verdict on a plan: as a page document has it, or as the service answers; null: there is none. */
export class Verdict {
  /** @param {PlanModel} plan @param {any} found @param {boolean} [isPending] */
  constructor(plan, found, isPending = false) {
    this.plan = plan;
    /** @type {any[]} */ this.violations = found?.violations ?? [];
    this.count = found?.count ?? this.violations.length;
    this.isValid = Boolean(found?.valid);
    this.isPending = isPending;
    this.isKnown = Boolean(found);
    this.places = found?.places ?? null;
    plan.seek([...this.violations.flatMap(({ first, second }) => [first, second]),
      ...(found?.pools ?? []).flatMap((/** @type {any} */ pool) => [...pool.decides, ...pool.alive, ...pool.without.map((/** @type {any} */ [id]) => id)])]);
    /** @type {(PoolVerdict | null)[]} */
    this.pools = plan.pools.map((_, q) => poolVerdict(plan, found?.pools?.[q]));
  }

  /** @returns {Badge} */
  get badge() {
    if (this.isPending) return "checking";
    if (!this.isKnown) return "not checked";
    if (!this.isValid) return "not valid";
    return this.plan.pool.some((q) => q >= 0) ? "verified" : "nothing placed";
  }

  /** The badge with the number of violations. */
  get text() {
    return this.badge === "not valid" ? `not valid: ${countText(this.count)} ${this.count === 1 ? "violation" : "violations"}` : this.badge;
  }

  /** The buffers of violations. @returns {number[]} */
  get wrong() {
    const ids = this.violations.flatMap(({ first, second }) => [first, second]);
    return [...new Set(ids.map((id) => this.plan.indexOf(id)))].filter((i) => i >= 0);
  }

  /** The buffers that decide the peaks. @returns {number[]} */
  get deciding() {
    return this.pools.flatMap((pool) => pool?.decides ?? []);
  }

  /** The chain from a buffer down: what it stands on, what that stands on; and if a reserved range ends it. @param {number} i @returns {{links: Link[], isOnReserved: boolean}} */
  chain(i) {
    /** @type {Link[]} */ const links = [];
    let at = this.plan.root[i];
    while (this.places && at >= 0) {
      links.push({ i: at, idle: Number(this.places.idle[at]) });
      at = Number(this.places.under[at]);
    }
    return { links, isOnReserved: at === ON_RESERVED };
  }

  /** The lowest offset of a buffer with all others where they are; null where that is not known. @param {number} i */
  lowest(i) {
    const found = this.places ? this.places.lowest[this.plan.root[i]] : -1;
    return Number(found) < 0 ? null : found;
  }

  /** The next buffer under (-1: the bottom, -2: a reserved range) and above a buffer (-1: none); null: not known. @param {number} i */
  neighbours(i) {
    const root = this.plan.root[i];
    return this.places && { under: Number(this.places.under[root]), over: Number(this.places.over[root]) };
  }
}

/** @param {PlanModel} plan @param {any} found @returns {PoolVerdict | null} */
function poolVerdict(plan, found) {
  if (!found) return null;
  const bytes = (/** @type {any} */ value) => Number(value);
  const buffers = (/** @type {any[]} */ ids) => ids.map((id) => plan.indexOf(id));
  return {
    used: bytes(found.used), bound: found.lower_bound === null ? null : exactly(found.lower_bound), provedBy: found.proved_by, gap: found.gap,
    decides: buffers(found.decides), live: bytes(found.live), time: found.time === null ? 0 : plan.timeOf(found.time), alive: buffers(found.alive),
    liveBounds: found.live_bounds, without: found.without.map((/** @type {any} */ [id, left]) => ({ i: plan.indexOf(id), bytes: bytes(left) })),
    reserved: bytes(found.reserved), sentence: found.sentence,
  };
}
