// @ts-check
// Levers: what another size, alignment, capacity or order would be worth, compared with the plan that is shown.

import { fill, h, table } from "./dom.js";
import { readAbout } from "./sizes.js";
import { nameText, percentText, sizeText } from "./text.js";

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */
/**
 * A lever: a change of the problem. `here` is the peak of the shown plan after the change, null if the plan is then invalid. No plan is below `least`. `more`
 * is the request to a service, and `point` its answer, null if none is needed.
 * @typedef {{text: string, more: any, here: number | null, least: number, start: any, point?: any, wrong?: string}} Lever
 */

const ALIGNMENTS = [1, 16, 64];
const EACH_S = 3;
/** The number of buffers that are changed one after another if no buffer is selected. */
const TRIED = 8;

/** Return the peak of the plan if a buffer has another size; size 0 drops the buffer. @param {PlanModel} plan @param {number} i @param {number} size */
export function changedPeak(plan, i, size) {
  const tops = plan.pools.map((_, q) => plan.top(q, i));
  if (size > 0) tops[plan.pool[i]] = Math.max(tops[plan.pool[i]], plan.offset[i] + size);
  return tops.reduce((sum, top) => sum + top, 0);
}

/**
 * Return the live peak if buffer i (-1: none) has another size, a lower bound on every plan's peak; 0 if unknown.
 * @param {PlanModel} plan @param {number} i @param {number} size
 */
export function leastPeak(plan, i, size) {
  if (plan.isShared) return 0;
  const { time, bytes } = plan.load(-1);
  return bytes.reduce((most, alive, k) => Math.max(most, alive - (i >= 0 && plan.isAlive(i, time[k]) ? plan.size[i] - size : 0)), 0);
}

/** Return the shown plan, without the dropped buffer, as the start of a search. @param {PlanModel} plan @param {number} [dropped] */
function startOf(plan, dropped = -1) {
  const placed = plan.ids.map((id, i) => ({ id, pool: plan.pools[plan.pool[i]]?.name, offset: plan.offsetOf(i) }));
  return { status: "feasible", placements: placed.filter((_, i) => i !== dropped && plan.pool[i] >= 0) };
}

/** Return the lever that halves or drops a buffer. @param {PlanModel} plan @param {number} i @param {boolean} isDropped @returns {Lever} */
function changed(plan, i, isDropped) {
  const size = isDropped ? 0 : Math.floor(plan.size[i] / 2);
  return { text: `${isDropped ? "drop" : "halve"} ${nameText(plan.label(i), 30)}`, here: changedPeak(plan, i, size), least: leastPeak(plan, i, size),
    more: { changes: [[{ buffer: plan.ids[i], ...(isDropped ? {} : { fields: { size } }) }]] }, start: startOf(plan, isDropped ? i : -1) };
}

/** Return the lever that aligns all buffers to `step` bytes. @param {PlanModel} plan @param {number} step @returns {Lever} */
function aligned(plan, step) {
  const isSo = plan.ids.every((_, i) => plan.isAlias(i) || plan.rows[i].relative
    || (plan.offset[i] + (plan.pools[plan.pool[i]]?.base_address ?? 0)) % step === 0);
  return { text: `alignment ${step}`, more: { options: { alignments: [step] } }, here: isSo ? plan.peak : null, least: leastPeak(plan, -1, 0),
    start: startOf(plan) };
}

/** Return the known peak of a lever (null if there is none), and a text about its proof. @param {Lever} lever @param {boolean} isOnly  one pool */
export function outcome({ here, least, point, wrong }, isOnly) {
  const asked = point?.peak === null || point?.peak === undefined ? Infinity : Number(point.peak);
  const peak = Math.min(asked, here ?? Infinity);
  if (peak === Infinity) return { peak: null, proof: wrong ?? (point === undefined ? "planning …" : point?.status === "infeasible" ? "does not fit, claimed"
    : "no plan found in time") };
  if (peak <= least) return { peak, proof: "least: bytes alive" };
  // That a search found no less is its claim: with several pools, of more than this sum.
  if (isOnly && point?.status === "optimal" && asked <= peak) return { peak, proof: "least, claimed" };
  const below = least > 0 ? `; no plan is below ${sizeText(least)}` : "";
  return { peak, proof: `${point === undefined ? wrong ?? "this plan, planning …" : "found"}${below}` };
}

/**
 * Return the levers of the selected buffer, or of each of the largest buffers that decide the peak (-1).
 * @param {PlanModel} plan @param {number} selected @param {import("./panel.js").Actions} actions
 */
