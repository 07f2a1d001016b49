// @ts-check
// The view of one plan: picture, minimap, legend, and the panel beside them, tied together.

import { COLOUR_BY } from "./colours.js";
import { fill, h, save } from "./dom.js";
import { csvOf, savePng, svgOf } from "./exporting.js";
import { factsOf } from "./facts.js";
import { bindKeys, showHelp } from "./keys.js";
import { legendOf } from "./legend.js";
import { readLink, writeLink } from "./link.js";
import { aliveAt } from "./live_bytes.js";
import { Minimap } from "./minimap.js";
import { Panel } from "./panel.js";
import { Picture } from "./picture.js";
import { PlanModel } from "./plan_model.js";
import { Search } from "./search.js";
import { bytesText, countText, exactly, nameText, percentText } from "./text.js";
import { onTheme, switchTheme } from "./theme.js";
import { Verdict } from "./verdict.js";

const STEP = 0.12;
const CLICK_PIXELS = 4;
const PEAK_MARKED = 2000;
/** From so many on, neighbours are too small to tell apart by colour: the colours tell sizes. */
const MANY = 20_000;
/** @typedef {{title?: string, moved?: Uint8Array | null, ask?: (kind: string) => void}} PlanOptions */

/** The views that are open, by their elements: one that another takes the place of lets go of keys and colours. */
const open = new WeakMap();

/** A plan with all that shows it; `moved` may tell of each buffer whether it moved since another plan. */
export class PlanView {
  /** @param {HTMLElement} element @param {any} view @param {(name: string) => string} style @param {PlanOptions} options */
  constructor(element, view, style, { title = view.title, moved = null, ask }) {
    this.title = String(title);
    /** @type {number} */ this.visited = -1;
    this.plan = new PlanModel(view);
    this.picture = new Picture(this.plan, style);
    this.picture.look.moved = moved;
    this.search = new Search(this.plan);
    this.panel = new Panel(this.plan, { select: (i) => this.select(i), lookAt: (time) => this.lookAt(time), ask });
    this.minimap = new Minimap(this.picture);
    this.legend = h("div", { class: "legend", role: "group", "aria-label": "legend" });
    this.card = h("div", { class: "card", hidden: true, role: "tooltip" });
    this.bindings = this.keyBindings();
    this.said = h("div", { class: "sentences", role: "group", tabindex: "0", "aria-label": "what decides the peak" });
    this.head = h("div", { class: "facts" });
    fill(element, this.bar(), h("div", { class: "body" },
      h("div", { class: "stage" }, this.said, this.picture.element, this.minimap.element, this.legend), this.panel.element), this.card);
    this.ends = [bindKeys(this.bindings), onTheme(() => this.recolour())];
    this.bindPointer();
    /** @type {number} */ this.peakOf = -1;
    this.judged();
    this.lookAt(this.peakTime(this.nextPool()), false);
    if (this.plan.models || this.plan.count > MANY) this.colourBy(this.plan.models ? "model" : "size", false);
    this.restore();
    this.showLegend();
    this.picture.listeners.push(() => this.remember());
  }

