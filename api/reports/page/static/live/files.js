// @ts-check
// Files that people open or drop: problems and plans are read here, all others by the service.

import { recognised } from "../from_json.js";

const READ_HERE = 256 * 2 ** 20;

/**
 * What a file holds; throws a Refusal or an Error with sentences.
 * @param {File} file
 * @param {import("./service.js").PlanService} service
 * @returns {Promise<{name: string, problem: any, plan: any, names?: any, notes: string[]}>}
 */
export async function opened(file, service) {
  if (file.size === 0) throw new Error(`${file.name}: must not be empty`);
  const name = file.name.replace(/\.json$/i, "");
  if (file.size <= READ_HERE) {
    const start = new Uint8Array(await file.slice(0, 64).arrayBuffer());
    const first = start.find((byte) => byte > 32 && byte !== 0xef && byte !== 0xbb && byte !== 0xbf);
    const found = first === 0x7b ? recognised(await file.text()) : null;
    if (found) return { name: found.problem?.name ?? name, problem: found.problem, plan: found.plan, notes: [] };
  }
  const read = await service.imported(file.name, file);
  const notes = read.warnings.map((/** @type {any} */ one) => `${one.rule}: ${one.message}`);
  if (read.violations.length) notes.push(...read.violations.map((/** @type {string} */ text) => `the plan inside: ${text}`));
  return { name: read.problem.name ?? name, problem: read.problem, plan: read.plan, names: read.names, notes };
}

/**
 * Bytes as people write them: 256KiB, 1.5 MiB, 64K, 4096; null for nothing. Throws an Error.
 * @param {string} text
 * @returns {number | null}
 */
export function sizeOf(text) {
  if (!text.trim()) return null;
  const found = /^([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(i?b)?$/i.exec(text.trim());
  if (!found) throw new Error(`capacity: must be bytes such as 256KiB or 65536, got ${JSON.stringify(text)}`);
  const power = ["", "k", "m", "g", "t"].indexOf(found[2].toLowerCase());
  const base = (found[3] ?? "").toLowerCase() === "b" && power ? 1000 : 1024;
  const bytes = Number(found[1]) * base ** power;
  if (!Number.isInteger(bytes)) throw new Error(`capacity: must be whole bytes, got ${JSON.stringify(text)}`);
  return bytes;
}
