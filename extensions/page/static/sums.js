// @ts-check
// Sums of bytes by layer and by role, which fold, and the parts of names that they go by.

import { h } from "./dom.js";
import { counted, nameText, percentText, sizeText } from "./text.js";

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */
/** @typedef {{name: string, bytes: number, buffers: number[]}} Sum */

const LISTED = 8;
const BUFFERS = 40;

/**
 * Return the properties by which buffers can be summed: layers (parts of names, or operations) and roles.
 * @param {PlanModel} plan @returns {Record<string, {of: ArrayLike<number>, names: string[]}>}
 */
export function kindsOf(plan) {
  return { ...(plan.groups ? { layer: plan.groups } : {}), ...(plan.operations ? { operation: plan.operations } : {}),
    ...(plan.roles.names.length > 1 ? { role: plan.roles } : {}), ...(plan.models ? { model: plan.models } : {}) };
}

/**
 * Return the sums of buffers by a column of names, largest first.
 * @param {PlanModel} plan @param {number[]} buffers @param {{of: ArrayLike<number>, names: string[]}} column @returns {Sum[]}
 */
export function summed(plan, buffers, { of, names }) {
  const known = new Map();
  for (const i of buffers) {
    if (!known.has(of[i])) known.set(of[i], { name: names[of[i]], bytes: 0, buffers: [] });
    const sum = known.get(of[i]);
    sum.bytes += plan.size[i];
    sum.buffers.push(i);
  }
  return [...known.values()].sort((a, b) => b.bytes - a.bytes);
}

/** Return foldable sums for each property that the plan knows. @param {PlanModel} plan @param {number[]} buffers @param {(i: number) => void} select */
export function sumsOf(plan, buffers, select) {
  const whole = buffers.reduce((sum, i) => sum + plan.size[i], 0);
  return h("div", { class: "sums" }, ...Object.entries(kindsOf(plan)).map(([kind, column]) => {
    const sums = summed(plan, buffers, column);
    if (sums.length < 2) return null;
    const details = (/** @type {Sum} */ { name, bytes, buffers: inside }) => h("details", {},
      h("summary", {}, h("b", {}, nameText(name, 40)), ` ${sizeText(bytes)}, ${percentText(bytes / whole)}, ${counted(inside.length, "buffer")}`),
      h("p", {}, ...[...inside].sort((a, b) => plan.size[b] - plan.size[a]).slice(0, BUFFERS).flatMap((i) =>
        [h("button", { type: "button", class: "link", onclick: () => select(i) }, nameText(plan.label(i), 40)), ` ${sizeText(plan.size[i])} `])));
    const rest = sums.slice(LISTED);
    const head = `By ${kind}${plan.isShared ? " (shared bytes for each)" : ""}`;
    return h("details", { class: "by" }, h("summary", {}, `${head}: ${sums.slice(0, 3).map(({ name, bytes }) => `${nameText(name, 24)} ${sizeText(bytes)}`)
      .join(", ")}${sums.length > 3 ? ", …" : ""}`),
      ...sums.slice(0, LISTED).map(details),
      rest.length > 0 && h("p", { class: "quiet" }, `${counted(rest.length, "other")}: ${sizeText(rest.reduce((sum, { bytes }) => sum + bytes, 0))}`));
  }));
}