  bar() {
    const option = (/** @type {string} */ by) => h("option", { value: by, disabled: !this.knows(by) }, by);
    this.menu = /** @type {HTMLSelectElement} */ (h("select", { onchange: () => this.colourBy(this.menu?.value ?? "buffer") }, ...COLOUR_BY.map(option)));
    this.field = /** @type {HTMLInputElement} */ (h("input", { type: "search", placeholder: "name or /pattern/", "aria-label": "search buffers by name or pattern",
      oninput: () => this.find(), onkeydown: (/** @type {KeyboardEvent} */ event) => this.searchKey(event) }));
    this.told = h("span", { class: "quiet", role: "status" });
    const button = (/** @type {string} */ text, /** @type {string} */ title, /** @type {() => void} */ run) => h("button", { type: "button", title, onclick: run }, text);
    const name = this.title.replace(/[^\w.-]+/g, "_").slice(0, 60) || "plan";
    const caption = () => [this.title, ...[...(this.head?.children ?? [])].map(({ textContent }) => textContent)].join("  \u00b7  ");
    return h("div", { class: "bar", role: "toolbar", "aria-label": "plan" },
      this.head,
      h("label", {}, "colour", this.menu), this.field, this.told,
      button("whole", "show all (0)", () => this.picture.camera.all()),
      button("peak", "show the peak, or that of the next pool (P)", () => this.toPeak()),
      button("PNG", "save the picture as PNG", () => savePng(this.picture, name, caption())),
      button("SVG", "save the picture as SVG", () => save(new Blob([svgOf(this.picture, caption())], { type: "image/svg+xml" }), `${name}.svg`)),
      button("CSV", "save the buffers in sight as CSV", () => save(new Blob([csvOf(this.picture)], { type: "text/csv" }), `${name}.csv`)),
      button("theme", "light or dark", switchTheme),
      button("?", "keys", () => showHelp(this.bindings)));
  }

  /** Take the verdict on the plan that came later. @param {any} inspection  null: there is none */
  judge(inspection) {
    this.plan.verdict = new Verdict(this.plan, inspection);
    this.judged();
    this.select(this.picture.look.selected);
    this.showLegend();
  }

  /** Show the verdict: the badge, the facts as far as they hold, a sentence for each pool, and the outlines. */
  judged() {
    const { plan } = this;
    const { facts, verdict } = plan;
    const { badge } = verdict;
    const isBad = badge === "not valid";
    const [only, ...others] = verdict.pools;
    const exact = facts.exact ?? {};
    const top = plan.pools.reduce((sum, _, q) => sum + plan.top(q), 0);
    const peak = exact.peak ?? facts.peak;
    /** @type {[string, string | null][]} */
    const told = [[isBad || badge === "not checked" ? "claims" : "status", facts.status ?? null],
      ["peak", badge === "verified" && peak !== undefined ? bytesText(exactly(peak)) : top > 0 ? bytesText(top) : null],
      ["bound", only && !others.length && only.bound !== null ? bytesText(only.bound) : null],
      ["gap", only && !others.length && only.gap ? percentText(only.gap) : null],
      ["cost", badge === "verified" && facts.cost ? countText(facts.cost) : null],
      ["least cost", badge === "verified" && facts.cost && facts.cost_lower_bound !== undefined ? countText(facts.cost_lower_bound) : null],
      ["buffers", countText(plan.count)]];
    fill(/** @type {HTMLElement} */ (this.head),
      h("button", { type: "button", class: `badge ${isBad ? "wrong" : badge === "verified" ? "right" : ""}`, title: "what is wrong with the plan, if anything", onclick: () => this.select(-1) }, verdict.text),
      ...told.filter(([, value]) => value).map(([term, value]) => h("span", {}, `${term} `, h("b", {}, value))));
    fill(/** @type {HTMLElement} */ (this.said),
      facts.explanation && h("p", { class: "alarm" }, nameText(facts.explanation.message, 400)),
      isBad && h("p", { class: "alarm" }, nameText((verdict.violations.find(({ rule }) => rule === "overlap") ?? verdict.violations[0])?.message ?? "", 400)),
      ...verdict.pools.map((pool, q) => pool && h("p", {}, plan.pools.length > 1 && h("b", {}, `${nameText(plan.pools[q].name, 40)}: `), nameText(pool.sentence, 600))));
    this.picture.look.peak = verdict.deciding.slice(0, PEAK_MARKED);
    this.picture.look.wrong = verdict.wrong;
    this.panel.showPools();
    this.panel.showPlan();
    this.picture.changed();
  }

  /** The next pool with something in it, after the one whose peak was shown last. */
  nextPool() {
    const count = this.plan.pools.length;
    for (let k = 1; k <= count; k++) {
      const q = (this.peakOf + k) % count;
      if (this.plan.fullest(q).bytes > 0) return (this.peakOf = q);
    }
    return -1;
  }

