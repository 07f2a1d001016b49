// @ts-check
// What is seen, as a file: PNG and SVG of the picture, CSV of the buffers.

import { save } from "./dom.js";
import { GUTTER } from "./overlay.js";
import { nameText, sizeText } from "./text.js";

/** @typedef {import("./picture.js").Picture} Picture */

const SVG_AT_MOST = 20_000;

/** The lifetimes in sight, the largest first. @param {Picture} picture */
export function seenRows(picture) {
  const { left, right, top, bottom } = picture.rectangles;
  const { frame } = picture.camera;
  const seen = [];
  for (let k = 0; k < left.length; k++) {
    if (left[k] < frame.right && right[k] > frame.left && top[k] < frame.bottom && bottom[k] > frame.top) seen.push(k);
  }
  const area = (/** @type {number} */ k) => (right[k] - left[k]) * (bottom[k] - top[k]);
  return seen.sort((a, b) => area(b) - area(a) || a - b);
}

/** @param {Picture} picture @param {string} name */
export function savePng(picture, name) {
  const canvas = document.createElement("canvas");
  canvas.width = picture.over.width;
  canvas.height = picture.over.height;
  const c = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  c.fillStyle = picture.style("paper");
  c.fillRect(0, 0, canvas.width, canvas.height);
  c.drawImage(picture.base, GUTTER.left * (picture.ratio ?? 1), 0);
  c.drawImage(picture.over, 0, 0);
  canvas.toBlob((blob) => blob && save(blob, `${name}.png`), "image/png");
}

/** @param {Picture} picture @param {string} name */
export function saveSvg(picture, name) {
  save(new Blob([svgOf(picture)], { type: "image/svg+xml" }), `${name}.svg`);
}

/** The picture as SVG, without marks; of more than some thousand rectangles, the largest. @param {Picture} picture */
export function svgOf(picture) {
  const { plan, rectangles, inks, lanes } = picture;
  const width = picture.width ?? 1;
  const height = picture.height ?? 1;
  const { frame } = picture.camera;
  const x = (/** @type {number} */ at) => GUTTER.left + Math.max(0, Math.min(1, (at - frame.left) / (frame.right - frame.left))) * width;
  const y = (/** @type {number} */ at) => Math.max(0, Math.min(1, (at - frame.top) / (frame.bottom - frame.top))) * height;
  const rows = seenRows(picture).slice(0, SVG_AT_MOST);
  const parts = rows.map((k) => {
    const i = plan.lifeBuffer[picture.row[k]];
    const [x0, x1, y0, y1] = [x(rectangles.left[k]), x(rectangles.right[k]), y(rectangles.top[k]), y(rectangles.bottom[k])];
    const ink = 3 * rectangles.colour[k];
    const fill = inks ? `rgb(${inks[ink]},${inks[ink + 1]},${inks[ink + 2]})` : "grey";
    const label = x1 - x0 > 40 && y1 - y0 > 13
      ? `<text x="${f((x0 + x1) / 2)}" y="${f((y0 + y1) / 2 + 4)}" text-anchor="middle">${escaped(plan.name(i, Math.floor((x1 - x0) / 7)))}</text>` : "";
    return `<rect x="${f(x0)}" y="${f(y0)}" width="${f(x1 - x0)}" height="${f(y1 - y0)}" fill="${fill}"><title>${escaped(plan.name(i, 200))}</title></rect>${label}`;
  });
  for (const lane of lanes.all) {
    const pool = plan.pools[lane.pool];
    for (const [word, bytes, colour] of [["capacity", pool.size, picture.style("capacity")], ["bound", Number(plan.verdict.pools[lane.pool]?.bound ?? NaN), picture.style("bound")]]) {
      if (typeof bytes !== "number" || !(bytes <= lane.bytes)) continue;
      const at = f(y(lanes.y(lane.pool, bytes)));
      parts.push(`<path d="M${GUTTER.left} ${at}H${f(GUTTER.left + width)}" stroke="${colour}"/><text x="${f(GUTTER.left - 6)}" y="${at}" text-anchor="end">${word} ${sizeText(bytes)}</text>`);
    }
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${f(GUTTER.left + width)}" height="${f(height + 20)}" font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="${picture.style("paper")}"/>${parts.join("\n")}</svg>\n`;
}

/** @param {Picture} picture @param {string} name */
export function saveCsv(picture, name) {
  save(new Blob([csvOf(picture)], { type: "text/csv" }), `${name}.csv`);
}

/**
 * The placed buffers as memplan's table of a plan, which it reads back; of a part of the picture, those in sight.
 * @param {Picture} picture
 */
export function csvOf(picture) {
  const { plan } = picture;
  const { left, right, top, bottom } = picture.camera.frame;
  const isWhole = left <= 0 && right >= 1 && top <= 0 && bottom >= 1;
  const seen = isWhole ? plan.ids.map((_, i) => i) : [...new Set(seenRows(picture).map((k) => plan.lifeBuffer[picture.row[k]]))];
  const names = ["id", "lower", "upper", "size", ...(plan.alignment ? ["alignment"] : []), "offset", ...(plan.pools.length > 1 ? ["pool"] : [])];
  const lines = seen.filter((i) => plan.pool[i] >= 0).sort((a, b) => a - b).map((i) => {
    const isTimed = !plan.timeless.has(i);
    const cells = [plan.ids[i], isTimed ? plan.timeText(plan.birth(i)) : "", isTimed ? plan.timeText(plan.death(i)) : "", plan.sizeOf(i),
      ...(plan.alignment ? [plan.alignment[i]] : []), plan.offsetOf(i), ...(plan.pools.length > 1 ? [plan.pools[plan.pool[i]].name] : [])];
    return cells.map(cell).join(",");
  });
  return [names.join(","), ...lines, ""].join("\n");
}

/** A cell that no table program takes for a formula. @param {unknown} value */
function cell(value) {
  const text = String(value);
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) && !/^-?\d+$/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** @param {number} value */
function f(value) {
  return value.toFixed(1).replace(/\.0$/, "");
}

/** @param {string} text */
function escaped(text) {
  return nameText(text, 400).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
