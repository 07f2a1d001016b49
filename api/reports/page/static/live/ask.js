// @ts-check
// Any capability of the service, from a menu: what it is about, its options, and what is sent.

import { dialog, fill, h } from "../dom.js";
import { parsed, recognised } from "../from_json.js";
import { nameText } from "../text.js";
import { capabilitiesIn, modelsOf, takesBytes, textOf, valueOf } from "./capabilities.js";
import { opened } from "./files.js";
import { hasPlan } from "./state.js";

/** @typedef {import("./capabilities.js").Capability} Capability */
/** @typedef {import("./capabilities.js").Input} Input */
/** @typedef {{says: string, value: () => Promise<any>, isFile?: boolean}} Source  where the value of an input comes from */
/** @typedef {{kind?: string, options?: any, wrong?: string}} Again */
/** @typedef {{entries: import("./state.js").Entry[], files: File[], service: import("./service.js").PlanService}} Known */

const JOBS = 30;
const PLANS = ["Plan", "PlanAndProblem"];

/**
 * Let people choose a capability and fill its form; `run` takes what is to be sent.
 * @param {Known} known
 * @param {(kind: string, request: any, name: string) => void} run
 * @param {Again} [again]  what was asked last and lacked something: it is open at once, and says so
 */
export async function askDialog(known, run, again = {}) {
  const [document_, jobs] = await Promise.all([known.service.get("openapi.json"), known.service.get(`/v1/jobs?kind=plan&limit=${JOBS}`)]);
  const all = capabilitiesIn(document_);
  const form = h("form", { class: "asked", method: "dialog" });
  const search = /** @type {HTMLInputElement} */ (h("input", { type: "search", placeholder: "find", "aria-label": "find a capability", oninput: () => list() }));
  const menu = h("div", { class: "menu", role: "group", "aria-label": "Capabilities" });
  const asks = dialog({ class: "ask", "aria-label": "Everything that memplan answers" },
    h("div", { class: "row" }, h("h2", {}, "Everything that memplan answers"), search, h("button", { onclick: () => asks.close() }, "Close")),
    h("div", { class: "columns" }, menu, form));
  let chosen = all.find(({ name }) => name === again.kind) ?? null;
  const choose = (/** @type {Capability} */ one) => {
    chosen = one;
    list();
    fill(form, ...formOf(one, { ...known, jobs: jobs.jobs }, (request, name) => {
      asks.close();
      run(one.name, request, name);
    }, one.name === again.kind ? again : {}));
    form.scrollIntoView({ block: "nearest" });
  };
  const list = () => {
    const wanted = search.value.trim().toLowerCase();
    fill(menu, ...all.filter((one) => `${one.name} ${one.help}`.toLowerCase().includes(wanted)).map((one) =>
      h("button", { "aria-pressed": String(one === chosen), onclick: () => choose(one) }, h("b", {}, one.name), h("span", {}, one.summary))));
  };
  if (chosen) {
    choose(chosen);
    const lacks = /^\w+/.exec(again.wrong ?? "")?.[0];
    /** @type {HTMLElement | null} */ (form.querySelector(`[data-option="${lacks}"] input, [data-input="${lacks}"] select`))?.focus();
  }
  else fill(form, h("p", { class: "quiet" }, "Each is a command, a call and a function of Python, too."));
  list();
}

/** The form of a capability. @param {Capability} capability @param {Known & {jobs: any[]}} known @param {(request: any, name: string) => void} send @param {Again} again */
function formOf(capability, known, send, again) {
  const isOfPlan = capability.inputs.some((input) => input.isRequired && modelsOf(input).some((name) => PLANS.includes(name)));
  const entries = isOfPlan ? [...known.entries.filter(hasPlan), ...known.entries.filter((entry) => !hasPlan(entry))] : known.entries;
  const inputs = capability.inputs.map((input) => new InputField(input, { ...known, entries }));
  const problem = entries.find((entry) => entry.problem)?.problem;
  const isExample = /written here$/.test(inputs[0]?.said ?? "");
  for (const field of inputs.slice(1)) {
    if (isExample) field.choose("an example, written here");
    else if (problem && field.input.example && inputs[0].input.example?.buffers) field.write(fitted(field.input.example, inputs[0].input.example, problem));
  }
  const options = capability.options.map((option) => new OptionField(option, again.options?.[option.name]));
  const wrong = h("p", { class: "alarm", role: "alert" }, nameText(again.wrong ?? "", 600));
  const button = /** @type {HTMLButtonElement} */ (h("button", { class: "primary", type: "button", onclick: async () => {
    button.disabled = true;
    fill(wrong);
    try {
      const request = /** @type {any} */ ({});
      for (const field of [...inputs, ...options]) await field.put(request);
      if (capability.named) request.options = { name: inputs[0].file.files?.[0]?.name ?? (/written here$/.test(inputs[0].said) ? capability.named : inputs[0].said), ...request.options };
      send(request, /written here$/.test(inputs[0]?.said ?? "") ? "an example" : inputs[0].said);
    } catch (error) {
      fill(wrong, nameText(/** @type {Error} */ (error).message, 600));
      button.disabled = false;
    }
  } }, "Run"));
  return [h("h3", {}, capability.name), h("p", { class: "help" }, capability.help), ...inputs.map(({ element }) => element),
    h("h4", {}, "Options"), ...options.map(({ element }) => element), wrong, h("div", { class: "row" }, button)];
}

