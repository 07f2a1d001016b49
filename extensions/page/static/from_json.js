// @ts-check
// Problems and plans in JSON, as the wire format has them: told apart, with integers past 2^53.

import { readCsv } from "./from_csv.js";
import { isSchedule, planOfSchedule } from "./schedule_plan.js";

/** @typedef {{problem: any, plan: any, names?: any}} Found  what a file holds; null for what it does not */

/** Maps a field that only one kind of file has to the command for such files. @type {Record<string, string>} */
const COMMANDS = { ops: "order FILE or memplan cascade FILE", memories: "schedule GRAPH --target FILE", symbols: "shapes FILE",
  functions: "plan FILE", models: "plan FILE" };

/**
 * Return the problem, the plan, or both (a baseline, a schedule) in a JSON text; null for other values. Throws a SyntaxError for text that is not JSON.
 * @param {string} text @returns {Found | null}
 */
export function recognised(text) {
  const value = parsed(text);
  if (!isObject(value)) return null;
  if (isSchedule(value)) return planOfSchedule(value);
  const problem = isProblem(value) ? value : isProblem(value.problem) ? value.problem : null;
  const plan = isPlan(value) ? value : isPlan(value.plan) ? value.plan : null;
  return problem || plan ? { problem, plan } : null;
}

/**
 * Return the contents of a JSON or CSV file. Throws an Error that explains how to use other files.
 * @param {string} text @param {string} name @returns {Found}
 */
export function readText(text, name) {
  const table = /^\s*[[{]/.test(text) ? null : readCsv(text);
  if (table) return table;
  const commands = "memplan plan FILE --format page draws other files, memplan serve reads them here";
  let found;
  try {
    found = recognised(text);
  } catch (error) {
    if (!/^\s*[[{]/.test(text)) throw new Error(`${name}: is no JSON and no table of buffers; ${commands}`);
    throw new Error(`${name}: is not JSON: ${/** @type {Error} */ (error).message}`);
  }
  if (found) return found;
  const [, command] = Object.entries(COMMANDS).find(([key]) => key in (parsed(text) ?? {})) ?? [];
  throw new Error(command ? `${name}: is for memplan ${command}, whose -o FILE.html draws it; memplan serve opens it here`
    : `${name}: must be a problem, a plan or a schedule; ${commands}`);
}

/** Return the text of a file that starts like JSON; null for other files. @param {Blob} file @returns {Promise<string | null>} */
export async function jsonText(file) {
  return /^\s*[[{]/.test(await file.slice(0, 200).text()) ? file.text() : null;
}

/** @param {string} text JSON whose integers past 2^53 become BigInt, where the browser can tell them */
export function parsed(text) {
  if (!/[^.\d]\d{16}/.test(text)) return JSON.parse(text);
  const exactly = (/** @type {string} */ _key, /** @type {any} */ value, /** @type {any} */ context) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "")
      ? BigInt(context.source)
      : value;
  return JSON.parse(text, /** @type {any} */ (exactly));
}

/** @param {any} value as JSON, where BigInt is written as a number */
export function written(value) {
  const raw = /** @type {any} */ (JSON).rawJSON;
  return JSON.stringify(value, (_key, entry) => {
    if (typeof entry !== "bigint") return entry;
    return raw ? raw(String(entry)) : Number(entry);
  });
}

/** @param {any} value */
function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** @param {any} value */
function isProblem(value) {
  return isObject(value) && Array.isArray(value.buffers) && value.buffers.every(isObject) && !value.symbols;
}

/** @param {any} value */
function isPlan(value) {
  return isObject(value) && (Array.isArray(value.placements) || (typeof value.status === "string" && "peak" in value));
}
