// @ts-check
// The one reader of sizes: the texts that the command takes, and no others.

/** @type {Record<string, bigint>} */
const UNITS = {
  "": 1n, B: 1n, kB: 10n ** 3n, MB: 10n ** 6n, GB: 10n ** 9n, TB: 10n ** 12n, KiB: 2n ** 10n, MiB: 2n ** 20n, GiB: 2n ** 30n, TiB: 2n ** 40n,
  PiB: 2n ** 50n, EiB: 2n ** 60n, K: 2n ** 10n, M: 2n ** 20n, G: 2n ** 30n,
};

/** Return the bytes of a size that may have thousands separators, as the page writes it; rounded down. @param {string} text @param {string} [name] */
export function readAbout(text, name) {
  return readSize(text.replace(/,(?=\d{3}(?!\d))/g, ""), name, true);
}

/**
 * Return the bytes of a size such as `4096`, `1MiB`, `1.5 KiB`, `64kB` or `0x10000`. Throws an Error with a sentence.
 * @param {string} text @param {string} [name]  of the field @param {boolean} [isRounded] @returns {number | bigint}
 */
export function readSize(text, name = "size", isRounded = false) {
  const said = JSON.stringify(text.slice(0, 40));
  const given = text.trim();
  let bytes;
  if (/^0x[0-9a-f]{1,30}$/i.test(given)) bytes = BigInt(given);
  else {
    const found = /^([0-9]{1,30})(?:\.([0-9]{1,30}))? ?([A-Za-z]*)$/.exec(given);
    if (!found || !(found[3] in UNITS)) throw new Error(`${name}: must be a size such as 4096, 64kB or 1MiB, got ${said}`);
    const [, whole, part = "", unit] = found;
    const scaled = BigInt(whole + part) * UNITS[unit];
    const scale = 10n ** BigInt(part.length);
    if (scaled % scale && !isRounded) throw new Error(`${name}: must be a whole number of bytes, got ${said}`);
    bytes = scaled / scale;
  }
  if (bytes >= 2n ** 63n) throw new Error(`${name}: must be less than 2^63 bytes, got ${said}`);
  return bytes <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(bytes) : bytes;
}
