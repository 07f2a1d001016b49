// @ts-check
// The form of a question to the service, opened from the menu: its inputs, its options, and the body that is sent.

import { base64 } from "../document.js";
import { jsonText, parsed, recognised } from "../from_json.js";
import { nameText, sentenceText } from "../text.js";
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { textOf, valueOf } from "./questions.js";
import { hasPlan, shown } from "./state.js";

/** @typedef {import("./questions.js").Question} Question */
/** @typedef {import("./questions.js").Input} Input */
/** @typedef {import("./session.js").Session} Session */
/** @typedef {{says: string, kind: "value" | "text" | "file" | "none", get?: () => Promise<any>}} Source  where the value of an input comes from */
/** @typedef {{at: number, text: string, file: File | null}} Chosen */

const JOBS = 30;
const PLANS = ["Plan", "PlanAndProblem"];
/** Options that the page adds to each request, because it draws their results. @type {Record<string, any>} */
const DRAWN = { with_plan: true, with_plans: true, point: "all" };

/** The dialog that lists all questions. @param {{session: Session, again: import("./state.js").Again}} props */
export function Ask({ session, again }) {
  const [known, setKnown] = useState(/** @type {{all: Question[], jobs: any[]} | null} */ (null));
  const [kind, setKind] = useState(again.kind ?? "");
  const [wanted, setWanted] = useState("");
  useEffect(() => {
    session.guarded(async () => {
      const [questions, { jobs }] = await Promise.all([session.questions(), session.service.get(`/v1/jobs?kind=plan&limit=${JOBS}`)]);
      setKnown({ all: questions.all, jobs });
    });
  }, []);
  const entry = shown(session.state);
  const isAbout = (/** @type {Question} */ one) => one.inputs
    .filter(({ isRequired }) => isRequired).every((input) => entry && offered(input, entry) !== undefined);
  const found = (known?.all ?? []).filter((one) => `${one.name} ${one.help}`.toLowerCase().includes(wanted.trim().toLowerCase()));
  const list = (/** @type {string} */ title, /** @type {Question[]} */ some) => some.length > 0 && html`<h3>${title}</h3>${some.map((one) => html`
    <button type="button" aria-pressed=${String(one.name === kind)} onClick=${() =>
      setKind(one.name)}><b>${one.name}</b><span>${one.summary}</span></button>`)}`;
  const question = known?.all.find(({ name }) => name === kind);
  return html`
    <div class="row"><h2>Everything that memplan answers</h2>
      <input type="search" placeholder="find" aria-label="find a question" value=${wanted} onInput=${(/** @type {any} */ event) =>
        setWanted(event.target.value)} />
      <form method="dialog"><button>Close</button></form></div>
    <div class="columns">
      <div class="menu" role="group" aria-label="Questions">
        ${list(entry ? `About ${nameText(entry.about ?? entry.name, 30)}` : "About what you open", entry ? found.filter(isAbout) : [])}
        ${list(entry ? "About other files" : "About your files", entry ? found.filter((one) => !isAbout(one)) : found)}
      </div>
      ${question && known ? html`<${Form} key=${kind} question=${question} jobs=${known.jobs} session=${session} again=${kind === again.kind ? again : {}} />`
        : html`<form class="asked"><p class="quiet">${known ? "Each is a command, a call and a function of Python, too." : "reading …"}</p></form>`}
    </div>`;
}

