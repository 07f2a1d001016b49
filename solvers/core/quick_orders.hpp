// Quick orders of a plain problem: its buffers are packed in one order after another, until the peak meets a bound.
//
// A plain problem has one pool, one lifetime per buffer, and no rules except capacity and alignment. The results equal
// those of `packing.orders.Rule.order` and `packing.packer.Packer`, number for number.
#pragma once
#include <cmath>

#include "arena.hpp"

namespace memplan::quick {

enum Trait : int { kNoTrait, kSize, kLife, kArea, kConflicts, kPressure, kTraits };
enum Within : int { kByStart, kByEnd, kByLife, kBySize, kWithins };

// A rule sorts by the largest product of two traits (the second one or its root), in bands if there is a base;
// then by another trait. The pressure counts to the power of 16. See `Rule` in orders.py.
struct Rule {
  Trait one;
  Trait two;
  bool is_root;
  Within within;
  double base;
  bool is_peak_first;
  bool is_best_fit;
};

// The same rules as `RULES` in orders.py, in the same order.
inline constexpr Rule kRules[] = {
    {kPressure, kSize, false, kByStart, 2, false, false},
    {kPressure, kArea, false, kByStart, 1.5, false, false},
    {kSize, kNoTrait, false, kByLife, 0, true, false},
    {kSize, kConflicts, true, kByEnd, 2, false, false},
    {kSize, kNoTrait, false, kByLife, 4, true, true},
    {kSize, kConflicts, true, kByLife, 2, true, false},
    {kSize, kLife, true, kByLife, 1.5, true, false},
    {kSize, kNoTrait, false, kByStart, 8, false, false},
    {kNoTrait, kNoTrait, false, kByEnd, 0, false, false},
    {kArea, kNoTrait, false, kBySize, 2, true, false},
    {kSize, kConflicts, false, kByStart, 8, true, false},
    {kSize, kConflicts, false, kByEnd, 8, true, false},
    {kNoTrait, kNoTrait, false, kByStart, 0, false, false},
    {kConflicts, kNoTrait, false, kByEnd, 8, true, true},
    {kConflicts, kNoTrait, false, kByStart, 8, true, false},
    {kPressure, kSize, false, kByEnd, 2, false, false},
    {kSize, kNoTrait, false, kByStart, 0, true, false},
    {kSize, kNoTrait, false, kByEnd, 0, false, false},
    {kArea, kNoTrait, false, kBySize, 0, false, false},
    {kArea, kNoTrait, false, kByLife, 8, true, true},
    {kConflicts, kNoTrait, false, kBySize, 0, false, false},
    {kSize, kConflicts, false, kByEnd, 1.25, false, false},
    {kLife, kNoTrait, false, kBySize, 0, false, true},
    {kSize, kNoTrait, false, kByStart, 8, false, true},
};
inline constexpr int kRuleCount = sizeof kRules / sizeof kRules[0];

// The input of a packing, with sizes in units and times in live sets. It ends at a peak of at most `target`,
// or after `first` orders if the best peak is above `near` times the target, or nothing fits.
struct OrderTask {
  Array<i64> size;
  Array<i64> start;
  Array<i64> end;
  Array<i64> stride;  // offsets are multiples of each buffer's stride
  i64 n_live_sets;
  i64 capacity;
  i64 target;
  i64 first;
  double near;
  Array<i64> offset;  // the offsets of the best order, if there is one
  Array<i64> tried;   // (1,): the number of orders that were tried
};

class QuickOrders {
 public:
  // Memory comes from the arena; if the arena fails, no member may be called.
  QuickOrders(Arena &arena, const OrderTask &task) : task_(task), n_(task.size.size), sets_(task.n_live_sets) {
    load_ = arena.array<i64>(sets_ + 1).data;
    begun_ = arena.array<i64>(sets_ + 1).data;
    over_ = arena.array<i64>(sets_ + 1).data;
    traits_ = arena.uncleared<double>(kTraits * n_).data;
    key_ = arena.uncleared<double>(n_).data;
    edges_ = arena.uncleared<double>(kEdges).data;
    order_ = arena.uncleared<u32>((2 + kWithins) * n_).data;
    at_ = arena.uncleared<i64>(n_).data;
    while (sets_ >> shift_ >= kSpells) ++shift_;
    first_[1] = n_;
    for (i64 i = 0; i < n_; ++i)
      for (i64 s = task_.start[i] >> shift_; s <= (task_.end[i] - 1) >> shift_; ++s) ++first_[s + 2];
    for (int row = 1; row <= kSpells; ++row) first_[row + 1] += first_[row];
    has_spells_ = n_ >= kFewBuffers && first_[kSpells + 1] < kMostRows * n_;
    placed_ = arena.uncleared<Placed>(has_spells_ ? first_[kSpells + 1] : n_).data;
    spread_ = arena.uncleared<i64>(sets_ + 2).data;
    spare_ = order_ + n_, within_ = order_ + 2 * n_;
  }

