// @ts-check
// The view of one plan: picture, legend, and the panel beside them, tied together.

import { COLOUR_BY, colouredPart } from "./colours.js";
import { fill, h, save } from "./dom.js";
import { csvOf, savePng, svgOf } from "./exporting.js";
import { factsOf } from "./facts.js";
import { bindKeys, showHelp } from "./keys.js";
import { legendOf } from "./legend.js";
import { readLink, writeLink } from "./link.js";
import { aliveAt } from "./live_bytes.js";
import { Panel } from "./panel.js";
import { Picture } from "./picture.js";
import { PlanModel } from "./plan_model.js";
import { Search } from "./search.js";
import { bytesText, countText, exactly, nameText, percentText } from "./text.js";
import { onTheme, switchTheme } from "./theme.js";
import { Verdict } from "./verdict.js";
import { keyBindings } from "./walking.js";

const CLICK_PIXELS = 4;
const PEAK_MARKED = 2000;
/** The number of buffers from which one colour per buffer tells nothing. Colours then show layers, or sizes if layers are unknown. */
const MANY = 200;
/** The minimum fraction of coloured bytes at which the colours of layers are useful. */
const TOLD = 0.5;
/**
 * Options of a plan's view; `verdict` requests the verdict on a plan whose view has none yet.
 * @typedef {{title?: string, moved?: Uint8Array | null, ask?: (kind: string, options?: any) => void, questions?: any[],
 *   verdict?: (problem: any, plan: any) => Promise<any>}} PlanOptions
 */

/** The open views by element. A view that another one replaces releases its keys and colours. */
const open = new WeakMap();

/** A plan and everything that shows it; `moved` may tell for each buffer whether it moved since another plan. */
export class PlanView {
  /** @param {HTMLElement} element @param {any} view @param {(name: string) => string} style @param {PlanOptions} options */
  constructor(element, view, style, { title = view.title, moved = null, ...actions }) {
    this.title = String(title);
    /** @type {number} */ this.visited = -1;
    /** The buffer to which the frame was last fitted. */ this.fitted = -1;
    this.plan = new PlanModel(view);
    this.picture = new Picture(this.plan, style);
    this.picture.look.moved = moved;
    this.search = new Search(this.plan);
    this.panel = new Panel(this.plan, { ...actions, select: (i) => this.select(i), lookAt: (time) => this.lookAt(time) });
    this.legend = h("div", { class: "legend", role: "group", "aria-label": "legend" });
    this.card = h("div", { class: "card", hidden: true, role: "tooltip" });
    this.bindings = keyBindings(this);
    this.said = h("div", { class: "sentences", role: "group", tabindex: "0", "aria-label": "what decides the peak" });
    this.head = h("div", { class: "facts" });
    fill(element, this.bar(), h("div", { class: "body" },
      h("div", { class: "stage" }, this.said, this.picture.element, this.legend), this.panel.element), this.card);
    this.opened = new AbortController();
    bindKeys(this.bindings, this.opened.signal);
    onTheme(() => this.recolour(), this.opened.signal);
    this.bindPointer();
    /** @type {number} */ this.peakOf = -1;
    this.judged();
    this.lookAt(this.peakTime(this.nextPool()), false);
    const isMany = this.plan.models || this.plan.count >= MANY;
    const tells = (/** @type {string} */ by) => this.knows(by) && colouredPart(this.plan, by) >= TOLD;
    this.colourBy(isMany ? ["model", "group", "operation"].find(tells) ?? "size" : "buffer", false);
    this.restore();
    this.showLegend();
    this.picture.listeners.push(() => this.remember());
  }

  bar() {
    const option = (/** @type {string} */ by) => h("option", { value: by, disabled: !this.knows(by) }, by === "group" ? "layer" : by);
    this.menu = /** @type {HTMLSelectElement} */ (h("select",
      { "aria-label": "colour", onchange: () => this.colourBy(this.menu?.value ?? "buffer") }, ...COLOUR_BY.map(option)));
    this.field = /** @type {HTMLInputElement} */ (h("input",
      { type: "search", placeholder: "name, /pattern/", "aria-label": "search buffers by name or pattern",
      oninput: () => this.find(), onkeydown: (/** @type {KeyboardEvent} */ event) => this.searchKey(event) }));
    this.told = h("span", { class: "quiet", role: "status" });
    const button = (/** @type {string} */ text, /** @type {string} */ title, /** @type {() => void} */ run) =>
      h("button", { type: "button", title, onclick: run }, text);
    return h("div", { class: "bar", role: "toolbar", "aria-label": "plan" },
      this.head, h("div", { class: "controls" },
      h("label", {}, h("span", { class: "wide" }, "colour"), this.menu), this.field, this.told,
      button("whole", "show all (0)", () => this.picture.camera.all()),
      button("peak", "show the peak, or that of the next pool (P)", () => this.toPeak()),
      button("PNG", "save the picture as PNG", () => this.save("png")),
      button("SVG", "save the picture as SVG", () => this.save("svg")),
      button("CSV", "save the buffers in sight as CSV", () => this.save("csv")),
      button("theme", "light or dark", switchTheme), button("?", "keys", () => showHelp(this.bindings))));
  }

