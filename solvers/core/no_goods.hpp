// The sets of items that, as the search has learned, do not or may not fit into a memory together.
#pragma once
#include "stack.hpp"
#include "timeline.hpp"

namespace memplan::choice {

class Learnt {
 public:
  explicit Learnt(Arena &arena) : pool_(arena), first_(arena), item_(arena), ground_(arena), times_(arena) {}

  i64 size() const { return pool_.size; }
  i64 doubts() const { return doubts_; }
  // Return the most work spent on a no-good, as a multiple of the work of the first plans.
  i64 times(i64 g) const { return times_[g]; }

  // Return the no-good of memory `q` with exactly the items that a rule selects, or ABSENT.
  template <class IsIn>
  i64 find(i64 q, i64 items, IsIn &&is_in) const {
    i64 members = 0;
    for (i64 j = 0; j < items; ++j) members += is_in(j);
    for (i64 g = 0; g < pool_.size; ++g) {
      const i64 *begin = item_.begin() + first_[g], *end = item_.begin() + first_[g + 1];
      if (pool_[g] == q && end - begin == members && std::all_of(begin, end, is_in)) return g;
    }
    return kAbsent;
  }

  template <class IsIn>
  void add(i64 q, i64 items, i64 times, bool is_proved, IsIn &&is_in) {
    i64 g = find(q, items, is_in);
    if (first_.size == 0) first_.push(0);
    if (g == kAbsent) {
      for (i64 j = 0; j < items; ++j)
        if (is_in(j)) item_.push(j);
      g = pool_.size, pool_.push(q), first_.push(item_.size), ground_.push(kDropped), times_.push(0);
    }
    if (g >= times_.size) return;
    times_[g] = times, doubt(g);
    if (is_proved) ground_[g] = kProved, --doubts_;
  }

  // Exclude a set that may not fit from choices for plans; `drop_doubts` admits all such sets again.
  void doubt(i64 g) { ground_[g] = kDoubted, ++doubts_; }
  void drop_doubts() {
    std::replace(ground_.begin(), ground_.end(), kDoubted, kDropped);
    doubts_ = 0;
  }

  // Return the proved no-goods and, with `with_doubts`, the doubted ones.
  NoGoods list(Arena &arena, bool with_doubts) const {
    NoGoods made{arena.array<i64>(pool_.size), arena.array<i64>(pool_.size + 1), arena.array<i64>(item_.size)};
    if (arena.has_failed) return made;
    made.pool.size = made.item.size = 0;
    for (i64 g = 0; g < pool_.size; ++g) {
      if (ground_[g] != kProved && (ground_[g] != kDoubted || !with_doubts)) continue;
      made.pool.data[made.pool.size++] = pool_[g];
      for (i64 x = first_[g]; x < first_[g + 1]; ++x) made.item.data[made.item.size++] = item_[x];
      made.first[made.pool.size] = made.item.size;
    }
    made.first.size = made.pool.size + 1;
    return made;
  }

 private:
  static constexpr i64 kDropped = -1, kDoubted = 0, kProved = 1;
  Growing<i64> pool_, first_, item_, ground_, times_;
  i64 doubts_ = 0;
};

}  // namespace memplan::choice
