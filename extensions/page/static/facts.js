// @ts-check
// The facts of one buffer, as a list of terms.

import { h } from "./dom.js";
import { bytesText, countText, nameText } from "./text.js";

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */

/** Return a list of the facts about a buffer. @param {PlanModel} plan @param {number} i @returns {HTMLElement} */
export function factsOf(plan, i) {
  /** @type {[string, string | Node | null][]} */
  const rows = [
    ["size", bytesText(plan.sizeOf(i))],
    ["with padding", plan.padding(i) ? bytesText(plan.size[i] + plan.padding(i)) : null],
    ["type", plan.types ? nameText(plan.types.names[plan.types.of[i]]) : null],
    ["operation", plan.operations ? nameText(plan.operations.names[plan.operations.of[i]]) : null],
    ["alive", lives(plan, i)],
    ["bytes taken", plan.isAlias(i) || plan.death(i) === plan.lives.end[plan.lifetimes(i).at(-1) ?? 0] ? null
      : `until ${plan.timeText(plan.death(i))}, by its views`],
    ["pool", plan.pool[i] < 0 ? "not placed" : nameText(plan.pools[plan.pool[i]].name)],
    ["offset", plan.pool[i] < 0 ? null : `${countText(plan.offsetOf(i))} to ${countText(plan.endOf(i))}`],
    ["address", address(plan, i)],
    ["role", plan.role(i)],
    ["inside of", plan.isAlias(i) ? plan.name(plan.root[i]) : null],
    ["pinned", plan.pins.has(i) ? "yes: the problem gives its offset" : null],
    ["alignment", plan.rows[i].alignment > 1 ? countText(plan.rows[i].alignment) : null],
    ["traffic", plan.rows[i].traffic >= 0 ? bytesText(plan.rows[i].traffic) : null],
    ...(plan.pool[i] < 0 ? [] : neighbours(plan, i)),
  ];
  const list = h("dl");
  for (const [term, value] of rows) if (value !== null) list.append(h("dt", {}, term), h("dd", {}, value));
  return list;
}

/** @param {PlanModel} plan @param {number} i */
function address(plan, i) {
  const base = plan.pool[i] < 0 ? 0 : plan.pools[plan.pool[i]].base_address ?? 0;
  return base ? `0x${(BigInt(base) + BigInt(plan.offsetOf(i))).toString(16)}` : null;
}

/** @param {PlanModel} plan @param {number} i */
function lives(plan, i) {
  if (plan.timeless.has(i)) return "no times given";
  const rows = plan.lifetimes(i);
  const parts = rows.slice(0, 4).map((row) => {
    const [start, end] = [plan.lives.start[row], plan.lives.end[row]];
    const names = [plan.stepName(start), plan.stepName(end - 1)].filter((name) => name !== null);
    const named = names.length === 2 ? ` (${nameText(names[0] ?? "", 30)} to ${nameText(names[1] ?? "", 30)})` : "";
    return `${plan.timeText(start)} to ${plan.timeText(end)}${named}`;
  });
  const more = rows.length > 4 ? `, and ${rows.length - 4} times more` : "";
  return parts.join(", then ") + more;
}

/** @param {PlanModel} plan @param {number} i @returns {[string, string | null][]} */
function neighbours(plan, i) {
  const found = plan.verdict.neighbours(i);
  if (!found) return [];
  const { under, over } = found;
  return [
    ["above it", over < 0 ? "nothing" : plan.name(over, 60)],
    ["below it", under >= 0 ? plan.name(under, 60) : under === -1 ? "the bottom" : "a reserved range"],
  ];
}
