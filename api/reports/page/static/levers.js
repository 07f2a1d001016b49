// @ts-check
// Levers beside the peak: what a service says that another size, alignment, capacity or order would be worth.

import { fill, h, table } from "./dom.js";
import { readAbout } from "./sizes.js";
import { nameText, percentText, sizeText } from "./text.js";

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */

const ALIGNMENTS = [1, 16, 64];
const EACH_S = 3;
/** The buffers that are changed one after the other where none is selected. */
const TRIED = 8;

/**
 * The levers for a buffer, or for each of the largest that decide the peak (-1).
 * @param {PlanModel} plan @param {number} selected @param {import("./panel.js").Actions} actions
 */
export function leversOf(plan, selected, actions) {
  const { sweep, open, ask } = actions;
  const tried = (selected >= 0 ? [plan.root[selected]] : [...new Set(plan.verdict.deciding)].sort((a, b) => plan.size[b] - plan.size[a])).slice(0, TRIED);
  if (!sweep || !tried.length) return null;
  const answer = h("div", { class: "answer", "aria-live": "polite" });
  const before = plan.peak;
  const run = (/** @type {string} */ word, /** @type {any} */ more) => async () => {
    fill(answer, h("p", { class: "quiet" }, `${word}: planning …`));
    const { points } = await sweep({ ...more, options: { each_s: EACH_S, time_limit_s: EACH_S * 4, ...more.options } }).catch((error) => {
      fill(answer, h("p", { class: "alarm" }, nameText(error.message, 300)));
      return { points: null };
    });
    const peak = (/** @type {any} */ point) => Number(point.peak ?? Infinity);
    const sorted = more.changes ? [...points ?? []].sort((a, b) => peak(a) - peak(b)) : points;
    if (points) fill(answer, table(["change", "peak", "", ""], sorted.map((/** @type {any} */ point) => rowOf(point, before, more, word, open))));
  };
  const button = (/** @type {string} */ text, /** @type {string} */ title, /** @type {any} */ more) =>
    h("button", { type: "button", title, onclick: run(text, more) }, text);
  const field = /** @type {HTMLInputElement} */ (h("input", { type: "text", size: "9", placeholder: sizeText(before / 2),
    "aria-label": "capacity to plan with" }));
  const [i] = tried;
  // What views lie in cannot be halved without them.
  const viewed = new Set(plan.root.filter((root, k) => root !== k));
  const halved = tried.filter((one) => !viewed.has(one)).map((one) => ({ buffer: plan.ids[one], fields: { size: Math.floor(plan.size[one] / 2) } }));
  const each = tried.length > 1 ? " each" : "";
  const pool = plan.pools[Math.max(0, plan.pool[i])].name;
  return h("div", { class: "levers" }, h("h2", {}, "What would change the peak?"),
    h("p", { class: "quiet" }, each ? `of the ${tried.length} largest buffers that decide it, or of one that is selected`
      : `of ${plan.name(i, 60)}, which has ${sizeText(plan.size[i])}`),
    h("p", {}, halved.length > 0 && button(`halve${each}`, "plan with half of its bytes", { changes: [halved] }), " ",
      button(`drop${each}`, "plan without it", { changes: [tried.map((one) => ({ buffer: plan.ids[one] }))] }), " ",
      button("alignment", `plan with alignments of ${ALIGNMENTS.join(", ")} bytes at least`, { options: { alignments: ALIGNMENTS } }), " ",
      ask && h("button", { type: "button", title: "another order of operations", onclick: () => ask("order") }, "order …")),
    h("form", { onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      try {
        run(`capacity ${field.value}`, { sizes: { [pool]: [Number(readAbout(field.value, "capacity"))] } })();
      } catch (error) {
        fill(answer, h("p", { class: "alarm" }, nameText(/** @type {Error} */ (error).message, 200)));
      }
    } }, field, " ", h("button", { type: "submit" }, `capacity of ${nameText(pool, 20)}`)), answer);
}

/** @param {any} point @param {number} before @param {any} more @param {string} word @param {((more: any) => void) | undefined} open */
function rowOf(point, before, more, word, open) {
  const [one] = point.changes ?? [];
  const said = point.alignment ? `alignment ${point.alignment}` : one ? `${word.split(" ")[0]} ${nameText(one.buffer, 30)}` : word;
  if (point.peak === null) return [said, point.status === "infeasible" ? "does not fit" : "no plan found in time", "", ""];
  const peak = Number(point.peak);
  const change = peak === before ? "the same" : `${peak < before ? "−" : "+"}${sizeText(Math.abs(peak - before))}, ${percentText((peak - before) / before)}`;
  const proof = point.status === "optimal" ? "least" : "found";
  return [said, sizeText(peak), `${change} (${proof})`, open
    ? h("button", { type: "button", onclick: () => open({ ...more, changes: one ? [[one]] : [], alignment: point.alignment, said }) }, "open") : ""];
}
