// @ts-check
// Numbers and names as people read them.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** Return bytes with a unit, as the command writes them: `1.436 MiB`. @param {number} bytes @returns {string} */
export function sizeText(bytes) {
  const size = Math.abs(bytes);
  let unit = 0;
  while (unit < UNITS.length - 1 && 2048 * size >= 2047 * 1024 ** (unit + 1)) unit += 1;
  const value = size / 1024 ** unit;
  const scale = 10 ** Math.max(0, 3 - Math.floor(Math.log10(value || 1)));
  // The command rounds halves to even; so must this, or a peak has two sizes.
  const half = (value * scale) % 2 === 0.5 ? (value * scale - 0.5) / scale : null;
  return `${bytes < 0 ? "−" : ""}${value < 1000 ? half ?? Number(value.toPrecision(4)) : countText(half ?? Math.round(value))} ${UNITS[unit]}`;
}

/**
 * Return a number with thousands separators and at most three decimals; a browser's own formatter takes 40 ms to load.
 * @param {number | bigint} value @returns {string}
 */
export function countText(value) {
  const [whole, part] = String(typeof value === "bigint" || Math.abs(value) >= 1e15 ? value : Math.round(1000 * value) / 1000).split(".");
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (part ? `.${part}` : "");
}

/** Return bytes in full, followed by a shorter form with a unit if there is one. @param {number | bigint} bytes @returns {string} */
export function bytesText(bytes) {
  const plain = Number(bytes);
  return plain < 1024 ? `${countText(bytes)} B` : `${countText(bytes)} B (${sizeText(plain)})`;
}

/** Return a number unchanged, or the integer in a text if numbers are too imprecise. @param {number | bigint | string} value @returns {number | bigint} */
export function exactly(value) {
  return typeof value === "string" ? BigInt(value) : value;
}

/** Return a fraction as a percentage. @param {number} part @returns {string} */
export function percentText(part) {
  return `${(100 * part).toFixed(part !== 0 && Math.abs(part) < 0.1 ? 2 : 1)} %`;
}

/** Return sentences of the service, made safe like a name but with their line breaks. @param {string} text @param {number} [most] */
export function sentenceText(text, most = 1000) {
  return text.split("\n").map((line) => nameText(line, most)).join("\n");
}

/** Return a count with its noun: `1 buffer`, `2 buffers`. @param {number} count @param {string} one @param {string} [many] */
export function counted(count, one, many = `${one}s`) {
  return `${countText(count)} ${count === 1 ? one : many}`;
}

/**
 * Return a name that fits into a line: control and direction characters are made visible, and the middle is cut.
 * @param {any} name @param {number} [most] @returns {string}
 */
export function nameText(name, most = 80) {
  const text = String(name).replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");
  const points = text.length > most ? Array.from(text.slice(0, 4 * most)) : null;
  if (!points || (points.length <= most && text.length <= 4 * most)) return text;
  if (most < 4) return most > 1 ? `\u2026${points.slice(1 - most).join("")}` : "";
  const half = Math.floor((most - 1) / 2);
  return `${points.slice(0, half).join("")}\u2026${Array.from(text.slice(-4 * half)).slice(-half).join("")}`;
}
