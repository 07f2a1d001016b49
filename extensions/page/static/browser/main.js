// @ts-check
// The page that plans in the browser: a list of buffers in CSV or JSON, planned by the core as WebAssembly, and its picture.

import { fill, h } from "../dom.js";
import { droppable } from "../drop.js";
import { readText } from "../from_json.js";
import { writeLink } from "../link.js";
import { show } from "../main.js";
import { readSize } from "../sizes.js";
import { bytesText, nameText } from "../text.js";
import { planOf, refuseColumns, rowsOf } from "./rows.js";

const EXAMPLE = "id,lower,upper,size,alignment\ninput,0,2,64,1\nconv1,1,3,96,16\nconv2,2,4,96,16\nskip,1,5,40,8\noutput,3,5,32,1\n";
const MOST_SECONDS = 60;

/** Return the compiled core, which is stored in the page. @returns {Promise<WebAssembly.Module>} */
async function unpackedCore() {
  const packed = /** @type {HTMLElement} */ (document.getElementById("core"));
  const bytes = Uint8Array.from(atob(packed.textContent ?? ""), (sign) => sign.charCodeAt(0));
  return WebAssembly.compile(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
}

/** Return the core's answer for the rows; its instance is then freed. @param {WebAssembly.Module} core @param {import("./rows.js").Rows} given */
async function answerOf(core, given) {
  /** @type {Record<string, (...words: any[]) => number>} */
  const system = Object.fromEntries(WebAssembly.Module.imports(core).map(({ name }) => [name, () => 52 /* not supported */]));
  system.clock_time_get = (_clock, _precision, at) => {
    new DataView(memory.buffer).setBigInt64(at, BigInt(Math.round(performance.now() * 1e6)), true);
    return 0;
  };
  const { exports } = await WebAssembly.instantiate(core, { wasi_snapshot_preview1: system });
  const { memory, malloc, plan_rows: plan, memplan_rule_text: text, _initialize: begin } = /** @type {any} */ (exports);
  begin();
  const count = 9 + given.ids.length;
  const [from, to] = [malloc(8 * given.rows.length), malloc(8 * count)].map((at) => at >>> 0);
  if (!from || !to) throw new Error("memory: the browser has too little for this problem; memplan plan FILE has more");
  new BigInt64Array(memory.buffer, from, given.rows.length).set(given.rows);
  plan(from, to);
  return planOf(given, new BigInt64Array(memory.buffer, to, count), (rule) => {
    const bytes = new Uint8Array(memory.buffer, text(rule) >>> 0);
    return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
  });
}

const page = /** @type {HTMLElement} */ (document.getElementById("page"));
const core = unpackedCore();
core.catch(() => {}); // said where a plan is asked for
const input = (/** @type {Record<string, any>} */ attributes) => /** @type {HTMLInputElement} */ (h("input", attributes));
const list = /** @type {HTMLTextAreaElement} */ (h("textarea", { rows: 9, cols: 90, spellcheck: "false", "aria-label": "buffers in CSV or JSON",
  value: EXAMPLE, oninput: () => { title = "buffers"; } }));
const capacity = input({ type: "text", size: 10, placeholder: "as given", spellcheck: "false" });
const seconds = input({ type: "number", min: 0.1, max: MOST_SECONDS, step: "any", value: 5 });
const chooser = input({ type: "file", accept: ".csv,.json", "aria-label": "a file of buffers", onchange: () => take([...(chooser.files ?? [])]) });
const said = h("p", { role: "status" });
const given = h("details", { open: true }, h("summary", {}, "Buffers in CSV or JSON"), list);
const stage = h("div");
stage.style.display = "contents"; // the picture takes the height that is left
let title = "buffers";

/** Show why there is no plan, and remove the previous plan. @param {any} error */
function refuse(error) {
  fill(stage);
  fill(said, h("span", { class: "alarm" }, nameText(error.message, 1000)));
}

/** Plan the list of buffers, and show the plan. */
async function plan() {
  fill(said, "planning …");
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const limit = Number(seconds.value);
  if (!(limit >= 0.1 && limit <= MOST_SECONDS)) throw new Error(`seconds: must be from 0.1 to ${MOST_SECONDS}, got ${seconds.value || "nothing"}`);
  const { problem, plan: old } = readText(list.value, title);
  if (!problem || old) throw new Error(`${title}: must be a problem without a plan; pins are the "offset" of buffers in JSON`);
  if (!/^\s*[[{]/.test(list.value)) refuseColumns(list.value);
  const size = capacity.value.trim() && readSize(capacity.value, "capacity");
  if (size !== "") problem.pools = [].concat(problem.pools ?? [{}]).map((/** @type {any} */ pool) => ({ ...pool, size }));
  const answer = await answerOf(await core, rowsOf(problem, limit));
  const { status, peak, lower_bound: bound } = answer.plan;
  writeLink({ plan: null, sel: null, vis: null, time: null, view: null });
  const name = problem.name ?? title;
  show(stage, { title: name, views: [{ kind: "plan", title: name, problem, ...answer }] });
  fill(said, `${status}: ${peak === null ? answer.plan.explanation?.message ?? "no plan was found within the time limit"
    : `peak ${bytesText(peak)}`}, lower bound ${bytesText(bound)}`);
}

/** @param {File[]} files */
async function take(files) {
  chooser.value = "";
  if (files.length !== 1) refuse(new Error(`files: must be one, got ${files.length}`));
  else await files[0].text().then((text) => {
    [title, list.value] = [files[0].name, text];
    return plan();
  }).catch(refuse);
}

const form = h("form", { class: "bar", onsubmit: (/** @type {Event} */ event) => {
  event.preventDefault();
  plan().catch(refuse);
} }, given, h("label", {}, "file", chooser), h("label", {}, "capacity", capacity), h("label", {}, "seconds at most", seconds),
h("button", { type: "submit" }, "Plan"), said);
fill(page, form, stage);
document.getElementById("frame")?.remove();
droppable(document.body, take);
