// @ts-check
// Two plans beside each other at one scale, with a caption: a picture for a report.

import { fill, h } from "./dom.js";
import { savers, svgOf } from "./exporting.js";
import { GUTTER } from "./pencil.js";
import { Picture } from "./picture.js";
import { svg } from "./svg.js";
import { nameText, percentText, sizeText } from "./text.js";

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */
/** @typedef {{plan: PlanModel, moved: Uint8Array}} Side  a plan, and what moved of it */

const LEAST = { width: 720, height: 380 };
/** The pixels above the pictures (for the caption), and around each picture. */
const [TOP, AROUND] = [34, 92];

/**
 * Show two plans side by side.
 * @param {HTMLElement} element @param {Side} before @param {Side} after @param {(name: string) => string} style @param {string} [caption]
 */
export function openSides(element, before, after, style, caption = captionOf(before.plan, after.plan)) {
  const field = /** @type {HTMLInputElement} */ (h("input", { type: "text", value: caption, "aria-label": "caption", class: "caption",
    oninput: () => draw() }));
  const stage = h("div", { class: "sides", tabindex: "0", role: "region", "aria-label": "both plans" });
  const draw = () => fill(stage, sides(before, after, style, field.value, Math.max(LEAST.width, stage.clientWidth - 20),
    Math.max(LEAST.height, stage.clientHeight - 20)));
  fill(element, h("div", { class: "bar" }, h("label", {}, "caption", field), ...savers(() => stage.firstElementChild, "before_and_after")), stage);
  new ResizeObserver(draw).observe(stage);
}

/** @param {PlanModel} before @param {PlanModel} after */
function captionOf(before, after) {
  const [old, now] = [before.peak, after.peak];
  const change = old && old !== now ? ` (${now < old ? "−" : "+"}${percentText(Math.abs(now - old) / old)})` : "";
  return `${nameText(before.title, 40)}: ${sizeText(old)}; ${nameText(after.title, 40)}: ${sizeText(now)}${change}`;
}

/** @param {Side} before @param {Side} after @param {(name: string) => string} style @param {string} caption @param {number} width @param {number} height */
function sides(before, after, style, caption, width, height) {
  const root = svg("svg", { width, height, xmlns: "http://www.w3.org/2000/svg", role: "img", "aria-label": caption },
    svg("text", { x: GUTTER.left, y: 24, fill: style("ink"), "font-family": "system-ui, sans-serif", "font-size": 15, "font-weight": 600 }, caption));
  [before, after].forEach(({ plan, moved }, k) => {
    const picture = new Picture(plan, style, (k ? before : after).plan);
    Object.assign(picture, { width: width / 2 - GUTTER.left - 20, height: height - TOP - GUTTER.bottom - AROUND });
    Object.assign(picture.look, { by: "moved", moved, peak: plan.verdict.deciding });
    picture.colour();
    const title = [nameText(plan.title, 20), sizeText(plan.peak), plan.verdict.text].join(" \u00b7 ");
    const drawing = new DOMParser().parseFromString(svgOf(picture, title), "image/svg+xml").documentElement;
    drawing.setAttribute("x", String((k * width) / 2));
    drawing.setAttribute("y", String(TOP));
    root.append(drawing);
  });
  return root;
}
