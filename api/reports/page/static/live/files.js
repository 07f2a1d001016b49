// @ts-check
// Files that people open or drop: problems and plans are read here, all others by the service.

import { recognised } from "../from_json.js";

const READ_HERE = 256 * 2 ** 20;

/** What a file holds; throws a Refusal or an Error with sentences. @param {File} file @param {import("./service.js").PlanService} service @returns {Promise<{name: string, problem: any, plan: any, schedule?: any, names?: any, read?: string, notes: string[]}>} */
export async function opened(file, service) {
  if (file.size === 0) throw new Error(`${file.name}: must not be empty`);
  const name = file.name.replace(/\.json$/i, "");
  if (file.size <= READ_HERE) {
    const start = new Uint8Array(await file.slice(0, 64).arrayBuffer());
    const first = start.find((byte) => byte > 32 && byte !== 0xef && byte !== 0xbb && byte !== 0xbf);
    // What is no JSON the service is to read, which says what is wrong.
    const found = first === 0x7b ? await file.text().then(recognised).catch(() => null) : null;
    if (found) return { name: found.problem?.name ?? name, problem: found.problem, plan: found.plan, schedule: found.schedule, notes: [] };
  }
  const read = await service.importedByJob(file);
  const notes = [...read.warnings.map((/** @type {any} */ one) => `${one.rule}: ${one.message}`), ...read.violations.map((/** @type {string} */ text) => `the plan inside: ${text}`)];
  return { name: read.problem.name ?? name, problem: read.problem, plan: read.plan, names: read.names, read: read.job, notes };
}
