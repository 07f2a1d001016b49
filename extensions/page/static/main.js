// @ts-check
// The page: reads its document and opens its views, one at a time. A kind of view is a line in OPEN.

import { openChart, openCurve } from "./chart_view.js";
import { openOrder } from "./order_view.js";
import { openComparison } from "./comparison_view.js";
import { unpack } from "./document.js";
import { fill, h } from "./dom.js";
import { droppable } from "./drop.js";
import { readText } from "./from_json.js";
import { readLink, writeLink } from "./link.js";
import { openPlan } from "./plan_view.js";
import { nameText } from "./text.js";
import { style } from "./theme.js";

/** @type {Record<string, (element: HTMLElement, view: any, style: (name: string) => string, options: {title: string}) => unknown>} */
const OPEN = { plan: openPlan, comparison: openComparison, chart: openChart, curve: openCurve, order: openOrder };

/**
 * Show a document: a heading, a tab for each view, and the view that the address names, else the first.
 * @param {HTMLElement} page @param {import("./document.js").PageDocument} found
 */
export function show(page, found) {
  const element = h("main", { class: "view" });
  const tabs = found.views.map((view, k) => h("button", { type: "button", "aria-pressed": "false", onclick: () => open(k) },
    nameText(view.title ?? view.kind, 40)));
  const head = h("header", { class: "bar head" }, h("h1", { title: nameText(found.title, 400) }, nameText(found.title, 60)),
    tabs.length > 1 && h("nav", { class: "tabs", "aria-label": "views" }, ...tabs));
  fill(page, head, element);

  /** @param {number} k */
  function open(k) {
    tabs.forEach((tab, at) => tab.setAttribute("aria-pressed", String(at === k)));
    if (tabs.length > 1) writeLink({ view: k || null, ...(k === Number(readLink().get("view") ?? 0) ? {} : { sel: null, vis: null, time: null, plan: null }) });
    const view = found.views[k];
    shown.view = OPEN[view.kind](element, view, style, { title: found.title });
  }

  const asked = Number(readLink().get("view") ?? 0);
  open(asked >= 0 && asked < found.views.length ? Math.floor(asked) : 0);
}

/** The open view, for tests and browser consoles. @type {{view?: any, ready?: number}} */
const shown = {};

/**
 * Show dropped problems and plans; a plan without a problem is for the shown problem.
 * @param {HTMLElement} page @param {import("./document.js").PageDocument | null} known @param {File[]} files
 */
async function take(page, known, files) {
  let view = known?.views.find(({ kind }) => kind === "plan");
  for (const file of files) {
    const found = readText(await file.text(), file.name);
    if (!found.problem && !view) throw new Error(`${file.name}: open the problem of this plan first`);
    const title = found.problem?.name ?? file.name;
    const { problem, plan, names } = found;
    view = problem ? { kind: "plan", title, problem, plan, names } : { ...view, title, plan, inspection: null };
  }
  writeLink({ plan: null, sel: null, vis: null, time: null, view: null });
  document.title = nameText(view.title, 60);
  show(page, { title: view.title, views: [view] });
  return { title: view.title, views: [view] };
}

async function start() {
  const page = /** @type {HTMLElement} */ (document.getElementById("page"));
  const source = document.getElementById("document");
  /** @type {any} */ (window).memplan = shown;
  if (!source) return document.getElementById("frame")?.remove();
  try {
    const found = await unpack(source.textContent ?? "");
    source.remove();
    show(page, found);
    let known = found;
    droppable(document.body, (files) => {
      take(page, known, files).then((taken) => { known = taken; },
        (error) => {
          page.querySelector(":scope > .alarm")?.remove();
          page.prepend(h("p", { role: "alert", class: "alarm" }, nameText(error.message, 1000)));
        });
    });
  } catch (error) {
    fill(page, h("p", { role: "alert" }, String(error)));
  }
  requestAnimationFrame(() => requestAnimationFrame(() => { shown.ready = performance.now(); document.getElementById("frame")?.remove(); }));
}

start();