export function leversOf(plan, selected, actions) {
  const { change, open, ask, questions } = actions;
  const orders = questions?.find(({ name }) => name === "order");
  const tried = (selected >= 0 ? [plan.root[selected]] : [...new Set(plan.verdict.deciding)].sort((a, b) => plan.size[b] - plan.size[a])).slice(0, TRIED);
  if (!change || !tried.length) return null;
  const answer = h("div", { class: "answer", "aria-live": "polite" });
  const before = plan.peak;
  let asked = 0;
  const draw = (/** @type {Lever[]} */ levers) => {
    const rows = levers.map((lever) => ({ lever, ...outcome(lever, plan.pools.length === 1) }));
    if (levers[0]?.more.changes) rows.sort((a, b) => (a.peak ?? Infinity) - (b.peak ?? Infinity) || a.lever.least - b.lever.least);
    fill(answer, table(["change", "peak", "", ""], rows.map(({ lever, peak, proof }) => [lever.text, peak === null ? "" : sizeText(peak),
      `${peak === null ? "" : `${changeText(peak, before)} `}(${proof})`, open && peak !== null
        ? h("button", { type: "button", onclick: () => open({ ...lever.more, said: lever.text }) }, "open") : ""])));
  };
  const run = (/** @type {() => Lever[]} */ made) => async () => {
    const mine = (asked += 1);
    const levers = made();
    for (const lever of levers) if (lever.here !== null && lever.here <= lever.least) lever.point = null;
    draw(levers);
    for (const lever of levers.filter(({ point }) => point === undefined)) {
      const { options, ...more } = lever.more;
      const found = await change({ ...more, start: lever.start, options: { each_s: EACH_S, time_limit_s: EACH_S * 4, ...options } }).catch((error) => {
        lever.wrong = nameText(error.message, 200);
      });
      lever.point = found?.points[0] ?? (lever.wrong ? undefined : null);
      if (mine !== asked || !answer.isConnected) return;
      draw(levers);
    }
  };
  const button = (/** @type {string} */ text, /** @type {string} */ title, /** @type {() => Lever[]} */ made) =>
    h("button", { type: "button", title, onclick: run(made) }, text);
  const field = /** @type {HTMLInputElement} */ (h("input", { type: "text", size: "9", placeholder: sizeText(before / 2),
    "aria-label": "capacity to plan with" }));
  const [i] = tried;
  // What views lie in can be neither halved nor dropped without them.
  const viewed = new Set(plan.root.filter((root, k) => root !== k));
  const alone = tried.filter((one) => !viewed.has(one));
  const each = tried.length > 1 ? " each" : "";
  const q = Math.max(0, plan.pool[i]);
  const pool = plan.pools[q].name;
  return h("div", { class: "levers" }, h("h2", {}, "What would change the peak?"),
    h("p", { class: "quiet" }, each ? `of the ${tried.length} largest buffers that decide it, or of one that is selected`
      : `of ${plan.name(i, 60)}, which has ${sizeText(plan.size[i])}`),
    h("p", {}, ...(alone.length ? [button(`halve${each}`, "plan with half of its bytes", () => alone.map((one) => changed(plan, one, false))), " ",
      button(`drop${each}`, "plan without it", () => alone.map((one) => changed(plan, one, true))), " "] : []),
      button("alignment", `plan with alignments of ${ALIGNMENTS.join(", ")} bytes at least`, () => ALIGNMENTS.map((step) => aligned(plan, step))), " ",
      orders && h("button", { type: "button", title: "another order of operations", onclick: () => ask?.(orders.name) }, "order …")),
    h("form", { onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      try {
        const size = Number(readAbout(field.value, "capacity"));
        run(() => [{ text: `capacity ${field.value}`, more: { sizes: { [pool]: [size] } }, here: plan.top(q) <= size ? before : null,
          least: leastPeak(plan, -1, 0), start: startOf(plan) }])();
      } catch (error) {
        fill(answer, h("p", { class: "alarm" }, nameText(/** @type {Error} */ (error).message, 200)));
      }
    } }, field, " ", h("button", { type: "submit" }, `capacity of ${nameText(pool, 20)}`)), answer);
}

/** Return the difference between a peak and the shown one as text. @param {number} peak @param {number} before */
function changeText(peak, before) {
  return peak === before ? "the same" : `${peak < before ? "−" : "+"}${sizeText(Math.abs(peak - before))}, ${percentText((peak - before) / before)}`;
}
