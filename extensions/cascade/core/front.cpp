// The front of regions by peak, multiplications and traffic; and the best chain of regions below a peak.
#include "stack.hpp"

namespace memplan::cascade {
namespace {

// See `Chains` and `Staircase` in kernels.py.
struct Chains {
  i64 limit;
  Rows<i64> found;
  Array<i64> macs;
  Array<i64> slides;
  Array<i64> traffic;
  Array<i64> by;
};

struct Staircase {
  Rows<i64> costs;
  Array<i64> group;
  Array<i64> kept;
};

// Write the costs of which no other of the group is as good in all three; return their number.
i64 undominated(const Staircase &table) {
  // The second and third costs of the group's members that none beats in both; the second rise, the third fall.
  struct Step {
    i64 second, third;
  };
  Allocator allocator;
  Arena arena(allocator);
  Stack<Step> steps{arena.array<Step>(table.costs.size)};
  if (arena.has_failed) return kNoMemory;
  i64 count = 0;
  for (i64 row = 0; row < table.costs.size; ++row) {
    const Step cost{table.costs[row][1], table.costs[row][2]};
    if (row > 0 && table.group[row] != table.group[row - 1]) steps.size = 0;
    Step *const behind = std::upper_bound(steps.begin(), steps.end(), cost.second,
                                         [](i64 second, const Step &step) { return second < step.second; });
    const bool has_before = behind != steps.begin();
    if (has_before && behind[-1].third <= cost.third) continue;
    table.kept[count++] = row;
    // It takes the place of the steps that it is below.
    Step *const first = has_before && behind[-1].second == cost.second ? behind - 1 : behind;
    Step *const end = std::find_if(behind, steps.end(), [&](const Step &step) { return step.third < cost.third; });
    Step *const last = steps.end();
    steps.size += 1 - (end - first);
    if (first == end)
      std::copy_backward(end, last, last + 1);
    else
      std::copy(end, last, first + 1);
    *first = cost;
  }
  return count;
}

enum Region { kFrom, kTo, kPeak, kMacs, kTraffic, kSaved = 9 };

// Find the chain with the fewest multiplications within the limit, then the lowest peak.
//
// Of several it is that with the fewest slides at that peak, then the least traffic. Returns the peak, -1 if none.
i64 best_chain(const Chains &table) {
  const i64 n = table.macs.size - 1;
  i64 limit = table.limit;
  // The first turn counts peaks in the place of slides; the second one has the lowest of them as its limit.
  for (const bool is_first : {true, false}) {
    table.macs.fill(-1);
    table.macs[0] = table.slides[0] = table.traffic[0] = 0;
    for (i64 row = 0; row < table.found.size; ++row) {
      const i64 *region = table.found[row];
      const i64 from = region[kFrom], cut = region[kTo], peak = region[kPeak];
      if (peak > limit || table.macs[from] < 0) continue;
      const i64 a = table.macs[from] + region[kMacs], c = table.traffic[from] + region[kTraffic];
      const i64 slides = table.slides[from];
      const i64 b = is_first ? std::max(slides, peak) : slides + (peak + region[kSaved] > limit);
      const bool is_less = table.macs[cut] < 0 || a < table.macs[cut];
      const bool is_equal = a == table.macs[cut];
      if (is_less || (is_equal && (b < table.slides[cut] || (b == table.slides[cut] && c < table.traffic[cut]))))
        table.macs[cut] = a, table.slides[cut] = b, table.traffic[cut] = c, table.by[cut] = row;
    }
    if (table.macs[n] < 0) return -1;
    if (is_first) limit = table.slides[n];
  }
  return limit;
}

}  // namespace
}  // namespace memplan::cascade

MEMPLAN_KERNEL memplan_undominated_of_three(const memplan::cascade::Staircase *table) {
  return memplan::cascade::undominated(*table);
}

MEMPLAN_KERNEL memplan_best_chain(const memplan::cascade::Chains *table) {
  return memplan::cascade::best_chain(*table);
}
