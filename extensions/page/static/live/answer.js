// @ts-check
// The answer of a question: its tables, the files that are in it, and pictures where it holds plans or points.

import { tablesOf } from "../answer_tables.js";
import { openChart, openCurve } from "../chart_view.js";
import { openComparison } from "../comparison_view.js";
import { fill, h, save } from "../dom.js";
import { written } from "../from_json.js";
import { bytesAlong, openOrder } from "../order_view.js";
import { openPlan } from "../plan_view.js";
import { isSchedule, planOfSchedule } from "../schedule_plan.js";
import { nameText, sizeText } from "../text.js";

/** @typedef {import("./state.js").Entry} Entry */

/** Return the label of a chart's point. @param {any} point @param {number} k */
const pointText = ({ sizes }, k) => sizes
  ? Object.entries(sizes).map(([name, size]) => `${name} ${sizeText(Number(size))}`).join(", ") : `point ${k}`;

/** The fields of answers that a picture or a sentence above it already shows. @type {Record<string, string[]>} */
const DRAWN = { shapes: ["bound"],
  repairs: ["status", "stop_reason", "explanation"],
  order: ["points", "recomputed", "status", "peak", "lower_bound", "gap", "given_peak", "saved_bytes", "moves", "placed_peak", "placed_status"] };

/** Return the problem and the plan that an answer contains or refers to. @param {Entry} entry @returns {{problem: any, plan: any, names?: any}} */
export function plannedIn({ answer, request, plan: known }) {
  const value = answer?.value ?? {};
  if (isSchedule(value)) return planOfSchedule(value);
  const plan = [value, value.plan, value.better?.plan, value.again?.plan, value.planned?.plan].find((one) => Array.isArray(one?.placements) && "peak" in one)
    ?? null;
  const problem = value.planned?.problem ?? value.problem ?? request?.problem ?? null;
  return { problem: problem?.buffers && !problem.symbols ? problem : null, plan: plan ?? request?.plan ?? known };
}

/**
 * Show an answer in an element; return the view of its plan, if it has one.
 * @param {HTMLElement} element @param {Entry} entry @param {(name: string) => string} style @param {import("./session.js").Session} session
 */
export function openAnswer(element, entry, style, session) {
  const { answer, kind, name } = entry;
  if (!answer) {
    fill(element, h("p", { class: "welcome quiet" }, `${kind}: no answer yet`));
    return null;
  }
  const stage = h("div", { class: "view" });
  const folded = (/** @type {string} */ title, /** @type {() => Node} */ draw) => {
    const details = h("details", {}, h("summary", {}, title));
    details.addEventListener("toggle", () => details.childElementCount < 2 && details.append(draw()));
    return details;
  };
  const keep = (/** @type {string} */ suffix, /** @type {BlobPart} */ data) =>
    h("button", { onclick: () => save(new Blob([data]), String(kind), suffix.slice(1)) }, `Save ${nameText(`${kind}${suffix}`, 40)}`);
  let shown = /** @type {any} */ (null);
  const select = (/** @type {any} */ id) => shown?.plan && shown.select(shown.plan.indexOf(id));
  const open = (/** @type {any} */ problem, /** @type {any} */ plan, /** @type {string} */ title) => {
    shown = openPlan(stage, { title, problem, plan, isPending: true }, style, session.actions());
  };
  const special = kind === "explain" && answer.value.repairs && plannedIn(entry).plan ? "repairs" : kind === "order" && !answer.value.planned ? "" : kind ?? "";
  const inWords = DRAWN[special] ?? entry.view?.drawn ?? [];
  fill(element,
    h("div", { class: "bar" }, h("strong", {}, nameText(name, 60)), keep(".json", written(answer.value)),
      ...filesIn(answer.value, entry.request?.options?.to).map(({ suffix, data }) => keep(suffix, data))),
    h("div", { class: "outcome", tabindex: "0", role: "region", "aria-label": "the answer" },
      ...tablesOf(answer.value, { select, open, problem: entry.request?.problem, drawn: new Set(inWords) }),
      folded("As the command writes it", () => h("pre", { class: "lines", tabindex: "0" }, answer.lines || "(no lines)")),
      folded("JSON", () => h("pre", { tabindex: "0" }, written(answer.value).slice(0, 200_000)))), stage);
  const found = drawn(stage, entry, style, session);
  element.classList.toggle("only", found === undefined);
  shown = found ?? null;
  return shown;
}

/**
 * Draw an answer's picture; return undefined if the answer has none.
 * @param {HTMLElement} stage @param {Entry} entry @param {(name: string) => string} style @param {import("./session.js").Session} session
 */
