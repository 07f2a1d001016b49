// @ts-check
// A schedule: what lies where in the fast memory in each step, how long steps take, and how busy the link is.

import { cells, fill, h, table } from "./dom.js";
import { savers } from "./exporting.js";
import { LETTER } from "./pencil.js";
import { svg } from "./svg.js";
import { counted, countText, nameText, sizeText } from "./text.js";

const MEMORY = 260;
const LANE = 44;
const LISTED = 400;
const DRAWN = 6000;
const LEFT = 84;
const KINDS = {
  retained: "stays for later steps", input: "loaded", constants: "loaded constants", output: "made", ring: "kept in the step", sums: "sums",
  workspace: "working memory",
};

/** @typedef {{kind: string, tensor: number, size: number, start: number, end: number, offset: number}} Slot */

/** Open the view of a schedule in an element. @param {HTMLElement} element @param {any} view  of the kind `schedule` */
export function openSchedule(element, { answer, title }) {
  const body = h("div", { class: "stripes schedule", tabindex: "0", role: "region", "aria-label": "Schedule" });
  const largest = answer.slots.length > DRAWN ? [...answer.slots].sort((a, b) => b.size - a.size).slice(0, DRAWN) : [...answer.slots];
  /** @type {Slot[]} */ const slots = largest.sort((a, b) => a.start - b.start || a.offset - b.offset);
  const picture = h("div", { tabindex: "0", role: "application", "aria-label": "Picture of the schedule. Arrow keys go from box to box.", onkeydown:
    (/** @type {KeyboardEvent} */ event) => {
      const k = stepped(slots, chosen, event.key);
      if (k === null) return;
      event.preventDefault();
      choose(k);
    } });
  const said = h("p", { class: "said", role: "status" });
  let [byTime, chosen] = [false, -1];
  const choose = (/** @type {number} */ k) => {
    const rows = picture.querySelectorAll(".slot");
    rows[chosen]?.classList.remove("chosen");
    rows[k]?.classList.add("chosen");
    chosen = k;
    fill(said, k < 0 ? "Click a box, or go to it by arrow keys, for what it holds." : slotText(slots[k]));
  };
  const known = Object.keys(KINDS).filter((kind) => slots.some((slot) => slot.kind === kind));
  const draw = () => {
    fill(picture, /** @type {any} */ (drawn(answer, slots, Math.max(280, (body.clientWidth || 800) - 28), byTime, choose)));
    choose(chosen);
  };
  const sample = (/** @type {string} */ kind, /** @type {string} */ text) => h("span", { class: "kind" },
    svg("svg", { width: 12, height: 12 }, svg("rect", { width: 12, height: 12, class: kind })), text);
  fill(body,
    h("h2", {}, `${counted(answer.subgraphs.length, "step")} (${answer.status}), time ${countText(Math.round(answer.latency))}, `
      + `${sizeText(answer.traffic)} over the link; dashed: at most ${sizeText(answer.peak)} of ${sizeText(answer.capacity)} are used`),
    h("div", { class: "bar" }, h("label", {}, h("input", { type: "checkbox", onchange: () => {
      byTime = !byTime;
      draw();
    } }), "steps as wide as they take"), ...savers(() => picture.firstElementChild, title),
    ...known.map((kind) => sample(kind, `${kind}: ${KINDS[/** @type {"ring"} */ (kind)]}`)),
    answer.link_busy?.some((/** @type {number} */ share) => share > 0.999) && sample("full", "the step waits for the link")),
    picture, said,
    answer.slots.length > DRAWN && h("p", { class: "quiet" }, `The largest ${countText(DRAWN)} of ${countText(answer.slots.length)} slots are drawn.`),
    stepsOf(answer));
  fill(element, body);
  new ResizeObserver(draw).observe(element);
  draw();
  return { answer };
}

/** Return the slot to which a key moves from slot `from` (-1: none); null for other keys. @param {Slot[]} slots @param {number} from @param {string} key */
export function stepped(slots, from, key) {
  const [along, up] = [{ ArrowLeft: -1, ArrowRight: 1 }[key], { ArrowDown: -1, ArrowUp: 1 }[key]];
  if (key === "Escape") return -1;
  if (!along && !up) return null;
  if (from < 0) return 0;
  if (along) return Math.max(0, Math.min(slots.length - 1, from + along));
  const { start, end, offset } = slots[from];
  const beyond = slots.filter((one) => one.start < end && one.end > start && /** @type {number} */ (up) * (one.offset - offset) > 0);
  const next = beyond.sort((a, b) => Math.abs(a.offset - offset) - Math.abs(b.offset - offset))[0];
  return next ? slots.indexOf(next) : from;
}

