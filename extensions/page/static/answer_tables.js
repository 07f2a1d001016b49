// @ts-check
// Answers as tables: terms with their values, lists of rows, names of buffers that select them, and plans that open.

import { h, table } from "./dom.js";
import { counted, countText, nameText, sentenceText, sizeText } from "./text.js";

/**
 * @typedef {{select: (id: any) => void, open: (problem: any, plan: any, title: string) => void, problem: any, drawn: Set<string>}} Actions
 *   `drawn` are the parts that a picture shows
 */

const ROWS = 200;
const NAMES = 24;
/** Fields of an answer that are shown elsewhere: as a picture, as a file, or in a sentence. */
const LEFT_OUT = new Set(["problem", "planned", "plan", "places", "regions", "ranges", "pieces", "offsets", "slots", "text", "sha256", "files", "curves",
  "difference", "graph", "names", "options", "version", "problem_hash", "ids", "lifetimes", "sizes", "size_of", "programs", "stairs", "stairs_of_any_plan",
  "sources", "order", "findings", "events", "exhausted", "tensors", "operations", "subgraphs", "granularities", "traversal_orders", "tensors_to_retain",
  "subgraph_latencies", "subgraph_traffic", "link_busy", "written_over", "conventions", "claims", "wall_time_s", "witness", "name",
  "combinations"]);
/** Matches the names of fields whose values are bytes (or times, if their names say so). */
const BYTES = new RegExp("^(?!.*_of_time)(.*_)?(bytes|peaks?|size|used|live|bound|capacity|needed|gain|traffic|idle|reserved|budget|grow|shrunk|dropped|"
  + "best|own|memplan|saved|more|missing)(_|$)");
const BUFFERS = new Set(["id", "buffer", "buffers", "first", "second", "decides", "alive", "highest", "moved", "added", "removed"]);
const SENTENCES = new Set(["message", "sentence", "why", "reason"]);

/** Return the elements that show an answer. @param {any} value @param {Actions} actions @param {string} [title] @param {number} [depth] @returns {Node[]} */
export function tablesOf(value, actions, title = "", depth = 0) {
  if (depth > 3 || value === null || typeof value !== "object") return [];
  if ("decided_by" in value) return peakOf(value, actions);
  if ("irreducible" in value) return [h("p", { class: "said" }, sentenceText(value.message)), h("p", {}, cellOf("buffers", value.buffers, actions))];
  if ("most_changes" in value) return [h("p", { class: "said" }, repairsText(value)), ...rowsOf(value.repairs, actions, "repairs"),
    ...tablesOf(value.of_operations, actions, "other orders", depth + 1)];
  const isTimed = "latency" in value; // then its bound is one of time
  const head = title ? [h(depth > 1 ? "h4" : "h3", {}, wordsOf(title))] : [];
  const entries = Object.entries(value).filter(([key, one]) => !LEFT_OUT.has(key) && !actions.drawn.has(key) && one !== null
    && !(Array.isArray(one) && !one.length));
  const said = entries.filter(([key]) => SENTENCES.has(key)).map(([, text]) => h("p", { class: "said" }, sentenceText(String(text))));
  const plain = entries.filter(([key, one]) => !SENTENCES.has(key) && isPlain(one));
  const terms = plain.length ? [h("dl", { class: "terms" }, ...plain
    .map(([key, one]) => h("div", {}, h("dt", {}, wordsOf(key)),
      h("dd", {}, cellOf(isTimed && key === "lower_bound" ? "bound_of_time" : key, one, actions)))))] : [];
  const rest = entries.filter(([key, one]) => !SENTENCES.has(key) && !isPlain(one)).flatMap(([key, one]) =>
    (Array.isArray(one) ? rowsOf(one, actions, key) : isTable(one) ? rowsOf(Object.entries(one).map(([name, row]) => ({ of: name, ...row })), actions, key)
      : tablesOf(one, actions, key, depth + 1)));
  const found = [...said, ...terms, ...rest];
  return found.length ? [...head, ...found] : [];
}

/** Return true for a value that one table cell can show. @param {any} value */
function isPlain(value) {
  return value === null || typeof value !== "object" || (Array.isArray(value) && value.every((one) => one === null || typeof one !== "object"));
}

/** Return true for an object whose entries are rows of one table: all have the same fields with plain values. @param {any} value */
function isTable(value) {
  const rows = Object.values(value);
  const fields = (/** @type {any} */ row) => Object.keys(row ?? {}).join();
  return rows.length > 0 && rows.every((row) => row !== null && typeof row === "object" && !Array.isArray(row) && Object.values(row).every(isPlain)
    && fields(row) === fields(rows[0]));
}

