// @ts-check
// From buffer to buffer by keys, and what all the keys of a plan do.

import { showHelp } from "./keys.js";

/** @typedef {import("./plan_view.js").PlanView} PlanView */

const STEP = 0.12;

/** Select the next or previous buffer in order of start; each lifetime counts separately. @param {PlanView} view @param {1 | -1} step */
export function neighbour(view, step) {
  const { selected } = view.picture.look;
  const { buffer, head } = view.plan.taken;
  let row = view.visited;
  if (selected < 0) row = step > 0 ? -1 : buffer.length;
  else if (row < 0 || buffer[row] !== selected) row = head[view.plan.root[selected]];
  do row += step; while (row >= 0 && row < buffer.length && (buffer[row] === selected || !view.picture.lanes.isDrawn(row)));
  if (row < 0 || row >= buffer.length) return;
  view.visited = row;
  view.select(buffer[row]);
}

/** Select the buffer directly above or below the selected one, among those alive with it. @param {PlanView} view @param {1 | -1} step */
export function stacked(view, step) {
  const { plan } = view;
  const { selected, time } = view.picture.look;
  if (selected < 0) return neighbour(view, 1);
  const at = time !== null && plan.isAlive(selected, time) ? time : plan.birth(selected);
  const found = plan.liveAt(at).filter((i) => plan.pool[i] === plan.pool[selected] && i !== selected
    && Math.sign(plan.offset[i] - plan.offset[selected]) === step);
  found.sort((a, b) => step * (plan.offset[a] - plan.offset[b]));
  if (found.length) view.select(found[0]);
}

/** Fit the frame to the selected buffer; a second call includes all buffers on which it rests. @param {PlanView} view */
export function fit(view) {
  const { selected, chain } = view.picture.look;
  const buffers = selected < 0 ? [] : view.fitted === selected ? [selected, ...chain] : [selected];
  view.fitted = view.fitted === selected ? -1 : selected;
  const box = view.picture.boxOf(buffers);
  if (box) view.picture.camera.fit(box);
  else view.picture.camera.all();
}

/** Return the key bindings of a view. @param {PlanView} view @returns {import("./keys.js").Binding[]} */
export function keyBindings(view) {
  const { camera } = view.picture;
  const magnify = (/** @type {number} */ by) => camera.magnify(0.5, 0.5, by, by);
  return [
    { keys: ["w", "+", "="], says: "closer", run: () => magnify(1.4) },
    { keys: ["s", "-", "_"], says: "farther", run: () => magnify(1 / 1.4) },
    { keys: ["a"], says: "back in time", run: () => camera.shift(STEP, 0) },
    { keys: ["d"], says: "forward in time", run: () => camera.shift(-STEP, 0) },
    { keys: ["q"], says: "to higher offsets", run: () => camera.shift(0, STEP) },
    { keys: ["e"], says: "to lower offsets", run: () => camera.shift(0, -STEP) },
    { keys: ["0"], says: "show all", run: () => camera.all() },
    { keys: ["f"], says: "fit the selected buffer; again: with all that it stands on", run: () => fit(view) },
    { keys: ["m"], says: "mark this time, or take its mark away", run: () => view.mark() },
    { keys: ["p"], says: "to the peak; again: to that of the next pool", run: () => view.toPeak() },
    { keys: [",", "ArrowLeft"], says: "the buffer before in time", run: () => neighbour(view, -1) },
    { keys: [".", "ArrowRight"], says: "the next buffer in time", run: () => neighbour(view, 1) },
    { keys: ["ArrowUp"], says: "the buffer above", run: () => stacked(view, 1) },
    { keys: ["ArrowDown"], says: "the buffer below", run: () => stacked(view, -1) },
    { keys: ["/"], says: "search (also Ctrl F); Enter the next hit, Shift Enter the one before", run: () => view.field?.focus() },
    { keys: ["Enter"], says: "the next buffer that the search found; with Shift the one before", run: (event) => view.hit(event.shiftKey ? -1 : 1) },
    { keys: ["Escape"], says: "end the search, or select nothing", run: () => view.escape() },
    { keys: ["?"], says: "these keys", run: () => showHelp(view.bindings) },
  ];
}