  // Fill in the offsets of the best order; return its rule, or ABSENT if nothing fits. Ends early once time is over.
  // The sums of all sizes and waste must be below 2^62.
  template <class IsOver>
  i64 pack(IsOver &&is_over) {
    return pack_by(is_over, [&](const Rule &rule, const u32 *, i64 limit, i64 *) {
      return is_aligned_ ? fit<true>(limit, rule.is_best_fit, is_over) : fit<false>(limit, rule.is_best_fit, is_over);
    });
  }

  // Do the same with another packer: fit(rule, order, limit, offsets) returns the largest end, or ABSENT.
  template <class IsOver, class Fit>
  i64 pack_by(IsOver &&is_over, Fit &&fit_order) {
    i64 best = kAbsent;
    if (!find_traits(is_over)) return best;
    for (int r = 0; r < kRuleCount && !is_over(); ++r) {
      const Rule &rule = kRules[r];
      sort_by_rule(rule, is_over);
      if (is_over()) break;
      const i64 peak = fit_order(rule, order_, std::min(task_.capacity, peak_ - 1), at_);
      if (peak != kAbsent) {
        best = r, peak_ = peak;
        std::copy(at_, at_ + n_, task_.offset.data);
      }
      task_.tried[0] = r + 1;
      if (peak_ <= task_.target) break;
      if (r + 1 >= task_.first && best != kAbsent &&
          static_cast<double>(peak_) > task_.near * static_cast<double>(task_.target))
        break;
    }
    return best;
  }

  i64 peak() const { return peak_; }

 private:
  static constexpr i64 kEdges = 8192;  // more than the number of band borders between any two numbers
  static constexpr i64 kPollWork = 1 << 17, kSpells = 16, kFewBuffers = 48, kMostRows = 4;
  struct Placed {
    i64 low, high;
    u32 start, end;
  };
  const OrderTask &task_;
  const i64 n_, sets_;
  i64 *load_, *begun_, *over_, *at_;
  double *traits_, *key_, *edges_;
  u32 *order_, *spare_, *within_;
  // by offset: all placed buffers; if many of them live shortly, also those alive in each of some time ranges
  Placed *placed_;
  i64 *spread_, shift_ = 0, first_[kSpells + 2] = {}, over_of_[kSpells + 1];
  bool has_within_[kWithins] = {};
  bool is_aligned_ = false, has_spells_ = false;
  i64 peak_set_ = 0, peak_ = kMost;

  double &trait(Trait which, i64 i) const { return traits_[which * n_ + i]; }

  template <class IsOver>
  bool find_traits(IsOver &&is_over) {
    i64 work = 0;
    const i64 *size = task_.size.data, *start = task_.start.data, *end = task_.end.data;
    for (i64 i = 0; i < n_; ++i) {
      load_[start[i]] += size[i], load_[end[i]] -= size[i];
      if (start[i] < sets_) ++begun_[start[i] + 1];
      ++over_[end[i]];
      is_aligned_ |= task_.stride[i] > 1;
    }
    for (i64 t = 1; t <= sets_; ++t) {
      load_[t] += load_[t - 1], begun_[t] += begun_[t - 1], over_[t] += over_[t - 1];
      if (t < sets_ && load_[t] > load_[peak_set_]) peak_set_ = t;
    }
    const double largest = std::max(1.0, static_cast<double>(load_[peak_set_]));
    for (i64 i = 0; i < n_; ++i) {
      if ((work += end[i] - start[i]) > kPollWork) {
        work = 0;
        if (is_over()) return false;
      }
      const double life = static_cast<double>(end[i] - start[i]);
      const i64 height = *std::max_element(load_ + start[i], load_ + end[i]);
      trait(kSize, i) = static_cast<double>(size[i]), trait(kLife, i) = life;
      trait(kArea, i) = static_cast<double>(size[i]) * life;
      trait(kConflicts, i) = static_cast<double>(begun_[end[i]] - over_[start[i]] - 1);
      double pressure = 1.0;
      for (int k = 0; k < 16; ++k) pressure = pressure * (static_cast<double>(height) / largest);
      trait(kPressure, i) = pressure;
    }
    return true;
  }

  template <class IsOver>
  void sort_by_rule(const Rule &rule, IsOver &&is_over) {
    if (!has_within_[rule.within]) {
      order_within(rule.within);
      is_over();
    }
    std::copy(within_ + rule.within * n_, within_ + (rule.within + 1) * n_, order_);
    if (rule.one != kNoTrait) {
      find_keys(rule);
      sort();
      is_over();
    }
    if (rule.is_peak_first) {
      for (i64 i = 0; i < n_; ++i)
        key_[i] = task_.start[i] <= peak_set_ && peak_set_ < task_.end[i] ? 0.0 : 1.0;
      sort();
    }
  }

