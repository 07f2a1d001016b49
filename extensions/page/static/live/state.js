// @ts-check
// What the page over a service knows, and how it changes: one value, and one function from an event to the next value.

/** @typedef {{peak: number | null, bound: number | null}} Best  bytes */
/** @typedef {{value: any, lines: string}} Answer */
/**
 * An opened problem or answer. `given` is the problem in the file, `problem` the one that the plan solves, with the requested capacity. An answer to another
 * question than `plan` has its `kind`, the name of what it is `about`, the `request` and the `answer`. `read` is the job that read the file and knows the
 * `names` of operations; `best` is what its search has found; `than` is the position of the entry to compare with, if not the previous one.
 * @typedef {{name: string, about?: string, given: any, problem: any, plan: any, names: any, job: string | null, read: string | null,
 *   kind: string | null, request: any, answer: Answer | null, best: Best | null, graph?: any, than?: number,
 *   view?: import("./questions.js").View}} Entry
 */
/** @typedef {"idle" | "sending" | "waiting" | "searching" | "lost" | "stopping"} Phase */
/**
 * The initial contents of a form; `value` is the value of an input, which was read from a `file`.
 * @typedef {{kind?: string, options?: any, wrong?: string, input?: string, value?: any, says?: string, file?: File, isAlone?: boolean}} Again
 */
/**
 * @typedef {Object} State
 * @property {Entry[]} entries  all that was shown since the page was opened, the first first
 * @property {number} at  the one on show, -1 for none
 * @property {Phase} phase
 * @property {boolean} isComparing
 * @property {string} note  what is said of the work
 * @property {string[]} errors
 * @property {{began: number, limit: number} | null} watch  the job that is followed: milliseconds, and seconds that it may take
 * @property {{name: "jobs"} | {name: "ask", again: Again} | null} dialog
 * @property {string} capacity  what is written in the fields
 * @property {string} seconds
 */
/**
 * @typedef {{kind: "opened", entry: Partial<Entry> & {name: string}}
 *   | {kind: "went", at: number} | {kind: "compared"} | {kind: "sending"} | {kind: "sent", job: string, problem: any, than?: number}
 *   | {kind: "following", began: number, limit: number} | {kind: "phase", phase: Phase} | {kind: "better", best: Best}
 *   | {kind: "planned", plan: any} | {kind: "answered", part: Partial<Entry>} | {kind: "ended", note: string, errors: string[]}
 *   | {kind: "left", dialog: State["dialog"]} | {kind: "note", note: string} | {kind: "failed", errors: string[]} | {kind: "dismissed"}
 *   | {kind: "dialog", dialog: State["dialog"]} | {kind: "wrote", part: Partial<State>}} Event
 */

/** The number of entries whose plans are kept; plans of older jobs are fetched from the service again. */
const KEPT = 6;
/** @type {State} */
export const EMPTY = { entries: [], at: -1, phase: "idle", isComparing: false, note: "", errors: [], watch: null, dialog: null, capacity: "", seconds: "10" };
const SAID = { idle: "", sending: "sending …", waiting: "waiting for a worker …", searching: "searching …", stopping: "stopping …",
  lost: "connection lost, trying again …" };
const RESTING = { phase: /** @type {Phase} */ ("idle"), isComparing: false, note: "", errors: [], watch: null };

/** @param {State} state @returns {Entry | null} */
export function shown(state) {
  return state.entries[state.at] ?? null;
}

/** Return the entry that the shown one is compared with: the last earlier entry with a plan. @param {State} state @returns {Entry | null} */
export function before(state) {
  const than = state.entries[shown(state)?.than ?? -1] ?? null;
  return hasPlan(than) ? than : state.entries.slice(0, Math.max(0, state.at)).reverse().find(hasPlan) ?? null;
}

/** @param {Entry | null} entry */
export function hasPlan(entry) {
  return Boolean(entry?.plan?.placements?.length);
}

/** Return true while a job of the shown entry runs. @param {State} state */
export function isRunning(state) {
  return ["waiting", "searching", "lost", "stopping"].includes(state.phase);
}

/** @param {State} state */
export function said(state) {
  return SAID[state.phase] || state.note;
}

/** Return an entry without the data that the service also has. @param {Entry} entry @returns {Entry} */
function lightened(entry) {
  return entry.job ? { ...entry, given: null, problem: null, plan: null, answer: null, graph: null } : entry;
}

/** Return the state after an event. @param {State} state @param {Event} event @returns {State} */
export function next(state, event) {
  const entry = shown(state);
  const changed = (/** @type {Partial<Entry>} */ part) => state.entries.map((one, k) => (k === state.at ? { .../** @type {Entry} */ (entry), ...part } : one));
  switch (event.kind) {
    case "opened": {
      const { problem = null } = event.entry;
      const blank = { given: problem, problem, plan: null, names: null, job: null, read: null, kind: null, request: null, answer: null, best: null };
      const known = state.entries.map((one, k) => (k < state.entries.length - KEPT ? lightened(one) : one));
      return { ...state, ...RESTING, entries: [...known, { ...blank, ...event.entry }], at: known.length,
        phase: event.entry.kind && !event.entry.answer ? "waiting" : "idle" };
    }
    case "went": return { ...state, ...RESTING, at: event.at };
    case "compared": return { ...state, isComparing: true };
    case "sending": return { ...state, phase: "sending", errors: [], note: "" };
    case "sent": {
      const part = { job: event.job, problem: event.problem, than: event.than, best: null };
      // A view that has a plan is kept, so that the next plan can be compared with it.
      const isNew = hasPlan(entry) && entry?.job !== event.job;
      const entries = isNew ? [...state.entries, { .../** @type {Entry} */ (entry), ...part, plan: null }] : changed(part);
      return { ...state, ...RESTING, entries, at: isNew ? entries.length - 1 : state.at, phase: "waiting" };
    }
    case "following": return { ...state, phase: "waiting", watch: { began: event.began, limit: event.limit } };
    case "phase": return { ...state, phase: event.phase };
    case "better": return { ...state, entries: changed({ best: event.best }) };
    case "planned": return { ...state, entries: changed({ plan: event.plan }) };
    case "answered": return { ...state, entries: changed(event.part) };
    case "ended": return { ...state, phase: "idle", watch: null, note: event.note, errors: event.errors };
    case "left": return { ...state, watch: null, dialog: event.dialog };
    case "note": return { ...state, note: event.note };
    case "failed": return { ...state, errors: event.errors, phase: state.phase === "sending" ? "idle" : state.phase, note: "" };
    case "dismissed": return { ...state, errors: [] };
    case "dialog": return { ...state, dialog: event.dialog };
    case "wrote": return { ...state, ...event.part };
  }
}