  /** Save the shown picture as a file. @param {"png" | "svg" | "csv"} kind */
  save(kind) {
    const { title } = this;
    const caption = [title, ...[...(this.head?.children ?? [])].map(({ textContent }) => textContent)].join("  \u00b7  ");
    if (kind === "csv") save(new Blob([csvOf(this.picture)], { type: "text/csv" }), title, kind);
    else if (kind === "png") savePng(this.picture, title, caption);
    else save(new Blob([svgOf(this.picture, caption)], { type: "image/svg+xml" }), title, kind);
  }

  /** Apply a verdict on the plan that arrived later. @param {any} inspection  null: there is none */
  judge(inspection) {
    this.plan.verdict = new Verdict(this.plan, inspection);
    this.judged();
    this.select(this.picture.look.selected);
    this.showLegend();
  }

  /** Show the verdict: the badge, the verified facts, a sentence for each pool, and the outlines. */
  judged() {
    const { plan } = this;
    const { facts, verdict } = plan;
    const { badge } = verdict;
    const isBad = badge === "not valid";
    const isValid = badge === "valid";
    const { best } = verdict;
    const { peak } = facts;
    const least = isValid && facts.cost && facts.cost_lower_bound !== undefined ? facts.cost_lower_bound : null;
    const isClaim = verdict.isClaimed("cost_lower_bound");
    const above = least && !isClaim ? `, at most ${percentText(facts.cost / least - 1)} above the least` : "";
    /** @type {[string, string | null, string?][]} */
    const told = [["peak", isValid && peak !== undefined ? bytesText(exactly(peak)) : plan.peak > 0 ? bytesText(plan.peak) : null,
      "the highest address that is used, all pools added"],
      ["cost", isValid && facts.cost ? countText(facts.cost) : null, new Set(plan.pools.map(({ cost = 0 }) => cost)).size > 1
        ? "what moving bytes costs, by the prices of the pools" : "the bytes moved to and from the pools after the first"],
      ["every plan costs at least", least === null ? null : `${countText(least)}${isClaim ? " (claimed)" : ""}${above}`],
      ["buffers", countText(plan.count)]];
    fill(/** @type {HTMLElement} */ (this.head),
      h("button", { type: "button", class: `badge ${isBad ? "wrong" : isValid ? "right" : ""}`, title: "what is wrong with the plan, if anything",
        onclick: () => this.select(-1) }, verdict.text),
      best && h("span", { class: `badge best ${best.isProved ? "right" : ""}`, title: verdict.checked.join("\n") }, best.text),
      ...told.filter(([, value]) => value).map(([term, value, tip]) => h("span", { title: tip }, `${term} `, h("b", {}, value))));
    fill(/** @type {HTMLElement} */ (this.said),
      verdict.reason && !isBad && h("p", { class: "alarm" }, nameText(verdict.reason, 400)),
      isBad && h("p", { class: "alarm" }, nameText((verdict.violations.find(({ rule }) => rule === "overlap") ?? verdict.violations[0])?.message ?? "", 400)),
      !plan.isPlanned && !this.panel.actions.verdict && h("p", {}, "This problem has no plan yet: memplan plan FILE -o PLAN.json makes one, which can "
        + "be dropped here; the page of memplan serve plans it by itself."),
      badge === "nothing placed" && facts.status === "infeasible" && !verdict.reason
        && h("p", { class: "alarm" }, "The plan claims that nothing fits, and does not say why: plan it again to know."),
      ...verdict.pools.map((pool, q) => pool && h("p", {}, plan.pools.length > 1 && h("b", {}, `${nameText(plan.pools[q].name, 40)}: `),
        nameText(pool.sentence, 600))));
    this.picture.look.peak = verdict.deciding.slice(0, PEAK_MARKED);
    this.picture.look.wrong = verdict.wrong;
    this.panel.showPools();
    this.panel.showBuffer(this.picture.look.selected);
    this.picture.changed();
  }

  /** Return the next non-empty pool after the one whose peak was shown last. */
  nextPool() {
    const count = this.plan.pools.length;
    for (let k = 1; k <= count; k++) {
      const q = (this.peakOf + k) % count;
      if (this.plan.fullest(q).bytes > 0) return (this.peakOf = q);
    }
    return -1;
  }

  /** Return the time of a pool's peak. @param {number} q */
  peakTime(q) {
    const found = q >= 0 ? this.plan.verdict.pools[q] : null;
    if (!found?.decides.length) return this.plan.fullest(q).time;
    return found.time >= 0 && found.decides.every((i) => this.plan.isAlive(i, found.time)) ? found.time : this.plan.birth(found.decides[0]);
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
    this.showLegend();
  }

  showLegend() {
    fill(this.legend, ...legendOf(this.picture));
  }

  /** Select a buffer; -1 selects none. @param {number} i */
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

  /** Move the frame so that a buffer is visible. @param {number} i */
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

