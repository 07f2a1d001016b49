// @ts-check
// The panel beside a picture: the selected buffer and why it is there, the buffers alive at a time, what would fit.

import { fill, h, table } from "./dom.js";
import { factsOf } from "./facts.js";
import { aliveAt, endAbove, fullTimes } from "./live_bytes.js";
import { readAbout } from "./sizes.js";
import { sumsOf } from "./sums.js";
import { BufferTable } from "./tables.js";
import { bytesText, counted, countText, exactly, nameText, percentText, sizeText } from "./text.js";

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */
/**
 * The actions of a panel in its view. `questions` are those of a service.
 * @typedef {{select: (i: number, isFitted?: boolean) => void, lookAt: (time: number) => void, ask?: (kind: string, options?: any) => void,
 *   questions?: any[], verdict?: (problem: any, plan: any) => Promise<any>}} Actions
 */

const LISTED = 40;

/** The panel of a plan. */
export class Panel {
  /** @param {PlanModel} plan @param {Actions} actions */
  constructor(plan, actions) {
    this.plan = plan;
    this.actions = actions;
    this.hits = h("section", { "aria-label": "what the search found" });
    this.selected = h("section", { "aria-live": "polite", "aria-label": "selected buffer" });
    this.area = h("section", { "aria-live": "polite", "aria-label": "selected area" });
    this.alive = h("section", { "aria-label": "buffers alive at a time" });
    this.pools = h("section", { "aria-label": "pools" });
    this.table = new BufferTable(plan, "buffers alive at the chosen time", (i) => actions.select(i));
    this.element = h("aside", { class: "side", "aria-label": "details", tabindex: "0" },
      this.hits, this.selected, this.area, this.alive, this.pools);
    this.showPools();
  }

  /** @param {number} i  -1 for none */
  showBuffer(i) {
    if (i < 0) return this.showPlan();
    const { plan } = this;
    fill(this.selected, h("h2", {}, "Buffer ", h("b", { class: "name" }, plan.name(i, 200))), factsOf(plan, i), this.why(i));
  }

  /** Show the facts about the whole plan if no buffer is selected. */
  showPlan() {
    const [{ facts, verdict }, { ask, questions }] = [this.plan, this.actions];
    const isBad = verdict.badge === "not valid";
    const found = isBad ? null : facts.explanation;
    const excess = verdict.excess;
    fill(this.selected,
      isBad && h("h2", {}, "What is wrong with the plan"),
      isBad && h("ul", {}, ...verdict.violations.slice(0, LISTED).map(({ rule, message, first, second }) =>
        h("li", {}, h("b", {}, rule), ` ${nameText(message, 400)} `,
          ...[first, second].map((id) => this.plan.indexOf(id)).filter((i) => i >= 0).map((i) => this.button(i)))),
      verdict.count > LISTED && h("li", {}, `and ${countText(verdict.count - LISTED)} more`)),
      found && h("h2", {}, facts.status !== "infeasible" ? "Explanation" : verdict.best?.isProved ? "Why nothing fits"
        : "Why nothing fits, as the plan claims"),
      found && h("p", { class: "alarm" }, nameText(verdict.reason, 2000)),
      excess ? this.list(aliveAt(this.plan, -1, excess.time))
        : found?.buffers && this.list(found.buffers.map((/** @type {any} */ id) => this.plan.indexOf(id))),
      facts.status === "infeasible" && !isBad && !questions
        && h("p", { class: "quiet" }, "What would make it fit: memplan explain --repairs 3, with this problem."),
      ...(questions ?? []).filter(({ link }) => !isBad && link?.statuses.includes(facts.status)).map(({ name, link }) =>
        h("p", {}, h("button", { type: "button", onclick: () => ask?.(name, link.options) }, link.button))),
      !found && !isBad && h("p", { class: "quiet" }, "Point at a buffer for its facts; click it to see why it is where it is. ? lists all keys."),
      verdict.claims.size > 0 && h("details", {}, h("summary", {}, "What was checked of the plan's claims"),
        h("ul", {}, ...verdict.checked.map((line) => h("li", {}, line)))));
  }

  /** List the buffers that a search found. @param {import("./search.js").Search} search */
  showHits(search) {
    const { hits, at } = search;
    fill(this.hits, ...(search.text && hits.length ? [h("h2", {}, `Found: ${countText(hits.length)}`),
      h("ol", { class: "hits" }, ...hits.slice(0, LISTED).map((i, k) =>
        h("li", { class: k === at ? "chosen" : null }, this.button(i), ` ${sizeText(this.plan.size[i])}`))),
      hits.length > LISTED && h("p", { class: "quiet" }, `and ${countText(hits.length - LISTED)} more`)] : []));
  }