/** The form for one question. @param {{question: Question, jobs: any[], session: Session, again: import("./state.js").Again}} props */
function Form({ question, jobs, session, again }) {
  const { state, files } = session;
  const entries = [...state.entries.slice(0, state.at + 1).reverse(), ...state.entries.slice(state.at + 1).reverse()];
  const isOfPlan = question.inputs.some(({ isRequired, models }) => isRequired && models.some((name) => PLANS.includes(name)));
  const sorted = isOfPlan ? [...entries.filter(hasPlan), ...entries.filter((entry) => !hasPlan(entry))] : entries;
  const sources = question.inputs.map((input, k) => sourcesOf(input, k === 0, { entries: sorted, files, jobs, session }, again));
  // What a file is about is asked for; an example would answer about something else.
  const open = again.input === undefined ? -1 : question.inputs.findIndex((input, k) =>
    input.isRequired && input.name !== again.input && sources[k][0].kind === "text");
  const isExample = open < 0 && sources[0]?.[0]?.kind === "text" && question.inputs[0].example !== undefined;
  const [chosen, setChosen] = useState(() => question.inputs.map((input, k) => /** @type {Chosen} */ ({
    at: Math.max(0, k === open || (isExample && input.example !== undefined)
      ? sources[k].findIndex((source) => source.kind === (k === open ? "file" : "text")) : 0),
    text: exampleText(input, isExample ? null : sorted[0]?.problem, sorted[0]?.plan), file: null })));
  const [options, setOptions] = useState(() => Object.fromEntries(question.options.map(({ name, schema, value }) =>
    [name, again.options?.[name] ?? (name in DRAWN && schema.enum === undefined ? DRAWN[name] : value)])));
  const [wrong, setWrong] = useState(again.wrong ?? (open < 0 ? ""
    : `${question.inputs[open].name}: which one is ${nameText(again.says ?? "this", 60)} for? Choose its file.`));
  const first = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const lacks = /^\w+/.exec(wrong)?.[0];
    const field = first.current?.querySelector(lacks ? `[data-option="${lacks}"] input, [data-input="${lacks}"] select` : ".primary");
    if (field instanceof HTMLElement) field.focus({ preventScroll: true });
  }, []);
  const change = (/** @type {number} */ k, /** @type {Partial<Chosen>} */ part) =>
    setChosen((known) => known.map((one, at) => (at === k ? { ...one, ...part } : one)));
  const send = async () => {
    setWrong("");
    try {
      const request = /** @type {any} */ ({});
      for (const [k, input] of question.inputs.entries()) {
        const value = await valueFrom(input, sources[k][chosen[k].at], chosen[k], session);
        if (value !== undefined) request[input.name] = value;
      }
      for (const { name, schema, value } of question.options) {
        const given = typeof options[name] === "string" ? options[name].trim() : options[name];
        if ((name === "with_plans" && !(options.repairs || options.better || options.again)) || given === "" || textOf(given) === textOf(value)) continue;
        request.options = { ...request.options, [name]: typeof given === "string" ? valueOf(schema, given) : given };
      }
      const source = sources[0][chosen[0].at];
      const about = source.kind === "file" ? chosen[0].file?.name ?? "" : source.kind === "text" ? question.named ?? "an example" : source.says;
      if (question.named) request.options = { name: about, ...request.options };
      session.submit(question.name, request, about);
    } catch (error) {
      setWrong(/** @type {Error} */ (error).message);
    }
  };
  return html`<form class="asked" ref=${first} onSubmit=${(/** @type {Event} */ event) => { event.preventDefault(); send(); }}>
    <h3>${question.name}</h3>${paragraphs(question.help).map((text) => html`<p class="help">${coded(text)}</p>`)}
    ${question.inputs.map((input, k) => html`<div class="field" data-input=${input.name}>
      <label><span>${input.name}</span><select onChange=${(/** @type {any} */ event) => change(k, { at: Number(event.target.value) })}>
        ${sources[k].map(({ says }, at) => html`<option value=${at} selected=${at === chosen[k].at}>${nameText(says, 60)}</option>`)}</select></label>
      <textarea rows="3" spellcheck=${false} aria-label=${`${input.name}, as text`} hidden=${sources[k][chosen[k].at].kind !== "text"}
        value=${chosen[k].text} onInput=${(/** @type {any} */ event) => change(k, { text: event.target.value })}></textarea>
      <input type="file" aria-label=${`${input.name}, a file`} hidden=${sources[k][chosen[k].at].kind !== "file"} onChange=${(/** @type {any} */ event) =>
        change(k, { file: event.target.files[0] ?? null })} onClick=${(/** @type {any} */ event) => { event.target.value = ""; }} /></div>`)}
    <h4>Options</h4>
    ${question.options.map((option) => html`<${OptionField} option=${option} value=${options[option.name]}
      change=${(/** @type {any} */ value) => setOptions((known) => ({ ...known, [option.name]: value }))} />`)}
    ${wrong && html`<p class="alarm lines" role="alert">${sentenceText(wrong)}</p>`}
    <div class="row"><button class="primary">Run</button></div></form>`;
}

