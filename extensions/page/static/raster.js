// @ts-check
// Rectangles into pixels. Those of a pixel and more are filled; thinner ones are summed: a pixel shows how much of it
// they cover. So a frame costs one pass over the rectangles in sight and one over the pixels, whatever their number.

/**
 * Rectangles as rows, sorted by `left`, in picture coordinates: x grows with time, y downwards; `colour` is a class of the palette.
 * @typedef {{left: Float64Array, right: Float64Array, top: Float64Array, bottom: Float64Array, colour: Uint8Array, blocks: Blocks}} Rectangles
 */

/** @typedef {{left: number, right: number, top: number, bottom: number}} Frame  the part of the world that is seen */
/**
 * @typedef {{cells: Float32Array, has: Uint8Array, part: number, parts: number}} Sums  coverage, red, green, blue of cells; the parts of lines that have some
 */
/**
 * @typedef {{data: Uint32Array, width: number, height: number, step: number, across: number, down: number, lines: Sums, columns: Sums,
 *   open: Float32Array}} Target
 */
/** @typedef {{left: Float64Array, right: Float64Array, top: Float64Array, bottom: Float64Array}} Blocks */

const BLOCK = 1024;
const EDGE_FROM = 4;
/** Sums of columns are processed in parts of 2^PART cells of a line, because most parts of a line are empty. */
const PART = 4;

/** Return the extents of each block of rows, so that invisible blocks are skipped. @param {Omit<Rectangles, "blocks" | "colour">} rows @returns {Blocks} */
export function blocksOf(rows) {
  const count = Math.ceil(rows.left.length / BLOCK);
  const blocks = {
    left: new Float64Array(count).fill(Infinity), right: new Float64Array(count).fill(-Infinity),
    top: new Float64Array(count).fill(Infinity), bottom: new Float64Array(count).fill(-Infinity),
  };
  for (let row = 0; row < rows.left.length; row++) {
    const b = (row / BLOCK) | 0;
    if (rows.left[row] < blocks.left[b]) blocks.left[b] = rows.left[row];
    if (rows.right[row] > blocks.right[b]) blocks.right[b] = rows.right[row];
    if (rows.top[row] < blocks.top[b]) blocks.top[b] = rows.top[row];
    if (rows.bottom[row] > blocks.bottom[b]) blocks.bottom[b] = rows.bottom[row];
  }
  return blocks;
}

/**
 * Return a target for painting with `width` by `height` pixels; thin rectangles are summed in cells of `step` by `step` pixels.
 * @param {Uint32Array} data @param {number} width @param {number} height @param {number} step @returns {Target}
 */
export function targetOf(data, width, height, step) {
  const [across, down] = [Math.ceil(width / step), Math.ceil(height / step)];
  const sums = (/** @type {number} */ part) => {
    const parts = (across >> part) + 1;
    return { cells: new Float32Array(4 * (across + 1) * (down + 1)), has: new Uint8Array(parts * (down + 1)), part, parts };
  };
  return { data, width, height, step, across, down, lines: sums(31), columns: sums(PART), open: new Float32Array(4 * across) };
}

/**
 * Paint the rectangles of a frame; return the rows that are large enough for a label, and how many were summed.
 * @param {Target} target @param {Rectangles} rows @param {Frame} frame @param {Uint8Array} inks  red, green, blue of each class
 * @param {[number, number, number]} paper @param {(width: number, height: number) => boolean} isLabelled  by the cells of a rectangle
 * @returns {{labelled: number[], summed: number, filled: number}}
 */
export function paint(target, rows, frame, inks, paper, isLabelled) {
  const { data, step, across, down, lines, columns } = target;
  const { left, right, top, bottom, colour, blocks } = rows;
  const width = target.width / step;
  const height = target.height / step;
  const scaleX = width / (frame.right - frame.left);
  const scaleY = height / (frame.bottom - frame.top);
  const large = [];
  const labelled = [];
  let summed = 0;
  data.fill(pixel(paper[0], paper[1], paper[2]));
  for (let b = 0; b < blocks.left.length; b++) {
    if (blocks.left[b] >= frame.right) break;
    if (blocks.right[b] <= frame.left || blocks.bottom[b] <= frame.top || blocks.top[b] >= frame.bottom) continue;
    const end = Math.min(left.length, (b + 1) * BLOCK);
    for (let row = b * BLOCK; row < end; row++) {
      let x0 = (left[row] - frame.left) * scaleX;
      let x1 = (right[row] - frame.left) * scaleX;
      let y0 = (top[row] - frame.top) * scaleY;
      let y1 = (bottom[row] - frame.top) * scaleY;
      if (x1 <= 0 || x0 >= width || y1 <= 0 || y0 >= height) continue;
      const isThin = x1 - x0 < 1;
      const isFlat = y1 - y0 < 1;
      if (!isThin && !isFlat) {
        large.push(row);
        if (isLabelled(x1 - x0, y1 - y0)) labelled.push(row);
        continue;
      }
      summed += 1;
      if (x0 < 0) x0 = 0;
      if (x1 > width) x1 = width;
      if (y0 < 0) y0 = 0;
      if (y1 > height) y1 = height;
      const ink = 3 * colour[row];
      // What a rectangle covers begins at one cell and ends at another: sums along the longer side give all between.
      if (isThin && !isFlat) {
        const column = Math.min(across - 1, x0 | 0);
        add(columns, across, column, Math.round(y0), x1 - x0, inks, ink);
        add(columns, across, column, Math.round(y1), x0 - x1, inks, ink);
      } else {
        const line = Math.min(down - 1, y0 | 0);
        const share = isThin ? (x1 - x0) * (y1 - y0) : y1 - y0;
        const from = Math.min(across - 1, x0 | 0);
        add(lines, across, from, line, share, inks, ink);
        add(lines, across, isThin ? from + 1 : Math.round(x1), line, -share, inks, ink);
      }
    }
  }
  if (summed) shade(target, paper);
  for (const row of large) fill(target, rows, row, frame, scaleX * step, scaleY * step, inks);
  return { labelled, summed, filled: large.length };
}

