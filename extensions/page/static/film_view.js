// @ts-check
// The film of a search: its peak and bound closing in, and the plan that was the best one at each time.

import { fill, h } from "./dom.js";
import { savers } from "./exporting.js";
import { openPlan } from "./plan_view.js";
import { axes, niceScale, scaleOf, svg } from "./svg.js";
import { nameText, percentText, sizeText } from "./text.js";

/**
 * A moment of a search: seconds, bytes, and the plan and its verdict once fetched.
 * @typedef {{at: number, peak: number | null, bound: number | null, plan?: any, inspection?: any}} Frame
 */

const HEIGHT = 150;
const MARGIN = { left: 80, right: 20, top: 10, bottom: 36 };
const PLAYED_S = 8;

/** Return a chart of a search's peak and bound over time. @param {Frame[]} frames @param {number} width @param {number} until  seconds @param {number} [now] */
export function searchChart(frames, width, until, now) {
  const values = frames.flatMap(({ peak, bound }) => [peak, bound]).filter((value) => value !== null);
  const x = scaleOf([0, Math.max(until, 1e-3)], [MARGIN.left, width - MARGIN.right]);
  const y = niceScale(/** @type {number[]} */ (values), HEIGHT - MARGIN.bottom, MARGIN.top);
  const root = svg("svg", { width, height: HEIGHT, role: "img", "aria-label": "Peak and lower bound over the time of the search" },
    axes(x, y, { name: "seconds", unit: "number" }, { name: "", unit: "bytes" }, HEIGHT));
  for (const kind of /** @type {const} */ (["bound", "peak"])) {
    const steps = frames.filter((frame) => frame[kind] !== null);
    if (!steps.length) continue;
    const line = steps.map((frame, k) => `${k ? "H" : "M"}${x(Math.min(until, Math.max(0, frame.at))).toFixed(1)}${k ? "V"
      : ","}${y(Number(frame[kind])).toFixed(1)}`);
    // The bound is named where it begins, far from the peak: at the right end both may be one line.
    const isPeak = kind === "peak";
    root.append(svg("path", { d: `${line.join("")}H${x(now ?? until).toFixed(1)}`, class: kind }),
      svg("text", { x: isPeak ? Math.max(MARGIN.left + 30, x(now ?? until) - 4) : x(Math.max(0, steps[0].at)) + 4,
        y: y(Number(steps[isPeak ? steps.length - 1 : 0][kind])) - 5, "text-anchor": isPeak ? "end" : "start", class: "name" }, kind));
  }
  if (now !== undefined) root.append(svg("line", { x1: x(now), x2: x(now), y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom, class: "now" }));
  return root;
}

/**
 * Open the film of a search: its plans over time.
 * @param {HTMLElement} element @param {{title: string, problem: any, names?: any, frames: Frame[]}} view  of the kind `film`
 * @param {(name: string) => string} style
 */
export function openFilm(element, { title, problem, names, frames }, style) {
  const last = frames[frames.length - 1].at;
  const chart = h("div", { class: "chart" });
  const said = h("span", { role: "status" });
  const stage = h("div", { class: "view" });
  const slider = /** @type {HTMLInputElement} */ (h("input", { type: "range", min: 0, max: last || 1, step: "any", "aria-label": "time of the search",
    oninput: () => show(Number(slider.value)), onkeydown: (/** @type {KeyboardEvent} */ event) => step(event) }));
  const button = h("button", { type: "button", onclick: () => (timer ? pause() : play()) }, "play");
  let [shown, timer] = [-1, 0];
  /** @type {import("./plan_view.js").PlanView | null} */
  let view = null;
  const show = (/** @type {number} */ now) => {
    const frame = frames.filter(({ at }) => at <= now).at(-1) ?? frames[0];
    const gap = frame.peak && frame.bound ? `, ${frame.peak === frame.bound ? "proved to be the least"
      : `at most ${percentText(frame.peak / frame.bound - 1)} above the least`}` : "";
    const text = `${now.toFixed(2)} s: ${frame.peak === null ? "no plan yet" : sizeText(frame.peak)}${gap}`;
    slider.value = String(now);
    slider.setAttribute("aria-valuetext", text);
    fill(said, text);
    fill(chart, /** @type {any} */ (searchChart(frames, Math.max(300, chart.clientWidth), last, now)));
    const k = frames.reduce((best, { at, plan }, one) => (at <= now && plan ? one : best), -1);
    if (k === shown) return;
    shown = k;
    view = null;
    const hasFocus = stage.contains(document.activeElement);
    if (k < 0) fill(stage, h("p", { class: "quiet welcome" }, "No plan was kept of this time."));
    else view = openPlan(stage, { ...frames[k], title: `after ${frames[k].at.toFixed(2)} s`, problem, names }, style);
    if (hasFocus) (view?.picture.over ?? slider).focus({ preventScroll: true });
  };
  /** Go to the next change of the peak or bound by an arrow key. @param {KeyboardEvent} event */
  const step = (event) => {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    pause();
    const times = frames.map(({ at }) => at).filter((at) => by * (at - Number(slider.value)) > 0);
    if (times.length) show(by > 0 ? Math.min(...times) : Math.max(...times));
  };
  const pause = () => {
    clearInterval(timer);
    timer = 0;
    fill(button, "play");
    said.setAttribute("aria-live", "polite");
  };
  const play = () => {
    const began = performance.now();
    fill(button, "pause");
    said.setAttribute("aria-live", "off"); // ten sentences a second are too many to be read out
    timer = setInterval(() => {
      const part = Math.min(1, (performance.now() - began) / (1000 * PLAYED_S));
      if (part === 1 || !element.contains(slider)) pause();
      show(part * last);
    }, 100);
  };
  fill(element, h("div", { class: "bar", onkeydown: (/** @type {KeyboardEvent} */ event) => event.key === "Escape" && pause() },
    h("strong", {}, nameText(title, 60)), button, slider, ...savers(() => chart.firstElementChild, title), said),
    h("div", { class: "charted film" }, chart), stage);
  new ResizeObserver(() => show(Number(slider.value))).observe(chart);
  show(last);
  return { play, shown: () => view };
}