  /** Show the buffers in the selected area. @param {{pool: number, times: [number, number], offsets: [number, number]} | null} area  null for none */
  showArea(area) {
    if (!area) return fill(this.area);
    const { plan } = this;
    const { pool, times: [start, end], offsets: [low, high] } = area;
    const inside = plan.ids.map((_, i) => i).filter((i) => plan.pool[i] === pool && !plan.isAlias(i) && plan.size[i] > 0
      && plan.offset[i] < high && plan.offset[i] + plan.size[i] > low && plan.held(i).some(([from, to]) => from < end && to > start));
    fill(this.area, h("h2", {}, `Area: time ${plan.timeText(start)} to ${plan.timeText(end)}, offset ${countText(low)} to ${countText(high)}`),
      h("p", {}, `${counted(inside.length, "buffer")}, ${bytesText(inside.reduce((sum, i) => sum + plan.size[i], 0))} in all.`),
        sumsOf(plan, inside, (i) => this.actions.select(i)));
  }

  /** @param {number} i */
  why(i) {
    const { plan } = this;
    const { verdict } = plan;
    if (plan.pool[i] < 0) return h("p", {}, "The plan has no place for it.");
    const head = h("h2", {}, "Why is it here?");
    if (!verdict.places) {
      const reason = verdict.badge === "valid" ? "Not computed for a plan of so many buffers alive together." : `Not known: the plan is ${verdict.badge}.`;
      return h("div", { class: "why" }, head, h("p", {}, reason));
    }
    const { links, isOnReserved } = verdict.chain(i);
    const idle = links.reduce((sum, link) => sum + link.idle, 0);
    const lowest = verdict.lowest(i);
    const own = plan.offsetOf(plan.root[i]);
    const isPinned = plan.isPinned(plan.root[i]);
    const says = isPinned ? "It is pinned: its offset is given by the problem."
      : Number(own) === 0 ? "It lies at the bottom."
      : lowest === null ? "How low it could lie was not found."
      : Number(lowest) < Number(own) ? `Alone it could move down to offset ${countText(lowest)}: the verifier's rules are kept there.`
      : "It cannot move down alone: every lower offset breaks a rule while all others stay.";
    const end = isOnReserved ? "a reserved range" : plan.isPinned(links[links.length - 1].i) ? "one that is pinned" : "the bottom";
    const rows = links.slice(0, 200).map((link) => h("li", {}, this.button(link.i), ` ${sizeText(plan.size[link.i])} at ${countText(plan.offsetOf(link.i))}`,
      link.idle > 0 && h("span", { class: "alarm" }, ` ${sizeText(link.idle)} idle below`)));
    return h("div", { class: "why" }, head, h("p", {}, says),
      (links.length > 1 || isOnReserved) && h("p", {}, `It stands on ${links.length === 1 ? end
        : `${counted(links.length - 1, "buffer")} down to ${end}`}, with ${bytesText(idle)} idle between.`),
      h("ol", { class: "chain" }, ...rows));
  }

  /** @param {number} i */
  button(i) {
    return h("button", { type: "button", class: "link", onclick: () => this.actions.select(i) }, this.plan.name(i, 40));
  }

  /** @param {number[]} buffers */
  list(buffers) {
    const known = buffers.filter((i) => i >= 0);
    return h("p", { class: "some" }, ...known.slice(0, LISTED).flatMap((i) => [this.button(i), " "]),
      known.length > LISTED && `and ${countText(known.length - LISTED)} more`);
  }

  /** @param {number} time */
  showTime(time) {
    const { plan } = this;
    const buffers = aliveAt(plan, -1, time);
    const step = plan.stepName(time);
    const placed = plan.pools.map((_, q) => q).filter((q) => plan.fullest(q).bytes > 0);
    const isTimed = !plan.timeless.size || time < plan.lastTime;
    const lines = !isTimed ? [] : (placed.length > 1 ? placed : [-1]).map((q) => {
      const inside = buffers.filter((i) => q < 0 || plan.pool[i] === q);
      const bytes = plan.bytesAt(q, time);
      const exact = plan.exactSize && !plan.isShared ? inside.reduce((sum, i) => sum + BigInt(plan.sizeOf(i)), 0n) : bytes;
      const fullest = plan.fullest(q);
      const idle = plan.pools.length === 1 || q >= 0 ? inside.reduce((end, i) => Math.max(end, plan.offset[i] + plan.size[i]), 0) - bytes : 0;
      return h("p", {}, q >= 0 && h("b", {}, `${nameText(plan.pools[q].name, 40)}: `), `${counted(inside.length, "buffer")}, ${bytesText(exact)}`,
        plan.isShared && ", shared bytes once", bytes >= fullest.bytes ? " (the most)" : `, ${percentText(bytes / fullest.bytes)} of the most `,
        bytes < fullest.bytes && h("button", { type: "button", onclick: () => this.actions.lookAt(fullest.time) }, "go to the fullest time"),
        idle > 0 && plan.pool[inside[0]] >= 0 && `; ${sizeText(idle)} below the highest end ${idle === 1 ? "is" : "are"} unused.`);
    });
    const shown = isTimed ? buffers : [...plan.timeless].filter((i) => plan.isAlive(i, time));
    fill(this.alive,
      h("h2", {}, isTimed ? `Alive at time ${plan.timeText(time)}` : "A buffer without times", step && isTimed && `, ${nameText(step, 60)}`),
      ...lines,
      sumsOf(plan, shown, (i) => this.actions.select(i)),
      plan.timeless.size > 0 && h("p", { class: "quiet" }, `${counted(plan.timeless.size, "buffer has",
        "buffers have")} no times: pairs say what they may not overlap.`),
      this.table.element);
    this.table.show(shown, time);
  }

