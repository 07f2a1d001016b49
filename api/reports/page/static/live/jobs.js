// @ts-check
// The caller's jobs, newest first: search them, look at one, name, stop or delete it.

import { cells, dialog, fill, h } from "../dom.js";
import { countText, nameText, sizeText } from "../text.js";

const AT_ONCE = 50;
const STATES = ["queued", "running", "succeeded", "cancelled", "failed", "expired"];
const HEADS = ["job", "kind", "state", "buffers", "peak", "bound", "created", "actions"];

/** Show the caller's jobs; `open` takes the id of the one that is chosen, `guarded` says what is wrong with a call. @param {import("./service.js").PlanService} service @param {(id: string) => void} open @param {(work: () => Promise<void>) => Promise<void>} guarded */
export async function jobsDialog(service, open, guarded) {
  const body = h("tbody", {});
  const more = h("button", { onclick: () => guarded(() => show(next)) }, "More");
  const search = /** @type {HTMLInputElement} */ (h("input", { type: "search", placeholder: "part of a name, or a state", "aria-label": "search jobs", maxlength: 200,
    oninput: () => guarded(() => show(null)) }));
  const isPlans = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox", oninput: () => guarded(() => show(null)) }));
  let next = "";
  let asked = 0;
  /** Show a page of jobs after those that are shown, or with null those that are searched. @param {string | null} path */
  const show = async (path) => {
    const mine = ++asked;
    const text = search.value.trim();
    const wanted = new URLSearchParams({ limit: String(AT_ONCE), ...(isPlans.checked ? { kind: "plan" } : {}), ...(text ? { [STATES.includes(text) ? "state" : "search"]: text } : {}) });
    const page = await service.get(path ?? `/v1/jobs?${wanted}`);
    if (mine !== asked) return;
    const rows = page.jobs.map((/** @type {any} */ job) => rowOf(job));
    if (path === null) fill(body, ...(rows.length ? rows : [h("tr", {}, h("td", { colspan: HEADS.length }, "none"))]));
    else body.append(...rows);
    next = page.next;
    more.hidden = !next;
  };
  /** @param {any} job */
  const rowOf = (job) => {
    const row = h("tr");
    const change = (/** @type {() => Promise<any>} */ work) => () => guarded(async () => {
      const found = await work();
      if (found) row.replaceWith(rowOf(found));
      else row.remove();
    });
    const size = (/** @type {any} */ bytes) => (bytes === null || bytes === undefined ? "" : sizeText(Number(bytes)));
    const field = /** @type {HTMLInputElement} */ (h("input", { value: job.name ?? "", maxlength: 200, "aria-label": "new name" }));
    const rename = h("form", { hidden: true, onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      if (field.value.trim()) change(() => service.rename(job.id, field.value.trim()))();
    } }, field, h("button", { type: "submit" }, "OK"));
    const isEnded = job.finished_at !== null;
    const remove = h("button", { onclick: () => (remove.textContent === "Delete" ? fill(remove, "Delete for good") : change(() => service.forget(job.id))()) }, "Delete");
    fill(row, ...cells([
      h("div", {}, h("button", { onclick: () => { shown.close(); open(job.id); } }, nameText(job.name ?? job.id.slice(0, 8), 60)), rename),
      job.kind, job.state + (job.plan_status ? `, ${job.plan_status}` : ""), countText(job.buffers), size(job.progress?.peak), size(job.progress?.lower_bound),
      new Date(job.created_at).toLocaleString(),
      h("span", {}, h("button", { onclick: () => { rename.hidden = !rename.hidden; field.focus(); } }, "Rename"), " ",
        isEnded ? remove : h("button", { onclick: change(() => service.stop(job.id)) }, "Stop"))]).children);
    return row;
  };
  await show(null);
  const shown = dialog({ class: "jobs", "aria-label": "Jobs" },
    h("div", { class: "row" }, h("h2", {}, "Jobs"), search, h("label", {}, isPlans, " plans only"), h("button", { onclick: () => shown.close() }, "Close")),
    h("table", {}, h("thead", {}, h("tr", {}, ...HEADS.map((name) => h("th", { scope: "col" }, name)))), body),
    h("div", { class: "row" }, more));
}
