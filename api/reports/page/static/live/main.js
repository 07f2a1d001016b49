// @ts-check
// The page over a service: open files, plan them, watch, stop, and come back to jobs.

import { openComparison } from "../comparison_view.js";
import { h, fill } from "../dom.js";
import { droppable } from "../drop.js";
import { planView } from "../from_json.js";
import { openPlan } from "../plan_view.js";
import { nameText } from "../text.js";
import { style } from "../theme.js";
import { askKey } from "./key.js";
import { opened, sizeOf } from "./files.js";
import { jobsDialog } from "./jobs.js";
import { Progress } from "./progress.js";
import { PlanService, Refusal } from "./service.js";

const DRAW_EVERY_MS = 700;
const JOB = /^[0-9a-f-]{36}$/;

/** The page: one problem, its plan so far, and the job that works on it. */
class Live {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.service = new PlanService(askKey);
    /** @type {any} */ this.problem = null;
    /** @type {any} */ this.plan = null;
    /** @type {any} */ this.names = null;
    /** @type {{problem: any, plan: any, name: string, names: any} | null} */ this.before = null;
    /** @type {string | null} */ this.job = null;
    this.name = "";
    this.following = new AbortController();
    this.progress = new Progress();
    this.errors = h("div", { role: "alert" });
    this.view = h("main", { class: "view" });
    this.watch = h("div", {});
    this.said = h("span", { class: "said", role: "status" });
    this.chooser = /** @type {HTMLInputElement} */ (h("input", { type: "file", multiple: true, hidden: true, "aria-label": "Files to open",
      onchange: () => this.take([...(this.chooser.files ?? [])]) }));
    this.seconds = /** @type {HTMLInputElement} */ (h("input", { type: "number", min: "0.1", max: "604800", step: "any", value: "10" }));
    this.capacity = /** @type {HTMLInputElement} */ (h("input", { type: "text", placeholder: "as given", spellcheck: "false" }));
    this.planButton = h("button", { class: "primary", disabled: true, onclick: () => this.start() }, "Plan");
    this.stopButton = h("button", { disabled: true, onclick: () => this.stop() }, "Stop");
    this.compareButton = h("button", { disabled: true, onclick: () => this.compare() }, "Compare");
    this.compareButton.title = "Compare this plan with the one that was shown before";
    const bar = h("header", { class: "service" },
      h("h1", {}, "memplan"), this.chooser,
      h("button", { onclick: () => this.chooser.click() }, "Open…"),
      h("label", {}, "capacity", this.capacity), h("label", {}, "seconds", this.seconds),
      this.planButton, this.stopButton, this.compareButton, this.said,
      h("button", { onclick: () => this.listJobs() }, "Jobs"), h("a", { href: "docs" }, "API"));
    fill(root, bar, this.errors, this.watch, this.view);
    droppable(document.body, (files) => this.take(files));
    this.capacity.addEventListener("keydown", (event) => event.key === "Enter" && this.start());
    this.welcome();
  }

  welcome() {
    fill(this.view, h("div", { class: "welcome" }, h("div", { class: "target" },
      h("h2", {}, "Drop a problem, a plan, a model or a dump"),
      h("p", {}, "JSON or CSV of memplan and MiniMalloc; TFLite, ONNX, ExecuTorch, HLO, IREE, TVM; logs and traces."),
      h("p", { class: "quiet" }, "Problems and plans are read here; other files by this service, in a process of their own."),
      h("button", { class: "primary", onclick: () => this.chooser.click() }, "Open a file…"))));
  }

  /** Do something, and show what is wrong with it as text. @param {() => Promise<void>} work */
  async guarded(work) {
    fill(this.errors);
    try {
      await work();
    } catch (error) {
      const sentences = error instanceof Refusal ? error.sentences : [String(error instanceof Error ? error.message : error)];
      fill(this.errors, h("div", { class: "errors" },
        h("ul", {}, ...sentences.slice(0, 100).map((text) => h("li", {}, nameText(text, 1000)))),
        h("button", { onclick: () => fill(this.errors) }, "Dismiss")));
    }
  }

  /** @param {File[]} files  problems and plans, in whatever order @returns {Promise<void>} */
  take(files) {
    return this.guarded(async () => {
      this.say(`reading ${files.map((file) => nameText(file.name, 40)).join(", ")} …`);
      const found = [];
      for (const file of files) found.push(await opened(file, this.service));
      this.chooser.value = "";
      this.say("");
      for (const one of found.filter(({ problem }) => problem)) this.show(one.name, one.problem, one.plan, one.names ?? null);
      for (const { plan } of found.filter(({ problem }) => !problem)) {
        if (!this.problem) throw new Error("plan: open the problem that it is for first");
        this.show(this.name, this.problem, plan);
      }
      const notes = found.flatMap((one) => one.notes);
      if (notes.length) this.say(notes.join("; "));
      if (this.problem && !this.plan) await this.planned();
    });
  }

  /** @param {string} name @param {any} problem @param {any} plan @param {any} [names]  left out: as they were */
  show(name, problem, plan, names = this.names) {
    const frame = this.shown && problem === this.problem ? { ...this.shown.picture.camera.frame } : null;
    const view = planView(problem, plan, name, names);
    if (this.plan?.placements?.length && (problem !== this.problem || plan !== this.plan) && !this.isRunning) {
      this.before = { problem: this.problem, plan: this.plan, name: this.name, names: this.names };
    }
    if (problem !== this.problem) this.leave();
    this.name = name;
    this.problem = problem;
    this.plan = plan;
    this.names = names;
    this.shown = openPlan(this.view, view, style);
    if (frame) this.shown.picture.camera.show(frame);
    document.title = `${nameText(name, 60)} - memplan`;
    this.ready();
  }

  ready() {
    /** @type {any} */ (this.planButton).disabled = !this.problem;
    /** @type {any} */ (this.stopButton).disabled = !this.isRunning;
    /** @type {any} */ (this.compareButton).disabled = !this.before || !this.plan?.placements?.length || this.isRunning;
  }

  /** Let go of the job that is followed; it goes on at the service. */
  leave() {
    this.following.abort();
    this.isRunning = false;
    this.job = null;
    fill(this.watch);
    history.replaceState(null, "", location.pathname + location.hash);
  }

  start() {
    return this.guarded(() => this.planned());
  }

  async planned() {
    if (!this.problem) return;
    const capacity = sizeOf(this.capacity.value);
    let problem = this.problem;
    if (capacity !== null) {
      const [first, ...rest] = problem.pools?.length ? problem.pools : [{ name: "default" }];
      problem = { ...problem, pools: [{ ...first, size: capacity }, ...rest] };
    }
    const seconds = Number(this.seconds.value);
    if (!(seconds > 0)) throw new Error(`seconds: must be greater than 0, got ${JSON.stringify(this.seconds.value)}`);
    const named = problem.name ? problem : { ...problem, name: this.name };
    const job = await this.service.submit(named, { time_limit_s: seconds });
    if (problem !== this.problem) this.show(this.name, problem, null);
    this.follow(job);
  }

  /** Show how a job goes on, until it has ended. @param {any} job */
  follow(job) {
    this.following.abort();
    this.following = new AbortController();
    const { signal } = this.following;
    this.job = job.id;
    this.isRunning = true;
    history.replaceState(null, "", `?job=${job.id}${location.hash}`);
    this.progress.begin(Date.parse(job.created_at));
    fill(this.watch, this.progress.element);
    this.say("waiting for a worker …");
    this.ready();
    this.guarded(async () => {
      let drawn = 0;
      for await (const { kind, data } of this.service.events(job.id, signal)) {
        const at = Date.parse(data.at);
        if (kind === "started") this.say("searching …");
        if (kind === "better") {
          this.progress.take(data, at);
          if (Date.now() - drawn > DRAW_EVERY_MS) {
            await this.fetched(job.id, signal);
            drawn = Date.now();
          }
        }
      }
      if (!signal.aborted) await this.ended(job.id, signal);
    }).finally(() => {
      if (!signal.aborted) this.isRunning = false;
      this.ready();
    });
  }

  /** Take the best plan so far of a job. @param {string} id @param {AbortSignal} signal */
  async fetched(id, signal) {
    try {
      const plan = await this.service.get(`/v1/jobs/${id}/plan`, signal);
      if (!signal.aborted) this.show(this.name, this.problem, plan);
    } catch (error) {
      if (!(error instanceof Refusal && error.status === 404) && !signal.aborted) throw error;
    }
  }

  /** @param {string} id @param {AbortSignal} signal */
  async ended(id, signal) {
    const job = await this.service.get(`/v1/jobs/${id}`, signal);
    this.isRunning = false;
    await this.fetched(id, signal);
    const { status, peak, lower_bound: bound, stop_reason: why } = this.plan ?? {};
    this.progress.take({ peak, lower_bound: bound }, Date.parse(job.finished_at));
    this.say([job.state, status, why].filter(Boolean).join(", "));
    if (job.error) throw new Error(job.error);
    if (this.plan?.explanation?.message) throw new Error(this.plan.explanation.message);
  }

  stop() {
    const { job } = this;
    if (!job) return;
    this.say("stopping …");
    this.guarded(async () => {
      await this.service.stop(job);
    });
  }

  /** Open a job of the service. @param {string} id */
  openJob(id) {
    return this.guarded(async () => {
      const job = await this.service.get(`/v1/jobs/${id}`);
      const problem = await this.service.get(`/v1/jobs/${id}/problem`);
      const plan = await this.service.get(`/v1/jobs/${id}/plan`).catch((error) => {
        if (error instanceof Refusal && error.status === 404) return null;
        throw error;
      });
      this.show(job.name ?? "plan", problem, plan, null);
      if (job.finished_at === null) this.follow(job);
      else this.say([job.state, job.plan_status].filter(Boolean).join(", "));
      history.replaceState(null, "", `?job=${id}${location.hash}`);
    });
  }

  listJobs() {
    return this.guarded(() => jobsDialog(this.service, (id) => this.openJob(id)));
  }

  compare() {
    return this.guarded(async () => {
      if (!this.before) return;
      const after = { problem: this.problem, plan: this.plan, name: this.name, names: this.names };
      const facts = await this.service.post("/v1/diff", { old: pair(this.before), new: pair(after) });
      const [one, two] = [this.before, after].map(({ problem, plan, name, names }) => planView(problem, plan, name, names));
      this.shown = openComparison(this.view, { kind: "comparison", title: "", before: one, after: two, facts }, style);
    });
  }

  /** @param {string} text */
  say(text) {
    fill(this.said, text);
    this.said.title = text;
  }
}

/** @param {{problem: any, plan: any}} one */
function pair({ problem, plan }) {
  return { problem, plan };
}

const live = new Live(/** @type {HTMLElement} */ (document.getElementById("page")));
const asked = new URLSearchParams(location.search).get("job");
if (asked && JOB.test(asked)) live.openJob(asked);
