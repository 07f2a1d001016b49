// @ts-check
// What is seen, as a file: PNG and SVG of the picture, CSV of the buffers.

import { h, save } from "./dom.js";
import { written } from "./from_json.js";
import { legendTexts } from "./legend.js";
import { Overlay } from "./overlay.js";
import { GUTTER } from "./pencil.js";
import { svg } from "./svg.js";
import { isLabelled } from "./picture.js";
import { SvgContext, escaped, f } from "./svg_context.js";
import { style } from "./theme.js";

/** @typedef {import("./picture.js").Picture} Picture */

const SVG_AT_MOST = 20_000;

/** Return the visible rectangles, largest first. @param {Picture} picture @param {any} context */
function seen(picture, context) {
  const overlay = new Overlay(context, picture, /** @type {any} */ ({}));
  const found = [];
  const { buffer } = picture.plan.taken;
  for (let row = 0; row < buffer.length; row++) {
    const box = picture.lanes.isDrawn(row) ? overlay.rowBox(row, 0) : null;
    if (box && box.width > 0 && box.height > 0) found.push({ ...box, row, i: buffer[row] });
  }
  return found.sort((a, b) => b.width * b.height - a.width * a.height || a.row - b.row);
}

/** The space in a saved picture above it (title), below it (legend) and right of it (last time). */
const FRAME = { top: 30, bottom: 58, right: 14 };