  /** The time of a pool's peak. @param {number} q */
  peakTime(q) {
    const found = q >= 0 ? this.plan.verdict.pools[q] : null;
    const decides = found?.decides[0];
    if (!found || decides === undefined) return this.plan.fullest(q).time;
    return found.decides.every((i) => this.plan.isAlive(i, found.time)) ? found.time : this.plan.birth(decides);
  }

  /** @param {string} by */
  knows(by) {
    const told = { operation: this.plan.operations, type: this.plan.types, group: this.plan.groups, model: this.plan.models, moved: this.picture.look.moved };
    return !(by in told) || told[/** @type {keyof typeof told} */ (by)] !== null;
  }

  /** @param {string} by @param {boolean} [isLinked] */
  colourBy(by, isLinked = true) {
    this.picture.look.by = this.knows(by) ? by : "buffer";
    if (this.menu) this.menu.value = this.picture.look.by;
    this.recolour();
    if (isLinked) writeLink({ by });
  }

  recolour() {
    this.picture.colour();
    this.minimap.draw();
    this.showLegend();
  }

  showLegend() {
    fill(this.legend, ...legendOf(this.picture));
  }

  /** Select a buffer, -1 for none. @param {number} i */
  select(i) {
    const { look } = this.picture;
    look.selected = i;
    look.chain = i >= 0 && this.plan.pool[i] >= 0 ? this.plan.verdict.chain(i).links.slice(1).map((link) => link.i) : [];
    this.panel.showBuffer(i);
    this.showLegend();
    if (i >= 0) {
      const time = look.time ?? -1;
      if (!this.plan.isAlive(i, time)) this.lookAt(this.plan.birth(i));
      this.reveal(i);
    }
    writeLink({ sel: i < 0 ? null : i });
    this.picture.changed();
  }

  /** Move the frame so that a buffer is in sight. @param {number} i */
  reveal(i) {
    const box = this.picture.boxOf([i]);
    if (!box) return;
    const frame = this.picture.camera.of(box.lane);
    if ((box.left < frame.right && box.right > frame.left && box.top < frame.bottom && box.bottom > frame.top)) return;
    const x = (box.left + box.right - frame.left - frame.right) / 2;
    const y = (box.top + box.bottom - frame.top - frame.bottom) / 2;
    this.picture.camera.show({ left: frame.left + x, right: frame.right + x, top: frame.top + y, bottom: frame.bottom + y }, box.lane);
  }

  /** @param {number} time @param {boolean} [isLinked] */
  lookAt(time, isLinked = true) {
    const at = Math.max(0, Math.min(this.plan.span - 1, Math.floor(time)));
    this.picture.look.time = at;
    this.panel.showTime(at);
    if (isLinked) writeLink({ time: at });
    this.picture.changed();
  }

  toPeak() {
    const q = this.nextPool();
    const time = this.peakTime(q);
    this.lookAt(time);
    const found = q < 0 ? null : this.plan.verdict.pools[q];
    const box = this.picture.boxOf(found ? found.decides : aliveAt(this.plan, q, time));
    if (box) this.picture.camera.fit({ ...box, left: (time - 4) / this.plan.span, right: (time + 5) / this.plan.span }, 0.1);
  }

  find() {
    const { look } = this.picture;
    this.search.find(this.field?.value ?? "");
    look.found = this.search.mask();
    fill(/** @type {HTMLElement} */ (this.told), this.search.told);
    this.picture.colour();
  }

  /** @param {KeyboardEvent} event */
  searchKey(event) {
    if (event.key === "Escape") {
      /** @type {HTMLInputElement} */ (this.field).value = "";
      this.find();
      this.picture.over.focus();
      event.stopPropagation();
    } else if (event.key === "Enter") {
      event.stopPropagation();
      this.hit(event.shiftKey ? -1 : 1);
    }
  }