/** Return a text that tells what a slot holds, where and when. @param {Slot} slot */
function slotText({ kind, tensor, size, start, end, offset }) {
  return `${kind} of tensor ${tensor}: ${sizeText(size)} at ${countText(offset)}, step ${start}${end > start + 1 ? ` to ${end - 1}` : ""}`;
}

/** @param {any} answer @param {Slot[]} slots @param {number} width @param {boolean} byTime @param {(k: number) => void} choose */
function drawn(answer, slots, width, byTime, choose) {
  const times = answer.subgraph_latencies;
  const at = [0];
  for (const time of times) at.push(at[at.length - 1] + (byTime ? time : 1));
  const x = (/** @type {number} */ step) => LEFT + ((width - LEFT - 8) * at[step]) / (at[times.length] || 1);
  const y = (/** @type {number} */ offset) => 8 + MEMORY * (1 - offset / Math.max(1, answer.capacity));
  const lanes = [["time", times.map((/** @type {number} */ time) => time / Math.max(...times, 1e-9)), "most",
    times.map((/** @type {number} */ time) => `time ${countText(Math.round(time))}`)]];
  if (answer.link_busy) lanes.push(["link", answer.link_busy, "100 %", answer.link_busy.map((/** @type {number} */ share) => `busy ${percent(share)} of it`)]);
  const height = MEMORY + 34 + lanes.length * (LANE + 10);
  const root = svg("svg", { width, height, role: "img", "aria-label": `The fast memory over ${times.length} steps` });
  root.append(svg("rect", { x: LEFT, y: y(answer.capacity), width: width - LEFT - 8, height: MEMORY, class: "ground" }));
  slots.forEach((slot, k) => {
    const { kind, tensor, size, start, end, offset } = slot;
    root.append(svg("rect", { x: x(start), y: y(offset + size), width: Math.max(0.5, x(end) - x(start) - (x(1) - x(0) > 4 ? 1 : 0)),
      height: Math.max(0.5, (MEMORY * size) / Math.max(1, answer.capacity)), class: `slot ${kind}`,
      onclick: () => choose(k) }, svg("title", {}, slotText(slot))));
    const text = [`tensor ${tensor}`, String(tensor)].find((one) => one.length * LETTER + 6 < x(end) - x(start));
    if (text && (MEMORY * size) / answer.capacity >= LETTER * 2) root.append(svg("text",
      { x: (x(start) + x(end)) / 2, y: y(offset + size / 2) + 4, "text-anchor": "middle", class: `name ${kind}` }, text));
  });
  const mark = (/** @type {number} */ top, /** @type {string} */ text) => root.append(svg("text", { x: LEFT - 6, y: top, "text-anchor": "end" }, text));
  mark(y(answer.capacity) + 10, sizeText(answer.capacity));
  mark(y(0), "0");
  if (answer.peak < 0.94 * answer.capacity && answer.peak > 0.06 * answer.capacity) mark(y(answer.peak) + 4, sizeText(answer.peak));
  root.append(svg("path", { d: `M${LEFT} ${y(answer.peak)}H${width - 8}`, class: "peak" }),
    svg("text", { x: LEFT, y: MEMORY + 22 }, "step 0"), svg("text", { x: width - 8, y: MEMORY + 22, "text-anchor": "end" },
      `step ${countText(times.length - 1)}`));
  lanes.forEach(([name, shares, most, said], lane) => {
    const low = MEMORY + 28 + (lane + 1) * (LANE + 10) - 10;
    mark(low, name);
    mark(low - LANE + 10, most);
    root.append(svg("rect", { x: LEFT, y: low - LANE, width: width - LEFT - 8, height: LANE, class: "ground" }));
    shares.forEach((/** @type {number} */ share, /** @type {number} */ step) => root.append(svg("rect", {
      x: x(step), y: low - LANE * share, width: Math.max(0.5, x(step + 1) - x(step) - (x(1) - x(0) > 4 ? 1 : 0)), height: LANE * share,
        class: share > 0.999 && name === "link" ? "full" : name,
    }, svg("title", {}, `step ${step}: ${said[step]}`))));
  });
  return root;
}

/** @param {any} answer */
function stepsOf(answer) {
  const rows = answer.subgraphs.slice(0, LISTED).map((/** @type {number[]} */ made, /** @type {number} */ k) => cells([
    String(k), nameText(made.join(", "), 60), answer.granularities[k].join(" × "), countText(Math.round(answer.subgraph_latencies[k])),
    answer.subgraph_traffic && sizeText(answer.subgraph_traffic[k]), answer.link_busy && percent(answer.link_busy[k]),
      nameText(answer.tensors_to_retain[k].join(", "), 60)].map((one) => one ?? false)));
  return table(["step", "operations", "tile", "time", answer.subgraph_traffic ? "over the link" : false, answer.link_busy ? "link busy" : false, "retains"],
    rows);
}

/** @param {number} share */
function percent(share) {
  return `${(100 * share).toFixed(1)} %`;
}