  /** Show which buffers decide the peak of each pool, and what would lower it. */
  showPools() {
    const { plan } = this;
    const parts = plan.pools.map((pool, q) => {
      const answer = h("div", { class: "answer", "aria-live": "polite" });
      const field = /** @type {HTMLInputElement} */ (h("input",
        { type: "text", size: "9", placeholder: "256 KiB", "aria-label": `size to ask of pool ${nameText(pool.name, 60)}` }));
      const form = h("form", { onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); this.answer(q, field.value, answer); } },
        h("span", {}, "Would it fit in "), field, " ", h("button", { type: "submit" }, "check"));
      return h("div", { class: "pool" }, h("h2", {}, `Pool ${nameText(pool.name, 60)}`), h("dl", {}, ...this.levels(q)),
        this.lowering(q), form, answer);
    });
    fill(this.pools, ...parts, this.paid(), this.copied());
  }

  /** Return a table of the copies of buffers that move. */
  copied() {
    const { plan } = this;
    if (!plan.copies.length) return null;
    const rows = [...plan.copies].sort((a, b) => a.at - b.at).slice(0, LISTED).map(({ at, pair }) => [
      h("button", { type: "button", onclick: () => this.actions.lookAt(at) }, plan.timeText(at)), this.button(pair[0]),
      ...pair.map((i) => nameText(plan.pools[plan.pool[i]].name, 40)), bytesText(plan.sizeOf(pair[0]))]);
    return h("div", { class: "copies" }, h("h2", {}, counted(plan.copies.length, "copy", "copies")),
      table(["time", "buffer", "from", "to", "bytes"], rows),
      plan.copies.length > LISTED && h("p", { class: "quiet" }, `and ${countText(plan.copies.length - LISTED)} more`));
  }

  /** Return a list of the pairs that share bytes at a price. */
  paid() {
    const { reused, verdict } = this.plan;
    if (!reused.length || verdict.badge === "not valid") return null;
    const cost = reused.reduce((sum, one) => sum + Number(one.cost), 0);
    return h("div", { class: "paid" }, h("h2", {}, `${counted(reused.length, "pair shares", "pairs share")} bytes at a price`),
      h("p", {}, `${countText(cost)} in all${verdict.isKnown ? "" : " (claimed)"}, the dearest first:`),
      h("ul", {}, ...[...reused].sort((a, b) => Number(b.cost) - Number(a.cost)).slice(0, LISTED).map((one) =>
        h("li", {}, this.button(one.pair[0]), " then ", this.button(one.pair[1]), `: ${countText(one.cost)}`))));
  }

  /** @param {number} q */
  levels(q) {
    const { plan } = this;
    const pool = plan.pools[q];
    const { exact } = pool;
    const found = plan.verdict.pools[q];
    const isClaim = !found && plan.verdict.badge !== "nothing placed";
    const claimed = isClaim ? " (claimed)" : "";
    const bound = found ? found.bound : exact.lower_bound;
    /** @type {[string, any, string][]} */
    const rows = [["peak", found || !plan.pool.some((of) => of === q) ? exact.used ?? found?.used : plan.top(q), ""],
      ["lower bound", bound, found && found.provedBy === null ? " (claimed)" : claimed], ["capacity", exact.size, ""],
        ["bank size", pool.bank_size, ""]];
    const list = rows.flatMap(([term, value, note]) => (value === undefined || value === null ? []
      : [h("dt", {}, term), h("dd", {}, bytesText(exactly(value)) + note)]));
    if (found?.gap !== null && found?.gap !== undefined) list.push(h("dt", { title: "how far the peak is above the bound" }, "gap"),
      h("dd", {}, `${percentText(found.gap)}${found.provedBy === null ? " (claimed)" : ""}`));
    return list;
  }

  /** @param {number} q */
  lowering(q) {
    const { plan } = this;
    const found = plan.verdict.pools[q];
    if (!found || !found.liveBounds || found.time < 0) return null;
    const more = found.used - found.live;
    return h("details", {}, h("summary", {}, "What is in the way of a lower peak?"),
      h("p", {}, `At time ${plan.timeText(found.time)}, ${countText(found.alive.length)} buffers with ${bytesText(found.live)} are alive together: `
        + "no plan with the same buffers in this pool has less.",
        more > 0 ? ` This plan takes ${bytesText(more)} more${found.reserved ? `, of which ${bytesText(found.reserved)} are reserved` : ""}.` : ""),
      this.list(found.alive),
      found.without.length ? h("p", {}, "The most bytes alive would be, without one of them (moved to another pool, computed again, or made in parts):")
        : h("p", {}, "No single one of them would lower the most bytes alive: other times are as full."),
      h("ul", {}, ...found.without.map((/** @type {{i: number, bytes: number}} */ row) => 
        h("li", {}, this.button(row.i), ` ${sizeText(row.bytes)} (${sizeText(found.live - row.bytes)} less)`))));
  }

  /** @param {number} q @param {string} text @param {HTMLElement} element */
  answer(q, text, element) {
    const { plan } = this;
    let size = 0;
    try {
      size = Number(readAbout(text));
    } catch (error) {
      return fill(element, h("p", { class: "alarm" }, nameText(/** @type {Error} */ (error).message, 200)));
    }
    const [says, isYes] = this.fits(q, size);
    const stretches = isYes ? [] : fullTimes(plan, plan.pool.some((of) => of === q) ? q : -1, size);
    const above = isYes ? [] : endAbove(plan, q, size);
    fill(element, h("p", { class: isYes ? null : "alarm" }, says),
      stretches.length > 0 && h("p", {}, `More bytes are alive in ${counted(stretches.length, "range")} of time: `,
        ...stretches.sort((a, b) => b.most - a.most).slice(0, 8).flatMap((stretch) => [
          h("button", { type: "button", onclick: () => this.actions.lookAt(stretch.at) },
            `${plan.timeText(stretch.start)} to ${plan.timeText(stretch.end)}: ${sizeText(stretch.most)}`), " "])),
      above.length > 0 && h("p", {}, `${counted(above.length, "buffer ends", "buffers end")} above it:`), above.length > 0 && this.list(above));
  }

  /**
   * Return a sentence that answers whether the plan fits `size` bytes of pool `q`, with the numbers that prove it.
   * @param {number} q @param {number} size @returns {[string, boolean]}
   */
  fits(q, size) {
    const { plan } = this;
    const { verdict, facts } = plan;
    const pool = plan.pools[q];
    const found = verdict.pools[q];
    const reason = facts.explanation;
    const isProved = Boolean(verdict.best?.isProved);
    if (verdict.isValid && facts.status === "infeasible" && pool.size !== undefined && size <= Number(pool.size)) {
      const capacity = bytesText(pool.exact.size);
      return isProved ? [`No: nothing fits ${capacity}, by the reason above.`, false]
        : [`Not known: the plan claims that nothing fits ${capacity}, which is not proved.`, false];
    }
    if (isProved && reason?.pool === pool.name && Number(reason.needed ?? 0) > size) return [`No: at least ${bytesText(reason.needed)} are needed.`, false];
    if (!found) return [`Not known: the plan is ${verdict.badge === "nothing placed" ? "empty" : verdict.badge}. Plan it with this capacity to know.`, false];
    const empty = plan.ids.findIndex((_, i) => plan.pool[i] === q && plan.size[i] === 0 && plan.offset[i] > size);
    if (found.used <= size && empty >= 0) return [`This plan does not: ${plan.name(empty)} has no bytes, and lies at ${countText(plan.offsetOf(empty))}.`,
      false];
    if (found.used <= size) return [`Yes: this plan ends at ${bytesText(found.used)}.`, true];
    const isOnly = plan.pools.length === 1;
    if (found.liveBounds && found.live > size) {
      return [`No plan${isOnly ? "" : " with these buffers here"} fits: ${bytesText(found.live)} are alive at time ${plan.timeText(found.time)}, `
        + `${bytesText(found.live - size)} too much.`, false];
    }
    if (found.bound !== null && Number(found.bound) > size) {
      if (found.provedBy !== null) return [`No: no plan${found.among
        || (isOnly ? "" : " with these buffers here")} uses less than ${bytesText(found.bound)}, which is proved.`, false];
      return [`This plan does not: it ends at ${bytesText(found.used)}. Its solver claims that no plan${found.among} uses `
        + `less than ${bytesText(found.bound)}, which was not checked.`, false];
    }
    return [`This plan does not: it ends at ${bytesText(found.used)}. Nothing rules it out; plan it with this capacity to know.`, false];
  }
}
