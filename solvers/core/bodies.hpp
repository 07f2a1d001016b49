// First fit of buffers under all kinds of rules: groups at fixed distances, pins, ranges, pages, explicit conflicts.
#pragma once
#include <numeric>

#include "instance.hpp"
#include "memplan.h"
#include "pace.hpp"
#include "pack.hpp"
#include "shares.hpp"

namespace memplan {

// Packs an instance in orders of its buffers: a group is packed as one body, and pinned groups come first.
class BodyPacker {
 public:
  // If the arena has failed, no member may be called.
  BodyPacker(Arena &arena, const OnePool &instance, const memplan_problem &problem, const Shares *shares)
      : arena_(arena), instance_(instance), rules_(rules_of(arena, instance, problem, shares)), packer_(arena, rules_) {
    for (Array<i64> *column : {&order_, &offset_, &body_first_, &next_, &filed_})
      *column = arena.array<i64>(instance.n + 1);
    is_pinned_ = arena.array<bool>(instance.n);
    if (arena.has_failed) return;
    next_.fill(kAbsent);
    for (i64 i = instance.n - 1; i >= 0; --i) {
      const i64 lead = instance.lead[i];
      is_pinned_[lead] |= instance.pin[i] != kAbsent;
      if (lead != i) next_[i] = next_[lead], next_[lead] = i;
    }
    const Rows<i64> levels = arena.rows<i64>(64, 3);
    for (i64 i = 0; i < instance.n && !arena.has_failed; ++i)
      if (instance.lead[i] == i) find_grid(i, levels);
  }

  // Return whether all pinned groups fit at their pins, other groups fit alone, and no group contradicts itself.
  // If false, nothing fits. A place that takes too long to find counts as found.
  template <class IsOver>
  bool can_fit(IsOver &&is_over) {
    const packing::PackOrder wanted = bodies([](i64 x) { return x; }, instance_.capacity);
    packer_.begin(wanted);
    for (i64 body = 0; body + 1 < wanted.body_first.size && !is_over(); ++body) {
      const i64 lead = order_[body_first_[body]];
      if (!suits_itself(lead)) return false;
      const bool is_endless = instance_.capacity > kMostEnd && rules_.highest[lead] == kMostEnd;
      if (packer_.find(body) == kAbsent && !packer_.has_given_up && !is_endless) return arena_.has_failed;
    }
    for (i64 body = 0; body + 1 < wanted.body_first.size && is_pinned_[order_[body_first_[body]]]; ++body)
      if (!packer_.place(body)) return arena_.has_failed;
    return true;
  }

  // Pack in an order; return the largest end, or ABSENT if an end passes the limit or time is over.
  template <class IsOver>
  i64 pack(const u32 *order, i64 limit, i64 *offset, IsOver &&is_over) {
    const packing::PackOrder wanted = bodies([order](i64 x) { return static_cast<i64>(order[x]); }, limit);
    Pace pace(is_over);
    packer_.begin(wanted);
    for (i64 body = 0; body + 1 < wanted.body_first.size; ++body)
      if (!packer_.place(body) || pace(body_first_[body])) return kAbsent;
    i64 peak = 0;
    for (i64 k = 0; k < instance_.n; ++k) {
      offset[order_[k]] = offset_[k];
      peak = std::max(peak, offset_[k] + instance_.size[order_[k]]);
    }
    return peak;
  }

 private:
  static constexpr i64 kMostEnd = 2 * kLargest;
  Arena &arena_;
  const OnePool &instance_;
  packing::PackRules rules_;
  packing::Packer packer_;
  Array<i64> order_, offset_, body_first_;
  Array<i64> next_;   // the next member of each buffer's group, which begins with its lowest member
  Array<i64> filed_;  // the number of the last order in which each group was listed
  Array<bool> is_pinned_;
  i64 orders_ = 0;

  static packing::PackRules rules_of(Arena &arena, const OnePool &instance, const memplan_problem &problem, const Shares *shares) {
    packing::PackRules rules{};
    rules.distance = instance.distance, rules.size = instance.size, rules.reserved = instance.reserved;
    rules.first = instance.first, rules.start = instance.start, rules.end = instance.end;
    rules.page = instance.page, rules.page_shift = instance.page_shift;
    for (Array<i64> *column : {&rules.lowest, &rules.highest, &rules.step}) *column = arena.array<i64>(instance.n);
    rules.share_first = rules.border_first = arena.array<i64>(instance.n + 1);
    if (shares != nullptr) rules.share_first = shares->first, rules.share = shares->other;
    list_pairs(arena, instance, problem, rules);
    rules.width = std::max<i64>(1, instance.n_sets), rules.is_flat = true;
    return rules;
  }

