// @ts-check
// What memplan found of a plan (`memplan verify`), as it is shown: nothing is concluded here.

import { excessOf } from "./demand.js";
import { bytesText, exactly, counted } from "./text.js";

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */
/** @typedef {"valid" | "not valid" | "not checked" | "nothing placed" | "checking"} Badge */
/** @typedef {{i: number, idle: number}} Link  a buffer, and the bytes under it that nothing uses while it is alive */
/** @typedef {NonNullable<ReturnType<typeof poolVerdict>>} PoolVerdict */

const ON_RESERVED = -2;
/** Maps the words of `verify` to what checked a claim. @type {Record<string, string>} */
const BY = { placements: "its placements", witness: "its witness", certificate: "its certificate", "live-set": "the live set" };

/** The verdict on a plan, from the page's document or the service; null if there is none. */
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
    /** The claims of the plan, each with what checked it. @type {Map<string, string | null>} */
    this.claims = new Map((found?.claims ?? []).map((/** @type {any} */ { claim, by }) => [claim, by]));
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
    return this.plan.pool.some((q) => q >= 0) ? "valid" : "nothing placed";
  }

  /** The text of the badge. */
  get text() {
    if (this.badge === "not valid") return `not valid: ${counted(this.count, "violation")}`;
    if (!this.isKnown && !this.plan.isPlanned) return "no plan";
    if (this.badge === "nothing placed") return this.plan.facts.status === "infeasible" ? "does not fit" : this.badge;
    return this.badge === "valid" ? "valid: checked" : this.badge;
  }

  /**
   * Whether the plan is optimal, or the infeasibility is proved, and who claims it; null if nobody does.
   * @returns {{text: string, isProved: boolean} | null}
   */
  get best() {
    const { status } = this.plan.facts;
    if (this.badge === "checking" || this.badge === "not valid") return null;
    if (this.badge === "not checked") return status && status !== "unknown" ? { text: `claims to be ${status}`, isProved: false } : null;
    const live = this.pools.every((pool) => pool?.provedBy === "live-set" && pool.bound === pool.used) && this.pools.length ? "live-set" : null;
    const by = this.claims.get("status") ?? live;
    if (!by && this.excess) return { text: "proved: by the bytes alive", isProved: true };
    if (status === "infeasible") return by ? { text: `proved: checked by ${BY[by]}`, isProved: true }
      : { text: "claimed by the solver, not proved here", isProved: false };
    if (by) return { text: `least: checked by ${BY[by]}`, isProved: true };
    if (status === "optimal") return { text: "least: claimed by the solver", isProved: false };
    return status === "feasible" ? { text: "not known to be the least", isProved: false } : null;
  }

  /** The bytes that all pools together lack, if that is why nothing fits. */
  get excess() {
    return this.plan.facts.status === "infeasible" && this.plan.pools.length > 1 ? excessOf(this.plan) : null;
  }

  /** Why nothing fits: the bytes that all pools together lack, or the plan's explanation. @returns {string | undefined} */
  get reason() {
    const { excess, plan } = this;
    return excess ? `${bytesText(excess.bytes)} are alive at time ${plan.timeText(excess.time)}, and all pools together have `
      + `${bytesText(excess.capacity)}: ${bytesText(excess.bytes - excess.capacity)} are too much.` : plan.facts.explanation?.message;
  }

  /** The sentences of `memplan verify` about what was checked and what was not. @returns {string[]} */
  get checked() {
    const by = (/** @type {string | null} */ one) => [...this.claims].filter(([, known]) => known === one).map(([claim]) => claim).join(", ");
    return [...["placements", "witness", "certificate"].map((one) => by(one) && `checked by ${BY[one]}: ${by(one)}`), by(null) && `not checked: ${by(null)}`]
      .filter((text) => text);
  }

  /** Return true for a claim that nothing checked. @param {string} claim */
  isClaimed(claim) {
    return !this.claims.get(claim);
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

  /**
   * Return the chain of buffers on which a buffer rests, downwards, and whether it ends at a reserved range.
   * @param {number} i @returns {{links: Link[], isOnReserved: boolean}}
   */
  chain(i) {
    /** @type {Link[]} */ const links = [];
    let at = this.plan.root[i];
    while (this.places && at >= 0) {
      const isPinned = this.plan.isPinned(at);
      links.push({ i: at, idle: isPinned ? 0 : Number(this.places.idle[at]) });
      if (isPinned) return { links, isOnReserved: false };
      at = Number(this.places.under[at]);
    }
    return { links, isOnReserved: at === ON_RESERVED };
  }

  /** Return the lowest possible offset of a buffer if all others stay; null if unknown. @param {number} i */
  lowest(i) {
    const found = this.places ? this.places.lowest[this.plan.root[i]] : -1;
    return Number(found) < 0 ? null : found;
  }

  /** Return the next buffer under a buffer (-1: the bottom, -2: a reserved range) and above it (-1: none); null if unknown. @param {number} i */
  neighbours(i) {
    const root = this.plan.root[i];
    return this.places && { under: Number(this.places.under[root]), over: Number(this.places.over[root]) };
  }
}

/** Return the verdict on a pool; its bound holds for all plans, or only for those in `among`. @param {PlanModel} plan @param {any} found */
function poolVerdict(plan, found) {
  if (!found) return null;
  const bytes = (/** @type {any} */ value) => Number(value);
  const buffers = (/** @type {any[]} */ ids) => ids.map((id) => plan.indexOf(id));
  return {
    used: bytes(found.used), bound: found.lower_bound === null ? null : exactly(found.lower_bound),
    provedBy: /** @type {string | null} */ (found.proved_by), gap: /** @type {number | null} */ (found.gap), among: /** @type {string} */ (found.among),
    decides: buffers(found.decides), live: bytes(found.live), time: found.time === null ? -1 : plan.timeOf(found.time), alive: buffers(found.alive),
    liveBounds: Boolean(found.live_bounds), without: found.without.map((/** @type {any} */ [id, left]) => ({ i: plan.indexOf(id), bytes: bytes(left) })),
    reserved: bytes(found.reserved), sentence: String(found.sentence),
  };
}
