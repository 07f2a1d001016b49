// @ts-check
// The page document: bytes in, a header with columns in their places out. `document.py` packs it.

/** @typedef {Uint8Array | Uint16Array | Uint32Array | Int32Array | Float64Array | BigInt64Array} Column */

/**
 * @typedef {Object} PageDocument
 * @property {string} title
 * @property {any[]} views  each has a `kind`, which says the rest
 */

const MAGIC = "memplan-page/1\n\n";
const ARRAYS = {
  u1: Uint8Array,
  u2: Uint16Array,
  u4: Uint32Array,
  i4: Int32Array,
  f8: Float64Array,
  i8: BigInt64Array,
};

/** The bytes that a text of base64 stands for. @param {string} text @returns {Uint8Array} */
export function fromBase64(text) {
  const direct = /** @type {any} */ (Uint8Array).fromBase64;
  if (direct) return direct.call(Uint8Array, text);
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = characters.charCodeAt(i);
  return bytes;
}

/** The document in packed bytes; throws an Error for bytes that are none. @param {Uint8Array} packed @returns {Promise<PageDocument>} */
export async function unpack(packed) {
  const inflated = new Blob([/** @type {any} */ (packed)]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(inflated).arrayBuffer();
  const text = new TextDecoder();
  const magic = MAGIC.length;
  if (buffer.byteLength < magic + 4 || text.decode(new Uint8Array(buffer, 0, magic)) !== MAGIC) {
    throw new Error("document: must begin with memplan-page/1");
  }
  const length = new DataView(buffer).getUint32(magic, true);
  const header = JSON.parse(text.decode(new Uint8Array(buffer, magic + 4, length)));
  let at = aligned(magic + 4 + length);
  const columns = header.columns.map((/** @type {[keyof typeof ARRAYS | "json", number, boolean]} */ [kind, count, isDelta]) => {
    const width = kind === "json" ? 1 : ARRAYS[kind].BYTES_PER_ELEMENT;
    const from = at;
    at = aligned(at + count * width);
    if (kind === "json") return JSON.parse(text.decode(new Uint8Array(buffer, from, count)));
    const values = new ARRAYS[kind](buffer, from, count);
    return isDelta ? summed(/** @type {any} */ (values)) : values;
  });
  return { title: header.title, views: header.views.map((/** @type {any} */ view) => filled(view, columns)) };
}

/** @param {number} offset */
function aligned(offset) {
  return Math.ceil(offset / 8) * 8;
}

/** @param {Uint8Array} differences @returns {Float64Array} */
function summed(differences) {
  const values = new Float64Array(differences.length);
  let sum = 0;
  for (let i = 0; i < values.length; i++) values[i] = sum += Number(differences[i]);
  return values;
}

/** @param {any} value @param {any[]} columns @returns {any} */
function filled(value, columns) {
  if (Array.isArray(value)) return value.map((entry) => filled(entry, columns));
  if (value === null || typeof value !== "object") return value;
  const keys = Object.keys(value);
  if (keys.length === 1 && keys[0] === "column") return columns[value.column];
  return Object.fromEntries(keys.map((key) => [key, filled(value[key], columns)]));
}
