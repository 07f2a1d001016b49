// @ts-check
// The page: reads its document and opens the view of each kind.

import { openComparison } from "./comparison_view.js";
import { unpack, fromBase64 } from "./document.js";
import { fill, h } from "./dom.js";
import { openPlan } from "./plan_view.js";

/** @type {Record<string, (element: HTMLElement, view: any, style: (name: string) => string) => any>} */
const OPEN = { plan: openPlan, comparison: openComparison };

/** A colour of the page's theme by its name. */
function style(/** @type {string} */ name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

async function start() {
  const page = /** @type {HTMLElement} */ (document.getElementById("page"));
  const source = document.getElementById("document");
  if (!source) return;
  try {
    const found = await unpack(fromBase64(source.textContent ?? ""));
    source.remove();
    const view = found.views[0];
    OPEN[view.kind](page, view, style);
  } catch (error) {
    fill(page, h("p", { role: "alert" }, String(error)));
  }
}

start();