  /** Select what the search found next; keys then are the picture's. @param {1 | -1} step */
  hit(step) {
    const hit = this.search.next(step);
    fill(/** @type {HTMLElement} */ (this.told), this.search.told);
    if (hit < 0) return;
    this.select(hit);
    this.picture.over.focus({ preventScroll: true });
  }

  bindPointer() {
    const { over } = this.picture;
    /** @type {{x: number, y: number} | null} */ let pressed = null;
    over.addEventListener("pointerdown", (event) => { pressed = { x: event.clientX, y: event.clientY }; });
    over.addEventListener("pointermove", (event) => this.hover(event));
    over.addEventListener("pointerleave", () => this.hover(null));
    over.addEventListener("click", (event) => {
      if (pressed && Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) > CLICK_PIXELS) return;
      over.focus({ preventScroll: true });
      const box = over.getBoundingClientRect();
      const inside = Math.min(event.clientY - box.top, (this.picture.height ?? 1) - 1);
      const place = this.picture.place(event.clientX - box.left, inside);
      if (!place) return;
      this.lookAt(this.picture.lanes.time(place.x));
      const isAxis = event.clientY - box.top > (this.picture.height ?? 0);
      if (!isAxis) this.select(this.picture.bufferAt(place));
    });
    this.minimap.element.addEventListener("click", (event) => {
      const box = over.getBoundingClientRect();
      const x = (event.clientX - box.left - (box.width - (this.picture.width ?? 1))) / (this.picture.width ?? 1);
      if (x >= 0 && x <= 1) this.lookAt(x * this.plan.span);
    });
  }

  /** @param {PointerEvent | null} event */
  hover(event) {
    const box = this.picture.over.getBoundingClientRect();
    const place = event && !event.buttons ? this.picture.place(event.clientX - box.left, event.clientY - box.top) : null;
    const i = place ? this.picture.bufferAt(place) : -1;
    this.card.hidden = i < 0;
    if (event && i >= 0) {
      if (i !== this.picture.look.hovered) fill(this.card, h("b", {}, this.plan.name(i, 120)), factsOf(this.plan, i));
      const { offsetWidth, offsetHeight } = this.card;
      this.card.style.left = `${Math.max(4, Math.min(event.clientX + 16, window.innerWidth - offsetWidth - 4))}px`;
      this.card.style.top = `${Math.max(4, Math.min(event.clientY + 16, window.innerHeight - offsetHeight - 4))}px`;
    }
    if (i === this.picture.look.hovered) return;
    this.picture.look.hovered = i;
    this.picture.changed();
  }

  /** The next buffer in time, or the one before: in the order of starts, each lifetime for itself. @param {1 | -1} step */
  neighbour(step) {
    const { selected } = this.picture.look;
    const { lifeBuffer, first } = this.plan;
    let row = this.visited;
    if (selected < 0) row = step > 0 ? -1 : lifeBuffer.length;
    else if (row < 0 || lifeBuffer[row] !== selected) row = first.head[selected];
    do row += step; while (row >= 0 && row < lifeBuffer.length && (lifeBuffer[row] === selected || !this.picture.lanes.isDrawn(row)));
    if (row < 0 || row >= lifeBuffer.length) return;
    this.visited = row;
    this.select(lifeBuffer[row]);
  }

  /** The buffer that lies next over the selected one, or under it, among those alive with it. @param {1 | -1} step */
  stacked(step) {
    const { plan } = this;
    const { selected, time } = this.picture.look;
    if (selected < 0) return this.neighbour(1);
    const at = time !== null && plan.isAlive(selected, time) ? time : plan.birth(selected);
    const found = plan.liveAt(at).filter((i) => plan.pool[i] === plan.pool[selected] && i !== selected && Math.sign(plan.offset[i] - plan.offset[selected]) === step);
    found.sort((a, b) => step * (plan.offset[a] - plan.offset[b]));
    if (found.length) this.select(found[0]);
  }

  fit() {
    const { selected, chain } = this.picture.look;
    const buffers = selected < 0 ? [] : this.fitted === selected ? [selected, ...chain] : [selected];
    this.fitted = this.fitted === selected ? -1 : selected;
    const box = this.picture.boxOf(buffers);
    if (box) this.picture.camera.fit(box);
    else this.picture.camera.all();
  }

  escape() {
    if (this.search.text) {
      /** @type {HTMLInputElement} */ (this.field).value = "";
      this.find();
    } else this.select(-1);
  }

  /** @returns {import("./keys.js").Binding[]} */
  keyBindings() {
    const { camera } = this.picture;
    const magnify = (/** @type {number} */ by) => camera.magnify(0.5, 0.5, by, by);
    return [
      { keys: ["w", "+", "="], says: "closer", run: () => magnify(1.4) },
      { keys: ["s", "-", "_"], says: "farther", run: () => magnify(1 / 1.4) },
      { keys: ["a"], says: "back in time", run: () => camera.shift(STEP, 0) },
      { keys: ["d"], says: "forward in time", run: () => camera.shift(-STEP, 0) },
      { keys: ["q"], says: "to higher offsets", run: () => camera.shift(0, STEP) },
      { keys: ["e"], says: "to lower offsets", run: () => camera.shift(0, -STEP) },
      { keys: ["0"], says: "show all", run: () => camera.all() },
      { keys: ["f"], says: "fit the selected buffer; again: with all that it stands on", run: () => this.fit() },
      { keys: ["p"], says: "to the peak; again: to that of the next pool", run: () => this.toPeak() },
      { keys: [",", "ArrowLeft"], says: "the buffer before in time", run: () => this.neighbour(-1) },
      { keys: [".", "ArrowRight"], says: "the next buffer in time", run: () => this.neighbour(1) },
      { keys: ["ArrowUp"], says: "the buffer above", run: () => this.stacked(1) },
      { keys: ["ArrowDown"], says: "the buffer below", run: () => this.stacked(-1) },
      { keys: ["/"], says: "search (also Ctrl F); Enter the next hit, Shift Enter the one before", run: () => this.field?.focus() },
      { keys: ["Enter"], says: "the next buffer that the search found; with Shift the one before", run: (event) => this.hit(event.shiftKey ? -1 : 1) },
      { keys: ["Escape"], says: "end the search, or select nothing", run: () => this.escape() },
      { keys: ["?"], says: "these keys", run: () => showHelp(this.bindings) },
    ];
  }

  /** Take what the address says. */
  restore() {
    const link = readLink();
    const hash = String(this.plan.facts.problem_hash ?? "").replace(/^.*:/, "").slice(0, 12);
    this.hash = hash || null;
    if (link.has("plan") && link.get("plan") !== hash) return;
    if (COLOUR_BY.includes(link.get("by") ?? "")) this.colourBy(link.get("by") ?? "");
    const time = Number(link.get("time") ?? NaN);
    if (Number.isFinite(time)) this.lookAt(time);
    const selected = Number(link.get("sel") ?? NaN);
    if (Number.isInteger(selected) && selected >= 0 && selected < this.plan.count) this.select(selected);
    const seen = (link.get("vis") ?? "").split(",").map(Number);
    if (seen.length === this.picture.camera.seen.length && seen.every(Number.isFinite)) this.picture.camera.seen = seen;
  }

  /** Write the frame into the address, once it is at rest. */
  remember() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const { seen } = this.picture.camera;
      const isWhole = seen.every((at, k) => at === k % 2);
      writeLink({ plan: this.hash ?? null, vis: isWhole ? null : seen.map((part) => Number(part.toPrecision(9))).join(",") });
    }, 300);
  }

  /** Let go of keys and colours. */
  close() {
    clearTimeout(this.timer);
    this.ends.forEach((end) => end());
  }
}

/** Open the view of a plan in an element, in the place of what is open there. @param {HTMLElement} element @param {any} view @param {(name: string) => string} style @param {PlanOptions} [options] */
export function openPlan(element, view, style, options = {}) {
  open.get(element)?.close();
  const found = new PlanView(element, view, style, options);
  open.set(element, found);
  return found;
}
