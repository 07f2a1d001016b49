// @ts-check
// A schedule as a plan of the fast memory: its slots are buffers, alive in the steps that use them.

import { countText } from "./text.js";

/** Return true for the answer of a schedule. @param {any} value */
export function isSchedule(value) {
  return ["subgraphs", "subgraph_latencies", "slots"].every((name) => Array.isArray(value?.[name]));
}

/** Return a schedule's problem and plan, with the roles of the slots and texts of the steps. @param {any} answer of `schedule` */
export function planOfSchedule({ slots, capacity, subgraphs, subgraph_latencies: times, link_busy: busy = [] }) {
  const rows = slots.map((/** @type {any} */ slot, /** @type {number} */ k) => ({ ...slot, id: `tensor ${slot.tensor}: ${slot.kind}, slot ${k}` }));
  const name = "fast memory";
  return {
    problem: { pools: [{ name, size: capacity }],
      buffers: rows.map((/** @type {any} */ { id, size, start, end }) => ({ id, size, start, end })) },
    plan: { status: "feasible", placements: rows.map((/** @type {any} */ { id, offset }) => ({ id, pool: name, offset })) },
    names: { roles: rows.map((/** @type {any} */ { kind }) => kind), operations: [], types: [], models: [], spans: [],
      steps: subgraphs.map((/** @type {number[]} */ made, /** @type {number} */ time) => ({ time,
        name: `ops ${made.join(", ")}; time ${countText(Math.round(times[time]))}`
          + (busy[time] === undefined ? "" : `; ${(100 * busy[time]).toFixed(0)}% link`) })) },
  };
}
