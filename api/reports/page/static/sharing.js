// @ts-check
// A page as a file: views packed as `document.py` packs them, put into the file page without views that the service has.

const MAGIC = "memplan-page/1\n\n";
const KINDS = /** @type {[any, string][]} */ ([[Uint8Array, "u1"], [Uint16Array, "u2"], [Uint32Array, "u4"], [Int32Array, "i4"], [Float64Array, "f8"],
  [BigInt64Array, "i8"]]);

/** The file page of views. @param {string} blank  the file page without views @param {string} title @param {any[]} views @returns {Promise<Blob>} */
export async function pageOf(blank, title, views) {
  const [before, rest] = blank.split('<script type="application/octet-stream" id="document">');
  const name = title.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const after = rest.slice(rest.indexOf("</script>"));
  return new Blob([before.replace(/<title>[^<]*/, () => `<title>${name}`), '<script type="application/octet-stream" id="document">',
    base64(await packed(title, views)), after], { type: "text/html" });
}

/** A page document in packed bytes. @param {string} title @param {any[]} views */
async function packed(title, views) {
  const columns = /** @type {[string, number, boolean][]} */ ([]);
  const parts = /** @type {Uint8Array[]} */ ([]);
  const add = (/** @type {string} */ kind, /** @type {number} */ length, /** @type {Uint8Array} */ bytes) => {
    parts.push(aligned(bytes));
    return { column: columns.push([kind, length, false]) - 1 };
  };
  /** @type {(value: any) => any} */
  const put = (value) => {
    if (value === null || typeof value !== "object") return typeof value === "bigint" ? String(value) : value;
    if (Array.isArray(value)) return value.map(put);
    const kind = KINDS.find(([type]) => value instanceof type)?.[1];
    if (kind) return add(kind, value.length, new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
    return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined && typeof one !== "function").map(([key, one]) => [key, put(one)]));
  };
  const header = new TextEncoder().encode(JSON.stringify({ title, views: views.map(put), columns }));
  const head = new Uint8Array(MAGIC.length + 4 + header.length);
  head.set(new TextEncoder().encode(MAGIC));
  new DataView(head.buffer).setUint32(MAGIC.length, header.length, true);
  head.set(header, MAGIC.length + 4);
  const stream = new Blob(/** @type {any} */ ([aligned(head), ...parts])).stream().pipeThrough(new CompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Bytes up to a multiple of eight. @param {Uint8Array} bytes */
function aligned(bytes) {
  const found = new Uint8Array(Math.ceil(bytes.length / 8) * 8);
  found.set(bytes);
  return found;
}

/** @param {Uint8Array} bytes */
function base64(bytes) {
  const parts = [];
  for (let at = 0; at < bytes.length; at += 32_766) parts.push(btoa(String.fromCharCode(...bytes.subarray(at, at + 32_766))));
  return parts.join("");
}