/** Return a table of objects; a button opens the plan in a row. @param {any[]} rows @param {Actions} actions @param {string} title @returns {Node[]} */
function rowsOf(rows, actions, title) {
  const objects = rows.filter((row) => row !== null && typeof row === "object" && !Array.isArray(row));
  if (!objects.length) return [];
  if ("decided_by" in objects[0]) return objects.flatMap((row) => peakOf(row, actions));
  if (title === "repairs" && "changes" in objects[0]) return rowsOf(objects.map(({ changes, cost_bytes: cost, peak_after: peak, problem, plan }) =>
    ({ change: changes.map(repairText).join(" and "), bytes_moved: cost, peak, problem, plan })), actions, "ways to make it fit");
  const names = [...new Set(objects.flatMap((row) => Object.keys(row)))].filter((name) => !LEFT_OUT.has(name) && !(title === "plans" && name === "placements")
    && objects.some((row) => row[name] !== null && row[name] !== undefined && !(Array.isArray(row[name]) && !row[name].length)));
  const planned = (/** @type {any} */ row, plan = row.plan ?? (title === "plans" ? row : null)) =>
    row.planned ?? (plan?.placements?.length ? { problem: row.problem ?? actions.problem, plan } : null);
  const hasPlans = objects.some((row) => planned(row)?.problem);
  const cells = (/** @type {any} */ row, /** @type {number} */ k) => [...names.map((name) => cellOf(name, row[name], actions)),
    ...(hasPlans ? [planned(row)?.problem ? h("button", { type: "button",
      onclick: () => actions.open(planned(row).problem, planned(row).plan, `${wordsOf(title)} ${k + 1}`) }, "open") : ""] : [])];
  const head = wordsOf(title);
  return [h("h4", {}, `${head[0].toUpperCase()}${head.slice(1)}: ${countText(rows.length)}`),
    table([...names.map(wordsOf), ...(hasPlans ? ["plan"] : [])], objects.slice(0, ROWS).map(cells)),
    ...(objects.length > ROWS ? [h("p", { class: "quiet" }, `and ${countText(objects.length - ROWS)} more`)] : [])];
}

/**
 * Return a sentence about a pool's peak, and a table of the peaks without each deciding buffer.
 * @param {any} peak @param {Actions} actions @returns {Node[]}
 */
function peakOf({ name, sentence, live, without }, actions) {
  const rows = (without ?? []).map((/** @type {any} */ [id, left]) =>
    [cellOf("id", id, actions), sizeText(Number(left)), sizeText(Number(live) - Number(left))]);
  return [h("p", { class: "said" }, h("b", {}, nameText(name, 40)), `: ${sentenceText(String(sentence))}`),
    ...(rows.length ? [table(["without", "alive at most", "less"], rows)] : [])];
}

/** Return the command's sentence about the number of changes in the best repairs. @param {any} found @returns {string} */
export function repairsText({ repairs, fewest, proved, most_changes: most }) {
  if (!repairs.length) return `None of at most ${counted(most, "change")} ${proved ? "is enough." : "was found to be enough."}`;
  return `It fits with ${counted(fewest, "change")}${proved ? ": no fewer would do." : "; perhaps with fewer."}`;
}

/** Return the command's words for one change of a repair. @param {any} change @returns {string} */
export function repairText({ kind, buffers, pool, steps, value }) {
  const [name, other] = buffers.map((/** @type {any} */ id) => nameText(id, 40));
  return /** @type {Record<string, string>} */ ({
    "in-place": `make ${other} in place of ${name}`, pool: `move ${name} to ${pool === null || pool === undefined ? "another memory" : nameText(pool, 40)}`,
    spill: `keep ${name} elsewhere between its first and its last step`, unpin: `unpin ${name}`, alignment: `align ${name} to ${value}`,
    "earlier-end": `end ${name} ${counted(steps ?? 0, "step")} earlier`, "later-start": `start ${name} ${counted(steps ?? 0, "step")} later`,
  })[kind] ?? wordsOf(kind);
}

/** @param {string} name */
function wordsOf(name) {
  return name.replaceAll("_", " ");
}

/** @param {string} key @param {any} value @param {Actions} actions @returns {any} */
function cellOf(key, value, actions) {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (BUFFERS.has(key) && !(typeof value === "number" && key !== "id" && key !== "buffer")) {
    const ids = [value].flat();
    const button = (/** @type {any} */ id) => h("button", { type: "button", class: "link", onclick: () => actions.select(id) }, nameText(id, 40));
    return h("span", {}, ...ids.slice(0, NAMES).flatMap((id) => [button(id), " "]), ids.length > NAMES && `and ${countText(ids.length - NAMES)} more`);
  }
  if (typeof value === "number" || typeof value === "bigint") {
    if (/ratio|gap|busy/.test(key)) return String(Number(Number(value).toPrecision(4)));
    return BYTES.test(key) ? sizeText(Number(value)) : countText(value);
  }
  if (Array.isArray(value)) {
    // Two numbers are the least and the most that something is worth.
    if (value.length === 2 && value.every((one) => typeof one === "number") && BYTES.test(key)) return value[0] === value[1] ? sizeText(value[0])
      : `${sizeText(value[0])} to ${sizeText(value[1])}`;
    return isPlain(value) ? nameText(value.slice(0, NAMES).map((one) => String(one)).join(", "), 200) : value.map((one) => textOf(one)).join("; ");
  }
  return typeof value === "object" ? textOf(value) : nameText(String(value), 300);
}

/** Return the values of an object as one line of text. @param {any} value @returns {string} */
function textOf(value) {
  if (value === null || typeof value !== "object") return String(value ?? "");
  if (Array.isArray(value)) return value.map(textOf).join(": ");
  return nameText(Object.entries(value).filter(([, one]) => one !== null && one !== 0 && !(Array.isArray(one) && !one.length)).map(([key, one]) =>
    `${wordsOf(key)} ${isPlain(one) ? [one].flat().join(", ") : textOf(one)}`).join(", "), 300);
}
