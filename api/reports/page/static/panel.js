// @ts-check
// The panel beside a picture: the selected buffer and why it is there, the buffers alive at a time, what would fit.

import { fill, h } from "./dom.js";
import { factsOf } from "./facts.js";
import { BufferTable } from "./tables.js";
import { bytesText, countText, exactly, nameText, percentText, sizeText } from "./text.js";
import { aliveAt, bottleneck, chainUnder, fits, lowestFit, readSize, without } from "./why.js";

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */
/** @typedef {{select: (i: number, isFitted?: boolean) => void, lookAt: (time: number) => void}} Actions */

const LISTED = 40;

/** The panel of a plan. */
export class Panel {
  /**
   * @param {PlanModel} plan
   * @param {Actions} actions
   */
  constructor(plan, actions) {
    this.plan = plan;
    this.actions = actions;
    this.selected = h("section", { "aria-live": "polite", "aria-label": "selected buffer" });
    this.alive = h("section", { "aria-label": "buffers alive at a time" });
    this.pools = h("section", { "aria-label": "pools" });
    this.table = new BufferTable(plan, "buffers alive at the chosen time", (i) => actions.select(i));
    this.element = h("aside", { class: "side", "aria-label": "details", tabindex: "0" }, this.selected, this.alive, this.pools);
    this.showPools();
  }

  /** @param {number} i  -1 for none */
  showBuffer(i) {
    if (i < 0) return this.showPlan();
    const { plan } = this;
    fill(this.selected, h("h2", {}, "Buffer ", h("b", { class: "name" }, plan.name(i, 200))), factsOf(plan, i, false), this.why(i));
  }

  /** What the plan as a whole says, where no buffer is selected. */
  showPlan() {
    const { facts } = this.plan;
    const found = facts.explanation;
    fill(this.selected,
      found && h("h2", {}, facts.status === "infeasible" ? "Why nothing fits" : "Explanation"),
      found && h("p", { class: "alarm" }, nameText(found.message, 2000)),
      found?.buffers && this.list(found.buffers.slice(0, LISTED).map((/** @type {any} */ id) => this.plan.ids.indexOf(id))),
      !found && h("p", { class: "quiet" }, "Point at a buffer for its facts; click it to see why it is where it is. ? lists all keys."));
  }