function drawn(stage, entry, style, session) {
  const { kind, answer, request, name } = entry;
  const value = answer?.value;
  const now = { problem: request?.problem, plan: request?.plan ?? value?.plan };
  if (value?.difference && request?.baseline?.problem && now.problem && now.plan) {
    Promise.all([request.baseline, now].map(({ problem, plan }, k) =>
      session.judgedView(problem, plan, problem.name ?? ["baseline", "now"][k]))).then(([before, after]) =>
      openComparison(stage, { kind: "comparison", title: "", before, after, facts: value.difference }, style));
    return null;
  }
  const points = pointsOf(value, entry);
  if (points) {
    openChart(stage, points, style, {
      verdict: (problem, plan) => session.verdict(problem, plan),
      // Where an answer has no plans, the one of a point is made when the point is opened.
      fetched: points.isPlanned ? async (k) =>
        ({ title: points.points[k].label, isPending: true, ...await session.plannedAt(request.problem, value.points[k]) }) : undefined,
    });
    return null;
  }
  if (kind === "order" && value?.planned && request?.graph) {
    const view = { title: "the new order", ...value.planned, names: stepsOf(request.graph, value), isPending: true };
    openOrder(stage, { ...orderView(request.graph, value, name), view }, style, session.actions());
    return null;
  }
  if (value?.curves?.length || value?.limits?.stairs?.length) {
    const inner = h("div", { class: "view" });
    const all = value.programs?.length && !value.views ? value : null;
    const judged = { verdict: (/** @type {any[]} */ ...plan) => session.verdict(plan[0], plan[1]) };
    const open = value.limits?.stairs?.length ? [["stairs", () => openStairs(inner, value.limits, style)]]
      : value.curves.map((/** @type {any} */ curve) => [curve.symbol, () => openCurve(inner, { ...curve, all }, style, judged)]);
    const tabs = open.map((/** @type {any} */ [text, draw]) => h("button", { onclick: (/** @type {any} */ event) => {
      for (const tab of tabs) tab.setAttribute("aria-pressed", String(tab === event.currentTarget));
      draw();
    } }, `over ${nameText(text, 40)}`));
    fill(stage, open.length > 1 && h("div", { class: "bar", role: "group", "aria-label": "The symbol" }, ...tabs), inner);
    tabs[0].click();
    return null;
  }
  const { problem, plan, names: told } = plannedIn(entry);
  if (!problem || !plan?.placements) return undefined;
  const names = told ?? entry.names ?? (value.planned ? stepsOf(request?.graph, value) : null);
  return openPlan(stage, { title: name, problem, plan, names, isPending: true }, style, session.actions());
}

/** Return the chart of an answer with points; null for other answers. @param {any} value @param {Entry} entry */
function pointsOf(value, { request, name, view: chart }) {
  if (!chart) return null;
  const all = (value?.points ?? value?.recomputed?.points ?? []).filter((/** @type {any} */ point) => typeof point?.[chart.x] === "number");
  if (!all.length) return null;
  const base = value.layers_peak ? { x: value.layers_peak, y: value.layers_macs, name: "layer by layer" } : value.given_peak
    ? { x: value.given_peak, y: 0, name: "the given order" } : null;
  const [x, y] = chart.name.map((text, k) => ({ name: text, unit: chart.unit[k] }));
  const points = all.map((/** @type {any} */ point, /** @type {number} */ k) =>
    ({ ...point, x: point[chart.x], y: point[chart.y] ?? null, bound: null, label: pointText(point, k), status: point.status ?? "",
      view: point.planned ? { ...point.planned, title: pointText(point, k), names: stepsOf(request?.graph, point), isPending: true } : null }));
  return { title: name, x, y, points, base, opens: base ? "free" : null, isPlanned: chart.is_planned, operations: value.operations, tensors: value.tensors };
}

/** Return the view of an order in the form that `order_page` packs. @param {any} graph @param {any} value @param {string} title */
function orderView(graph, value, title) {
  const every = graph.ops.map((/** @type {any} */ _, /** @type {number} */ k) => k);
  const given = bytesAlong(graph, every);
  const found = bytesAlong(graph, value.order);
  // Inputs that are written over are not counted here: where that changes the most, no curve is shown.
  const isKnown = Math.max(...given) === value.given_peak && Math.max(...found) === value.peak;
  return { kind: "order", title, names: every.map((/** @type {number} */ k) => operationText(graph, k)), order: value.order,
    given: isKnown ? given : every.map(() => value.given_peak), found: isKnown ? found : every.map(() => value.peak), status: value.status,
      lower_bound: value.lower_bound, moves: value.moves };
}

/** @param {any} graph @param {number} k */
function operationText(graph, k) {
  return graph.ops[k]?.name || graph.ops[k]?.kind || `operation ${k}`;
}

/** Return the operations as names of the times, if one operation runs at each time. @param {any} graph @param {any} row  with an `order` */
function stepsOf(graph, { order, planned }) {
  const last = Math.max(...(planned?.problem.buffers ?? []).map((/** @type {any} */ row) => Number(row.end ?? 0)), 0);
  if (!graph?.ops || !order || last > order.length + 1) return null;
  const steps = order.map((/** @type {number} */ k, /** @type {number} */ time) => ({ time, name: operationText(graph, k) }));
  return { steps, spans: [], roles: [], operations: [], types: [], models: [] };
}

/**
 * Open the stairs of two symbols: the values at which the plan fits, and those at which no plan can fit.
 * @param {HTMLElement} element @param {any} value @param {(name: string) => string} style
 */
function openStairs(element, { stairs, stairs_of_any_plan: others, capacity }, style) {
  const [a, b] = Object.keys(stairs[0]);
  const [plan, any] = [stairs, others].map((rows) => [...rows].sort((one, other) => one[a] - other[a]));
  openChart(element, { title: `within ${capacity} bytes`, isStairs: true, x: { name: a, unit: "number" }, y: { name: b, unit: "number" },
    points: plan.map((row) => ({ x: row[a], y: row[b], bound: any.find((one) => one[a] >= row[a])?.[b] ?? null, label: `${a}=${row[a]}, ${b}=${row[b]}`,
      status: "", view: null })) }, style);
}

/** @param {any} value @param {string} [target]  what a conversion was asked for @returns {{suffix: string, data: BlobPart}[]} */
function filesIn(value, target = "bin") {
  return (value?.files ?? []).map((/** @type {any} */ one) => ({
    suffix: one.suffix || `.${target}`, data: one.base64 ? Uint8Array.from(atob(one.base64), (sign) => sign.charCodeAt(0)) : one.text ?? "",
  }));
}
