// @ts-check
// The answer of a capability: the lines of its command, the files that are in it, and pictures where it holds plans or points.

import { openChart, openCurve } from "../chart_view.js";
import { openComparison } from "../comparison_view.js";
import { fill, h, save } from "../dom.js";
import { isSchedule, planView, written } from "../from_json.js";
import { openPlan } from "../plan_view.js";
import { openSchedule } from "../schedule_view.js";
import { nameText } from "../text.js";

/** @typedef {import("./state.js").Entry} Entry */
/** @typedef {{x: string, y: string, name: [string, string], unit?: [string, string], label: (point: any, k: number) => string}} Chart */

const BYTES = "bytes";
/** The charts of answers with points, by the kind. @type {Record<string, Chart>} */
const CHARTS = {
  cascade: { x: "peak", y: "macs", name: ["peak", "multiplications"], unit: [BYTES, "number"], label: (_, k) => `point ${k}` },
  order: { x: "peak", y: "extra_cost", name: ["peak", "extra cost"], unit: [BYTES, "number"], label: (_, k) => `point ${k}` },
  sweep: { x: "size", y: "peak", name: ["size", "peak"], label: ({ sizes }) => Object.keys(sizes).join(", ") },
};

/** The problem and the plan that an answer holds, or that it is about. @param {Entry} entry @returns {{problem: any, plan: any}} */
export function plannedIn({ answer, request, plan: known }) {
  const value = answer?.value ?? {};
  const plan = [value, value.plan, value.better?.plan, value.again?.plan, value.planned?.plan].find((one) => Array.isArray(one?.placements) && "peak" in one) ?? null;
  const problem = value.planned?.problem ?? value.problem ?? request?.problem ?? null;
  return { problem: problem?.buffers ? problem : null, plan: plan ?? request?.plan ?? known };
}

/**
 * Show an answer in an element; returns the view of the plan in it, if there is one. `judge` takes the view of the plan of a point.
 * @param {HTMLElement} element @param {Entry} entry @param {(name: string) => string} style @param {(found: any, planned: any) => void} judge
 */
export function openAnswer(element, entry, style, judge) {
  const { answer, kind, name } = entry;
  if (!answer) {
    fill(element, h("p", { class: "welcome quiet" }, `${kind}: no answer yet`));
    return null;
  }
  const stage = h("div", { class: "view" });
  const pre = h("pre", { class: "lines", tabindex: "0", "aria-label": "the answer, as the command writes it" }, answer.lines || "(no lines)");
  const raw = h("details", {}, h("summary", {}, "JSON"));
  raw.addEventListener("toggle", () => raw.childElementCount < 2 && raw.append(h("pre", { tabindex: "0" }, written(answer.value).slice(0, 200_000))));
  const keep = (/** @type {string} */ suffix, /** @type {BlobPart} */ data) =>
    h("button", { onclick: () => save(new Blob([data]), `${kind}${suffix}`) }, `Save ${nameText(`${kind}${suffix}`, 40)}`);
  fill(element,
    h("div", { class: "bar" }, h("strong", {}, nameText(name, 60)), keep(".json", written(answer.value)), ...filesIn(answer.value, entry.request?.options?.to).map(({ suffix, data }) => keep(suffix, data))),
    h("div", { class: "answer" }, pre, raw), stage);
  const shown = drawn(stage, entry, style, judge);
  element.classList.toggle("only", shown === undefined);
  return shown ?? null;
}

/** Draw what an answer holds; undefined where that is nothing. @param {HTMLElement} stage @param {Entry} entry @param {(name: string) => string} style @param {(found: any, planned: any) => void} judge */
function drawn(stage, entry, style, judge) {
  const { kind, answer, request, name } = entry;
  const value = answer?.value;
  const now = { problem: request?.problem, plan: request?.plan ?? value?.plan };
  if (value?.difference && request?.baseline?.problem && now.problem && now.plan) {
    const [before, after] = [request.baseline, now].map(({ problem, plan }, k) => planView(problem, plan, problem.name ?? ["baseline", "now"][k]));
    openComparison(stage, { kind: "comparison", title: "", before, after, facts: value.difference }, style);
    return null;
  }
  const chart = CHARTS[kind ?? ""];
  const points = (value?.points ?? []).filter((/** @type {any} */ point) => typeof point?.[chart?.x] === "number");
  if (chart && points.length) {
    const [x, y] = chart.name.map((text, k) => ({ name: text, unit: chart.unit?.[k] ?? BYTES }));
    openChart(stage, { title: name, x, y, points: points.map((/** @type {any} */ point, /** @type {number} */ k) => ({ x: point[chart.x], y: point[chart.y] ?? null, bound: null,
      label: chart.label(point, k), status: point.status ?? "", stripes: stripesOf(value, point),
      view: point.planned ? { ...planView(point.planned.problem, point.planned.plan, chart.label(point, k), stepsOf(request?.graph, point)), isPending: true } : null })) },
    style, { opened: (found, k) => judge(found, points[k].planned) });
    return null;
  }
  if (isSchedule(value)) {
    openSchedule(stage, { answer: value, title: name });
    return null;
  }
  if (value?.curves?.length || value?.limits?.stairs?.length) {
    const inner = h("div", { class: "view" });
    const open = value.limits?.stairs?.length ? [["stairs", () => openStairs(inner, value.limits, style)]] : value.curves.map((/** @type {any} */ curve) => [curve.symbol, () => openCurve(inner, curve, style)]);
    const tabs = open.map((/** @type {any} */ [text, draw]) => h("button", { onclick: (/** @type {any} */ event) => {
      for (const tab of tabs) tab.setAttribute("aria-pressed", String(tab === event.currentTarget));
      draw();
    } }, `over ${nameText(text, 40)}`));
    fill(stage, open.length > 1 && h("div", { class: "bar", role: "group", "aria-label": "The symbol" }, ...tabs), inner);
    tabs[0].click();
    return null;
  }
  const { problem, plan } = plannedIn(entry);
  if (!problem || !plan?.placements) return undefined;
  return openPlan(stage, { ...planView(problem, plan, name, entry.names ?? (value.planned ? stepsOf(request?.graph, value) : null)), isPending: true }, style);
}