  // Sort by start, or else by descending end, life or size; of equal starts or ends, the shortest life comes first.
  void order_within(Within within) {
    for (i64 i = 0; i < n_; ++i) order_[i] = static_cast<u32>(i);
    const i64 *start = task_.start.data, *end = task_.end.data;
    if (within == kByStart || within == kByEnd) sort_by_time([=](u32 i) { return end[i] - start[i]; });
    if (within == kByStart) sort_by_time([=](u32 i) { return start[i]; });
    if (within == kByEnd) sort_by_time([=, this](u32 i) { return sets_ - end[i]; });
    if (within == kByLife) sort_by_time([=, this](u32 i) { return sets_ - (end[i] - start[i]); });
    if (within == kBySize) {
      for (i64 i = 0; i < n_; ++i) key_[i] = -trait(kSize, i);
      sort();
    }
    std::copy(order_, order_ + n_, within_ + within * n_);
    has_within_[within] = true;
  }

  // Sort buffers by a number of live sets, the least first; equal buffers keep their order.
  template <class Time>
  void sort_by_time(Time &&time) {
    std::fill(spread_, spread_ + sets_ + 2, 0);
    for (i64 x = 0; x < n_; ++x) ++spread_[time(order_[x]) + 1];
    for (i64 t = 0; t <= sets_; ++t) spread_[t + 1] += spread_[t];
    for (i64 x = 0; x < n_; ++x) spare_[spread_[time(order_[x])]++] = order_[x];
    std::swap(order_, spare_);
  }

  // Compute the sort keys of a rule: the product of its traits, the largest first, or the number of its band.
  void find_keys(const Rule &rule) {
    double largest = 0.0, lowest = -1.0;
    for (i64 i = 0; i < n_; ++i) {
      double value = trait(rule.one, i);
      if (rule.two != kNoTrait) value = value * (rule.is_root ? std::sqrt(trait(rule.two, i)) : trait(rule.two, i));
      key_[i] = -value;
      largest = std::max(largest, value);
      if (value > 0 && (lowest < 0 || value < lowest)) lowest = value;
    }
    if (rule.base == 0) return;
    i64 count = 1;
    edges_[0] = largest;
    for (; lowest > 0 && edges_[count - 1] > lowest && count < kEdges; ++count)
      edges_[count] = edges_[count - 1] / rule.base;
    for (i64 i = 0; i < n_; ++i) {
      const auto is_not_below = [value = -key_[i]](double edge) { return edge >= value; };
      key_[i] = static_cast<double>(std::partition_point(edges_, edges_ + count, is_not_below) - edges_);
    }
  }

  // Sort buffers by their keys, the least first; buffers with equal keys keep their order.
  void sort() {
    for (i64 x = 0; x < n_; ++x) spare_[order_[x]] = static_cast<u32>(x);
    std::sort(order_, order_ + n_, [key = key_, was = spare_](u32 a, u32 b) {
      return key[a] < key[b] || (key[a] == key[b] && was[a] < was[b]);
    });
  }

  // Place buffers in order, by first or best fit; return the largest end, or ABSENT if the limit is exceeded or time
  // is over.
  template <bool kIsAligned, class IsOver>
  i64 fit(i64 limit, bool is_best_fit, IsOver &&is_over) {
    i64 peak = 0, work = 0;
    std::copy(first_, first_ + kSpells + 1, over_of_);
    for (i64 x = 0; x < n_; ++x) {
      const i64 i = order_[x], size = task_.size[i], start = task_.start[i], end = task_.end[i];
      const i64 stride = kIsAligned ? task_.stride[i] : 1, spell = start >> shift_, last = (end - 1) >> shift_;
      const i64 row = spell == last && has_spells_ ? 1 + spell : 0;
      i64 here = 0, best = kAbsent, least = kMost;
      for (i64 k = first_[row]; k < over_of_[row]; ++k) {
        const Placed &other = placed_[k];
        if (other.end <= start || other.start >= end || other.high <= here) continue;
        if (other.low >= here + size && other.low - here < least) {
          best = here, least = other.low - here;
          if (!is_best_fit) break;
        }
        here = other.high;
        if (kIsAligned && stride > 1) here += floor_mod(-here, stride);
      }
      if (best == kAbsent) best = here;
      if (best > limit - size) return kAbsent;
      at_[i] = best;
      peak = std::max(peak, best + size);
      const Placed mine{best, best + size, static_cast<u32>(start), static_cast<u32>(end)};
      insert(0, mine);
      for (i64 s = spell; s <= last && has_spells_; ++s) insert(1 + s, mine);
      if ((work += x) > kPollWork) {
        work = 0;
        if (is_over()) return kAbsent;
      }
    }
    return peak;
  }

  void insert(i64 row, const Placed &mine) {
    Placed *over = placed_ + over_of_[row]++;
    Placed *space = std::upper_bound(placed_ + first_[row], over, mine.low,
                                     [](i64 low, const Placed &other) { return low < other.low; });
    std::copy_backward(space, over, over + 1);
    *space = mine;
  }
};

}  // namespace memplan::quick
