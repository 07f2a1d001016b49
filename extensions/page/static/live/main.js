// @ts-check
// The page over a service, drawn from its state by Preact; pictures draw themselves in the stage.

import { openComparison } from "../comparison_view.js";
import { pageOf } from "../document.js";
import { fill, h, save } from "../dom.js";
import { droppable } from "../drop.js";
import { addressed } from "../link.js";
import { openPlan } from "../plan_view.js";
import { bytesText, nameText, percentText, sentenceText, sizeText } from "../text.js";
import { style } from "../theme.js";
import { html, render, useEffect, useLayoutEffect, useRef, useState } from "../vendor/preact.js";
import { openAnswer } from "./answer.js";
import { Ask } from "./ask.js";
import { Jobs } from "./jobs.js";
import { Session } from "./session.js";
import { before, hasPlan, isRunning, said, shown } from "./state.js";

/** @typedef {import("./state.js").State} State */

/** The whole page. @param {{state: State, session: Session}} props */
function App({ state, session }) {
  const entry = shown(state);
  useEffect(() => {
    if (entry) document.title = `${nameText(entry.name, 60)} - memplan`;
  }, [entry?.name]);
  const errors = html`<div role="alert">${state.errors.length > 0 && html`<div
    class="errors"><ul>${state.errors.slice(0, 100).map((text) => html`<li>${sentenceText(text)}</li>`)}</ul>
    <button type="button" onClick=${() => session.happened({ kind: "dismissed" })}>Dismiss</button></div>`}</div>`;
  return html`
    <${Header} state=${state} session=${session} />
    ${!state.dialog && errors}
    ${state.watch && entry && html`<${Watch} watch=${state.watch} entry=${entry} />`}
    ${entry ? html`<${Stage} state=${state} session=${session} />` : html`<${Welcome} session=${session} />`}
    ${state.dialog && html`<${Modal} label=${state.dialog.name === "jobs" ? "Jobs" : "Everything that memplan answers"} kind=${state.dialog.name}
      close=${() => session.happened({ kind: "dialog", dialog: null })}>
      ${!("again" in state.dialog && state.dialog.again.wrong) && errors /* what is behind a dialog is neither seen nor read out */}
      ${state.dialog.name === "jobs" ? html`<${Jobs} session=${session} />` : html`<${Ask} session=${session} again=${state.dialog.again} />`}</${Modal}>`}`;
}

/** @param {{state: State, session: Session}} props */
function Header({ state, session }) {
  const entry = shown(state);
  const isIdle = Boolean(entry?.given) && state.phase !== "sending" && !isRunning(state);
  const canCompare = state.isComparing || (before(state) && hasPlan(entry) && !isRunning(state));
  const wrote = (/** @type {"capacity" | "seconds"} */ name) => (/** @type {any} */ event) =>
    session.happened({ kind: "wrote", part: { [name]: event.target.value } });
  const enter = (/** @type {KeyboardEvent} */ event) => event.key === "Enter" && isIdle && session.start();
  return html`<header class="service">
    <h1 title=${entry ? nameText(entry.name, 400) : "memplan"}>${entry ? nameText(entry.name, 40) : "memplan"}</h1>
    <${Chooser} text="Open…" session=${session} />
    ${entry && html`<label>capacity<input type="text" placeholder="as given" spellcheck=${false} value=${state.capacity} onInput=${wrote("capacity")}
      onKeyDown=${enter} /></label>
      <label>seconds<input type="number" min="0.1" max="604800" step="any" value=${state.seconds} onInput=${wrote("seconds")} /></label>`}
    ${entry && html`<button type="button" class="primary" disabled=${!isIdle} onClick=${() => session.start()}>Plan</button>
      <button type="button" disabled=${!isRunning(state) || state.phase === "stopping"} onClick=${() => session.stop()}>Stop</button>
      <button type="button" disabled=${!canCompare} title="Compare this plan with the one that was shown before" onClick=${() =>
        session.compare()}>${state.isComparing ? "Back to the plan" : "Compare"}</button>`}
    <button type="button" title="Everything else that memplan answers" onClick=${() => session.ask()}>More…</button>
    ${entry && html`<${Share} state=${state} session=${session} />`}
    <span class="said" role="status" title=${said(state)}>${said(state)}</span>
    <button type="button" onClick=${() => session.happened({ kind: "dialog", dialog: { name: "jobs" } })}>Jobs</button><a href="docs">API</a></header>`;
}

/** A button that opens files. @param {{text: string, class?: string, session: Session}} props */
function Chooser({ text, class: kind, session }) {
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const choose = (/** @type {any} */ event) => {
    const files = [...event.target.files];
    event.target.value = "";
    session.take(files);
  };
  return html`<input type="file" multiple hidden aria-label="Files to open" ref=${field} onChange=${choose} />
    <button type="button" class=${kind} onClick=${() => field.current?.click()}>${text}</button>`;
}

/** The buttons that save the page and copy its link. @param {{state: State, session: Session}} props */
function Share({ state, session }) {
  const [isCopied, setCopied] = useState(false);
  const entry = shown(state);
  const keep = () => session.guarded(async () => {
    const views = await session.views();
    if (!views.length) throw new Error("save: there is no plan to be saved yet");
    const title = state.isComparing ? views[0].title : entry?.name ?? "plan";
    const blank = await (await session.service.call("GET", "blank.html")).text();
    save(await pageOf(blank, { title, views }), title, "html");
  });
  const copy = () => session.guarded(async () => {
    // Without a certificate, browsers have no clipboard for pages.
    if (!navigator.clipboard) throw new Error(`link: ${location.href}`);
    await navigator.clipboard.writeText(location.href);
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  });
  return html`<button type="button" disabled=${!hasPlan(entry)} title="One file with this plan, that needs no service"
    onClick=${keep}>Save page</button>
    <button type="button" disabled=${!entry?.job} title="The address of this job at this service" onClick=${copy}>${isCopied ? "Copied"
      : "Copy link"}</button>`;
}