/**
 * The field of one option: a box, a list or a text. An unchanged option is not sent.
 * @param {{option: import("./questions.js").Option, value: any, change: (value: any) => void}} props
 */
function OptionField({ option: { name, schema, says, value: usual }, value, change }) {
  const choices = schema.enum ?? (schema.const === undefined ? null : [schema.const]);
  const field = schema.type === "boolean" ? html`<input type="checkbox" checked=${Boolean(value)}
    onChange=${(/** @type {any} */ event) => change(event.target.checked)} />`
    : choices ? html`<select onChange=${(/** @type {any} */ event) => change(event.target.value)}>
        ${!choices.includes(usual) && html`<option value="" selected=${!choices.includes(value)}>-</option>`}
        ${choices.map((/** @type {any} */ one) => html`<option value=${one} selected=${one === value}>${one}</option>`)}</select>`
      : html`<input type="text" value=${value === usual ? "" : textOf(value)} placeholder=${textOf(usual)} spellcheck=${false}
        onInput=${(/** @type {any} */ event) => change(event.target.value)} />`;
  return html`<label class="field" data-option=${name}><span>${name.replace(/_s$/, ", seconds").replaceAll("_",
    " ")}</span>${field}<small>${coded(says)}</small></label>`;
}

/** Return the paragraphs of a text, without their line breaks. @param {string} text */
export function paragraphs(text) {
  return text.split(/\n\s*\n/).map((part) => part.replace(/\s*\n\s*/g, " ").trim()).filter(Boolean);
}

