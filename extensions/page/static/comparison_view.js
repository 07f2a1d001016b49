// @ts-check
// Two plans: the new one, where its buffers lay in the old one, with arrows, and what made the peaks grow.

import { tablesOf } from "./answer_tables.js";
import { fill, h, table } from "./dom.js";
import { openPlan } from "./plan_view.js";
import { PlanModel } from "./plan_model.js";
import { bytesText, countText, nameText, sizeText } from "./text.js";

const ARROWS = 400;
const LISTED = 200;
const KINDS = {
  "new": "new", "grown": "larger", "shrunk": "smaller", "longer-lived": "lives longer", "at-another-time": "alive at another time",
  "from-another-pool": "came from another pool", "gone": "not alive there any more",
};

/**
 * Open the comparison of two plans in an element.
 * @param {HTMLElement} element @param {any} view  of the kind `comparison` @param {(name: string) => string} style
 * @param {any} [keep]  a button that plans again with the old places
 */
export function openComparison(element, view, style, keep) {
  const stage = h("div", { class: "view" });
  const side = h("section", { class: "causes", "aria-label": "What changed" });
  const models = { before: new PlanModel(view.before), after: new PlanModel(view.after) };
  const open = (/** @type {string} */ which) => {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.which === which));
    const [here, there] = which === "after" ? [models.after, models.before] : [models.before, models.after];
    const { moved, ghosts } = movesOf(here, there, view.facts);
    const found = openPlan(stage, view[which], style, { title: view[which].title, moved });
    found.colourBy("moved", false);
    found.picture.extra = (/** @type {any} */ overlay) => {
      for (const ghost of ghosts.slice(0, ARROWS)) drawGhost(overlay, found.plan, ghost, which === "after");
    };
    found.picture.changed();
    found.panel.element.prepend(side);
    return found;
  };
  const buttons = ["before", "after"].map((which) =>
    h("button", { "data-which": which, onclick: () => { shown = open(which); } }, `${which}: ${nameText(view[which].title, 60)}`));
  fill(element,
    h("div", { class: "bar", role: "group", "aria-label": "Which plan is drawn" }, ...buttons, h("span", { class: "facts" }, ...summary(view.facts)),
      keep instanceof HTMLElement && keep, h("span", { class: "quiet", title: "arrows lead from old places to new ones" }, "dashed: where a buffer lay")),
    stage);
  let shown = open("after");
  const select = (/** @type {string | number} */ id) => {
    const i = shown.plan.indexOf(id);
    if (i >= 0) shown.select(i);
  };
  fill(side, ...growths(view.facts, select), ...changes(view.facts, select));
  return shown;
}

/** @param {any} facts */
function summary(facts) {
  const change = facts.peak === null || facts.peak_before === null ? "" : signed(Number(facts.peak) - Number(facts.peak_before));
  return [
    h("span", {}, "peak ", h("b", {}, `${facts.peak_before === null ? "?" : bytesText(facts.peak_before)} → ${facts.peak === null ? "?"
      : bytesText(facts.peak)}`), ` ${change}`),
    h("span", {}, h("b", {}, countText(facts.moved.length)), " moved"), h("span", {}, h("b", {}, countText(facts.stayed)), " stayed"),
    h("span", {}, h("b", {}, countText(facts.added.length)), " new"), h("span", {}, h("b", {}, countText(facts.removed.length)), " gone"),
  ];
}

/** @param {number} bytes */
function signed(bytes) {
  return bytes === 0 ? "(the same)" : `(${bytes > 0 ? "+" : "−"}${sizeText(Math.abs(bytes))})`;
}

/** @param {any} facts @param {(id: any) => void} select */
function growths(facts, select) {
  return Object.entries(facts.growth ?? {}).flatMap(([pool, grown]) => [
    h("h2", {}, `Pool ${nameText(pool, 40)}: ${grown.used_before === null ? "new"
      : `${sizeText(Number(grown.used_before))} → ${sizeText(Number(grown.used))}`}`),
    grown.causes.length === 0
      ? h("p", { class: "quiet" }, "The same buffers are alive at its fullest time.")
      : h("p", { class: "quiet" }, `${sizeText(Number(grown.live))} are alive at its fullest time now${grown.time_before === null ? ""
        : `, ${sizeText(Number(grown.live_before))} were when most of the same buffers were (time ${grown.time_before})`}. The difference:`),
    grown.causes.length ? table(["buffer", "cause", "bytes"], grown.causes.slice(0, LISTED).map((/** @type {any} */ cause) => [
      h("button", { onclick: () => select(cause.buffer) }, nameText(cause.buffer, 60)), /** @type {any} */ (KINDS)[cause.kind] ?? cause.kind,
      `${cause.bytes > 0 ? "+" : "−"}${sizeText(Math.abs(Number(cause.bytes)))}`])) : null,
  ]).filter((part) => part !== null);
}

