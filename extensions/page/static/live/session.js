// @ts-check
// What the page over a service does: opens files, plans, follows jobs, compares, and goes back. It tells the state what happened.

import { PlanModel } from "../plan_model.js";
import { addressed } from "../link.js";
import { readAbout } from "../sizes.js";
import { nameText, sizeText } from "../text.js";
import { changedBy } from "./changed.js";
import { askKey } from "./key.js";
import { opened } from "./files.js";
import { plannedIn } from "./answer.js";
import { Questions } from "./questions.js";
import { PlanService, Refusal } from "./service.js";
import { EMPTY, before, next, shown } from "./state.js";

const DRAW_EVERY_MS = 700;
/** The time limit of a comparison in seconds; for thousands of buffers that all moved, it takes ten or more. */
const COMPARE_S = 120;
/** The number of recently opened files that questions can refer to. */
const FILES = 5;
/** Matches a sentence about a required input or option that is missing. */
const LACKS = /^\w+: is required/;
const ENDED = /** @type {Record<string, string>} */ ({ succeeded: "done", cancelled: "stopped", failed: "failed", expired: "not finished in time" });

/** The page's actions on a service; `changed` receives each new state. */
export class Session {
  /** @param {(state: import("./state.js").State) => void} changed */
  constructor(changed) {
    this.changed = changed;
    this.service = new PlanService(askKey);
    this.state = EMPTY;
    /** @type {File[]} */ this.files = [];
    this.following = new AbortController();
    /** @type {WeakMap<any, Promise<any>>} */ this.verdicts = new WeakMap();
    /** @type {Promise<Questions> | null} */ this.asked = null;
    /** @type {Questions | null} */ this.known = null;
    window.addEventListener("popstate", (event) => this.wentBack(event.state));
  }

  /** Apply an event to the state. @param {import("./state.js").Event} event */
  happened(event) {
    this.state = next(this.state, event);
    this.changed(this.state);
  }

  /** Return the questions of the service. */
  questions() {
    return (this.asked ??= this.service.get("openapi.json").then((document) => (this.known = new Questions(document))));
  }

  /** Return the service's verdict on a plan, asked once per plan; null if refused. @param {any} problem @param {any} plan @returns {Promise<any>} */
  verdict(problem, plan) {
    const known = this.verdicts.get(plan) ?? this.service.post("/v1/verify", { problem, plan, options: { places: true } }).catch((error) => {
      if (error instanceof Refusal && error.status === 422) this.happened({ kind: "failed", errors: error.sentences });
      return null;
    });
    this.verdicts.set(plan, known);
    return known;
  }

  /** Return the view of a plan with its verdict. @param {any} problem @param {any} plan @param {string} name @param {any} [names] */
  async judgedView(problem, plan, name, names) {
    return { kind: "plan", title: name, problem, plan, names, inspection: plan && await this.verdict(problem, plan) };
  }

  /** Run an action, and show its error as text. @param {() => Promise<void>} work */
  async guarded(work) {
    this.happened({ kind: "dismissed" });
    try {
      await work();
    } catch (error) {
      this.happened({ kind: "failed", errors: error instanceof Refusal ? error.sentences : [String(error instanceof Error ? error.message : error)] });
    }
  }

  example() {
    return this.guarded(async () => {
      const sent = (await this.service.call("GET", "static/live/example.csv")).blob();
      await this.take([new File([await sent], "mobilenet_v2.csv")]);
    });
  }