/** Draw the title above and the legend below a saved picture. @param {Picture} picture @param {any} c @param {string} title */
function framed(picture, c, title) {
  let y = (picture.height ?? 1) + GUTTER.bottom + 15;
  c.fillStyle = picture.style("ink");
  c.textBaseline = "alphabetic";
  c.textAlign = "left";
  c.font = "600 11px system-ui, sans-serif";
  c.fillText(title, GUTTER.left, -10);
  c.font = "11px system-ui, sans-serif";
  let x = GUTTER.left;
  for (const { text, ink } of legendTexts(picture)) {
    const width = c.measureText(text).width + (ink ? 16 : 0);
    if (x > GUTTER.left && x + width > GUTTER.left + (picture.width ?? 1)) [x, y] = [GUTTER.left, y + 16];
    if (ink) {
      c.fillStyle = ink;
      c.fillRect(x, y - 9, 11, 11);
    }
    c.fillStyle = picture.style("soft");
    c.fillText(text, x + (ink ? 16 : 0), y);
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
  canvas.toBlob((blob) => blob && save(blob, name, "png"), "image/png");
}

/** Return buttons that save an SVG drawing in its state when they are pressed. @param {() => any} drawing @param {string} title */
export function savers(drawing, title) {
  return /** @type {const} */ (["png", "svg"]).map((kind) => h("button", { type: "button", title: `save the picture as ${kind.toUpperCase()}`,
    onclick: () => saveDrawing(drawing(), title, kind) }, kind.toUpperCase()));
}

/** The style properties of a drawing's parts that a saved file must state itself. */
const STYLED = ["fill", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "paint-order", "font-family", "font-size", "font-weight"];

/** Save an SVG drawing unchanged, or as PNG at twice its size. @param {SVGElement} drawing @param {string} name @param {"png" | "svg"} kind */
function saveDrawing(drawing, name, kind) {
  const copy = /** @type {SVGElement} */ (drawing.cloneNode(true));
  const copies = copy.querySelectorAll("*");
  drawing.querySelectorAll("*").forEach((part, k) => {
    const found = getComputedStyle(part);
    for (const each of STYLED) copies[k].setAttribute(each, found.getPropertyValue(each));
  });
  const [width, height] = ["width", "height"].map((side) => Number(drawing.getAttribute(side)));
  copy.prepend(svg("rect", { width, height, fill: style("paper") }));
  const blob = new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
  if (kind === "svg") return save(blob, name, kind);
  const image = new Image();
  image.onload = () => {
    const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", { width: 2 * width, height: 2 * height }));
    const c = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    c.drawImage(image, 0, 0, 2 * width, 2 * height);
    canvas.toBlob((png) => png && save(png, name, kind), "image/png");
  };
  image.src = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
}

/** Return the picture as SVG in the page's colours, with at most some thousand rectangles: the largest. @param {Picture} picture @param {string} title */
export function svgOf(picture, title) {
  const width = picture.width ?? 1;
  const height = picture.height ?? 1;
  const over = new SvgContext();
  const boxes = seen(picture, over).slice(0, SVG_AT_MOST);
  const parts = boxes.map((box) =>
    `<rect x="${f(box.x)}" y="${f(box.y)}" width="${f(box.width)}" height="${f(box.height)}"
      fill="rgb(${picture.ink(box.i)})" stroke="${picture.style("paper")}" stroke-width="0.5"><title>${escaped(picture.plan.name(box.i, 200))}</title></rect>`);
  picture.drawOver(/** @type {any} */ (over), boxes.filter((box) => isLabelled(box.width, box.height)).map(({ row }) => row));
  framed(picture, over, title);
  const size = [GUTTER.left + width + FRAME.right, height + GUTTER.bottom + FRAME.top + FRAME.bottom].map(f);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${size[0]}" height="${size[1]}" font-family="system-ui, sans-serif"
    font-size="11"><title>${escaped(title)}</title>
<rect width="100%" height="100%" fill="${picture.style("paper")}"/>
<g transform="translate(0 ${FRAME.top})">${[...parts, ...over.parts].join("\n")}</g></svg>\n`;
}

/**
 * Return the buffers and their placements as a table that memplan can read; of a zoomed picture, only the visible buffers.
 * @param {Picture} picture
 */
export function csvOf(picture) {
  const { plan } = picture;
  const { isWhole } = picture.camera;
  const inSight = isWhole ? plan.ids.map((_, i) => i) : [...new Set(seen(picture, new SvgContext()).map(({ i }) => i))].sort((a, b) => a - b);
  const head = isWhole && plan.rest(-1) !== "{}" ? [{ rest: plan.rest(-1) }] : [];
  const rows = [...head, ...inSight.map((i) => rowOf(plan, i))];
  const names = ["id", "lower", "upper", "size", "alignment", "gaps", "alias_of", "alias_offset", "rest", "placed", "pool"];
  const used = names.filter((name, k) => k < 4 || k > 8 || rows.some((/** @type {any} */ row) => row[name] !== undefined));
  return [used.join(","), ...rows.map((/** @type {any} */ row) => used.map((name) => cell(row[name] ?? "")).join(",")), ""].join("\n");
}

/**
 * Return a buffer's row of the table; the column `rest` has its other fields as JSON.
 * @param {import("./plan_model.js").PlanModel} plan @param {number} i
 */
function rowOf(plan, i) {
  const lives = plan.timeless.has(i) ? [] : plan.lifetimes(i);
  const root = plan.isAlias(i) ? plan.ids[plan.root[i]] : undefined;
  const rest = plan.rest(i);
  const more = { ...(typeof plan.ids[i] === "string" ? {} : { id: plan.ids[i] }),
    ...(root === undefined || typeof root === "string" ? {} : { alias_of: root }) };
  const text = Object.keys(more).length ? written(more).slice(0, -1) + (rest === "{}" ? "}" : `,${rest.slice(1)}`) : rest;
  return {
    id: plan.ids[i], lower: lives.length ? plan.timeText(plan.lives.start[lives[0]]) : undefined,
      upper: lives.length ? plan.timeText(plan.lives.end[lives[lives.length - 1]]) : undefined,
    size: plan.sizeOf(i), alignment: plan.rows[i].alignment > 1 ? plan.rows[i].alignment : undefined,
    gaps: lives.length > 1 ? lives.slice(1).map((row, k) => `${plan.timeText(plan.lives.end[lives[k]])}-${plan.timeText(plan.lives.start[row])}`).join(" ")
      : undefined,
    alias_of: typeof root === "string" ? root : undefined, alias_offset: root === undefined ? undefined : plan.distance.get(i) || undefined,
    rest: text === "{}" ? undefined : text, ...(plan.pool[i] < 0 ? {} : { placed: plan.offsetOf(i), pool: plan.pools[plan.pool[i]].name }),
  };
}

/** Return a cell text that table programs do not interpret as a formula. @param {unknown} value */
function cell(value) {
  const text = String(value);
  const safe = typeof value === "string" && /^'*[=+\-@\t\r]/.test(text) && !/^-?\d+$/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
