// @ts-check
// The bytes of a time as areas: by layer, role or model, down to buffers; a group that is pressed fills the picture.

import { inkOn } from "./colours.js";
import { fill, h } from "./dom.js";
import { aliveAt } from "./live_bytes.js";
import { kindsOf, summed } from "./sums.js";
import { LETTER } from "./pencil.js";
import { svg } from "./svg.js";
import { bytesText, nameText, percentText, sizeText } from "./text.js";
import { hierarchy, treemap, treemapSquarify } from "./vendor/hierarchy.js";

/** @typedef {import("./picture.js").Picture} Picture */

const HEAD = 17;
const DRAWN = 3000;

/** The treemap of a plan's areas, shown instead of its picture. */
export class Treemap {
  /** @param {Picture} picture @param {(i: number) => void} select */
  constructor(picture, select) {
    this.picture = picture;
    this.select = select;
    /** @type {string | null} */ this.inside = null;
    /** @type {Record<string, {of: ArrayLike<number>, names: string[]}>} */
    this.kinds = { ...kindsOf(picture.plan), ...(picture.plan.types ? { type: picture.plan.types } : {}) };
    this.kind = Object.keys(this.kinds)[0] ?? "";
    this.bar = h("div", { class: "bar", role: "group", "aria-label": "areas" });
    this.stage = h("div", { class: "areas" });
    this.element = h("div", { class: "treemap" }, this.bar, this.stage);
    new ResizeObserver(() => this.draw()).observe(this.stage);
  }

  draw() {
    const { plan, look } = this.picture;
    const time = look.time ?? 0;
    const buffers = aliveAt(plan, -1, time);
    const whole = buffers.reduce((sum, i) => sum + plan.size[i], 0);
    const menu = h("select", { "aria-label": "areas by", onchange: (/** @type {any} */ event) => {
      [this.kind, this.inside] = [event.target.value, null];
      this.draw();
    } }, ...Object.keys(this.kinds).map((kind) => h("option", { value: kind, selected: kind === this.kind }, kind)));
    fill(this.bar, `${bytesText(whole)} alive at time ${plan.timeText(time)}`, this.kind && h("label", {}, "by", menu),
      this.inside !== null && h("button", { type: "button", onclick: () => this.fold(null) }, `out of ${nameText(this.inside, 40)}`));
    const sums = this.kind ? summed(plan, buffers, this.kinds[this.kind]) : [{ name: "", bytes: whole, buffers }];
    this.root = this.drawn(sums.filter(({ name }) => this.inside === null || name === this.inside), Math.max(200, this.stage.clientWidth),
      Math.max(160, this.stage.clientHeight));
    fill(this.stage, /** @type {any} */ (this.root));
  }

  /** @param {string | null} name */
  fold(name) {
    this.inside = name;
    this.draw();
  }

  /** @param {import("./sums.js").Sum[]} sums @param {number} width @param {number} height */
  drawn(sums, width, height) {
    const { plan, look } = this.picture;
    const whole = sums.reduce((sum, { bytes }) => sum + bytes, 0);
    const leaves = (/** @type {number[]} */ inside) => [...inside].sort((a, b) => plan.size[b] - plan.size[a]).slice(0, DRAWN)
      .map((i) => ({ i, value: plan.size[i] }));
    const data = { children: sums.map(({ name, bytes, buffers }) => ({ name, bytes, children: leaves(buffers) })) };
    const tree = treemap().tile(treemapSquarify).size([width, height]).paddingTop((/** @type {any} */ node) =>
      (node.depth === 1 && node.data.name ? HEAD : 0)).paddingInner(1)(
      hierarchy(data).sum((/** @type {any} */ node) => node.value ?? 0));
    const root = svg("svg", { width, height, xmlns: "http://www.w3.org/2000/svg", "font-family": "system-ui, sans-serif", "font-size": 11, role: "group",
      "aria-label": "Areas by bytes" });
    for (const node of tree.descendants()) {
      const [across, along] = [node.x1 - node.x0, node.y1 - node.y0];
      if (node.depth === 0 || across < 0.5 || along < 0.5) continue;
      const isGroup = node.depth === 1;
      const name = isGroup ? node.data.name : plan.label(node.data.i);
      const bytes = isGroup ? node.data.bytes : plan.size[node.data.i];
      const press = () => (isGroup ? this.fold(this.inside === null ? name : null) : this.select(node.data.i));
      const rgb = isGroup ? [0, 0, 0] : [...this.picture.ink(node.data.i)];
      const ink = isGroup ? this.picture.style("ink") : inkOn(rgb);
      const attributes = { x: node.x0, y: node.y0, width: across, height: along, fill: isGroup ? this.picture.style("faint") : `rgb(${rgb})`,
        stroke: look.selected === node.data.i ? this.picture.style("select") : this.picture.style("paper"),
          "stroke-width": look.selected === node.data.i ? 3 : 1 };
      const key = isGroup ? { tabindex: 0, role: "button",
        onkeydown: (/** @type {KeyboardEvent} */ event) => event.key === "Enter" && press() } : {};
      const part = svg("g", { onclick: press, ...key }, svg("rect", attributes),
        svg("title", {}, `${nameText(name, 200)}: ${bytesText(bytes)}, ${percentText(bytes / whole)}`));
      const most = Math.floor((across - 8) / LETTER);
      const text = isGroup ? `${nameText(name, 40)}  ${sizeText(bytes)}, ${percentText(bytes / whole)}` : name;
      if ((isGroup ? along >= HEAD && name : along >= 14) && most > 3) {
        part.append(svg("text", { x: node.x0 + 4, y: node.y0 + 12, fill: ink }, nameText(text, most)));
      }
      if (!isGroup && along >= 30 && most > 7) part.append(svg("text", { x: node.x0 + 4, y: node.y0 + 26, fill: ink }, sizeText(bytes)));
      root.append(part);
    }
    return root;
  }
}