/** An example with the names of a problem's buffers and pools in the place of those of its own problem. @param {any} value @param {any} from @param {any} to @returns {any} */
function fitted(value, from, to) {
  if (Array.isArray(value)) return value.map((one) => fitted(one, from, to));
  if (value !== null && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, one]) => [fitted(name, from, to), fitted(one, from, to)]));
  if (typeof value !== "string") return value;
  const pools = (/** @type {any} */ problem) => problem.pools?.length ? problem.pools : [{ name: "default" }];
  const names = new Map([...from.buffers.map((/** @type {any} */ row, /** @type {number} */ k) => [row.id, to.buffers[k % to.buffers.length]?.id]),
    ...pools(from).map((/** @type {any} */ row, /** @type {number} */ k) => [row.name, pools(to)[k % pools(to).length].name])]);
  return names.get(value) ?? value.replace(/^[^=]+(?==)/, (name) => names.get(name) ?? name);
}

/** An input: where its value comes from, with a text that is written in place. */
class InputField {
  /** @param {Input} input @param {Known & {jobs: any[]}} known */
  constructor(input, known) {
    this.input = input;
    /** @type {Source[]} */ this.sources = sourcesOf(input, known);
    this.area = /** @type {HTMLTextAreaElement} */ (h("textarea", { rows: "3", spellcheck: "false", "aria-label": `${input.name}, as text` }));
    this.write(input.example ?? "");
    this.file = /** @type {HTMLInputElement} */ (h("input", { type: "file", "aria-label": `${input.name}, a file` }));
    const isHere = takesBytes(input) || this.sources.some(({ isFile }) => !isFile) || modelsOf(input).includes("OperationGraph");
    this.sources.splice(isHere ? this.sources.length : 0, 0, { says: input.example === undefined ? "written here" : "an example, written here", value: async () => asValue(input, this.area.value) });
    this.sources.push({ says: "a file…", value: () => this.fromFile(known.service) });
    if (!input.isRequired) this.sources.splice(input.name === "problem" || input.example !== undefined ? this.sources.length : 0, 0, { says: "none", value: async () => undefined });
    this.menu = /** @type {HTMLSelectElement} */ (h("select", { onchange: () => this.show() }, ...this.sources.map(({ says }, k) => h("option", { value: k }, nameText(says, 60)))));
    this.element = h("div", { class: "field", "data-input": input.name }, h("label", {}, h("span", {}, input.name), this.menu), this.area, this.file);
    this.show();
  }

  /** @param {any} value  the text that is written in place */
  write(value) {
    this.area.value = typeof value === "string" ? value : JSON.stringify(value);
  }

  /** Choose a source, if it is there. @param {string} says */
  choose(says) {
    const k = this.sources.findIndex((source) => source.says === says);
    if (k >= 0) this.menu.value = String(k);
    this.show();
  }

  show() {
    this.area.hidden = !this.said.endsWith("written here");
    this.file.hidden = this.said !== "a file…";
  }

  get said() {
    return this.sources[Number(this.menu.value)].says;
  }

  /** @param {any} request */
  async put(request) {
    const value = await this.sources[Number(this.menu.value)].value();
    if (value !== undefined) request[this.input.name] = value;
  }

  /** @param {import("./service.js").PlanService} service */
  async fromFile(service) {
    const file = this.file.files?.[0];
    if (!file) throw new Error(`${this.input.name}: choose a file`);
    return fileValue(this.input, file, service);
  }
}

