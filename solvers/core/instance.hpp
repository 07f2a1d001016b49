// An instance: a problem in units and live sets.
#pragma once
#include "tables.hpp"

namespace memplan {

inline constexpr i64 kLargest = i64{1} << 60;

// The n buffers with a size, in units: offset o of buffer i has o % step[i] == residue[i]. See `OnePool` in exact.py.
struct OnePool {
  i64 n;
  i64 unit;
  i64 capacity;
  i64 n_sets;               // the number of live sets
  i64 is_plain;             // 1 if each buffer has one lifetime, and there is no rule but capacity and alignment
  i64 has_joins;
  Array<i64> source;        // (n,): row of each buffer in the problem
  Array<i64> size;
  Array<i64> step;
  Array<i64> residue;
  Array<i64> lowest;
  Array<i64> limit;         // kMost: no limit
  Array<i64> page;          // 0: no page; else (offset + page_shift) % page + size must be at most page
  Array<i64> page_shift;
  Array<i64> pin;           // ABSENT: not pinned
  // the lowest buffer of each buffer's group, or itself; `distance` is how far above it the buffer starts
  Array<i64> lead;
  Array<i64> distance;
  Array<i64> first;         // (n + 1,): start of each buffer's lifetimes, which are ranges of live sets
  Array<i64> start;
  Array<i64> end;
  Array<i64> time;          // (n_sets,): a time at which each live set is alive
  Array<i64> pair_first;    // (n + 1,): start of each buffer's named conflicts in `pair`, which are symmetric
  Array<i64> pair;
  Array<i64> clearance;     // the units to keep free between the buffers of each pair; empty if there are none
  Rows<i64> reserved;
  // (n + 1,): start of each buffer's disjoint ascending ranges of forbidden offsets; empty if there are none
  Array<i64> barred_first;
  Rows<i64> barred;

  // Return whether two buffers must not share a byte.
  bool conflict(i64 i, i64 j) const {
    for (i64 a = first[i]; a < first[i + 1]; ++a)
      for (i64 b = first[j]; b < first[j + 1]; ++b)
        if (start[a] < end[b] && start[b] < end[a]) return true;
    return std::binary_search(pair.data + pair_first[i], pair.data + pair_first[i + 1], j);
  }

  // Return the units to keep free between two buffers; ABSENT if they may share bytes.
  i64 kept_free(i64 i, i64 j) const {
    if (clearance.size > 0) {
      const i64 *first = pair.data + pair_first[i], *end = pair.data + pair_first[i + 1];
      const i64 *at = std::lower_bound(first, end, j);
      if (at != end && *at == j) return clearance[at - pair.data];
    }
    return conflict(i, j) ? 0 : kAbsent;
  }
};

// Return the capacity or, if lower, the top of a stack of all buffers above all fixed ranges; at most kLargest.
inline i64 ceiling_of(const OnePool &made) {
  i64 sum = made.reserved.size > 0 ? made.reserved[made.reserved.size - 1][1] : 0, fixed = 0;
  for (i64 row = 0; row < made.barred.size; ++row) fixed = std::max(fixed, made.barred[row][1]);
  for (const i64 clearance : made.clearance) sum = std::min(kLargest, sum + clearance);
  for (i64 i = 0; i < made.n; ++i) {
    fixed = std::max({fixed, made.lowest[i], made.pin[i] == kAbsent ? 0 : made.pin[i] + made.size[i]});
    const i64 step = made.step[i], page = made.page[i];
    // If pages do not begin at aligned offsets, an offset that suits both may be a whole period of both away.
    const bool is_odd = page > 0 && (page % step != 0 || made.page_shift[i] % step != 0);
    const i64 waste = !is_odd ? step + page : page > kLargest / step ? kLargest : step * page;
    sum = std::min(kLargest, sum + made.size[i] + made.distance[i] + waste);
  }
  return std::min({made.capacity, kLargest, fixed + sum});
}

}  // namespace memplan
