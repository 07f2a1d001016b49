// @ts-check
// An order of operations: bytes alive before and after, what moved, and the plan in the new order.

import { cells, fill, h, table } from "./dom.js";
import { savers } from "./exporting.js";
import { openPlan } from "./plan_view.js";
import { axes, niceScale, scaleOf, svg } from "./svg.js";
import { bytesText, counted, countText, nameText, percentText } from "./text.js";

const HEIGHT = 220;
const LINKS = 60;
const MARGIN = { left: 96, right: 20, top: 12, bottom: 40 };
const LISTED = 500;

/**
 * Open the view of an order in an element.
 * @param {HTMLElement} element @param {any} view  of the kind `order` @param {(name: string) => string} style
 * @param {import("./plan_view.js").PlanOptions} [options]  for the plan in the new order
 */
export function openOrder(element, view, style, options) {
  const given = Float64Array.from(view.given, Number);
  const found = Float64Array.from(view.found, Number);
  const before = most(given);
  const after = most(found);
  const picture = h("div", { class: "chart" });
  const stage = h("div", { class: "view" });
  const saved = before.bytes ? ` (${percentText(after.bytes / before.bytes - 1)})` : "";
  fill(element,
    h("div", { class: "bar" }, h("span", { class: "facts" },
      h("span", {}, "bytes alive at most ", h("b", {}, `${bytesText(before.bytes)} → ${bytesText(after.bytes)}`), saved),
      h("span", {}, "lower bound ", h("b", {}, bytesText(view.lower_bound))), h("span", {}, `${view.status}, ${counted(view.moves, "operation")} moved`),
      h("span", { class: "given" }, "— given order"), h("span", { class: "new" }, "— new order")),
      ...savers(() => picture.firstElementChild, view.title ?? "order")),
    h("div", { class: "charted" }, picture,
      h("div", { class: "side points", tabindex: "0", role: "region", "aria-label": "The new order" }, orderTable(view, found))),
    stage);
  const draw = () => fill(picture, /** @type {any} */ (drawn(view, given, found, picture.clientWidth || 700)));
  new ResizeObserver(draw).observe(picture);
  draw();
  if (view.view) openPlan(stage, view.view, style, { ...options, title: view.view.title });
  else fill(stage, h("p", { class: "quiet welcome" }, "There was no time left for a plan."));
}

/** @param {Float64Array} bytes */
function most(bytes) {
  let at = 0;
  for (let k = 1; k < bytes.length; k++) if (bytes[k] > bytes[at]) at = k;
  return { at, bytes: bytes[at] ?? 0 };
}

/** @param {any} view @param {Float64Array} given @param {Float64Array} found @param {number} width */
function drawn(view, given, found, width) {
  const x = scaleOf([0, Math.max(1, given.length)], [MARGIN.left, width - MARGIN.right]);
  const y = niceScale([0, most(given).bytes, most(found).bytes], HEIGHT - MARGIN.bottom - LINKS, MARGIN.top);
  const root = svg("svg", { width, height: HEIGHT, role: "img", "aria-label": "Bytes alive over the operations, in the given order and in the new one" });
  const low = svg("g", { class: "links" });
  const top = HEIGHT - MARGIN.bottom - LINKS + 22;
  const stride = Math.max(1, Math.ceil(view.order.length / 600));
  for (let at = 0; at < view.order.length; at += stride) {
    const k = Number(view.order[at]);
    low.append(svg("line", { x1: x(k + 0.5), y1: top, x2: x(at + 0.5), y2: HEIGHT - 18, class: k === at ? "same" : "moved" },
      svg("title", {}, `${nameText(view.names[k], 60)}: ${k} → ${at}`)));
  }
  root.append(axes(x, y, { name: "", unit: "number" }, { name: "bytes alive", unit: "bytes" }, HEIGHT), low,
    svg("text", { x: MARGIN.left - 8, y: top + 6, "text-anchor": "end" }, "given"),
    svg("text", { x: MARGIN.left - 8, y: HEIGHT - 16, "text-anchor": "end" }, "new"),
    svg("path", { d: steps(given, x, y), class: "given" }), svg("path", { d: steps(found, x, y), class: "new" }));
  return root;
}

/** @param {Float64Array} bytes @param {any} x @param {any} y */
function steps(bytes, x, y) {
  const parts = [...bytes].map((value, k) => `${k ? "V" : `M${x(0).toFixed(1)},`}${y(value).toFixed(1)}H${x(k + 1).toFixed(1)}`);
  return parts.join("");
}

/** @param {any} view @param {Float64Array} found */
function orderTable(view, found) {
  // What moved comes first: that is what one looks for.
  const rows = [...view.order].map((k, at) => ({ k: Number(k), at })).sort((a, b) => Number(a.k === a.at) - Number(b.k === b.at) || a.at - b.at);
  return table(["operation", "was", "is", "bytes alive"], rows.slice(0, LISTED).map(({ k, at }) =>
    cells([nameText(view.names[k], 60), ...[k, at, found[at]].map(countText)], { class: k === at ? "" : "moved" })));
}

/**
 * Return the live bytes while each operation of an order runs, as `live_bytes_by_operation` does, but without overwriting of inputs.
 * @param {any} graph @param {number[]} order
 */
export function bytesAlong(graph, order) {
  const [maker, readers] = [new Map(), new Map()];
  const fixed = new Set([...(graph.given ?? []), ...(graph.resident ?? [])]);
  order.forEach((k, at) => {
    for (const tensor of graph.ops[k].out ?? []) if (!maker.has(tensor) && !fixed.has(tensor)) maker.set(tensor, at);
    for (const tensor of graph.ops[k].in ?? []) readers.set(tensor, at);
  });
  const [resident, kept] = [new Set(graph.resident ?? []), new Set(graph.kept ?? [])];
  const change = new Float64Array(order.length + 1);
  graph.size.forEach((/** @type {number} */ bytes, /** @type {number} */ tensor) => {
    if (resident.has(tensor) || (!maker.has(tensor) && !readers.has(tensor) && !kept.has(tensor))) return;
    const start = maker.get(tensor) ?? 0;
    change[start] += Number(bytes);
    change[(kept.has(tensor) ? order.length - 1 : Math.max(start, readers.get(tensor) ?? start)) + 1] -= Number(bytes);
  });
  let alive = 0;
  return order.map((k, at) => (alive += change[at]) + Number(graph.ops[k].work ?? 0));
}
