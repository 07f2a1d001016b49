// A piece: buffers of one pool whose pairs have a price if they meet, or must not meet at all.
#pragma once
#include "pace.hpp"
#include "stack.hpp"

namespace memplan::prices {

// See `PieceTable` in kernels.py. Entries of buffer v are first[v] up to first[v + 1].
struct PieceTable {
  Array<i64> size, lowest, highest, step, first, other, price, grid, gap;
  Rows<i64> reserved;
  i64 shift;
};

// The price of a pair that must not meet.
inline constexpr i64 kNever = -1;

// The result of a search for the least price if it found no plan.
enum Outcome : i64 { kNoneBelow = -1, kStopped = -2 };

struct Span {
  i64 low;
  i64 high;
  bool has(i64 at) const { return low <= at && at < high; }
};

// Return the half-open starts of buffer v at which it meets the other buffer of entry k, which starts at `at`.
inline Span meeting(const PieceTable &piece, i64 v, i64 k, i64 at) {
  i64 low = at - piece.gap[k], high = at + piece.size[piece.other[k]] + piece.gap[k];
  if (const i64 grid = piece.grid[k]; grid > 1) {
    low = floor_div(low + piece.shift, grid) * grid - piece.shift;
    high = (floor_div(high - 1 + piece.shift, grid) + 1) * grid - piece.shift;
  }
  return {low - piece.size[v] + 1, high};
}

}  // namespace memplan::prices
