// @ts-check
// How far a search is: peak and bound over time, closing in.

import { h, fill } from "../dom.js";
import { svg } from "../svg.js";
import { bytesText, percentText } from "../text.js";

const WIDTH = 600;
const HEIGHT = 64;

/** A strip with two lines and the numbers of now. */
export class Progress {
  constructor() {
    this.points = /** @type {{at: number, peak: number | null, bound: number | null}[]} */ ([]);
    this.peak = svg("path", { class: "peak", "vector-effect": "non-scaling-stroke" });
    this.bound = svg("path", { class: "bound", "vector-effect": "non-scaling-stroke" });
    this.svg = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": "Peak and lower bound over the time of the search" },
      this.bound, this.peak);
    this.facts = h("dl", { "aria-live": "polite" });
    this.element = h("div", { class: "watch" }, this.facts, this.svg);
    this.began = 0;
    this.limit = 0;
    this.timer = 0;
    this.hasPeaks = true;
  }

  /** @param {number} at  milliseconds @param {number} limit  seconds that the search may take @param {boolean} hasPeaks */
  begin(at, limit, hasPeaks) {
    this.end();
    this.began = at;
    this.limit = limit;
    this.points = [];
    this.hasPeaks = hasPeaks;
    this.element.hidden = false;
    this.svg.toggleAttribute("hidden", !hasPeaks);
    this.draw(at);
    this.timer = setInterval(() => this.draw(Date.now()), 500);
  }

  /** The job has ended, or is left: what was not drawn is nothing to look at. */
  end() {
    clearInterval(this.timer);
    this.svg.toggleAttribute("hidden", this.points.length < 3);
    this.element.hidden = !this.hasPeaks;
  }

  /** @param {any} data  what an event tells @param {number} at */
  take(data, at) {
    const known = this.points.at(-1);
    const peak = data.peak ?? known?.peak ?? null;
    const bound = data.lower_bound ?? known?.bound ?? null;
    this.points.push({ at, peak: peak === null ? null : Number(peak), bound: bound === null ? null : Number(bound) });
    this.draw(at);
  }

  /** @param {number} now */
  draw(now) {
    const last = this.points.at(-1);
    const gap = last?.peak && last.bound ? last.peak / last.bound - 1 : null;
    const seconds = Math.max(0, now - this.began) / 1000;
    const time = [h("dt", {}, "time"), h("dd", {}, `${seconds.toFixed(seconds < 10 ? 1 : 0)} of ${this.limit} s`)];
    fill(this.facts, ...time, ...(!last && this.svg.hasAttribute("hidden") ? [] : [
      h("dt", {}, "peak"), h("dd", { "data-fact": "peak" }, last?.peak === null || !last ? "…" : bytesText(last.peak)),
      h("dt", {}, "lower bound"), h("dd", { "data-fact": "bound" }, last?.bound === null || !last ? "…" : bytesText(last.bound)),
      h("dt", {}, "gap"), h("dd", {}, gap === null ? "…" : gap === 0 ? "none: proved" : percentText(gap))]));
    const values = this.points.flatMap(({ peak, bound }) => [peak, bound]).filter((value) => value !== null);
    const most = Math.max(...values, 1);
    const least = Math.min(...values, most);
    const margin = Math.max(1, (most - least) * 0.15);
    const span = Math.max(1, now - this.began, 1000 * this.limit);
    const y = (/** @type {number} */ value) => HEIGHT - 4 - ((value - least + margin) / (most - least + 2 * margin)) * (HEIGHT - 8);
    for (const [name, path] of /** @type {const} */ ([["peak", this.peak], ["bound", this.bound]])) {
      const steps = this.points.filter((point) => point[name] !== null);
      const x = (/** @type {{at: number}} */ point) => ((point.at - this.began) / span) * WIDTH;
      const parts = steps.map((point, k) =>
        `${k ? "H" : "M"}${Math.max(0, x(point)).toFixed(1)}${k ? "V" : ","}${y(Number(point[name])).toFixed(1)}`);
      path.setAttribute("d", parts.length ? `${parts.join("")}H${(((now - this.began) / span) * WIDTH).toFixed(1)}` : "");
    }
  }
}

/** How far a job is, in the words of its event. @param {any} data */
export function progressText(data) {
  return Object.entries(data).filter(([name, value]) => name !== "at" && typeof value !== "object").map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`).join(", ");
}
