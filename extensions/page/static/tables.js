// @ts-check
// Sortable tables of buffers: they say in text what the picture shows, for people who cannot see it.

import { fill, h } from "./dom.js";
import { countText, nameText, sizeText } from "./text.js";

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */

const ROWS = 100;

/** @typedef {{title: string, tip?: string, value: (plan: PlanModel, i: number, at: number) => number, text: (of: number, plan: PlanModel) => string}} Column */
/** @type {Record<string, Column>} */
const COLUMNS = {
  size: { title: "size", value: (plan, i) => plan.size[i], text: sizeText },
  age: { title: "age", tip: "time steps since its first use", value: (plan, i, time) => Math.floor(time - plan.birth(i)), text: countText },
  padding: { title: "padding", tip: "bytes that alignment adds", value: (plan, i) => plan.padding(i), text: sizeText },
  pool: { title: "pool", value: (plan, i) => plan.pool[i], text: (value, plan) => (value < 0 ? "-" : nameText(plan.pools[value].name, 16)) },
  offset: { title: "offset", tip: "bytes from the start of the pool", value: (plan, i) => (plan.pool[i] < 0 ? -1 : plan.offset[i]),
    text: (value) => (value < 0 ? "-" : countText(value)) },
};

/** A table of the buffers at a time. */
export class BufferTable {
  /** @param {PlanModel} plan @param {string} caption @param {(i: number) => void} choose */
  constructor(plan, caption, choose) {
    this.plan = plan;
    this.choose = choose;
    this.by = "size";
    this.isUp = false;
    this.most = ROWS;
    /** @type {number[]} */ this.buffers = [];
    this.time = 0;
    this.caption = caption;
    this.element = h("div", { class: "buffers" });
  }

  /** @param {number[]} buffers @param {number} time */
  show(buffers, time) {
    this.buffers = buffers;
    this.time = time;
    this.most = ROWS;
    this.draw();
  }

  /** @param {string} by */
  sort(by) {
    this.isUp = this.by === by ? !this.isUp : false;
    this.by = by;
    this.draw();
    const again = this.element.querySelector(`th button[data-by="${by}"]`);
    if (again instanceof HTMLElement) again.focus();
  }

  draw() {
    const { plan, time, by } = this;
    const sign = this.isUp ? 1 : -1;
    const value = COLUMNS[by].value;
    const sorted = [...this.buffers].sort((a, b) => sign * (value(plan, a, time) - value(plan, b, time)) || a - b);
    const columns = Object.entries(COLUMNS).filter(([key]) => (key !== "pool" || plan.pools.length > 1)
      && (key !== "padding" || this.buffers.some((i) => plan.padding(i) > 0)));
    const heads = columns.map(([key, { title, tip }]) =>
      h("th", { scope: "col", "aria-sort": key === by ? (this.isUp ? "ascending" : "descending") : undefined },
        h("button", { type: "button", "data-by": key, title: tip, onclick: () => this.sort(key) }, title)));
    const rows = sorted.slice(0, this.most).map((i) =>
      h("tr", {}, h("td", {}, h("button", { type: "button", title: plan.name(i, 400), onclick: () => this.choose(i) }, nameText(plan.label(i), 40))),
        ...columns.map(([, column]) => h("td", {}, column.text(column.value(plan, i, time), plan)))));
    const more = sorted.length > this.most
      && h("button", { type: "button", onclick: () => { this.most *= 4; this.draw(); } },
        `show more of ${countText(sorted.length)}`);
    fill(this.element,
      h("table", {}, h("caption", { class: "hidden" }, this.caption),
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "buffer"), ...heads)), h("tbody", {}, ...rows)), more);
  }
}
