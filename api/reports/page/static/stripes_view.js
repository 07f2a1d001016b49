// @ts-check
// The stripes of a cascade: which rows each operation of a region makes in each step.

import { fill, h, table } from "./dom.js";
import { svg } from "./svg.js";
import { countText, nameText, sizeText } from "./text.js";

const ROW = 46;
const LEFT = 190;
const CELLS = 240;

/**
 * Open the stripes of a cascade in an element.
 * @param {HTMLElement} element @param {any} stripes  regions, each with operations and the rows that they make in every step
 */
export function openStripes(element, stripes) {
  const body = h("div", { class: "stripes", tabindex: "0", role: "region", "aria-label": "Stripes" });
  fill(element, body);
  const draw = () => fill(body,
    h("p", { class: "quiet" }, "Time goes to the right, a column a step. A bar stands for the rows of an output that are made in the step: "
      + "the higher it lies, the earlier the rows. Red: rows that were made before, again."),
    ...stripes.regions.flatMap((/** @type {any} */ region) => drawnRegion(region, body.clientWidth || 800)),
    stripes.whole ? h("p", { class: "quiet" }, `${countText(stripes.whole)} other operations run whole.`) : null);
  new ResizeObserver(draw).observe(element);
  draw();
}

/** @param {any} region @param {number} width */
function drawnRegion(region, width) {
  const steps = region.steps[0];
  const across = Math.max(1, width - LEFT - 20);
  const stride = Math.max(1, Math.ceil(steps / CELLS));
  const cell = across / Math.ceil(steps / stride);
  const height = region.operations.length * ROW + 24;
  const root = svg("svg", { width: LEFT + across, height, role: "img",
    "aria-label": `Operations ${region.first} to ${region.end - 1} in ${steps} steps` });
  region.operations.forEach((/** @type {any} */ operation, /** @type {number} */ k) => {
    const top = k * ROW;
    root.append(svg("text", { x: LEFT - 8, y: top + ROW / 2 + 4, "text-anchor": "end" }, nameText(operation.name, 26)),
      svg("rect", { x: LEFT, y: top + 3, width: across, height: ROW - 6, class: "ground" }));
    let made = 0;
    for (let step = 0; step < operation.rows.length; step += stride) {
      const part = operation.rows.slice(step, step + stride).filter((/** @type {number[]} */ [from, to]) => to > from);
      if (!part.length) continue;
      const from = Math.min(...part.map((/** @type {number[]} */ row) => row[0]));
      const to = Math.max(...part.map((/** @type {number[]} */ row) => row[1]));
      const scale = (ROW - 6) / Math.max(1, operation.top);
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
    h("h2", {}, `Operations ${region.first} to ${region.end - 1}: ${countText(steps)} steps${region.steps[1] > 1 ? `, each of ${region.steps[1]} columns`
      : ""}`),
    /** @type {any} */ (root),
    table(["tensor kept", "how", "rows", "columns", "bytes"], region.holds.map((/** @type {any} */ hold) =>
      [nameText(hold.tensor, 60), hold.mode, countText(hold.rows), countText(hold.columns), sizeText(hold.bytes)])),
  ];
}