/** @param {Sums} sums @param {number} across @param {number} x @param {number} y @param {number} share @param {Uint8Array} inks @param {number} ink */
function add({ cells, has, part, parts }, across, x, y, share, inks, ink) {
  const at = 4 * (y * (across + 1) + x);
  has[y * parts + (x >> part)] = 1;
  cells[at] += share;
  cells[at + 1] += share * inks[ink];
  cells[at + 2] += share * inks[ink + 1];
  cells[at + 3] += share * inks[ink + 2];
}

/**
 * Convert the sums of thin rectangles to pixels, and clear the sums. Lines without additions and without open columns are skipped.
 * @param {Target} target @param {[number, number, number]} paper
 */
function shade({ data, width, height, step, across, down, lines, columns, open }, paper) {
  const last = columns.has.lastIndexOf(1) / columns.parts;
  open.fill(0);
  for (let y = 0; y <= down; y++) {
    const from = 4 * y * (across + 1);
    for (let p = 0; p < columns.parts; p++) if (columns.has[y * columns.parts + p]) takeUp(open, columns.cells, from, p << (PART + 2));
    if (y < down && (lines.has[y] || y < last)) shadeLine(lines.cells, from, open, data.subarray(y * step * width, (y * step + 1) * width), step, paper);
    for (let copy = 1; copy < step && y * step + copy < height; copy++) data.copyWithin((y * step + copy) * width, y * step * width, (y * step + 1) * width);
    if (lines.has[y]) lines.cells.fill(0, from, from + 4 * (across + 1));
  }
  columns.has.fill(0);
  lines.has.fill(0);
}

/**
 * Add a part of a line of differences to the open columns, and clear it.
 * @param {Float32Array} open @param {Float32Array} cells @param {number} line @param {number} from
 */
function takeUp(open, cells, line, from) {
  const end = Math.min(open.length, from + (4 << PART));
  for (let k = from; k < end; k++) open[k] += cells[line + k];
  cells.fill(0, line + from, line + end);
}

/**
 * @param {Float32Array} cells @param {number} at  where the line's cells begin @param {Float32Array} open  what columns add @param {Uint32Array} line  pixels
 * @param {number} step @param {[number, number, number]} paper
 */
function shadeLine(cells, at, open, line, step, paper) {
  let c = 0, r = 0, g = 0, b = 0;
  for (let k = 0, x = 0; k < open.length; k += 4, at += 4, x += step) {
    c += cells[at];
    r += cells[at + 1];
    g += cells[at + 2];
    b += cells[at + 3];
    let share = c + open[k];
    if (share < 0.004) continue;
    const scale = 1 / Math.max(1, share);
    if (share > 1) share = 1;
    const rest = 1 - share;
    line[x] = pixel((r + open[k + 1]) * scale + paper[0] * rest, (g + open[k + 2]) * scale + paper[1] * rest, (b + open[k + 3]) * scale + paper[2] * rest);
    for (let copy = 1; copy < step && x + copy < line.length; copy++) line[x + copy] = line[x];
  }
}

/**
 * Fill one rectangle, with a darker edge if there is room for one.
 * @param {Target} target @param {Rectangles} rows @param {number} row @param {Frame} frame @param {number} scaleX @param {number} scaleY
 * @param {Uint8Array} inks
 */
function fill({ data, width, height }, rows, row, frame, scaleX, scaleY, inks) {
  const x0 = Math.max(0, Math.round((rows.left[row] - frame.left) * scaleX));
  const x1 = Math.min(width, Math.round((rows.right[row] - frame.left) * scaleX));
  const y0 = Math.max(0, Math.round((rows.top[row] - frame.top) * scaleY));
  const y1 = Math.min(height, Math.round((rows.bottom[row] - frame.top) * scaleY));
  const ink = 3 * rows.colour[row];
  const body = pixel(inks[ink], inks[ink + 1], inks[ink + 2]);
  const hasEdge = x1 - x0 >= EDGE_FROM && y1 - y0 >= EDGE_FROM;
  const edge = hasEdge ? pixel(inks[ink] * 0.72, inks[ink + 1] * 0.72, inks[ink + 2] * 0.72) : body;
  for (let y = y0; y < y1; y++) {
    const line = y * width;
    if (hasEdge && (y === y0 || y === y1 - 1)) {
      data.fill(edge, line + x0, line + x1);
      continue;
    }
    if (x1 - x0 > 16) data.fill(body, line + x0, line + x1);
    else for (let x = x0; x < x1; x++) data[line + x] = body;
    if (hasEdge) data[line + x0] = data[line + x1 - 1] = edge;
  }
}

/** @param {number} r @param {number} g @param {number} b */
function pixel(r, g, b) {
  return (0xff000000 | ((b & 255) << 16) | ((g & 255) << 8) | (r & 255)) >>> 0;
}