/** Return tables of the moved buffers, largest first, and of all other differences. @param {any} facts @param {(id: any) => void} select */
function changes(facts, select) {
  const { moved, added, removed, lifetime } = facts;
  const resized = facts.resized?.map((/** @type {any} */ { id, from, to }) => ({ id, size_before: from, size: to })) ?? [];
  const sorted = [...moved].sort((a, b) => Number(b.bytes ?? 0) - Number(a.bytes ?? 0));
  const place = (/** @type {any} */ pool, /** @type {any} */ offset) => (pool ? `${nameText(pool, 20)} ${countText(offset)}` : countText(offset));
  const rows = sorted.slice(0, LISTED).map((move) => [
    h("div", {}, h("button", { onclick: () => select(move.id) }, nameText(move.id, 60)), move.why && h("div", { class: "quiet" }, nameText(move.why, 200))),
    place(move.from_pool, move.from), place(move.to_pool, move.to), move.bytes === null ? "" : sizeText(Number(move.bytes))]);
  return [h("h2", {}, `Moved: ${countText(moved.length)}`), rows.length > 0 && table(["buffer", "from", "to", "bytes"], rows),
    ...[{ resized, other_lifetimes: lifetime }, { added, removed }].flatMap((part) =>
      tablesOf(part, { select, open: () => {}, problem: null, drawn: new Set() }))];
}

/**
 * Return each buffer's class in the colours of `moved`, and the places, sizes and times of moved buffers in the other plan.
 * @param {PlanModel} here  the plan that is drawn @param {PlanModel} there @param {any} facts
 */
function movesOf(here, there, facts) {
  const pools = new Map(here.pools.map((pool, q) => [pool.name, q]));
  const moved = new Uint8Array(here.count);
  /** @type {{i: number, pool: number, offset: number, size: number, times: [number, number]}[]} */
  const ghosts = [];
  const shift = here.times || there.times ? 0 : Number(there.origin - here.origin);
  for (let i = 0; i < here.count; i++) {
    const j = there.indexOf(here.ids[i]);
    if (j < 0) moved[i] = 2;
    else if (!here.isAlias(i) && here.pool[i] >= 0 && there.pool[j] >= 0 && here.size[i] > 0) {
      const pool = pools.get(there.pools[there.pool[j]].name) ?? -1;
      const stays = pool === here.pool[i] && there.offset[j] === here.offset[i];
      moved[i] = Number(!stays);
      if (pool < 0 || (stays && there.size[j] === here.size[i])) continue;
      ghosts.push({ i, pool, offset: there.offset[j], size: there.size[j], times: [there.birth(j) + shift, there.death(j) + shift] });
    }
  }
  const causes = Object.values(facts.growth ?? {}).flatMap((grown) => grown.causes.filter((/** @type {any} */ { bytes }) => bytes > 0));
  for (const { buffer } of causes) if (here.indexOf(buffer) >= 0) moved[here.indexOf(buffer)] = 3;
  ghosts.sort((a, b) => b.size - a.size);
  return { moved, ghosts };
}

/**
 * @param {any} overlay @param {PlanModel} plan @param {{i: number, pool: number, offset: number, size: number, times: [number, number]}} ghost
 * @param {boolean} leadsHere
 */
function drawGhost(overlay, plan, { i, pool, offset, size, times }, leadsHere) {
  const { c, lanes, theme } = overlay;
  const [x0, x1] = times.map((time) => overlay.px(lanes.x(time)));
  const top = overlay.py(pool, offset + size);
  const bottom = overlay.py(pool, offset);
  if (x1 - x0 < 3 || bottom - top < 2) return;
  c.strokeStyle = theme.ink;
  c.lineWidth = 1;
  c.setLineDash([4, 3]);
  c.strokeRect(x0 + 0.5, top + 0.5, x1 - x0 - 1, bottom - top - 1);
  c.setLineDash([]);
  if (x1 - x0 < 14 || (pool === plan.pool[i] && offset === plan.offset[i])) return;
  const x = x1 - 5; // at the side, as names stand in the middle
  const far = (top + bottom) / 2;
  const near = overlay.py(plan.pool[i], plan.offset[i] + plan.size[i] / 2);
  const [from, to] = leadsHere ? [far, near] : [near, far];
  if (Math.abs(to - from) < 8) return;
  const head = Math.sign(to - from) * 6;
  overlay.line(x, from, x, to, theme.paper, [], 4); // so that it is seen on every colour
  overlay.line(x, from, x, to, theme.ink, [], 1.5);
  c.beginPath();
  c.moveTo(x, to);
  for (const side of [-4, 4]) c.lineTo(x + side, to - head);
  c.closePath();
  c.fillStyle = theme.ink;
  c.fill();
}
