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
  i64 n_sets;               // live sets
  i64 is_plain;             // one lifetime each, and no rule but capacity and alignment
  i64 has_joins;
  Array<i64> source;        // (n,): rows of the problem
  Array<i64> size;
  Array<i64> step;
  Array<i64> residue;
  Array<i64> lowest;
  Array<i64> limit;         // kMost: none
  Array<i64> page;          // 0: none; else it keeps (offset + page_shift) % page + size <= page
  Array<i64> page_shift;
  Array<i64> pin;           // ABSENT: none
  Array<i64> lead;          // the lowest buffer of its group, or itself, and how far above it lies
  Array<i64> distance;
  Array<i64> first;         // (n + 1,): lifetimes, in live sets
  Array<i64> start;
  Array<i64> end;
  Array<i64> time;          // (n_sets,): a time in each
  Array<i64> pair_first;    // (n + 1,): conflicts by name, symmetric
  Array<i64> pair;
  Array<i64> clearance;     // what each of these keeps free, or of no size: nothing
  Rows<i64> reserved;
  Array<i64> barred_first;  // (n + 1,): ranges that offsets are not in, disjoint ascending; or of no size
  Rows<i64> barred;

  // Whether two buffers must not share a byte.
  bool conflict(i64 i, i64 j) const {
    for (i64 a = first[i]; a < first[i + 1]; ++a)
      for (i64 b = first[j]; b < first[j + 1]; ++b)
        if (start[a] < end[b] && start[b] < end[a]) return true;
    return std::binary_search(pair.data + pair_first[i], pair.data + pair_first[i + 1], j);
  }

  // What two buffers keep free between them: ABSENT where they may share bytes.
  i64 kept_free(i64 i, i64 j) const {
    if (clearance.size > 0) {
      const i64 *first = pair.data + pair_first[i], *end = pair.data + pair_first[i + 1];
      const i64 *at = std::lower_bound(first, end, j);
      if (at != end && *at == j) return clearance[at - pair.data];
    }
    return conflict(i, j) ? 0 : kAbsent;
  }
};

// The capacity, or what stacking all on everything fixed takes; kLargest where that is more, and proves nothing.
inline i64 ceiling_of(const OnePool &made) {
  i64 sum = made.reserved.size > 0 ? made.reserved[made.reserved.size - 1][1] : 0, fixed = 0;
  for (i64 row = 0; row < made.barred.size; ++row) fixed = std::max(fixed, made.barred[row][1]);
  for (const i64 clearance : made.clearance) sum = std::min(kLargest, sum + clearance);
  for (i64 i = 0; i < made.n; ++i) {
    fixed = std::max({fixed, made.lowest[i], made.pin[i] == kAbsent ? 0 : made.pin[i] + made.size[i]});
    const i64 step = made.step[i], page = made.page[i];
    // Where pages do not begin on the alignment, a place on both may be as far as both are long.
    const bool is_odd = page > 0 && (page % step != 0 || made.page_shift[i] % step != 0);
    const i64 waste = !is_odd ? step + page : page > kLargest / step ? kLargest : step * page;
    sum = std::min(kLargest, sum + made.size[i] + made.distance[i] + waste);
  }
  return std::min({made.capacity, kLargest, fixed + sum});
}

}  // namespace memplan
