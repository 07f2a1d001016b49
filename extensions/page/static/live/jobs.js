// @ts-check
// The caller's jobs, newest first: search them, look at one, name, stop or delete it.

import { counted, countText, nameText, sizeText } from "../text.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../vendor/preact.js";

/** @typedef {import("./session.js").Session} Session */

const AT_ONCE = 50;
const STATES = ["queued", "running", "succeeded", "cancelled", "failed", "expired"];
const HEADS = ["job", "question", "state", "buffers", "peak", "bound", "created", "actions"];

/** The dialog that lists the jobs. @param {{session: Session}} props */
export function Jobs({ session }) {
  const { service } = session;
  const [jobs, setJobs] = useState(/** @type {any[] | null} */ (null));
  const [next, setNext] = useState("");
  const [wanted, setWanted] = useState({ text: "", isPlans: false });
  useEffect(() => {
    let isOld = false;
    const text = wanted.text.trim();
    const query = new URLSearchParams({ limit: String(AT_ONCE), ...(wanted.isPlans ? { kind: "plan" } : {}),
      ...(text ? { [STATES.includes(text) ? "state" : "search"]: text } : {}) });
    session.guarded(async () => {
      const page = await service.get(`/v1/jobs?${query}`);
      if (isOld) return;
      setJobs(page.jobs);
      setNext(page.next);
    });
    return () => { isOld = true; };
  }, [wanted]);
  const more = () => session.guarded(async () => {
    const page = await service.get(next);
    setJobs((known) => [...known ?? [], ...page.jobs]);
    setNext(page.next);
  });
  const replace = (/** @type {string} */ id, /** @type {any} */ found) =>
    setJobs((known) => (known ?? []).flatMap((job) => (job.id !== id ? [job] : found ? [found] : [])));
  const all = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    // Where a row with the focus is gone, keys go on at the search.
    if (document.activeElement === document.body) all.current?.querySelector("input")?.focus();
  }, [jobs]);
  return html`<div ref=${all} onKeyDown=${walk}>
    <div class="row"><h2>Jobs</h2>
      <input type="search" placeholder="part of a name, or a state" aria-label="search jobs" maxlength="200" value=${wanted.text}
        onInput=${(/** @type {any} */ event) => setWanted((known) => ({ ...known, text: event.target.value }))} />
      <label><input type="checkbox" checked=${wanted.isPlans} onChange=${(/** @type {any} */ event) =>
        setWanted((known) => ({ ...known, isPlans: event.target.checked }))} /> plans only</label>
      <span class="quiet" role="status">${jobs ? `${counted(jobs.length, "job")}${next ? ", and more" : ""}` : "reading …"}</span>
      <form method="dialog"><button>Close</button></form></div>
    <table aria-label="Jobs, the newest first"><thead><tr>${HEADS.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${jobs?.length === 0 ? html`<tr><td colspan=${HEADS.length}>none</td></tr>`
        : jobs?.map((job) => html`<${Row} key=${job.id} job=${job} session=${session} replace=${replace} />`)}</tbody></table>
    <div class="row">${next && html`<button type="button" onClick=${more}>More</button>`}</div></div>`;
}

/** Move the focus from a row of the list to the next, or from the search field to the first row, by arrow keys. @param {any} event */
function walk({ key, target, currentTarget }) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[/** @type {"ArrowUp"} */ (key)];
  const rows = [...currentTarget.querySelectorAll("tbody tr")];
  if (by) rows[rows.indexOf(target.closest("tr")) + by]?.cells[target.closest("td")?.cellIndex ?? 0]?.querySelector("button")?.focus();
}

/** @param {{job: any, session: Session, replace: (id: string, found: any) => void}} props */
function Row({ job, session, replace }) {
  const { service } = session;
  const [name, setName] = useState(/** @type {string | null} */ (null));
  const [isSure, setSure] = useState(false);
  const change = (/** @type {() => Promise<any>} */ work) => () => session.guarded(async () => replace(job.id, await work()));
  const size = (/** @type {any} */ bytes) => (bytes === null || bytes === undefined ? "" : sizeText(Number(bytes)));
  const line = useRef(/** @type {any} */ (null));
  useLayoutEffect(() => line.current.querySelector("form input")?.focus(), [name === null]);
  const named = () => {
    line.current.querySelector(".rename").focus();
    setName(null);
  };
  const rename = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (name?.trim()) change(() => service.rename(job.id, name.trim()))().then(named);
  };
  const escape = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape") return;
    event.preventDefault(); // the dialog stays
    named();
  };
  const remove = () => {
    if (!isSure) return setSure(true);
    (line.current.nextElementSibling ?? line.current.previousElementSibling)?.querySelector("td:last-child button:last-child").focus();
    change(() => service.forget(job.id))();
  };
  const label = nameText(job.name ?? job.id.slice(0, 8), 60);
  return html`<tr ref=${line}>
    <td><button type="button" onClick=${() => session.openJob(job.id)}>${label}</button>
      ${name !== null && html`<form onSubmit=${rename}><input value=${name} maxlength="200" aria-label="new name" onKeyDown=${escape}
        onInput=${(/** @type {any} */ event) => setName(event.target.value)} /><button>OK</button></form>`}</td>
    <td>${job.kind}</td><td>${job.state}${job.plan_status ? `, ${job.plan_status}` : ""}</td><td>${job.buffers === null ? "" : countText(job.buffers)}</td>
    <td>${size(job.progress?.peak)}</td><td>${size(job.progress?.lower_bound)}</td><td>${new Date(job.created_at).toLocaleString()}</td>
    <td><button type="button" class="rename" aria-label=${`Rename ${label}`} onClick=${() => setName(name === null ? job.name ?? "" : null)}>Rename</button>
      ${job.finished_at === null
      ? html`<button type="button" aria-label=${`Stop ${label}`} onClick=${change(() => service.stop(job.id))}>Stop</button>`
      : html`<button type="button" aria-label=${`Delete ${label}${isSure ? " for good" : ""}`} onBlur=${() => setSure(false)}
        onClick=${remove}>${isSure ? "Delete for good" : "Delete"}</button>`}</td></tr>`;
}
