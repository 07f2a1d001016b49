// @ts-check
// The page over a service: open files, plan them, watch, stop, compare, and come back to jobs.

import { openComparison } from "../comparison_view.js";
import { h, fill } from "../dom.js";
import { droppable } from "../drop.js";
import { planView } from "../from_json.js";
import { addressed } from "../link.js";
import { openPlan } from "../plan_view.js";
import { readSize } from "../sizes.js";
import { nameText } from "../text.js";
import { style } from "../theme.js";
import { openAnswer, plannedIn } from "./answer.js";
import { askDialog } from "./ask.js";
import { askKey } from "./key.js";
import { opened } from "./files.js";
import { jobsDialog } from "./jobs.js";
import { Progress, progressText } from "./progress.js";
import { PlanService, Refusal } from "./service.js";
import { EMPTY, before, hasPlan, isRunning, next, said, shown } from "./state.js";

const DRAW_EVERY_MS = 700;
/** The seconds that a comparison may take: that of thousands of buffers, all of which moved, takes ten and more. */
const COMPARE_S = 120;
/** The jobs on the first screen. */
const RECENT = 12;
/** The files that were opened last, which capabilities may be about. */
const FILES = 5;
/** A sentence about an input or an option without which a capability has no answer. */
const LACKS = /^\w+: is required/;