  /** @param {number} i */
  why(i) {
    const { plan } = this;
    if (plan.pool[i] < 0) return h("p", {}, "The plan has no place for it.");
    const links = chainUnder(plan, i);
    const idle = links.reduce((sum, link) => sum + link.idle, 0);
    const lowest = lowestFit(plan, plan.root[i]);
    const own = plan.offset[plan.root[i]];
    const verdict = plan.pins.has(i) ? "Its offset is given by the problem."
      : own === 0 ? "It lies at the bottom."
      : lowest.offset < own ? `Alone it could move down to offset ${countText(lowest.offset)}: nothing is in its way there.`
      : `It cannot move down alone: the widest free range below it, while it is alive, has ${sizeText(lowest.widest)} of the ${sizeText(plan.size[plan.root[i]])} it needs.`;
    const rows = links.slice(0, 200).map((link) => h("li", {}, this.button(link.i), ` ${sizeText(plan.size[link.i])} at ${countText(plan.offsetOf(link.i))}`,
      link.idle > 0 && h("span", { class: "alarm" }, ` ${sizeText(link.idle)} idle below`)));
    return h("div", { class: "why" }, h("h2", {}, "Why is it here?"), h("p", {}, verdict),
      links.length > 1 && h("p", {}, `It stands on ${links.length - 1} ${links.length === 2 ? "buffer" : "buffers"} down to the bottom, with ${bytesText(idle)} idle between them.`),
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
    const bytes = buffers.reduce((sum, i) => sum + plan.size[i], 0);
    const fullest = plan.fullest(-1);
    const step = plan.stepName(time);
    const isPeak = bytes === fullest.bytes;
    fill(this.alive,
      h("h2", {}, `Alive at time ${plan.timeText(time)}`, step && `, ${nameText(step, 60)}`, isPeak && " (the fullest)"),
      h("p", {}, `${countText(buffers.length)} buffers, ${bytesText(bytes)}`,
        !isPeak && fullest.bytes > 0 && `, ${percentText(bytes / fullest.bytes)} of the most `,
        !isPeak && h("button", { type: "button", onclick: () => this.actions.lookAt(fullest.time) }, "go to the fullest time")),
      plan.timeless.size > 0 && h("p", { class: "quiet" }, `${countText(plan.timeless.size)} buffers have no times: pairs say what they may not overlap.`),
      this.table.element);
    this.table.show(buffers, time);
  }

  /** What each pool's peak is made of, and what would lower it. */
  showPools() {
    const { plan } = this;
    const parts = plan.pools.map((pool, q) => {
      const answer = h("div", { class: "answer", "aria-live": "polite" });
      const isPlaced = plan.pool.some((of) => of === q);
      const field = /** @type {HTMLInputElement} */ (h("input", { type: "text", size: "9", placeholder: "256 KiB", "aria-label": `size to ask of pool ${nameText(pool.name, 60)}` }));
      const form = h("form", { onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); this.answer(q, field.value, answer); } },
        h("span", {}, "Would it fit in "), field, " ", h("button", { type: "submit" }, "ask"));
      return h("div", { class: "pool" }, h("h2", {}, `Pool ${nameText(pool.name, 60)}`), h("dl", {}, ...this.levels(pool)),
        isPlaced && this.lowering(q), form, answer);
    });
    fill(this.pools, ...parts);
  }

  /** @param {import("./plan_model.js").Pool} pool */
  levels(pool) {
    const exact = /** @type {any} */ (pool).exact ?? {};
    /** @type {[string, any][]} */
    const rows = [["peak", exact.used ?? pool.used], ["lower bound", exact.lower_bound ?? pool.lower_bound], ["capacity", exact.size ?? pool.size], ["bank size", pool.bank_size]];
    return rows.flatMap(([term, value]) => (value === undefined ? [] : [h("dt", {}, term), h("dd", {}, bytesText(exactly(value)))]));
  }

  /** @param {number} q */
  lowering(q) {
    const { plan } = this;
    const pool = plan.pools[q];
    const peak = pool.used ?? plan.top(q);
    const narrow = bottleneck(plan, q);
    const details = h("details", {}, h("summary", {}, "What is in the way of a lower peak?"));
    details.addEventListener("toggle", () => {
      if (details.childElementCount > 1) return;
      const best = without(plan, q, narrow.buffers).filter((row) => row.bytes < narrow.bytes);
      details.append(
        h("p", {}, `At time ${plan.timeText(narrow.time)}, ${countText(narrow.buffers.length)} buffers with ${bytesText(narrow.bytes)} are alive together${plan.isShared ? "." : ": no plan with the same buffers in this pool has less."}`,
          peak > narrow.bytes ? ` This plan takes ${bytesText(peak - narrow.bytes)} more.` : ""),
        this.list(narrow.buffers),
        best.length ? h("p", {}, "The most bytes alive would be, without one of them (moved to another pool, computed again, or made in parts):")
          : h("p", {}, "No single one of them would lower the most bytes alive: other times are as full."),
        h("ul", {}, ...best.map((row) => h("li", {}, this.button(row.i), ` ${sizeText(row.bytes)} (${sizeText(narrow.bytes - row.bytes)} less)`))),
      );
    });
    return details;
  }

  /** @param {number} q @param {string} text @param {HTMLElement} element */
  answer(q, text, element) {
    const { plan } = this;
    const size = readSize(text);
    if (size === null) return fill(element, h("p", { class: "alarm" }, `size: must be bytes, such as 256 KiB or 65536, got ${nameText(text, 40)}`));
    const pool = plan.pool.some((of) => of === q) ? q : -1;
    const { stretches, above } = fits(plan, pool, size);
    const least = bottleneck(plan, pool);
    const used = Math.max(plan.pools[q].used ?? 0, plan.top(q));
    if (!stretches.length && pool < 0) return fill(element, h("p", {}, `Nothing is placed here. Never more than ${bytesText(least.bytes)} are alive; plan it with this capacity to know.`));
    if (!stretches.length && !above.length) return fill(element, h("p", {}, `Yes: this plan ends at ${bytesText(used)}.`));
    const say = stretches.length
      ? `${plan.isShared ? "Too much is alive" : pool < 0 ? "No plan fits" : plan.pools.length > 1 ? "No plan with these buffers here fits" : "No plan fits"}: ${bytesText(least.bytes)} are alive at time ${plan.timeText(least.time)}, ${bytesText(least.bytes - size)} too much.`
      : `This plan does not: it ends at ${bytesText(used)}. The live bytes, ${bytesText(least.bytes)}, would; plan it with this capacity to know.`;
    fill(element, h("p", { class: "alarm" }, say),
      stretches.length > 0 && h("p", {}, `In the way: ${countText(stretches.length)} ${stretches.length === 1 ? "stretch" : "stretches"} of time `,
        ...stretches.sort((a, b) => b.most - a.most).slice(0, 8).flatMap((stretch) => [
          h("button", { type: "button", onclick: () => this.actions.lookAt(stretch.at) }, `${plan.timeText(stretch.start)} to ${plan.timeText(stretch.end)}: ${sizeText(stretch.most)}`), " "])),
      above.length > 0 && h("p", {}, `${countText(above.length)} buffers end above it:`), above.length > 0 && this.list(above));
  }
}