/** Return a text whose parts between backticks are code elements. @param {string} text */
function coded(text) {
  return text.split(/`+/).map((part, k) => (k % 2 ? html`<code>${part}</code>` : part));
}

/** Return the value that an entry offers for an input, or undefined. @param {Input} input @param {import("./state.js").Entry} entry */
function offered({ models, name }, entry) {
  const { problem, plan, about = entry.name } = entry;
  const isPlanned = problem && Array.isArray(plan?.placements);
  if (models.includes("PlanAndProblem")) return isPlanned ? { problem, plan } : undefined;
  if (models.includes("Plan")) return isPlanned ? plan : undefined;
  if (models.includes("Problem")) return problem ? (problem.name ? problem : { ...problem, name: about }) : undefined;
  if (models.includes("OperationGraph")) return entry.graph ?? entry.request?.graph ?? undefined;
  const told = entry.answer?.value?.[name];
  return told && !Array.isArray(told) ? told : undefined;
}

/**
 * @param {Input} input @param {boolean} isFirst
 * @param {{entries: import("./state.js").Entry[], files: File[], jobs: any[], session: Session}} known
 * @param {import("./state.js").Again} again @returns {Source[]}
 */
function sourcesOf(input, isFirst, { entries, files, jobs, session }, again) {
  const { service } = session;
  /** @type {Source[]} */ const found = [];
  const seen = new Set();
  const add = (/** @type {string} */ says, /** @type {() => Promise<any>} */ get) => found.push({ says, kind: "value", get });
  if (again.input === input.name) add(again.says ?? "the file", async () => again.value);
  for (const entry of entries) {
    const value = offered(input, entry);
    const what = value?.plan ?? value?.buffers ?? value;
    if (value !== undefined && !seen.has(what)) add(entry.about ?? entry.name, async () => value);
    seen.add(what);
  }
  // What is compared is what was open before.
  if (input.name === "baseline" && found.length > 1) found.push(/** @type {Source} */ (found.shift()));
  const isApart = !found.length || again.isAlone;
  const [isPlan, isBoth] = [input.models.some((name) => PLANS.includes(name)), input.models.includes("PlanAndProblem")];
  if (isPlan || input.models.includes("Problem")) {
    const open = new Set(entries.map(({ job }) => job));
    for (const job of jobs.filter(({ id, plan_status: status }) => !open.has(id) && (!isPlan || ["optimal", "feasible"].includes(status)))) {
      add(`job ${job.name ?? job.id.slice(0, 8)}, ${new Date(job.created_at).toLocaleString()}`, async () => {
        const problem = isPlan && !isBoth ? null : await service.get(`/v1/jobs/${job.id}/problem`);
        const plan = isPlan && await service.get(`/v1/jobs/${job.id}/plan`);
        return isBoth ? { problem, plan } : isPlan ? plan : problem;
      });
    }
  }
  const ofFiles = input.takesBytes || input.models.includes("OperationGraph")
    ? files.filter((file) => file !== again.file || input.name === again.input).map((file) =>
      ({ says: file.name, kind: /** @type {"value"} */ ("value"), get: () => fileValue(input, file, session) })) : [];
  found.splice(input.takesBytes ? 0 : found.length, 0, ...ofFiles);
  const isOptional = !input.isRequired && !isFirst;
  const text = { says: input.example === undefined ? "written here" : "an example, written here", kind: /** @type {"text"} */ ("text") };
  const rest = /** @type {Source[]} */ ([text, { says: "a file…", kind: "file" }]);
  const none = /** @type {Source} */ ({ says: "none", kind: "none" });
  if (isOptional && input.models.length && isApart) return [none, ...found, ...rest];
  return isOptional && (input.name === "changes" || (!input.models.length && input.example === undefined)) ? [none, ...found, ...rest]
    : [...found, ...rest, ...(input.isRequired ? [] : [none])];
}

/** @param {Input} input @param {Source} source @param {Chosen} chosen @param {Session} session */
async function valueFrom(input, source, { text, file }, session) {
  if (source.get) return source.get();
  if (source.kind === "none") return undefined;
  if (source.kind === "file") {
    if (!file) throw new Error(`${input.name}: choose a file`);
    return fileValue(input, file, session);
  }
  if (!text.trim()) {
    if (!input.isRequired) return undefined;
    throw new Error(`${input.name}: must not be empty`);
  }
  if (!/^\s*([[{"]|-?\d+\s*$)/.test(text)) return text;
  try {
    return parsed(text);
  } catch (error) {
    throw new Error(`${input.name}: is not JSON: ${/** @type {Error} */ (error).message}`);
  }
}

/** Return the value of an input that is read from a file. @param {Input} input @param {File} file @param {Session} session */
async function fileValue(input, file, session) {
  const { models, takesBytes } = input;
  const { service } = session;
  const text = await jsonText(file);
  const value = text === null ? null : parsed(text);
  if (models.some((name) => PLANS.includes(name))) {
    const found = text === null ? await service.imported(file) : recognised(text);
    return models.includes("PlanAndProblem") && found?.problem ? { problem: found.problem, plan: found.plan } : found?.plan;
  }
  if (value !== null && (!models.includes("OperationGraph") || (await session.questions()).isMeant(input, value))) return value;
  if (models.includes("OperationGraph")) return (await service.imported(file)).graph;
  if (models.includes("Problem") && !takesBytes) return (await service.imported(file)).problem;
  if (!takesBytes) return file.text();
  return base64(await file.arrayBuffer()).join("");
}

/**
 * Return the initial text of a field: the example, or sizes near the peak of the shown problem.
 * @param {Input} input @param {any} problem @param {any} plan
 */
function exampleText({ name, example, isRequired }, problem, plan) {
  if (name === "sizes" && problem) {
    const pool = problem.pools?.[0]?.name ?? "default";
    const peak = Number(plan?.pools?.find((/** @type {any} */ one) => one.name === pool)?.used ?? plan?.peak ?? 0);
    if (peak > 0) return JSON.stringify({ [pool]: { first: Math.floor(peak * 0.5), last: Math.ceil(peak * 1.25), step: Math.max(1, Math.ceil(peak / 8)) } });
  }
  if (problem && !isRequired) return "";
  return typeof example === "string" ? example : example === undefined ? "" : JSON.stringify(example);
}
