// @ts-check
// The page document: a title and views as JSON, packed; and a file page with one in it. `file_page.py` makes the same.

import { parsed, written } from "./from_json.js";

/** @typedef {{title: string, views: any[]}} PageDocument  each view has a `kind`, which says the rest */

const OPENING = '<script type="application/octet-stream" id="document">';

/** Return the document in the text of a page. @param {string} text  base64 @returns {Promise<PageDocument>} */
export async function unpack(text) {
  const direct = /** @type {any} */ (Uint8Array).fromBase64;
  const bytes = direct ? direct.call(Uint8Array, text.trim()) : Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const found = parsed(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text());
  found.views.forEach(opened);
  return found;
}

/** Convert a view's columns, and those of views inside it, back to rows; `packed_rows.py` made the columns. @param {any} view */
export function opened(view) {
  if (view?.problem?.buffers?.columns) view.problem.buffers = rowsOf(view.problem.buffers);
  if (view?.plan?.placements?.columns) view.plan.placements = rowsOf(view.plan.placements, view.problem.buffers);
  for (const one of [view?.before, view?.after, view?.view, ...(view?.points ?? []).map((/** @type {any} */ point) => point.view)]) if (one) opened(one);
}

/** @param {{count: number, columns: Record<string, {one?: any, values?: any[], steps?: number[]}>}} packed @param {any[]} [buffers]  whose ids the rows have */
function rowsOf({ count, columns }, buffers) {
  const filled = Object.entries(columns).map(([name, { one, values, steps }]) => {
    let sum = 0;
    return { name, one, values: steps ? steps.map((step) => (sum += step)) : values };
  });
  return Array.from({ length: count }, (_, k) => {
    const row = /** @type {any} */ (buffers ? { id: buffers[k].id } : {});
    for (const { name, one, values } of filled) {
      const value = values ? values[k] : one;
      if (value !== null) row[name] = value;
    }
    return row;
  });
}

/** Return bytes as base64, encoded in pieces. @param {ArrayBuffer} data */
export function base64(data) {
  const bytes = new Uint8Array(data);
  const parts = [];
  for (let at = 0; at < bytes.length; at += 32_766) parts.push(btoa(String.fromCharCode(...bytes.subarray(at, at + 32_766))));
  return parts;
}

/** Return a file page that contains a document. @param {string} blank  the file page without views @param {PageDocument} found @returns {Promise<Blob>} */
export async function pageOf(blank, found) {
  const stream = new Blob([written(found)]).stream().pipeThrough(new CompressionStream("deflate"));
  const parts = base64(await new Response(stream).arrayBuffer());
  const name = found.title.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const [before, rest] = blank.split(OPENING);
  return new Blob([before.replace(/<title>[^<]*/, () => `<title>${name}`), OPENING, ...parts, rest.slice(rest.indexOf("</script>"))], { type: "text/html" });
}
