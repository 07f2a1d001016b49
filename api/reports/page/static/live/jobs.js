// @ts-check
// The caller's jobs, newest first: look at one, or stop it.

import { h, fill } from "../dom.js";
import { countText, nameText, sizeText } from "../text.js";

const AT_ONCE = 50;

/**
 * Show the caller's jobs; `open` takes the id of the one that is chosen.
 * @param {import("./service.js").PlanService} service
 * @param {(id: string) => void} open
 */
export async function jobsDialog(service, open) {
  const first = await service.get(`/v1/jobs?limit=${AT_ONCE}`);
  const body = h("tbody", {});
  const more = h("button", {}, "More");
  const search = /** @type {HTMLInputElement} */ (h("input", { type: "search", placeholder: "name, kind or state", "aria-label": "search jobs" }));
  const isPlans = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox" }));
  const dialog = /** @type {HTMLDialogElement} */ (h("dialog", { class: "jobs", "aria-label": "Jobs" },
    h("div", { class: "row" }, h("h2", {}, "Jobs"), search, h("label", {}, isPlans, " with plans only"),
      h("button", { onclick: () => dialog.close() }, "Close")),
    h("table", {},
      h("thead", {}, h("tr", {}, ...["problem", "kind", "state", "buffers", "peak", "bound", "created"].map((name) => h("th", { scope: "col" }, name)),
        h("th", { scope: "col" }, h("span", { class: "hidden" }, "stop")))),
      body),
    h("div", { class: "row" }, more)));
  let { next } = first;
  const add = (/** @type {any[]} */ jobs) => body.append(...jobs.map((job) => row(job, service, (id) => {
    dialog.close();
    open(id);
  })));
  add(first.jobs);
  if (!first.jobs.length) fill(body, h("tr", {}, h("td", { colspan: "8" }, "none yet")));
  more.hidden = !next;
  more.addEventListener("click", async () => {
    const page = await service.get(next);
    next = page.next;
    more.hidden = !next;
    add(page.jobs);
    sift();
  });
  const sift = () => {
    const wanted = search.value.trim().toLowerCase();
    for (const one of /** @type {any} */ (body).rows) one.hidden = (isPlans.checked && !one.dataset.plan) || !one.textContent.toLowerCase().includes(wanted);
  };
  for (const field of [isPlans, search]) field.addEventListener("input", sift);
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
}

/** @param {any} job @param {import("./service.js").PlanService} service @param {(id: string) => void} open */
function row(job, service, open) {
  const name = nameText(job.name ?? job.id.slice(0, 8), 60);
  const size = (/** @type {any} */ bytes) => (bytes === null || bytes === undefined ? "" : sizeText(Number(bytes)));
  const stop = h("button", {}, "Stop");
  const state = h("td", {}, job.state + (job.plan_status ? `, ${job.plan_status}` : ""));
  stop.hidden = job.finished_at !== null;
  stop.addEventListener("click", async () => {
    await service.stop(job.id);
    fill(state, "stopping");
    stop.hidden = true;
  });
  const found = h("tr", {},
    h("td", {}, h("button", { onclick: () => open(job.id) }, name)),
    h("td", {}, job.kind), state, h("td", {}, countText(job.buffers)),
    h("td", {}, size(job.progress?.peak)), h("td", {}, size(job.progress?.lower_bound)),
    h("td", {}, new Date(job.created_at).toLocaleString()), h("td", {}, stop));
  if (job.plan_status === "optimal" || job.plan_status === "feasible") found.dataset.plan = "1";
  return found;
}
