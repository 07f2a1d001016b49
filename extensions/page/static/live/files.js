// @ts-check
// Files that people open or drop: problems and plans are read here, what other questions are about goes to their forms,
// and all else is read by the service.

import { jsonText, parsed, recognised } from "../from_json.js";

const READ_HERE = 256 * 2 ** 20;

/**
 * Return the contents of a file. Throws a Refusal or an Error with sentences. `asks` is the question for a `value` that is not a problem.
 * @param {File} file @param {import("./service.js").PlanService} service @param {import("./questions.js").Questions} questions
 * @returns {Promise<{name: string, notes: string[], problem?: any, plan?: any, names?: any, read?: string, graph?: any, asks?: {kind: string,
 * input: string}, value?: any}>}
 */
export async function opened(file, service, questions) {
  if (file.size === 0) throw new Error(`${file.name}: must not be empty`);
  const name = file.name.replace(/\.json$/i, "");
  const text = file.size <= READ_HERE ? await jsonText(file) : null;
  const value = text === null ? null : await Promise.resolve(text).then(parsed).catch(() => null);
  // What is no JSON the service is to read, which says what is wrong.
  const found = value && text !== null ? recognised(text) : null;
  if (found) return { name: found.problem?.name ?? name, ...found, notes: [] };
  const taker = value && !Array.isArray(value) ? questions.takers(value).find(({ kind }) => kind !== "liveness") : null;
  if (taker) return { name: value.name ?? name, asks: taker, value, notes: [] };
  const read = await service.imported(file);
  const notes = [...read.warnings.map((/** @type {any} */ one) => `${one.rule}: ${one.message}`),
    ...read.violations.map((/** @type {string} */ one) => `the plan inside: ${one}`)];
  return { name: read.problem.name ?? name, problem: read.problem, plan: read.plan, names: read.names, graph: read.graph, read: read.job, notes };
}