/** The strip that shows a running job's peak and bound. @param {{watch: {began: number, limit: number}, entry: import("./state.js").Entry}} props */
function Watch({ watch, entry }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, (now - watch.began) / 1000);
  // What is told is of the plan that is drawn, so that the screen has one peak.
  const last = entry.plan ? { peak: bytesOf(entry.plan.peak), bound: bytesOf(entry.plan.lower_bound) } : entry.best;
  const gap = last?.peak && last.bound ? last.peak / last.bound - 1 : null;
  return html`<div class="watch"><dl>
    <dt>time</dt><dd>${seconds <= watch.limit ? `${seconds.toFixed(seconds < 10 ? 1 : 0)} of ${watch.limit} s` : `${Math.round(seconds)} s, finishing`}</dd>
    ${last && html`<dt>peak</dt><dd data-fact="peak" aria-live="polite">${last.peak === null ? "…" : bytesText(last.peak)}</dd><dt>no plan below</dt><dd
      data-fact="bound">${last.bound === null ? "…" : sizeText(last.bound)}</dd>
      <dt>gap</dt><dd>${gap === null ? "…" : gap === 0 ? "none" : percentText(gap)}</dd>`}</dl></div>`;
}

/** @param {any} value */
function bytesOf(value) {
  return value === null || value === undefined ? null : Number(value);
}

/** The first screen of the page. @param {{session: Session}} props */
function Welcome({ session }) {
  return html`<main class="view"><div class="welcome"><div class="target">
      <h2>Drop a model or a list of buffers</h2>
      <p>memplan gives each buffer its place in memory, says how near that is to the least there is, and what would lower it.</p>
      <${Chooser} text="Open a file…" class="primary" session=${session} />${" "}
      <button type="button" onClick=${() => session.example()}>Try an example</button>
      <div class="sample" role="img" aria-label="A plan: buffers as rectangles, offsets over program order"></div>
      <p class="quiet">TFLite, ONNX, ExecuTorch, HLO, IREE and TVM files, dumps of PyTorch and XLA, graphs, schedules,
        and JSON or CSV of buffers. Problems and plans are read in this tab; other files by this service.</p></div></div></main>`;
}

/** The shown picture, which is drawn again when its entry, plan or answer changes. @param {{state: State, session: Session}} props */
function Stage({ state, session }) {
  const element = useRef(/** @type {HTMLElement | null} */ (null));
  const drawn = useRef(/** @type {any} */ (null));
  const entry = /** @type {import("./state.js").Entry} */ (shown(state));
  useLayoutEffect(() => {
    if (!element.current) return;
    draw(element.current, state, session, drawn).then((isNew) => {
      // If the element with the focus is gone, the picture gets the keys.
      if (isNew && document.activeElement === document.body) drawn.current?.picture?.over.focus({ preventScroll: true });
    });
  }, [state.at, entry.plan, entry.answer, entry.problem, state.isComparing]);
  return html`<main class="view" ref=${element}></main>`;
}

/** @param {HTMLElement} element @param {State} state @param {Session} session @param {{current: any}} drawn @returns {Promise<boolean>} */
async function draw(element, state, session, drawn) {
  const entry = shown(state);
  const isOld = () => shown(session.state)?.plan !== entry?.plan || session.state.at !== state.at || session.state.isComparing !== state.isComparing;
  await session.questions().catch(() => null); // which name the plans that lead to them
  if (!entry || isOld()) return false;
  if (state.isComparing) {
    await session.guarded(async () => {
      const keep = h("button", { type: "button", onclick: () => session.keepPlaces() }, "Plan with the old addresses kept");
      const [text, began] = [h("p", { class: "quiet" }), Date.now()];
      const tick = () => fill(text, `comparing … ${Math.round((Date.now() - began) / 1000)} s`);
      const timer = setInterval(tick, 1000);
      tick();
      fill(element, h("div", { class: "welcome" }, text, keep));
      const view = await session.comparison(state).finally(() => clearInterval(timer));
      if (view && !isOld()) drawn.current = openComparison(element, view, style, keep);
    });
  } else if (entry.kind) drawn.current = openAnswer(element, entry, style, session);
  else if (!entry.problem) fill(element, h("p", { class: "welcome quiet" }, "reading …"));
  else {
    const seen = drawn.current?.given === entry.given && drawn.current?.picture ? drawn.current.picture.camera.seen : null;
    const view = { ...entry, title: entry.name, isPending: Boolean(entry.plan) };
    const found = openPlan(element, view, style, session.actions());
    drawn.current = Object.assign(found, { given: entry.given });
    if (seen?.length === found.picture.camera.seen.length) found.picture.camera.seen = seen;
  }
  return true;
}

/** A dialog that is open as long as it is rendered. @param {{label: string, kind: string, close: () => void, children?: any}} props */
function Modal({ label, kind, close, children }) {
  const element = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useLayoutEffect(() => element.current?.showModal(), []);
  return html`<dialog class=${kind} aria-label=${label} ref=${element} onClose=${close}>${children}</dialog>`;
}

const page = /** @type {HTMLElement} */ (document.getElementById("page"));
let isDue = false;
// Several events at once are drawn once, and none while others are drawn.
const session = new Session(() => {
  if (!isDue) queueMicrotask(() => {
    isDue = false;
    render(html`<${App} state=${session.state} session=${session} />`, page);
  });
  isDue = true;
});
droppable(document.body, (files) => session.take(files));
session.happened({ kind: "left", dialog: null });
const first = addressed("job");
if (first) session.openJob(first, false);
