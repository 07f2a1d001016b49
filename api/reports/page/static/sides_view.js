// @ts-check
// Two plans beside each other at one scale, with a caption: a picture for a report.

import { colouring } from "./colours.js";
import { fill, h } from "./dom.js";
import { saveDrawing } from "./exporting.js";
import { byteTicks, svg } from "./svg.js";
import { countText, nameText, percentText, sizeText } from "./text.js";

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */

const SIZE = { width: 1160, height: 560, left: 66, right: 12, top: 74, bottom: 40, between: 18 };
const DRAWN = 6000;
const LETTER = 6.2;

/**
 * Open two plans beside each other.
 * @param {HTMLElement} element @param {PlanModel} before @param {PlanModel} after @param {(name: string) => string} style @param {string} [caption]
 */
export function openSides(element, before, after, style, caption = captionOf(before, after)) {
  const field = /** @type {HTMLInputElement} */ (h("input", { type: "text", value: caption, "aria-label": "caption", class: "caption",
    oninput: () => draw() }));
  const stage = h("div", { class: "sides", tabindex: "0", role: "region", "aria-label": "both plans" });
  let drawing = sides(before, after, style, field.value);
  const draw = () => {
    drawing = sides(before, after, style, field.value);
    fill(stage, /** @type {any} */ (drawing));
  };
  fill(element, h("div", { class: "bar" }, h("label", {}, "caption", field),
    ...(/** @type {const} */ (["png", "svg"])).map((kind) =>
      h("button", { type: "button", onclick: () => saveDrawing(drawing, "before_and_after", kind) }, kind.toUpperCase()))), stage);
  draw();
}

/** @param {PlanModel} before @param {PlanModel} after */
function captionOf(before, after) {
  const [old, now] = [before.peak, after.peak];
  const change = old && old !== now ? ` (${now < old ? "−" : "+"}${percentText(Math.abs(now - old) / old)})` : "";
  return `${nameText(before.title, 40)}: ${sizeText(old)}; ${nameText(after.title, 40)}: ${sizeText(now)}${change}`;
}

/** @param {PlanModel} before @param {PlanModel} after @param {(name: string) => string} style @param {string} caption */
function sides(before, after, style, caption) {
  const { width, height, left, right, top, bottom, between } = SIZE;
  const most = Math.max(before.peak, after.peak, 1) * 1.04;
  const y = (/** @type {number} */ offset) => height - bottom - ((height - top - bottom) * offset) / most;
  const each = (width - left - right - between) / 2;
  const text = (/** @type {number} */ x, /** @type {number} */ at, /** @type {string} */ said, /** @type {any} */ more = {}) =>
    svg("text", { x, y: at, fill: style("ink"), ...more }, said);
  const root = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, xmlns: "http://www.w3.org/2000/svg", "font-family": "system-ui, sans-serif",
    "font-size": 11, role: "img", "aria-label": caption },
    text(left, 24, caption, { "font-size": 15, "font-weight": 600 }));
  for (const [at, said] of byteTicks([0, most], 8)) {
    root.append(svg("line", { x1: left, x2: width - right, y1: y(at), y2: y(at), stroke: style("line") }),
      text(left - 6, y(at) + 4, said, { "text-anchor": "end", fill: style("soft") }));
  }
  [before, after].forEach((plan, k) => {
    const x0 = left + k * (each + between);
    const { best, text: valid } = plan.verdict;
    root.append(text(x0, 48, nameText(plan.title, 60), { "font-weight": 600 }),
      text(x0, 64, [sizeText(plan.peak), `${countText(plan.count)} buffers`, valid, best?.text].filter(Boolean).join(" · "), { fill: style("soft") }),
      ...rectangles(plan, x0, each, y, style), svg("line", { x1: x0, x2: x0 + each, y1: y(plan.peak), y2: y(plan.peak), stroke: style("bound"),
        "stroke-width": 1.5, "stroke-dasharray": "6 4" }),
      text(x0 + each / 2, height - 14, "time (program order)", { "text-anchor": "middle", fill: style("soft") }));
  });
  return root;
}

/**
 * The rectangles of a plan, pools one over the other, the largest with their names.
 * @param {PlanModel} plan @param {number} x0 @param {number} width @param {(offset: number) => number} y @param {(name: string) => string} style
 */
function rectangles(plan, x0, width, y, style) {
  const bases = plan.pools.map((_, q) => plan.pools.slice(0, q).reduce((sum, __, k) => sum + plan.top(k), 0));
  const { of, inks } = /** @type {import("./colours.js").Colouring} */ (colouring(plan, plan.groups ? "group" : plan.operations ? "operation" : "buffer",
    null));
  const { start, end, buffer } = plan.taken;
  const rows = [...buffer.keys()].filter((row) => plan.pool[buffer[row]] >= 0 && plan.size[buffer[row]] > 0);
  const area = (/** @type {number} */ row) => plan.size[buffer[row]] * (end[row] - start[row]);
  if (rows.length > DRAWN) rows.sort((a, b) => area(b) - area(a));
  return rows.slice(0, DRAWN).flatMap((row) => {
    const i = buffer[row];
    const [x, across] = [x0 + (width * start[row]) / plan.span, (width * (end[row] - start[row])) / plan.span];
    const low = bases[plan.pool[i]] + plan.offset[i];
    const along = y(low) - y(low + plan.size[i]);
    const ink = `rgb(${[...inks.slice(3 * of[i], 3 * of[i] + 3)]})`;
    const round = (/** @type {number} */ value) => Number(value.toFixed(1));
    const part = svg("rect", { x: round(x), y: round(y(low + plan.size[i])), width: Math.max(0.5, round(across)), height: Math.max(0.5, round(along)),
      fill: ink, stroke: style("paper"), "stroke-width": 0.5 });
    const name = nameText(plan.label(i), Math.floor((across - 6) / LETTER));
    return along < 13 || name.length < 3 ? [part]
      : [part, svg("text", { x: round(x + across / 2), y: round(y(low + plan.size[i] / 2) + 4), "text-anchor": "middle", fill: "#101010" }, name)];
  });
}