  /** @param {File[]} files  problems, plans and what other questions are about, in whatever order @returns {Promise<void>} */
  take(files) {
    return this.guarded(async () => {
      this.happened({ kind: "note", note: `reading ${files.map((file) => nameText(file.name, 40)).join(", ")} …` });
      this.files = [...files, ...this.files].slice(0, FILES);
      /** @type {any[]} */ const found = [];
      for (const file of files) {
        found.push(await opened(file, this.service, await this.questions()).catch((error) => {
          // Sizes that a model leaves open are asked for, with those that were proposed.
          const dims = [...error.message.matchAll(/\bdims=('[^']+'|[^\s']+)/g)].map(([, text]) => text.replaceAll("'", ""));
          if (dims.length) this.ask({ kind: "convert", options: { dims: dims.join(", "), program: true }, wrong: error.message, isAlone: true });
          throw new Refusal(0, (error.sentences ?? [error.message]).map((/** @type {string} */ text) => `${nameText(file.name, 40)}: ${text}`));
        }));
      }
      for (const { name, problem, plan, names = null, read = null, graph = null } of found
        .filter((one) => one.problem)) this.show({ name, problem, plan, names, read, graph });
      for (const { name, plan } of found.filter(({ problem, plan: given }) => given && !problem)) {
        const entry = shown(this.state);
        if (!entry?.problem) throw new Error(`${name}: open the problem that it is for first`);
        this.show({ name: entry.name, problem: entry.problem, names: entry.names, read: entry.read, plan });
      }
      this.happened({ kind: "note", note: found.flatMap((one) => one.notes).join("; ") });
      const other = found.find((one) => one.asks);
      if (other) this.ask({ ...other.asks, value: other.value, says: other.name, file: files[found.indexOf(other)] });
      else if (shown(this.state)?.given && !shown(this.state)?.plan) await this.planned();
    });
  }

  /** Show a new entry. @param {Partial<import("./state.js").Entry> & {name: string}} entry */
  show(entry) {
    // What cannot be drawn is refused here, before anything changes.
    if (entry.problem) new PlanModel({ plan: null, ...entry, title: entry.name, problem: entry.problem });
    this.leave();
    this.happened({ kind: "opened", entry });
    this.remember();
  }

  /** Stop following the current job, which continues on the service. @param {import("./state.js").State["dialog"]} dialog  what stays open */
  leave(dialog = null) {
    this.following.abort();
    this.happened({ kind: "left", dialog });
  }

  /** Add the shown entry to the browser's history, unless the latest step is already for it. */
  remember() {
    const { state } = this;
    const entry = shown(state);
    const kept = { at: state.at, isComparing: state.isComparing };
    const isSame = history.state?.at === kept.at && Boolean(history.state?.isComparing) === kept.isComparing;
    const address = entry?.job ? `?job=${entry.job}${entry.read ? `&read=${entry.read}` : ""}` : location.pathname;
    history[isSame ? "replaceState" : "pushState"](kept, "", address);
  }

  /** @param {any} kept  what a step of the history holds */
  wentBack(kept) {
    const job = addressed("job");
    if (kept && kept.at >= 0 && kept.at < this.state.entries.length) {
      this.leave();
      this.happened({ kind: "went", at: kept.at });
      const entry = /** @type {import("./state.js").Entry} */ (shown(this.state));
      if (kept.isComparing) this.happened({ kind: "compared" });
      else if (entry.job && !(entry.kind ? entry.answer : entry.plan)) this.openJob(entry.job, false);
    } else if (job) this.openJob(job, false);
    else if (!location.hash) location.reload();
  }

  start() {
    this.guarded(() => this.planned());
  }

  async planned() {
    const entry = shown(this.state);
    if (!entry?.given) return;
    let problem = entry.given;
    if (this.state.capacity.trim()) {
      const size = readAbout(this.state.capacity, "capacity");
      const [first, ...rest] = problem.pools?.length ? problem.pools : [{ name: "default" }];
      problem = { ...problem, pools: [{ ...first, size }, ...rest] };
    }
    const seconds = Number(this.state.seconds);
    if (!(seconds > 0)) throw new Error(`seconds: must be greater than 0, got ${JSON.stringify(this.state.seconds)}`);
    await this.submitted({ problem: problem.name ? problem : { ...problem, name: entry.name }, options: { time_limit_s: seconds } }, problem);
  }

  /** Plan the shown problem with as few moved buffers as possible, compared with the earlier plan. */
  keepPlaces() {
    return this.guarded(async () => {
      const [old, now] = [before(this.state), /** @type {import("./state.js").Entry} */ (shown(this.state))];
      if (old) await this.submitted({ problem: { ...now.problem, name: `${now.name}, old addresses kept` }, keep: old.plan,
        options: { time_limit_s: COMPARE_S / 4 } }, now.problem, this.state.entries.indexOf(old));
    });
  }

  /** Submit a planning job for the shown problem. @param {any} request @param {any} problem @param {number} [than]  the entry to compare it with */
  async submitted(request, problem, than) {
    this.leave();
    this.happened({ kind: "sending" });
    const job = await this.service.submit("plan", request);
    this.happened({ kind: "sent", job: job.id, problem, than });
    this.remember();
    this.follow(job);
  }

  /** Open the form of a question. @param {import("./state.js").Again} [again] */
  ask(again = {}) {
    this.happened({ kind: "dialog", dialog: { name: "ask", again } });
  }

  /** Submit a question as a job. @param {string} kind @param {any} request @param {string} name  what it is about */
  submit(kind, request, name) {
    return this.guarded(async () => {
      if (kind === "plan") {
        if (request.problem !== shown(this.state)?.problem) this.show({ name: request.problem.name ?? name, problem: request.problem });
        return this.submitted(request, request.problem);
      }
      const entry = shown(this.state);
      this.leave();
      this.happened({ kind: "sending" });
      const job = await this.service.submit(kind, request).catch((error) => {
        if (LACKS.test(error.message)) this.ask({ kind, options: request.options, wrong: error.message });
        throw error;
      });
      const about = job.name ?? name;
      // The list of jobs calls it as its heading does.
      if (!job.name) await this.service.rename(job.id, about.slice(0, 200)).catch(() => null);
      const { plan = null, names = null, read = null } = entry?.problem && request.problem?.buffers === entry.problem.buffers ? entry : {};
      this.happened({ kind: "opened", entry: { name: `${kind} of ${about}`, about, kind, request, plan, job: job.id, names, read } });
      this.remember();
      this.follow(job);
    });
  }

  /** Return the requests that a plan's panel can make: questions by their forms, and verdicts. @returns {import("../plan_view.js").PlanOptions} */
  actions() {
    return { questions: this.known?.all, ask: (kind, options) => this.ask({ kind, options }), verdict: (...plan) => this.verdict(...plan) };
  }

  /** Return the problem and the plan of a chart's point. @param {any} problem @param {any} point */
  async plannedAt(problem, { sizes, alignment, changes = [] }) {
    const changed = changedBy(problem, { sizes, alignment, changes });
    return { problem: changed, plan: await this.service.post("/v1/plan", { problem: changed, options: { time_limit_s: 2 } }) };
  }

  /** Show the progress of a job until it ends. @param {any} job */
  follow(job) {
    this.following.abort();
    this.following = new AbortController();
    const { signal } = this.following;
    this.happened({ kind: "following", began: Date.parse(job.created_at), limit: job.options.time_limit_s });
    this.guarded(() => this.watched(job, signal).catch((error) => {
      if (signal.aborted) return;
      this.happened({ kind: "ended", note: "", errors: [] });
      throw error;
    }));
  }

  /** Process the events of a job until it ends. @param {any} job @param {AbortSignal} signal */
  async watched(job, signal) {
    const phase = (/** @type {import("./state.js").Phase} */ now) => {
      if (this.state.phase !== "stopping" && this.state.phase !== now) this.happened({ kind: "phase", phase: now });
    };
    let drawn = 0;
    for await (const { kind, data } of this.service.events(job.id, signal)) {
      if (kind === "lost") phase("lost");
      else if (kind !== "queued") phase("searching");
      if (kind === "progress") this.happened({ kind: "note", note: progressText(data) });
      if (kind !== "better" || job.kind !== "plan") continue;
      const last = shown(this.state)?.best;
      const [peak, bound] = [data.peak ?? last?.peak ?? null, data.lower_bound ?? last?.bound ?? null].map((value) => (value === null ? null : Number(value)));
      const isDue = Date.now() - drawn > DRAW_EVERY_MS;
      if (isDue) await this.fetched(job.id, signal);
      this.happened({ kind: "better", best: { peak, bound } });
      if (isDue) drawn = Date.now();
    }
    if (!signal.aborted) await (job.kind === "plan" ? this.ended(job.id, signal) : this.answered(job.id, signal));
  }

  /** Fetch the best plan that a job has found so far. @param {string} id @param {AbortSignal} signal */
  async fetched(id, signal) {
    try {
      const plan = await this.service.get(`/v1/jobs/${id}/plan`, signal);
      if (!signal.aborted) this.happened({ kind: "planned", plan });
    } catch (error) {
      if (!(error instanceof Refusal && (error.status === 404 || error.status === 0)) && !signal.aborted) throw error;
    }
  }

  /** @param {string} id @param {AbortSignal} signal */
  async ended(id, signal) {
    const job = await this.service.get(`/v1/jobs/${id}`, signal);
    await this.fetched(id, signal);
    if (signal.aborted) return;
    const errors = [job.error ?? shown(this.state)?.plan?.explanation?.message].filter(Boolean);
    this.happened({ kind: "ended", note: endText(job), errors });
  }

  /** Fetch the answer of a job that is not a plan. @param {string} id @param {AbortSignal} [signal] */
  async answered(id, signal) {
    const job = await this.service.get(`/v1/jobs/${id}`, signal);
    const answer = await this.service.answered(id, signal);
    if (signal?.aborted) return;
    const entry = shown(this.state);
    if (signal && entry && answer?.value?.names && !entry.request?.options?.to) {
      const { problem, plan, names, graph } = answer.value;
      this.show({ name: entry.about ?? entry.name, problem, plan, names, graph, read: id });
      return plan ? undefined : this.planned();
    }
    if (entry && answer) {
      const { problem, plan } = plannedIn({ ...entry, answer });
      const { view } = (await this.questions()).all.find(({ name }) => name === job.kind) ?? {};
      this.happened({ kind: "answered", part: { answer, problem, given: problem, plan, view } });
    }
    this.happened({ kind: "ended", note: endText(job), errors: [job.error].filter(Boolean) });
    if (signal && LACKS.test(job.error ?? "")) this.ask({ kind: job.kind, options: entry?.request?.options, wrong: job.error });
  }

  stop() {
    const job = shown(this.state)?.job;
    if (!job) return;
    this.happened({ kind: "phase", phase: "stopping" });
    this.guarded(() => this.service.stop(job));
  }

  /** Open a job of the service. @param {string} id @param {boolean} [isStep]  a step of the history */
  openJob(id, isStep = true) {
    return this.guarded(async () => {
      const job = await this.service.get(`/v1/jobs/${id}`);
      const read = isStep ? null : addressed("read");
      const request = job.kind === "plan" && await this.service.known(`/v1/jobs/${id}/problem`) || await this.service.get(`/v1/jobs/${id}/request`);
      const names = read && (await this.service.answered(read))?.value.names;
      const name = job.name ?? "plan";
      const plan = job.kind === "plan" ? (await this.service.answered(id))?.value ?? null : null;
      this.leave(isStep ? null : this.state.dialog);
      this.happened({ kind: "opened", entry: job.kind === "plan" ? { name, problem: request, plan, names, job: id, read }
        : { name: `${job.kind} of ${name}`, about: name, kind: job.kind, request, job: id, names, read } });
      if (isStep) this.remember();
      else history.replaceState({ at: this.state.at, isComparing: false }, "");
      if (job.finished_at === null) this.follow(job);
      else if (job.kind !== "plan") await this.answered(id);
      else this.happened({ kind: "ended", note: endText(job), errors: [] });
    });
  }

  compare() {
    if (this.state.isComparing) return history.back();
    this.happened({ kind: "compared" });
    this.remember();
  }

  /** Return the comparison view of the shown plan and the one before it. @param {import("./state.js").State} state @returns {Promise<any>} */
  async comparison(state) {
    const [old, now] = [before(state), shown(state)];
    if (!old || !now) return null;
    const { difference: facts } = await this.service.post("/v1/check",
      { options: { time_limit_s: COMPARE_S, differences: true }, problem: now.problem, plan: now.plan, baseline: { problem: old.problem, plan: old.plan } });
    const [one, two] = await Promise.all([old, now].map(({ problem, plan, name, names }) => this.judgedView(problem, plan, name, names)));
    return { kind: "comparison", title: `${old.name} and ${now.name}`, before: one, after: two, facts };
  }

  /** Return the shown views for a page that is saved. @returns {Promise<any[]>} */
  async views() {
    const { state } = this;
    const entry = shown(state);
    if (!entry) return [];
    if (state.isComparing) return [await this.comparison(state)];
    if (!entry.problem || !entry.plan) return [];
    return [await this.judgedView(entry.problem, entry.plan, entry.name, entry.names)];
  }
}

/** Return the seconds from the submission of a job to its end. @param {any} job */
function secondsOf(job) {
  return (Date.parse(job.finished_at) - Date.parse(job.created_at)) / 1000;
}

/** Return a text that tells how a job ended. @param {any} job */
function endText(job) {
  const seconds = secondsOf(job);
  const said = job.plan_status === "infeasible" ? "does not fit" : job.kind === "plan" && job.state === "succeeded" ? "planned" : ENDED[job.state] ?? job.state;
  return `${said} in ${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
}

/** Return a text about the progress of a job, in the words of its event. @param {any} data */
function progressText(data) {
  const bytes = (/** @type {string} */ name, /** @type {any} */ value) =>
    (typeof value === "number" && /peak|bytes|bound/.test(name) ? sizeText(value) : value);
  return Object.entries(data).filter(([name, value]) => name !== "at" && typeof value !== "object")
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${bytes(name, value)}`).join(", ");
}
