// @ts-check
// The view of one plan: picture, minimap, legend, and the panel beside them.

import { h, fill } from "./dom.js";
import { Minimap } from "./minimap.js";
import { Picture } from "./picture.js";
import { PlanModel } from "./plan_model.js";

/**
 * Open the view of a plan in an element.
 * @param {HTMLElement} element
 * @param {any} view
 * @param {(name: string) => string} style
 */
export function openPlan(element, view, style) {
  const plan = new PlanModel(view);
  const picture = new Picture(plan, style);
  const minimap = new Minimap(picture);
  fill(element, h("div", { class: "body" }, h("div", { class: "stage" }, picture.element, minimap.element)));
  return { plan, picture };
}
