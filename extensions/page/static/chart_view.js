// @ts-check
// A chart of points, such as a frontier; a point opens its plan, and the stripes of its cascade.

import { cells, fill, h, table } from "./dom.js";
import { savers } from "./exporting.js";
import { openPlan } from "./plan_view.js";
import { cutIn, openStripes } from "./stripes_view.js";
import { axes, niceScale, svg, valueText } from "./svg.js";
import { plannedAt, valuesIn } from "./symbolic.js";
import { bytesText, nameText } from "./text.js";

const HEIGHT = 220;
/** The minimum height in pixels of a chart whose points open no plans. */
const ALONE = 300;
const MARGIN = { left: 96, right: 20, top: 12, bottom: 40 };

/**
 * Open the curves of the peak and the bound over one symbol. With the answer of `shapes` (`all`), also show its formula, a field for values, and the plan of
 * each point.
 * @param {HTMLElement} element @param {any} curve @param {(name: string) => string} style @param {import("./plan_view.js").PlanOptions} [options]
 */
export function openCurve(element, { symbol, at, values, peak, bound, all }, style, options = {}) {
  const others = Object.entries(at).map(([name, value]) => `${name}=${value}`).join(", ");
  const texts = values.map((/** @type {number} */ x) => [`${symbol}=${x}`, others].filter(Boolean).join(", "));
  const points = values.map((/** @type {number} */ x, /** @type {number} */ k) => ({ x, y: Number(peak[k]), bound: Number(bound[k]), label: texts[k],
    status: peak[k] === bound[k] ? "optimal" : "feasible", view: null }));
  const view = { title: `peak over ${symbol}`, x: { name: others ? `${symbol} (${others})` : symbol, unit: "number" }, y: { name: "peak", unit: "bytes" },
    points, isPlanned: Boolean(all) };
  if (!all) return openChart(element, view, style);
  const made = (/** @type {string} */ text) => ({ ...plannedAt(all, valuesIn(text, all.symbols)), title: text, isPending: Boolean(options.verdict) });
  const formulas = all.programs.map((/** @type {any} */ one) => one.peak ?? ["a maximum of too many sums"]);
  const said = h("span", { role: "status" });
  const field = /** @type {HTMLInputElement} */ (h("input", { type: "text", size: "18", placeholder: texts[0], "aria-label": "values of all symbols" }));
  const inner = h("div", { class: "view" });
  const ask = (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      const found = made(field.value);
      fill(said, `peak ${bytesText(found.peak)}; no plan is below ${bytesText(found.bound)}`);
      chart.show(found);
    } catch (error) {
      fill(said, h("span", { class: "alarm" }, nameText(/** @type {Error} */ (error).message, 200)));
    }
  };
  fill(element, h("form", { class: "bar", onsubmit: ask }, h("label", {}, "values", field), h("button", {}, "plan"), said,
    h("code", { class: "quiet" }, `peak: ${nameText(formulas.map((/** @type {string[]} */ sums) => sums.join(", or ")).join("; at best "), 300)}`)), inner);
  const chart = openChart(inner, view, style, { verdict: options.verdict, fetched: async (k) => made(texts[k]) });
  return chart;
}

/**
 * Open a chart in an element; `fetched` returns the view of a point that does not contain one.
 * @param {HTMLElement} element @param {any} view  of the kind `chart` @param {(name: string) => string} style
 * @param {import("./plan_view.js").PlanOptions & {fetched?: (k: number) => Promise<any>}} [options]
 */
export function openChart(element, view, style, { verdict, fetched } = {}) {
  const stage = h("div", { class: "view" });
  const picture = h("div", { class: "chart" });
  const listed = h("div", { class: "side points", tabindex: "0", role: "region", "aria-label": "Points" });
  let chosen = -1;
  /** @type {"plan" | "stripes"} */
  let shown = "plan";
  const tabs = h("div", { role: "group", "aria-label": "What is shown of the point" });
  const choose = (/** @type {number} */ k) => {
    chosen = k;
    const point = view.points[k];
    for (const [at, one] of [...picture.querySelectorAll(".point")].entries()) one.classList.toggle("chosen", at === k);
    for (const row of listed.querySelectorAll("tbody tr")) row.classList.toggle("chosen", row.getAttribute("data-point") === String(k));
    fill(tabs, h("strong", {}, nameText(point.label, 80)), h("span", { class: "quiet" }, point.status),
      ...(cutIn(point).length ? ["plan", "stripes"].map((what) => h("button", { "aria-pressed": String(shown === what), onclick: () => {
        shown = /** @type {any} */ (what);
        choose(chosen);
      } }, what)) : []));
    if (shown === "stripes" && cutIn(point).length) openStripes(stage, view, point);
    else if (point.view) openPlan(stage, point.view, style, { verdict });
    else if (fetched && point.y !== null) {
      fill(stage, h("p", { class: "quiet welcome" }, "planning …"));
      fetched(k).then((found) => {
        point.view = found;
        if (chosen === k) choose(k);
      }, (error) => fill(stage, h("p", { class: "alarm welcome" }, nameText(error.message, 400))));
    } else fill(stage, h("p", { class: "quiet welcome" }, point.y === null ? "Nothing fits here." : "The plan of this point is not in this file."));
  };
  const alone = isAlone(view);
  const bar = h("div", { class: "bar" }, tabs, ...savers(() => picture.querySelector("svg"), view.title));
  fill(element, h("div", { class: alone ? "charted alone" : "charted" }, picture, listed), bar, ...(alone ? [] : [stage]));
  const draw = () => fill(picture, /** @type {any} */ (drawn(view, picture.clientWidth || 700, alone ? Math.max(ALONE, picture.clientHeight - 8) : HEIGHT,
    choose, chosen)));
  fill(listed, tableOf(view, choose));
  new ResizeObserver(draw).observe(picture);
  draw();
  const first = view.opens === "free" ? freePoint(view.points)
    : view.points.findLastIndex((/** @type {any} */ point) => point.view || (fetched && point.y !== null));
  if (first >= 0) choose(first);
  const show = (/** @type {any} */ one) => {
    chosen = -1;
    fill(tabs, h("strong", {}, nameText(one.title, 80)));
    openPlan(stage, one, style, { verdict });
  };
  return { choose, show };
}

