// @ts-check
// Plans for all values of symbols: expressions, and the plan at some values, as the programs of `memplan shapes` say it.

/** @typedef {Record<string, bigint>} Values */

/** Return the value of an expression such as `64*((48*b*n*n + 63)//64)`. @param {string} text @param {Values} at @returns {bigint} */
export function valueAt(text, at) {
  const signs = text.match(/\d+|[\p{L}_][\p{L}\p{N}_.]*|\/\/|\S/gu) ?? [];
  let k = 0;
  /** @returns {bigint} */
  const operand = () => {
    const sign = signs[k++] ?? "";
    if (/^\d/.test(sign)) return BigInt(sign);
    if (sign === "-") return -operand();
    if (Object.hasOwn(at, sign)) return at[sign];
    if (sign !== "(") throw new Error(`formula: cannot be computed here, for ${JSON.stringify(sign)}`);
    const inner = sum();
    k += 1;
    return inner;
  };
  /** @returns {bigint} */
  const product = () => {
    let found = operand();
    while (signs[k] === "*" || signs[k] === "//") {
      const isProduct = signs[k++] === "*";
      const by = operand();
      found = isProduct ? found * by : found / by - (found % by < 0n ? 1n : 0n);
    }
    return found;
  };
  /** @returns {bigint} */
  function sum() {
    let found = product();
    while (signs[k] === "+" || signs[k] === "-") found += signs[k++] === "+" ? product() : -product();
    return found;
  }
  return sum();
}

/** Return the symbol values in a text such as `b=7, n=300`. Throws an Error with a sentence. @param {string} text @param {any} symbols @returns {Values} */
export function valuesIn(text, symbols) {
  const given = Object.fromEntries(text.split(",").filter((part) => part.trim()).map((part) => part.split("=").map((side) => side.trim())));
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(symbols, name));
  if (unknown !== undefined) throw new Error(`values: must be of ${Object.keys(symbols).join(", ")}, got ${unknown}`);
  return Object.fromEntries(Object.entries(symbols).map(([name, { min, max, multiple_of: step = 1 }]) => {
    const value = given[name] ?? "";
    const isRight = /^\d{1,18}$/.test(value) && Number(value) >= min && (max === null || Number(value) <= max) && Number(value) % step === 0;
    if (!isRight) throw new Error(`${name}: must be ${min} to ${max ?? "any"}${step > 1 ? `, a multiple of ${step}` : ""}, got ${JSON.stringify(value)}`);
    return [name, BigInt(value)];
  }));
}

/** Return the largest of the values, or 0 if there are none. @param {bigint[]} values */
function largest(values) {
  return values.reduce((most, value) => (value > most ? value : most), 0n);
}

/**
 * Return the problem and plan at given values, by the program with the lowest peak there, and the lower bound in bytes.
 * @param {any} answer  of `memplan shapes` @param {Values} at
 */
export function plannedAt({ ids, lifetimes, alignment, sizes, size_of: sizeOf, programs, bound }, at) {
  const size = sizes.map((/** @type {string} */ text) => valueAt(text, at));
  const plans = programs.map((/** @type {any} */ { values, which, last }) => {
    /** @type {bigint[]} */ const found = [];
    const most = (/** @type {[number, number][]} */ terms) => largest(terms.map(([value, k]) => found[value] + size[k]));
    for (const terms of values) found.push(most(terms));
    return { peak: most(last), offsets: which.map((/** @type {number} */ k) => found[k]) };
  });
  const { peak, offsets } = plans.reduce((/** @type {any} */ best, /** @type {any} */ one) => (one.peak < best.peak ? one : best));
  const number = (/** @type {bigint} */ value) => (value <= Number.MAX_SAFE_INTEGER ? Number(value) : value);
  const buffers = ids.map((/** @type {any} */ id, /** @type {number} */ b) =>
    ({ id, size: number(size[sizeOf[b]]), start: lifetimes[b][0], end: lifetimes[b][1], alignment }));
  const placements = ids.map((/** @type {any} */ id, /** @type {number} */ b) => ({ id, pool: "default", offset: number(offsets[b]) }));
  const least = largest(bound.map((/** @type {string} */ text) => valueAt(text, at)));
  return { problem: { buffers }, plan: { status: peak === least ? "optimal" : "feasible", peak: number(peak), placements }, peak, bound: least };
}
