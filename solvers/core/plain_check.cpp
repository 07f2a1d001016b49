// Checks the plan of a plain problem; it shares nothing with the search.
#include <algorithm>

#include "tables.hpp"

using namespace memplan;

namespace {

// See `PlainPlan` in plain_check.py.
struct PlainPlan {
  Array<i64> size;
  Array<i64> start;
  Array<i64> end;
  Array<i64> alignment;
  Array<i64> offset;
  i64 capacity;
  i64 time;
  Array<i64> answer;
};
enum Answer : i64 { kPeak, kLoad, kAlive };

}  // namespace

// Returns 1 where each buffer lies where it may, and no two that are alive together share bytes.
MEMPLAN_KERNEL memplan_check_plain(const PlainPlan *plan) {
  const i64 n = plan->size.size;
  i64 *answer = plan->answer.data, peak = 0, load = 0;
  for (i64 i = 0; i < n; ++i) {
    const i64 at = plan->offset[i], size = plan->size[i];
    if (at < 0 || at % plan->alignment[i] != 0 || size > plan->capacity || at > plan->capacity - size) return 0;
    peak = std::max(peak, at + size);
    answer[kAlive + i] = plan->start[i] <= plan->time && plan->time < plan->end[i];
    if (answer[kAlive + i] != 0) load += size;
    for (i64 j = 0; j < i; ++j) {
      const bool meet = plan->start[i] < plan->end[j] && plan->start[j] < plan->end[i];
      if (meet && at < plan->offset[j] + plan->size[j] && plan->offset[j] < at + size) return 0;
    }
  }
  answer[kPeak] = peak, answer[kLoad] = load;
  return 1;
}