/** Return true for a chart whose points open no plans. @param {any} view */
function isAlone({ points, isPlanned }) {
  return !isPlanned && points.every((/** @type {any} */ point) => !point.view);
}

/** Return the leftmost point among those with a plan and the lowest cost; -1 if there is none. @param {any[]} points */
function freePoint(points) {
  const known = points.map((point, k) => ({ ...point, k })).filter(({ view, y }) => view && y !== null);
  const least = Math.min(...known.map(({ y }) => y));
  return known.filter(({ y }) => y <= least * 1.0001).sort((a, b) => a.x - b.x)[0]?.k ?? -1;
}

/** @param {any} view @param {number} width @param {number} height @param {(k: number) => void} choose @param {number} chosen */
function drawn(view, width, height, choose, chosen) {
  const known = view.points.filter((/** @type {any} */ point) => point.y !== null);
  const { base } = view;
  const x = niceScale([...view.points.map((/** @type {any} */ point) => point.x), ...(base ? [base.x] : [])], MARGIN.left, width - MARGIN.right);
  const y = niceScale([...known.flatMap((/** @type {any} */ point) => [point.y, point.bound ?? point.y]), ...(base ? [base.y] : [])], height - MARGIN.bottom,
    MARGIN.top);
  const root = svg("svg", { width, height, role: "img", "aria-label": nameText(view.title, 120) });
  root.append(axes(x, y, view.x, view.y, height));
  const line = (/** @type {any[]} */ points, /** @type {string} */ field) =>
    points.map((point, k) => `${k ? (view.isStairs ? `V${y(point[field]).toFixed(1)}L` : "L") : "M"}${x(point.x).toFixed(1)},${y(point[field]).toFixed(1)}`)
      .join("");
  if (base) {
    root.append(svg("line", { x1: x(base.x), x2: x(base.x), y1: MARGIN.top, y2: height - MARGIN.bottom, class: "base" }),
      svg("text", { x: x(base.x) - 5, y: MARGIN.top + 10, "text-anchor": "end", class: "name" }, `${base.name}: ${valueText(base.x, view.x.unit)}`));
  }
  root.append(svg("path", { d: line(known.filter((/** @type {any} */ point) => point.bound !== null), "bound"), class: "bound" }),
    svg("path", { d: line(known, "y"), class: "peak" }));
  view.points.forEach((/** @type {any} */ point, /** @type {number} */ k) => {
    const at = point.y === null ? height - MARGIN.bottom : y(point.y);
    const text = `${nameText(point.label, 80)}: ${valueText(point.x, view.x.unit)}, ${point.y === null ? "nothing fits"
      : valueText(point.y, view.y.unit)}, ${point.status}`;
    // By keys and for readers of screens the table beside it has the same points, as buttons.
    root.append(svg("circle", { cx: x(point.x), cy: at, r: view.points.length > 24 ? 2.5 : 6, onclick: () => choose(k),
      class: `point ${point.status}${k === chosen ? " chosen" : ""}` }, svg("title", {}, text)));
  });
  return root;
}

/** @param {any} view @param {(k: number) => void} choose */
function tableOf(view, choose) {
  const bounded = view.points.some((/** @type {any} */ { bound }) => bound !== null);
  const text = (/** @type {number | null} */ value) => (value === null ? "-" : valueText(value, view.y.unit));
  return table(["point", view.x.name, view.y.name, bounded && "bound", "status"], view.points.map((/** @type {any} */ point, /** @type {number} */ k) => cells([
    h("button", { onclick: () => choose(k) }, nameText(point.label, 60)), valueText(point.x, view.x.unit), text(point.y), bounded && text(point.bound),
      point.status], { "data-point": k })));
}
