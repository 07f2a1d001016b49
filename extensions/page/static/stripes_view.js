// @ts-check
// The stripes of a cascade: which rows each operation of a region makes in each step.

import { fill, h, table } from "./dom.js";
import { svg } from "./svg.js";
import { countText, nameText, sizeText } from "./text.js";

const ROW = 46;
const LEFT = 190;
const CELLS = 240;

/** Return the regions of a point that run in stripes. @param {any} point */
export function cutIn({ regions = [] }) {
  return regions.filter((/** @type {any} */ region) => region.kind !== "whole");
}

/**
 * Open the stripes of a cascade's point in an element; `operations` and `tensors` are those of the answer.
 * @param {HTMLElement} element @param {{operations: any[], tensors: any[]}} known @param {any} point  with regions as the answer has them
 */
export function openStripes(element, { operations, tensors }, point) {
  const body = h("div", { class: "stripes", tabindex: "0", role: "region", "aria-label": "Stripes" });
  const cut = cutIn(point);
  const whole = point.regions.length - cut.length;
  const name = {
    operation: (/** @type {number} */ k) => operations[point.origins?.[k] ?? k]?.name || `operation ${k}`,
    tensor: (/** @type {number} */ k) => tensors[point.tensor_origins?.[k] ?? k]?.name || `tensor ${k}`,
  };
  fill(element, body);
  const draw = () => fill(body,
    h("p", { class: "quiet" }, "Time goes to the right, a column a step. A bar stands for the rows of an output that are made in the step: "
      + "the higher it lies, the earlier the rows. Red: rows that were made before, again."),
    ...cut.flatMap((/** @type {any} */ region) => drawnRegion(region, name, body.clientWidth || 800)),
    whole > 0 && h("p", { class: "quiet" }, `${countText(whole)} other operations run whole.`));
  new ResizeObserver(draw).observe(element);
  draw();
}

/** Return the ranges in an answer: a table, or ends that rise by A, each from the previous end. @param {any} made @returns {[number, number][]} */
function rangesOf({ table: ranges, A, B, top, steps }) {
  if (ranges) return ranges;
  const end = (/** @type {number} */ y) => (y < 0 ? 0 : Math.min(Math.max(A * y + B, 0), top));
  return Array.from({ length: steps }, (_, y) => [end(y - 1), end(y)]);
}

/** @param {any} region @param {Record<"operation" | "tensor", (k: number) => string>} name @param {number} width */
function drawnRegion(region, name, width) {
  const [steps, columns] = region.channel_steps ? [region.channel_steps, 1] : region.steps;
  const [first, last] = [region.ops[0], region.ops.at(-1)];
  const operations = Object.entries(region.ranges).map(([k, { channels, rows }]) => ({ name: name.operation(Number(k)), rows: rangesOf(channels ?? rows) }));
  const across = Math.max(1, width - LEFT - 20);
  const stride = Math.max(1, Math.ceil(steps / CELLS));
  const cell = across / Math.ceil(steps / stride);
  const height = operations.length * ROW + 24;
  const root = svg("svg", { width: LEFT + across, height, role: "img", "aria-label": `Operations ${first} to ${last} in ${steps} steps` });
  operations.forEach((operation, k) => {
    const scale = (ROW - 6) / Math.max(1, ...operation.rows.map(([, to]) => to));
    const top = k * ROW;
    root.append(svg("text", { x: LEFT - 8, y: top + ROW / 2 + 4, "text-anchor": "end" }, nameText(operation.name, 26)),
      svg("rect", { x: LEFT, y: top + 3, width: across, height: ROW - 6, class: "ground" }));
    let made = 0;
    for (let step = 0; step < operation.rows.length; step += stride) {
      const part = operation.rows.slice(step, step + stride).filter(([from, to]) => to > from);
      if (!part.length) continue;
      const from = Math.min(...part.map((row) => row[0]));
      const to = Math.max(...part.map((row) => row[1]));
      const bar = (/** @type {number} */ low, /** @type {number} */ high, /** @type {string} */ kind) => svg("rect", {
        x: LEFT + (step / stride) * cell, y: top + 3 + low * scale, width: Math.max(1, cell - (cell > 4 ? 1 : 0)),
        height: Math.max(1.5, (high - low) * scale), class: kind,
      }, svg("title", {}, `${nameText(operation.name, 60)}, step ${step}: rows ${from} to ${to - 1}`));
      if (Math.max(from, made) < to) root.append(bar(Math.max(from, made), to, "made"));
      if (from < made) root.append(bar(from, Math.min(made, to), "again"));
      made = Math.max(made, to);
    }
  });
  root.append(svg("text", { x: LEFT, y: height - 6 }, "step 0"),
    svg("text", { x: LEFT + across, y: height - 6, "text-anchor": "end" }, `step ${countText(steps - 1)}`));
  return [
    h("h2", {}, `Operations ${first} to ${last}: ${countText(steps)} steps${columns > 1 ? `, each of ${columns} columns` : ""}`),
    /** @type {any} */ (root),
    table(["tensor kept", "how", "rows", "columns", "bytes"], region.buffers.map((/** @type {any} */ { tensor, mode, capacity, bytes }) =>
      [nameText(name.tensor(tensor), 60), mode, ...capacity.slice(0, 2).map(countText), sizeText(bytes)])),
  ];
}
