// @ts-check
// What is seen, as a file: PNG and SVG of the picture, CSV of the buffers.

import { save } from "./dom.js";
import { legendTexts } from "./legend.js";
import { GUTTER } from "./overlay.js";
import { SvgContext, escaped, f } from "./svg_context.js";

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

/** The space above and below a picture that is kept, for its title and its legend, and beside its last time. */
const FRAME = { top: 30, bottom: 26, right: 14 };

/** What stands above and below a picture that is kept. @param {Picture} picture @param {any} c @param {string} title */
function framed(picture, c, title) {
  const height = (picture.height ?? 1) + GUTTER.bottom;
  c.fillStyle = picture.style("ink");
  c.textBaseline = "alphabetic";
  c.textAlign = "left";
  c.font = "600 11px system-ui, sans-serif";
  c.fillText(title, GUTTER.left, -10);
  c.font = "11px system-ui, sans-serif";
  let x = GUTTER.left;
  for (const { text, ink } of legendTexts(picture)) {
    const width = c.measureText(text).width + (ink ? 16 : 0);
    if (x + width > GUTTER.left + (picture.width ?? 1)) break;
    if (ink) {
      c.fillStyle = ink;
      c.fillRect(x, height + 6, 11, 11);
    }
    c.fillStyle = picture.style("soft");
    c.fillText(text, x + (ink ? 16 : 0), height + 15);
    x += width + 16;
  }
}

/** @param {Picture} picture @param {string} name @param {string} title */
export function savePng(picture, name, title) {
  const canvas = document.createElement("canvas");
  const ratio = picture.ratio ?? 1;
  canvas.width = picture.over.width + FRAME.right * ratio;
  canvas.height = picture.over.height + (FRAME.top + FRAME.bottom) * ratio;
  const c = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  c.fillStyle = picture.style("paper");
  c.fillRect(0, 0, canvas.width, canvas.height);
  c.drawImage(picture.base, GUTTER.left * ratio, FRAME.top * ratio);
  c.drawImage(picture.over, 0, FRAME.top * ratio);
  c.setTransform(ratio, 0, 0, ratio, 0, FRAME.top * ratio);
  framed(picture, c, title);
  canvas.toBlob((blob) => blob && save(blob, `${name}.png`), "image/png");
}

/** @param {Picture} picture @param {string} name @param {string} title */
export function saveSvg(picture, name, title) {
  save(new Blob([svgOf(picture, title)], { type: "image/svg+xml" }), `${name}.svg`);
}

/** The picture as SVG, in the colours of the page; of more than some thousand rectangles, the largest. @param {Picture} picture @param {string} title */
export function svgOf(picture, title) {
  const { plan, rectangles, inks } = picture;
  const width = picture.width ?? 1;
  const height = picture.height ?? 1;
  const { frame } = picture.camera;
  const x = (/** @type {number} */ at) => GUTTER.left + Math.max(0, Math.min(1, (at - frame.left) / (frame.right - frame.left))) * width;
  const y = (/** @type {number} */ at) => Math.max(0, Math.min(1, (at - frame.top) / (frame.bottom - frame.top))) * height;
  const parts = seenRows(picture).slice(0, SVG_AT_MOST).map((k) => {
    const [x0, x1, y0, y1] = [x(rectangles.left[k]), x(rectangles.right[k]), y(rectangles.top[k]), y(rectangles.bottom[k])];
    const ink = 3 * rectangles.colour[k];
    const fill = inks ? `rgb(${inks[ink]},${inks[ink + 1]},${inks[ink + 2]})` : "grey";
    return `<rect x="${f(x0)}" y="${f(y0)}" width="${f(x1 - x0)}" height="${f(y1 - y0)}" fill="${fill}"><title>${escaped(plan.name(plan.lifeBuffer[picture.row[k]], 200))}</title></rect>`;
  });
  const over = new SvgContext();
  picture.drawOver(/** @type {any} */ (over), picture.labelled ?? []);
  framed(picture, over, title);
  const size = [GUTTER.left + width + FRAME.right, height + GUTTER.bottom + FRAME.top + FRAME.bottom].map(f);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${size[0]}" height="${size[1]}" font-family="system-ui, sans-serif" font-size="11"><title>${escaped(title)}</title><rect width="100%" height="100%" fill="${picture.style("paper")}"/><g transform="translate(0 ${FRAME.top})">${[...parts, ...over.parts].join("\n")}</g></svg>\n`;
}

/** @param {Picture} picture @param {string} name */
export function saveCsv(picture, name) {
  save(new Blob([csvOf(picture)], { type: "text/csv" }), `${name}.csv`);
}

/** The placed buffers as memplan's table of a plan, which it reads back; of a part of the picture, those in sight. @param {Picture} picture */
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