/** @param {Input} input @param {Known & {jobs: any[]}} known @returns {Source[]} */
function sourcesOf(input, { entries, files, jobs, service }) {
  const models = modelsOf(input);
  const isPlan = models.some((name) => PLANS.includes(name));
  const isBoth = models.includes("PlanAndProblem");
  const value = (/** @type {any} */ problem, /** @type {any} */ plan) => (isBoth ? { problem, plan } : isPlan ? plan : problem);
  const ofFiles = () => files.map((file) => ({ says: file.name, isFile: true, value: () => fileValue(input, file, service) }));
  /** @type {Source[]} */
  const found = [];
  if (isPlan || models.includes("Problem")) {
    const seen = new Set();
    for (const { name, about = name, problem, plan } of entries.filter((entry) => entry.problem && (!isPlan || Array.isArray(entry.plan?.placements)))) {
      const what = isPlan ? plan : problem.buffers;
      if (!seen.has(what)) found.push({ says: about, value: async () => value(problem.name ? problem : { ...problem, name: about }, plan) });
      seen.add(what);
    }
    if (input.name === "baseline" && found.length > 1) found.push(/** @type {Source} */ (found.shift()));
    const known = new Set(entries.map(({ job }) => job));
    for (const job of jobs.filter(({ id, plan_status }) => !known.has(id) && (!isPlan || ["optimal", "feasible"].includes(plan_status)))) {
      found.push({ says: `job ${job.name ?? job.id.slice(0, 8)}, ${new Date(job.created_at).toLocaleString()}`, value: async () =>
        value(isPlan && !isBoth ? null : await service.get(`/v1/jobs/${job.id}/problem`), isPlan && await service.get(`/v1/jobs/${job.id}/plan`)) });
    }
    return takesBytes(input) ? [...ofFiles(), ...found] : found;
  }
  const answers = entries.filter(({ answer }) => !takesBytes(input) && answer?.value?.[input.name] && !Array.isArray(answer.value[input.name])).map(({ name, answer }) => ({ says: name, value: async () => answer?.value[input.name] }));
  return [...answers, ...ofFiles()];
}

/** The value of an input in a file. @param {Input} input @param {File} file @param {import("./service.js").PlanService} service */
async function fileValue(input, file, service) {
  const models = modelsOf(input);
  const start = new TextDecoder().decode(await file.slice(0, 200).arrayBuffer()).trimStart();
  const text = start.startsWith("{") || start.startsWith("[") ? await file.text() : null;
  if (models.includes("OperationGraph")) {
    const value = text === null ? null : parsed(text);
    return value?.ops ? value : (await service.imported(file)).graph;
  }
  if (models.some((name) => PLANS.includes(name))) {
    const found = text === null ? await opened(file, service) : recognised(text);
    return models.includes("PlanAndProblem") && found?.problem ? { problem: found.problem, plan: found.plan } : found?.plan;
  }
  if (models.includes("Problem") && !takesBytes(input)) return (await opened(file, service)).problem;
  if (text !== null) return parsed(text);
  if (!takesBytes(input)) return file.text();
  const bytes = new Uint8Array(await file.arrayBuffer());
  const parts = [];
  for (let at = 0; at < bytes.length; at += 32_768) parts.push(String.fromCharCode(...bytes.subarray(at, at + 32_768)));
  return btoa(parts.join(""));
}

/** @param {Input} input @param {string} text */
function asValue(input, text) {
  if (!text.trim()) throw new Error(`${input.name}: must not be empty`);
  if (!/^\s*([[{"]|-?\d+\s*$)/.test(text)) return text;
  try {
    return parsed(text);
  } catch (error) {
    throw new Error(`${input.name}: is not JSON: ${/** @type {Error} */ (error).message}`);
  }
}

/** An option: a box, a list or a text; what is left as it is, is not sent. */
class OptionField {
  /** @param {import("./capabilities.js").Option} option @param {any} given  what was chosen the last time */
  constructor(option, given) {
    const { name, schema, says, value } = option;
    this.option = option;
    this.isBox = schema.type === "boolean";
    const isPictured = /^with_plans?$/.test(name), shown = given ?? (name === "point" ? "all" : undefined);
    const choices = schema.enum ?? (schema.const === undefined ? null : [schema.const]);
    if (this.isBox) this.control = /** @type {any} */ (h("input", { type: "checkbox", checked: given ?? (isPictured || Boolean(value)) }));
    else if (choices) this.control = /** @type {any} */ (h("select", {}, ...(choices.includes(value) ? [] : [h("option", { value: "" }, "-")]), ...choices.map((/** @type {any} */ one) => h("option", { value: one, selected: one === (given ?? value) }, one))));
    else this.control = /** @type {any} */ (h("input", { type: "text", value: textOf(shown), placeholder: textOf(value), spellcheck: "false" }));
    this.element = h("label", { class: "field" }, h("span", {}, name.replace(/_s$/, ", seconds").replaceAll("_", " ")), this.control, h("small", {}, says));
    this.element.dataset.option = name;
  }

  /** @param {any} request */
  async put(request) {
    const { name, schema, value } = this.option;
    const given = this.isBox ? this.control.checked : this.control.value.trim();
    if (given === "" || given === value) return;
    request.options = { ...request.options, [name]: this.isBox ? given : valueOf(schema, given) };
  }
}
