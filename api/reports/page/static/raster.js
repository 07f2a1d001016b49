// @ts-check
// Rectangles into pixels. Those of a pixel and more are filled; thinner ones are summed: a pixel shows how much of it
// they cover. So a frame costs one pass over the rectangles in sight and one over the pixels, whatever their number.

/**
 * Rectangles by rows, sorted by `left`, in world coordinates: x grows with time, y downwards.
 * @typedef {Object} Rectangles
 * @property {Float64Array} left
 * @property {Float64Array} right
 * @property {Float64Array} top
 * @property {Float64Array} bottom
 * @property {Uint8Array} colour  a class of the palette
 * @property {Blocks} blocks
 */

/** @typedef {{left: number, right: number, top: number, bottom: number}} Frame  the part of the world that is seen */
/** @typedef {{data: Uint32Array, width: number, height: number, sums: Float32Array, columns: Float32Array}} Target */
/** @typedef {{left: Float64Array, right: Float64Array, top: Float64Array, bottom: Float64Array}} Blocks */

const BLOCK = 1024;
const EDGE_FROM = 4;

/** The extents of every so many rows, so that what is out of sight is passed over. @param {Omit<Rectangles, "blocks" | "colour">} rows @returns {Blocks} */
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

/** A target of so many pixels. @param {Uint32Array} data @param {number} width @param {number} height @returns {Target} */
export function targetOf(data, width, height) {
  const cells = 4 * (width + 1) * (height + 1);
  return { data, width, height, sums: new Float32Array(cells), columns: new Float32Array(cells) };
}

/**
 * Paint the rectangles of a frame; return the rows that are large enough for a label, and how many were summed.
 * @param {Target} target
 * @param {Rectangles} rows
 * @param {Frame} frame
 * @param {Uint8Array} inks  red, green, blue of each class
 * @param {[number, number, number]} paper
 * @param {{width: number, height: number}} label  the least pixels of a rectangle with a label
 * @returns {{labelled: number[], summed: number, filled: number}}
 */
export function paint(target, rows, frame, inks, paper, label) {
  const { data, width, height, sums, columns } = target;
  const { left, right, top, bottom, colour, blocks } = rows;
  const scaleX = width / (frame.right - frame.left);
  const scaleY = height / (frame.bottom - frame.top);
  const large = [];
  const labelled = [];
  const stride = width + 1;
  let summed = 0;
  sums.fill(0);
  columns.fill(0);
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
        if (x1 - x0 >= label.width && y1 - y0 >= label.height) labelled.push(row);
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
        const column = 4 * (Math.min(width - 1, x0 | 0) * (height + 1));
        const share = x1 - x0;
        add(columns, column + 4 * Math.round(y0), share, inks, ink);
        add(columns, column + 4 * Math.round(y1), -share, inks, ink);
      } else {
        const line = 4 * (Math.min(height - 1, y0 | 0) * stride);
        const share = isThin ? (x1 - x0) * (y1 - y0) : y1 - y0;
        const from = Math.min(width - 1, x0 | 0);
        add(sums, line + 4 * from, share, inks, ink);
        add(sums, line + 4 * (isThin ? from + 1 : Math.round(x1)), -share, inks, ink);
      }
    }
  }
  if (summed) shade(target, paper);
  for (const row of large) fill(target, rows, row, frame, scaleX, scaleY, inks);
  return { labelled, summed, filled: large.length };
}

/** @param {Float32Array} cells @param {number} at @param {number} share @param {Uint8Array} inks @param {number} ink */
function add(cells, at, share, inks, ink) {
  cells[at] += share;
  cells[at + 1] += share * inks[ink];
  cells[at + 2] += share * inks[ink + 1];
  cells[at + 3] += share * inks[ink + 2];
}

/** Turn the sums of thin rectangles into pixels. @param {Target} target @param {[number, number, number]} paper */
function shade({ data, width, height, sums, columns }, paper) {
  for (let x = 0; x < width; x++) {
    let c = 0, r = 0, g = 0, b = 0;
    let at = 4 * x * (height + 1);
    for (let y = 0; y < height; y++, at += 4) {
      columns[at] = c += columns[at];
      columns[at + 1] = r += columns[at + 1];
      columns[at + 2] = g += columns[at + 2];
      columns[at + 3] = b += columns[at + 3];
    }
  }
  for (let y = 0; y < height; y++) {
    let c = 0, r = 0, g = 0, b = 0;
    let at = 4 * y * (width + 1);
    for (let x = 0; x < width; x++, at += 4) {
      c += sums[at];
      r += sums[at + 1];
      g += sums[at + 2];
      b += sums[at + 3];
      const across = 4 * (x * (height + 1) + y);
      let share = c + columns[across];
      if (share < 0.004) continue;
      const scale = 1 / Math.max(1, share);
      if (share > 1) share = 1;
      const rest = 1 - share;
      data[y * width + x] = pixel(
        (r + columns[across + 1]) * scale + paper[0] * rest,
        (g + columns[across + 2]) * scale + paper[1] * rest,
        (b + columns[across + 3]) * scale + paper[2] * rest,
      );
    }
  }
}

/**
 * Fill one rectangle, with a darker edge where there is space for one.
 * @param {Target} target
 * @param {Rectangles} rows
 * @param {number} row
 * @param {Frame} frame
 * @param {number} scaleX
 * @param {number} scaleY
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