  // List the pair rules: named conflicts keep their bytes disjoint, and `banks` rows keep their banks apart.
  static void list_pairs(Arena &arena, const OnePool &instance, const memplan_problem &problem, packing::PackRules &rules) {
    const i64 most = instance.pair.size + 2 * static_cast<i64>(problem.bank_count);
    Array<i64> first = arena.array<i64>(instance.n + 2), place = arena.uncleared<i64>(static_cast<i64>(problem.count));
    rules.pair = arena.array<i64>(most), rules.clearance = arena.array<i64>(most), rules.grid = arena.array<i64>(most);
    if (arena.has_failed) return;
    rules.bank = problem.bank / instance.unit;
    if (rules.bank > 0) rules.bank_shift = problem.base / instance.unit % rules.bank;
    place.fill(kAbsent);
    for (i64 i = 0; i < instance.n; ++i) place[instance.source[i]] = i;
    const auto for_each = [&](auto &&visit) {
      for (i64 i = 0; i < instance.n; ++i)
        for (i64 x = instance.pair_first[i]; x < instance.pair_first[i + 1]; ++x) visit(i, instance.pair[x], 1);
      for (std::size_t row = 0; row < problem.bank_count && rules.bank > 0; ++row) {
        const i64 i = place[static_cast<i64>(problem.banks[row].first)], j = place[static_cast<i64>(problem.banks[row].second)];
        if (i != kAbsent && j != kAbsent) visit(i, j, rules.bank), visit(j, i, rules.bank);
      }
    };
    for_each([&](i64 i, i64, i64) { ++first[i + 2]; });
    std::partial_sum(first.begin(), first.end(), first.begin());
    for_each([&](i64 i, i64 j, i64 grid) { rules.pair[first[i + 1]] = j, rules.grid[first[i + 1]++] = grid; });
    rules.pair_first = {first.data, instance.n + 1};
    rules.pair.size = rules.pair_first[instance.n];
  }

  // Find the offsets of a group that the alignments, ranges and pins of its buffers allow.
  void find_grid(i64 lead, const Rows<i64> &levels) {
    i64 lowest = 0, step = 1, highest = kMostEnd, pin = kAbsent;
    bool fits = true;
    for (i64 i = lead; i != kAbsent; i = next_[i]) {
      const i64 distance = instance_.distance[i], least = std::max<i64>(0, instance_.lowest[i] - distance);
      const i64 stride = instance_.step[i];
      const i64 wanted = least + floor_mod(instance_.residue[i] - distance - least, stride);
      join(lowest, step, wanted, stride, levels);
      fits = fits && (instance_.page[i] == 0 || instance_.size[i] <= instance_.page[i]);
      highest = std::min(highest, instance_.limit[i] - instance_.size[i] - distance);
      if (instance_.pin[i] == kAbsent) continue;
      const i64 at = instance_.pin[i] - distance;
      fits = fits && at >= 0 && (pin == kAbsent || pin == at);
      pin = at;
    }
    if (is_pinned_[lead]) {
      fits = fits && lowest <= pin && pin <= highest && (pin - lowest) % step == 0;
      lowest = highest = pin;
    }
    rules_.lowest[lead] = lowest, rules_.step[lead] = step, rules_.highest[lead] = fits ? highest : lowest - 1;
  }

  // Intersect a grid with another one; if they have no common offset, the grid begins above all ends.
  static void join(i64 &lowest, i64 &step, i64 least, i64 stride, const Rows<i64> &levels) {
    if (lowest < least) lowest += (least - lowest + step - 1) / step * step;
    if (const i64 missing = floor_mod(least - lowest, stride); missing > 0) {
      const i64 steps = packing::first_multiple(step, stride, missing, missing, levels);
      lowest = steps < 0 || steps > (kMostEnd - lowest) / step ? kMostEnd + 1 : lowest + steps * step;
    }
    const i64 more = stride / std::gcd(step, stride);
    step = more > kMostEnd / step ? kMostEnd : step * more;
  }

  // List the groups in the order of their first buffers, pinned groups first.
  template <class BufferOf>
  packing::PackOrder bodies(BufferOf &&buffer_of, i64 limit) {
    i64 at = 0, count = 0;
    rules_.capacity = std::min(limit, kMostEnd);
    ++orders_;
    for (const bool is_pinned : {true, false})
      for (i64 x = 0; x < instance_.n; ++x) {
        const i64 lead = instance_.lead[buffer_of(x)];
        if (is_pinned_[lead] != is_pinned || filed_[lead] == orders_) continue;
        filed_[lead] = orders_, body_first_[count++] = at;
        for (i64 i = lead; i != kAbsent; i = next_[i]) order_[at++] = i;
      }
    body_first_[count] = at;
    return {{order_.data, at}, {body_first_.data, count + 1}, false, {nullptr, 0}, offset_};
  }

  // Return whether no two conflicting buffers of a group overlap.
  bool suits_itself(i64 lead) const {
    for (i64 i = lead; i != kAbsent; i = next_[i])
      for (i64 j = lead; j != i; j = next_[j]) {
        const i64 mine = instance_.distance[i], other = instance_.distance[j];
        if (mine < other + instance_.size[j] && other < mine + instance_.size[i] && instance_.conflict(i, j))
          return false;
      }
    return true;
  }
};

}  // namespace memplan