  /** Mark the inspected time, or remove its mark. */
  mark() {
    const { look } = this.picture;
    const time = look.time ?? 0;
    look.marks = look.marks.includes(time) ? look.marks.filter((at) => at !== time) : [...look.marks, time].sort((a, b) => a - b);
    writeLink({ marks: look.marks.join(",") || null });
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
    this.panel.showHits(this.search);
    fill(/** @type {HTMLElement} */ (this.told), this.search.told);
    this.picture.colour();
  }

  /** @param {KeyboardEvent} event */
  searchKey(event) {
    if (event.key === "Escape") {
      if (this.search.text) this.escape();
      this.picture.over.focus();
      event.stopPropagation();
    } else if (event.key === "Enter") {
      event.stopPropagation();
      this.hit(event.shiftKey ? -1 : 1);
    }
  }

  /** Select the next hit of the search, and return the keyboard focus to the picture. @param {1 | -1} step */
  hit(step) {
    const hit = this.search.next(step);
    fill(/** @type {HTMLElement} */ (this.told), this.search.told);
    if (hit < 0) return;
    this.panel.showHits(this.search);
    this.select(hit);
    this.picture.over.focus({ preventScroll: true });
  }

  bindPointer() {
    const { over } = this.picture;
    /** @type {{x: number, y: number} | null} */ let pressed = null;
    over.addEventListener("pointerdown", (event) => { pressed = { x: event.clientX, y: event.clientY }; });
    over.addEventListener("pointermove", (event) => this.hover(event));
    over.addEventListener("pointerleave", () => this.hover(null));
    over.addEventListener("pointerup", (event) => event.shiftKey && pressed && this.dragged(pressed, event));
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
  }

  /** Select the area that was dragged with Shift. @param {{x: number, y: number}} from @param {PointerEvent} event */
  dragged(from, event) {
    const { picture, plan } = this;
    const box = picture.over.getBoundingClientRect();
    const [a, b] = [[from.x, from.y], [event.clientX, event.clientY]].map(([x, y]) => picture.place(x - box.left, y - box.top));
    const isArea = a && b && a.lane === b.lane && Math.hypot(from.x - event.clientX, from.y - event.clientY) > CLICK_PIXELS;
    const sorted = (/** @type {number} */ one, /** @type {number} */ two) => /** @type {[number, number]} */ ([one, two].sort((low, high) => low - high));
    const time = (/** @type {number} */ x) => Math.max(0, Math.min(plan.span, Math.round(picture.lanes.time(x))));
    const offset = (/** @type {number} */ y) => Math.max(0, Math.round((1 - y) * picture.lanes.all[a?.lane ?? 0].bytes));
    picture.look.area = isArea ? { pool: a.lane, times: sorted(time(a.x), time(b.x)), offsets: sorted(offset(a.y), offset(b.y)) } : null;
    this.panel.showArea(picture.look.area);
    picture.changed();
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

  escape() {
    this.picture.look.area = null;
    this.panel.showArea(null);
    if (this.search.text) {
      /** @type {HTMLInputElement} */ (this.field).value = "";
      this.find();
    } else this.select(-1);
  }

  /** Restore the state in the address. */
  restore() {
    const link = readLink();
    const hash = String(this.plan.facts.problem_hash ?? "").replace(/^.*:/, "").slice(0, 12);
    this.hash = hash || null;
    if (link.has("plan") && link.get("plan") !== hash) return;
    if (COLOUR_BY.includes(link.get("by") ?? "")) this.colourBy(link.get("by") ?? "");
    const time = Number(link.get("time") ?? NaN);
    if (Number.isFinite(time)) this.lookAt(time);
    this.picture.look.marks = (link.get("marks") ?? "").split(",").filter(Boolean).map(Number).filter(Number.isFinite);
    const selected = Number(link.get("sel") ?? NaN);
    if (Number.isInteger(selected) && selected >= 0 && selected < this.plan.count) this.select(selected);
    const seen = (link.get("vis") ?? "").split(",").map(Number);
    if (seen.length === this.picture.camera.seen.length && seen.every(Number.isFinite)) this.picture.camera.seen = seen;
  }

  /** Write the frame into the address once it no longer moves. */
  remember() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const { seen } = this.picture.camera;
      writeLink({ plan: this.hash ?? null, vis: this.picture.camera.isWhole ? null : seen.map((part) => Number(part.toPrecision(9))).join(",") });
    }, 300);
  }

  /** Release keys and colours. */
  close() {
    clearTimeout(this.timer);
    this.opened.abort();
  }
}

/**
 * Open the view of a plan in an element, and close the view that is open there.
 * @param {HTMLElement} element @param {any} view @param {(name: string) => string} style @param {PlanOptions} [options]
 */
export function openPlan(element, view, style, options = {}) {
  open.get(element)?.close();
  const found = new PlanView(element, view, style, options);
  open.set(element, found);
  // What came late for a view that is gone says nothing of the one that took its place.
  if (view.isPending) options.verdict?.(view.problem, view.plan).then((told) => found.said.isConnected && found.judge(told));
  return found;
}