/** The page: draws a state, and makes events of what people and the service do. */
class Live {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.service = new PlanService(askKey);
    /** @type {import("./state.js").State} */ this.state = EMPTY;
    /** @type {any} */ this.drawn = null;
    /** @type {Promise<void> | null} */ this.judging = null;
    /** @type {File[]} */ this.files = [];
    this.following = new AbortController();
    this.progress = new Progress();
    this.errors = h("div", { role: "alert" });
    this.view = h("main", { class: "view" });
    this.watch = h("div", {});
    this.said = h("span", { class: "said", role: "status" });
    this.chooser = /** @type {HTMLInputElement} */ (h("input", { type: "file", multiple: true, hidden: true, "aria-label": "Files to open", onchange: () => this.choose() }));
    this.seconds = /** @type {HTMLInputElement} */ (h("input", { type: "number", min: "0.1", max: "604800", step: "any", value: "10" }));
    this.capacity = /** @type {HTMLInputElement} */ (h("input", { type: "text", placeholder: "as given", spellcheck: "false" }));
    this.planButton = /** @type {HTMLButtonElement} */ (h("button", { class: "primary", onclick: () => this.start() }, "Plan"));
    this.stopButton = /** @type {HTMLButtonElement} */ (h("button", { onclick: () => this.stop() }, "Stop"));
    this.compareButton = /** @type {HTMLButtonElement} */ (h("button", { title: "Compare this plan with the one that was shown before", onclick: () => this.compare() }, "Compare"));
    this.askButton = /** @type {HTMLButtonElement} */ (h("button", { title: "Everything else that memplan answers", onclick: () => this.guarded(() => this.ask()) }, "More…"));
    const bar = h("header", { class: "service" },
      h("h1", {}, "memplan"), this.chooser,
      h("button", { onclick: () => this.chooser.click() }, "Open…"),
      h("label", {}, "capacity", this.capacity), h("label", {}, "seconds", this.seconds),
      this.planButton, this.stopButton, this.compareButton, this.askButton, this.said,
      h("button", { onclick: () => this.guarded(() => jobsDialog(this.service, (id) => this.openJob(id), (work) => this.guarded(work))) }, "Jobs"), h("a", { href: "docs" }, "API"));
    fill(root, bar, this.errors, this.watch, this.view);
    droppable(document.body, (files) => this.take(files));
    this.capacity.addEventListener("keydown", (event) => event.key === "Enter" && this.start());
    window.addEventListener("popstate", (event) => this.wentBack(event.state));
    this.welcome();
    this.render();
  }

  welcome() {
    const recent = h("div", { class: "recent" });
    fill(this.view, h("div", { class: "welcome" }, h("div", { class: "target" },
      h("h2", {}, "Drop a problem, a plan, a model or a dump"),
      h("p", {}, "JSON or CSV of memplan and MiniMalloc; TFLite, ONNX, ExecuTorch, HLO, IREE, TVM."),
      h("p", { class: "quiet" }, "Problems and plans are read here; other files by this service, in a process of their own."),
      h("button", { class: "primary", onclick: () => this.chooser.click() }, "Open a file…"), " ",
      h("button", { onclick: () => this.guarded(() => this.example()) }, "Try an example")), recent));
    // Without a key where one is wanted, the first screen has no jobs, and requests none.
    this.service.known(`/v1/jobs?limit=${RECENT}`).then((found) => found?.jobs.length && fill(recent, h("h2", {}, "Last jobs"),
      h("ul", {}, ...found.jobs.filter((/** @type {any} */ job) => job.kind !== "convert").map((/** @type {any} */ job) => h("li", {}, h("button", { onclick: () => this.openJob(job.id) }, nameText(`${job.kind === "plan" ? "" : `${job.kind} of `}${job.name ?? job.id.slice(0, 8)}`, 60)),
        h("span", { class: "quiet" }, ` ${job.plan_status ?? job.state}, ${new Date(job.created_at).toLocaleString()}`))))));
  }

  async example() {
    const answer = await this.service.call("GET", "static/live/example.csv");
    await this.take([new File([await answer.blob()], "mobilenet_v2.csv")]);
  }

  /** Take an event, and draw what it changed. @param {import("./state.js").Event} event */
  happened(event) {
    const was = shown(this.state);
    const wasComparing = this.state.isComparing;
    this.state = next(this.state, event);
    if (event.kind === "ended") this.progress.end();
    const now = shown(this.state);
    if (now && (now !== was || wasComparing !== this.state.isComparing) && !this.state.isComparing) this.draw(now, was);
    this.render();
  }

  render() {
    const { state } = this;
    this.planButton.disabled = !shown(state)?.given || state.phase === "sending" || isRunning(state);
    this.stopButton.disabled = !isRunning(state) || state.phase === "stopping";
    this.compareButton.disabled = !state.isComparing && (!before(state) || !hasPlan(shown(state)) || isRunning(state));
    fill(this.compareButton, state.isComparing ? "Back to the plan" : "Compare");
    fill(this.said, said(state));
    this.said.title = said(state);
    fill(this.errors, state.errors.length > 0 && h("div", { class: "errors" },
      h("ul", {}, ...state.errors.slice(0, 100).map((text) => h("li", {}, nameText(text, 1000)))),
      h("button", { onclick: () => this.happened({ kind: "dismissed" }) }, "Dismiss")));
  }

  /** @param {import("./state.js").Entry} entry @param {import("./state.js").Entry | null} was */
  draw(entry, was) {
    document.title = `${nameText(entry.name, 60)} - memplan`;
    if (entry.kind) {
      this.drawn = openAnswer(this.view, entry, style, (found, planned) => this.inspected(planned).then((verdict) => found.judge(verdict)));
      if (this.drawn) this.judge();
      return;
    }
    const isSame = was?.given === entry.given && this.drawn?.picture;
    const seen = isSame ? this.drawn.picture.camera.seen : null;
    const view = { ...planView(entry.problem, entry.plan, entry.name, entry.names), isPending: Boolean(entry.plan) };
    this.drawn = openPlan(this.view, view, style, { ask: (kind) => this.guarded(() => this.ask({ kind })) });
    if (seen?.length === this.drawn.picture.camera.seen.length) this.drawn.picture.camera.seen = seen;
    if (entry.plan) this.judge();
  }

  /** Ask the service what is true of the plan on show: one question at a time, the last plan always. */
  judge() {
    this.judging ??= (async () => {
      for (let asked = null; asked !== shown(this.state)?.plan;) {
        const entry = shown(this.state);
        asked = entry?.plan;
        const found = asked && await this.inspected({ problem: entry?.problem, plan: asked });
        if (asked === shown(this.state)?.plan && !this.state.isComparing) this.drawn?.judge(found);
      }
    })().finally(() => {
      this.judging = null;
    });
  }

  /** What the service finds of a plan; null where it is refused. @param {{problem: any, plan: any}} asked */
  inspected({ problem, plan }) {
    return this.service.post("/v1/verify", { problem, plan, options: { places: true } }).catch((error) => {
      if (error instanceof Refusal && error.status === 422) this.happened({ kind: "failed", errors: error.sentences });
      return null;
    });
  }

  /** Do something, and show what is wrong with it as text. @param {() => Promise<void>} work */
  async guarded(work) {
    this.happened({ kind: "dismissed" });
    try {
      await work();
    } catch (error) {
      const sentences = error instanceof Refusal ? error.sentences : [String(error instanceof Error ? error.message : error)];
      this.happened({ kind: "failed", errors: sentences });
    }
  }

  choose() {
    const files = [...(this.chooser.files ?? [])];
    this.chooser.value = "";
    return this.take(files);
  }

  /** @param {File[]} files  problems and plans, in whatever order @returns {Promise<void>} */
  take(files) {
    return this.guarded(async () => {
      this.happened({ kind: "note", note: `reading ${files.map((file) => nameText(file.name, 40)).join(", ")} …` });
      const found = [];
      this.files = [...files, ...this.files].slice(0, FILES);
      for (const file of files) found.push(await opened(file, this.service));
      for (const { name, problem, plan, names = null, read = null } of found.filter((one) => one.problem)) this.show({ name, problem, plan, names, read });
      for (const { name, schedule } of found.filter((one) => one.schedule)) this.show({ name, kind: "schedule", answer: { value: schedule, lines: "a schedule in a file" } });
      for (const { plan } of found.filter(({ problem, schedule }) => !problem && !schedule)) {
        const entry = shown(this.state);
        if (!entry?.problem) throw new Error("plan: open the problem that it is for first");
        const { name, problem, names, read } = entry;
        this.show({ name, problem, plan, names, read });
      }
      this.happened({ kind: "note", note: found.flatMap((one) => one.notes).join("; ") });
      if (shown(this.state) && !shown(this.state)?.plan) await this.planned();
    });
  }

  /** Show something new. @param {Partial<import("./state.js").Entry> & {name: string}} entry */
  show(entry) {
    if (entry.problem) planView(entry.problem, entry.plan, entry.name, entry.names); // refuses what cannot be drawn, before anything changes
    this.leave();
    this.happened({ kind: "opened", entry });
    this.remember();
  }

  /** Let go of the job that is followed; it goes on at the service. */
  leave() {
    this.following.abort();
    this.progress.end();
    fill(this.watch);
  }

  /** Make a step of the browser's history of what is on show, unless the last one is of that. */
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
    if (kept && kept.at >= 0 && kept.at < this.state.entries.length) {
      this.leave();
      this.happened({ kind: "went", at: kept.at });
      const { job, plan, kind, answer } = /** @type {import("./state.js").Entry} */ (shown(this.state));
      if (kept.isComparing) this.guarded(() => this.compared());
      else if (job && !(kind ? answer : plan)) this.openJob(job, false);
      return;
    }
    const job = addressed("job");
    if (job) this.openJob(job, false);
    else if (!location.hash) location.reload();
  }

  start() {
    if (!this.planButton.disabled) this.guarded(() => this.planned());
  }

  async planned() {
    const entry = shown(this.state);
    if (!entry?.given) return;
    let problem = entry.given;
    if (this.capacity.value.trim()) {
      const size = readSize(this.capacity.value, "capacity");
      const [first, ...rest] = problem.pools?.length ? problem.pools : [{ name: "default" }];
      problem = { ...problem, pools: [{ ...first, size }, ...rest] };
    }
    const seconds = Number(this.seconds.value);
    if (!(seconds > 0)) throw new Error(`seconds: must be greater than 0, got ${JSON.stringify(this.seconds.value)}`);
    await this.submitted({ problem: problem.name ? problem : { ...problem, name: entry.name }, options: { time_limit_s: seconds } }, problem);
  }

  /** Submit a job of a plan for the problem on show. @param {any} request @param {any} problem */
  async submitted(request, problem) {
    this.leave();
    this.happened({ kind: "sending" });
    const job = await this.service.submit("plan", request);
    this.happened({ kind: "sent", job: job.id, problem });
    this.remember();
    this.follow(job);
  }

  /** Let people choose another capability, of which one may be open at once, and submit it as a job. @param {import("./ask.js").Again} [again] */
  ask(again = {}) {
    const { entries, at } = this.state;
    const newest = [...entries.slice(0, at + 1).reverse(), ...entries.slice(at + 1).reverse()];
    return askDialog({ entries: newest, files: this.files, service: this.service }, (kind, request, name) => this.guarded(async () => {
      if (kind === "plan") {
        if (request.problem !== shown(this.state)?.problem) this.show({ name: request.problem.name ?? name, problem: request.problem });
        return this.submitted(request, request.problem);
      }
      const entry = shown(this.state);
      this.leave();
      this.happened({ kind: "sending" });
      const job = await this.service.submit(kind, request).catch((error) => this.lacks(kind, request, error));
      const about = job.name ?? name;
      const { plan = null, names = null, read = null } = entry?.problem && request.problem?.buffers === entry.problem.buffers ? entry : {};
      this.happened({ kind: "opened", entry: { name: `${kind} of ${about}`, about, kind, request, plan, job: job.id, names, read } });
      this.remember();
      this.follow(job);
    }), again);
  }

  /** Open the form again where something is required that was not given. @param {string} kind @param {any} request @param {Error} error @returns {never} */
  lacks(kind, request, error) {
    if (LACKS.test(error.message)) this.ask({ kind, options: request.options, wrong: error.message });
    throw error;
  }

  /** Show how a job goes on, until it has ended. @param {any} job */
  follow(job) {
    this.following.abort();
    this.following = new AbortController();
    const { signal } = this.following;
    this.progress.begin(Date.parse(job.created_at), job.options.time_limit_s, job.kind === "plan");
    fill(this.watch, this.progress.element);
    this.happened({ kind: "phase", phase: "waiting" });
    this.guarded(() => this.watched(job, signal).catch((error) => {
      if (signal.aborted) return;
      this.happened({ kind: "ended", note: "", errors: [] });
      throw error;
    }));
  }

  /** Take the events of a job until it has ended. @param {any} job @param {AbortSignal} signal */
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
      this.progress.take(data, Date.parse(data.at));
      if (Date.now() - drawn > DRAW_EVERY_MS) {
        await this.fetched(job.id, signal);
        drawn = Date.now();
      }
    }
    if (!signal.aborted) await (job.kind === "plan" ? this.ended(job.id, signal) : this.answered(job.id, signal));
  }

  /** Take the best plan so far of a job. @param {string} id @param {AbortSignal} signal */
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
    const plan = shown(this.state)?.plan;
    this.progress.take({ peak: plan?.peak, lower_bound: plan?.lower_bound }, Date.parse(job.finished_at));
    const errors = [job.error ?? plan?.explanation?.message].filter(Boolean);
    this.happened({ kind: "ended", note: [job.state, plan?.status, plan?.stop_reason].filter(Boolean).join(", "), errors });
  }

  /** Take the answer of a job of another kind than a plan. @param {string} id @param {AbortSignal} [signal] */
  async answered(id, signal) {
    const job = await this.service.get(`/v1/jobs/${id}`, signal);
    const answer = await this.service.answered(id, signal);
    if (signal?.aborted) return;
    const entry = shown(this.state);
    if (entry && answer) {
      const { problem, plan } = plannedIn({ ...entry, answer });
      this.happened({ kind: "answered", part: { answer, problem, given: problem, plan } });
    }
    this.happened({ kind: "ended", note: [job.state, job.plan_status].filter(Boolean).join(", "), errors: [job.error].filter(Boolean) });
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
      this.leave();
      if (job.kind === "plan") {
        const plan = (await this.service.answered(id))?.value ?? null;
        this.happened({ kind: "opened", entry: { name, problem: request, plan, names, job: id, read } });
      } else this.happened({ kind: "opened", entry: { name: `${job.kind} of ${name}`, about: name, kind: job.kind, request, job: id, names, read } });
      if (isStep) this.remember();
      else history.replaceState({ at: this.state.at, isComparing: false }, "");
      if (job.finished_at === null) this.follow(job);
      else if (job.kind !== "plan") await this.answered(id);
      else this.happened({ kind: "ended", note: [job.state, job.plan_status].filter(Boolean).join(", "), errors: [] });
    });
  }

  compare() {
    if (this.state.isComparing) return history.back();
    this.guarded(async () => {
      await this.compared();
      this.remember();
    });
  }

  async compared() {
    const [old, now] = [before(this.state), shown(this.state)];
    if (!old || !now) return;
    const { difference: facts } = await this.service.post("/v1/check", { options: { time_limit_s: COMPARE_S, differences: true }, problem: now.problem, plan: now.plan, baseline: { problem: old.problem, plan: old.plan } });
    const [one, two] = [old, now].map(({ problem, plan, name, names }) => planView(problem, plan, name, names));
    this.happened({ kind: "compared" });
    this.drawn = openComparison(this.view, { kind: "comparison", title: "", before: one, after: two, facts }, style);
  }
}

const live = new Live(/** @type {HTMLElement} */ (document.getElementById("page")));
const first = addressed("job");
if (first) live.openJob(first, false);
