// The lowest free offset of a body, or the one in the tightest gap; a body is one buffer or several at fixed distances.
#pragma once
#include "tables.hpp"

namespace memplan::packing {

// A part, `distance` above the body's offset o, must be in one page: (o + distance + shift) % page + size <= page.
struct Page {
  i64 page, shift, distance, size;
};

// The grid of a body's offsets: lowest + k * stride, k >= 0, up to `limit`, if no page rule is broken.
struct Grid {
  i64 lowest, stride, limit;
  Array<Page> pages;
  Rows<i64> levels;
  mutable bool has_given_up = false;  // true if the search for an offset took too long and was given up
  bool is_everywhere() const { return stride == 1 && pages.size == 0; }
};

// The position in a sorted list of ranges that a body must avoid. The list concerns `size` addresses,
// `distance` above the body's offset.
struct Walk {
  i64 row, stop, distance, size;
};

// Return the least k >= 0 with low <= k * stride % modulus <= high, for 0 < low <= high; ABSENT if there is none,
// or if k * stride exceeds 2^63 - 1. Takes O(log modulus) steps, like Euclid's algorithm (`rigid_bodies.py`);
// `levels` keeps (stride, modulus, low) of each step.
inline i64 first_multiple(i64 stride, i64 modulus, i64 low, i64 high, const Rows<i64> &levels) {
  i64 depth = 0, steps;
  while (true) {
    stride %= modulus;
    if (stride == 0) return kAbsent;
    if (stride > modulus - stride) {
      const i64 before = low;
      stride = modulus - stride, low = modulus - high, high = modulus - before;
    }
    steps = (low - 1) / stride + 1;
    if (steps <= high / stride) break;
    i64 *level = levels[depth++];
    level[0] = stride, level[1] = modulus, level[2] = low;
    const i64 turned = floor_mod(-modulus, stride);
    modulus = stride, low = floor_mod(low, stride), high = floor_mod(high, stride), stride = turned;
  }
  while (depth > 0) {
    const i64 *level = levels[--depth];
    if (steps > (kMost - level[2]) / level[1]) return kAbsent;
    steps = (level[2] + level[1] * steps - 1) / level[0] + 1;
  }
  return steps;
}

// Return the position of an offset in its page: (at + shift) % page.
inline i64 place_in_page(i64 at, i64 page, i64 shift) {
  const i64 place = floor_mod(at, page) - (page - shift);
  return place >= 0 ? place : place + page;
}

// Return the least offset of a grid from `at` on; a number above the grid's limit if there is none.
inline i64 legal(i64 at, const Grid &grid) {
  constexpr int kTries = 1'000;  // equal to the limit of `Bodies` in Python
  if (at <= grid.lowest) {
    at = grid.lowest;
  } else if (grid.stride > 1) {
    const i64 waste = floor_mod(grid.lowest - at, grid.stride);
    if (waste > grid.limit - at) return grid.limit + 1;
    at += waste;
  }
  int tries = 0;
  for (i64 k = 0; k < grid.pages.size && at <= grid.limit;) {
    const Page &rule = grid.pages[k];
    const i64 place = place_in_page(at + rule.distance, rule.page, rule.shift);
    if (place + rule.size <= rule.page) {
      ++k;
      continue;
    }
    const i64 steps = rule.size > rule.page ? kAbsent
                                            : first_multiple(grid.stride, rule.page, rule.page - place,
                                                             rule.page - place + (rule.page - rule.size), grid.levels);
    grid.has_given_up |= ++tries == kTries;
    if (tries == kTries || steps < 0 || steps > (grid.limit - at) / grid.stride) return grid.limit + 1;
    at += steps * grid.stride;
    k = 0;
  }
  return at;
}

// The lists of ranges that a body must avoid: items (low, high, start, end), which count only while they are alive,
struct Lists {
  const Rows<i64> &items;
  const Rows<i64> &runs;
  Walk *walks;
  const Range *alive;
  i64 n_items;
  i64 count;
};

// Return the least legal offset from `at` on where a body avoids all lists; above the limit if there is none.
// Each walk advances to the first row of its list that ends above that offset.
inline i64 lifted(i64 at, const Grid &grid, const Lists &lists) {
  const bool is_everywhere = grid.is_everywhere();
  for (i64 k = 0, quiet = 0; quiet < lists.count && at <= grid.limit; k = k + 1 < lists.count ? k + 1 : 0) {
    Walk &walk = lists.walks[k];
    const i64 before = at;
    const bool is_item = k < lists.n_items;
    const Rows<i64> &rows = is_item ? lists.items : lists.runs;
    for (i64 here = at + walk.distance; walk.row < walk.stop; ++walk.row) {
      const i64 *row = rows[walk.row];
      if (row[1] <= here) continue;
      if (is_item && (row[2] >= lists.alive[k].high || row[3] <= lists.alive[k].low)) continue;
      if (row[0] >= here + walk.size) break;
      at = is_everywhere ? row[1] - walk.distance : legal(row[1] - walk.distance, grid);
      if (at > grid.limit) break;
      here = at + walk.distance;
    }
    quiet = at == before ? quiet + 1 : 1;
  }
  return at;
}

// Return the lowest legal offset from `at` on above which the body could be moved up least.
inline i64 tightest(i64 at, const Grid &grid, const Lists &lists) {
  i64 best = grid.limit + 1, least = kMost;
  while (least > 0) {
    at = lifted(at, grid, lists);
    if (at > grid.limit) break;
    i64 ceiling = kMost;
    for (i64 k = 0; k < lists.count; ++k) {
      const Walk &walk = lists.walks[k];
      if (walk.row == walk.stop) continue;
      const i64 low = (k < lists.n_items ? lists.items : lists.runs)[walk.row][0];
      ceiling = std::min(ceiling, low - walk.distance - walk.size);
    }
    if (best > grid.limit || ceiling - at < least) best = at, least = ceiling - at;
    if (ceiling == kMost) break;
    at = legal(ceiling + 1, grid);
  }
  return best;
}

}  // namespace memplan::packing