/** The names of times where operations run in an order, one after the other. @param {any} graph @param {any} row  with an `order` */
function stepsOf(graph, { order, planned }) {
  const last = Math.max(...(planned?.problem.buffers ?? []).map((/** @type {any} */ row) => Number(row.end ?? 0)), 0);
  if (!graph?.ops || !order || last > order.length + 1) return null;
  const steps = order.map((/** @type {number} */ k, /** @type {number} */ time) => ({ time, name: graph.ops[k]?.name || graph.ops[k]?.kind || `operation ${k}` }));
  return { steps, spans: [], roles: [], operations: [], types: [], models: [] };
}

/** What each operation of a region makes in each step, of a point of `cascade`; null for points of others. @param {any} value @param {any} point */
function stripesOf({ operations, tensors }, { regions, origins }) {
  if (!regions || !operations) return null;
  const cut = regions.filter((/** @type {any} */ region) => region.kind !== "whole");
  return { whole: regions.length - cut.length, regions: cut.map((/** @type {any} */ region) => ({
    first: region.ops[0], end: region.ops.at(-1) + 1, steps: [region.channel_steps ?? region.steps[0], region.channel_steps ? 1 : region.steps[1]],
    operations: Object.entries(region.ranges).map(([v, made]) => {
      const rows = rangesOf(made.channels ?? made.rows);
      return { name: operations[origins?.[Number(v)] ?? v]?.name || `operation ${v}`, rows, top: Math.max(...rows.map(([, to]) => to), 0) };
    }),
    holds: region.buffers.map((/** @type {any} */ { tensor, mode, capacity, bytes }) => ({ tensor: tensors[tensor]?.name || `tensor ${tensor}`, mode, rows: capacity[0], columns: capacity[1], bytes })) })) };
}

/** Ranges as the answer has them: a table, or ends that rise by A, each from the end of the one before. @param {any} made @returns {[number, number][]} */
function rangesOf({ table, A, B, top, steps }) {
  if (table) return table;
  const end = (/** @type {number} */ y) => (y < 0 ? 0 : Math.min(Math.max(A * y + B, 0), top));
  return Array.from({ length: steps }, (_, y) => [end(y - 1), end(y)]);
}

/** Open the stairs of two symbols: what fits by the plan, and what no plan can pass. @param {HTMLElement} element @param {any} value @param {(name: string) => string} style */
function openStairs(element, { stairs, stairs_of_any_plan: others, capacity }, style) {
  const [a, b] = Object.keys(stairs[0]);
  const [plan, any] = [stairs, others].map((rows) => [...rows].sort((one, other) => one[a] - other[a]));
  openChart(element, { title: `within ${capacity} bytes`, isStairs: true, x: { name: a, unit: "number" }, y: { name: b, unit: "number" },
    points: plan.map((row) => ({ x: row[a], y: row[b], bound: any.find((one) => one[a] >= row[a])?.[b] ?? null, label: `${a}=${row[a]}, ${b}=${row[b]}`, status: "", view: null })) }, style);
}

/** @param {any} value @param {string} [target]  what a conversion was asked for @returns {{suffix: string, data: BlobPart}[]} */
function filesIn(value, target = "bin") {
  return (value?.files ?? []).map((/** @type {any} */ one) => ({
    suffix: one.suffix || `.${target}`, data: one.base64 ? Uint8Array.from(atob(one.base64), (sign) => sign.charCodeAt(0)) : one.text ?? "",
  }));
}
