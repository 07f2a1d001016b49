// First fit of buffers with rules of any kind: groups at fixed distances, pins, ranges, pages, conflicts by name.
#pragma once
#include "arena.hpp"
#include "instance.hpp"

namespace memplan {

// What is placed is gone through for each buffer: for some thousands of them.
class BodyPacker {
 public:
  BodyPacker(Arena &arena, const OnePool &instance) : instance_(instance) {
    member_first_ = arena.array<i64>(instance.n + 1);
    member_ = arena.uncleared<i64>(instance.n);
    placed_ = arena.uncleared<i64>(instance.n);
    at_ = arena.uncleared<i64>(instance.n);
    if (arena.has_failed) return;
    for (i64 i = 0; i < instance.n; ++i) ++member_first_[instance.lead[i] + 1];
    for (i64 i = 0; i < instance.n; ++i) member_first_[i + 1] += member_first_[i];
    for (i64 i = 0; i < instance.n; ++i) placed_[i] = member_first_[i];
    for (i64 i = 0; i < instance.n; ++i) member_[placed_[instance.lead[i]]++] = i;
  }

  // Whether the pinned groups can all lie where they must, each of the others has a place by itself, and no group is at
  // odds with itself; else nothing fits. A place that is far to seek counts as one.
  template <class IsOver>
  bool can_fit(IsOver &&is_over) {
    begin();
    for (i64 lead = 0; lead < instance_.n && !is_over(); ++lead) {
      if (instance_.lead[lead] != lead) continue;
      if (!suits_itself(lead)) return false;
      const i64 at = place_of(lead, instance_.capacity);
      if (at == kAbsent) return false;
      if (at >= 0 && pin_of(lead) != kAbsent && !put(lead, at)) return false;
    }
    return true;
  }

  // Pack in an order; the largest end, or ABSENT where one would pass the limit, or where it is over.
  template <class IsOver>
  i64 pack(const u32 *order, i64 limit, i64 *offset, IsOver &&is_over) {
    begin();
    i64 work = 0;
    for (int turn = 0; turn < 2; ++turn)  // those with a pin, then the others
      for (i64 x = 0; x < instance_.n; ++x) {
        const i64 lead = instance_.lead[order[x]];
        if (at_[lead] != kAbsent || (pin_of(lead) != kAbsent) != (turn == 0)) continue;
        i64 at = place_of(lead, limit);
        while (at >= 0) {
          const i64 raised = raised_by_placed(lead, at);
          if (raised == at) break;
          at = pin_of(lead) == kAbsent ? legal(lead, raised, limit) : kAbsent;
          work += n_placed_;
        }
        if (at < 0) return kAbsent;
        put(lead, at);
        if ((work += n_placed_) > kPollWork) {
          work = 0;
          if (is_over()) return kAbsent;
        }
      }
    i64 peak = 0;
    for (i64 i = 0; i < instance_.n; ++i) {
      offset[i] = at_[i];
      peak = std::max(peak, at_[i] + instance_.size[i]);
    }
    return peak;
  }

 private:
  static constexpr i64 kPollWork = 1 << 14, kTries = 10'000;
  static constexpr i64 kFarAway = -3;  // a place may be there, and is too far to seek
  const OnePool &instance_;
  Array<i64> member_first_, member_, placed_, at_;
  i64 n_placed_ = 0;

  void begin() {
    n_placed_ = 0;
    at_.fill(kAbsent);
  }

  // The offset that pins give a group; ABSENT where it has none, below that where they are at odds.
  i64 pin_of(i64 lead) const {
    i64 found = kAbsent;
    for (i64 x = member_first_[lead]; x < member_first_[lead + 1]; ++x) {
      const i64 i = member_[x];
      if (instance_.pin[i] == kAbsent) continue;
      const i64 at = instance_.pin[i] - instance_.distance[i];
      if (at < 0 || (found != kAbsent && found != at)) return kAbsent - 1;
      found = at;
    }
    return found;
  }

  // The least offset of a group by itself; ABSENT where it has none.
  i64 place_of(i64 lead, i64 limit) const {
    const i64 pin = pin_of(lead);
    if (pin == kAbsent) return legal(lead, 0, limit);
    return pin >= 0 && pin <= kLargest && legal(lead, pin, limit) == pin ? pin : kAbsent;
  }

  // The least offset of a group, not below `at`, at which each member keeps its own rules; ABSENT where one would end
  // above the limit, FAR AWAY where none was found.
  i64 legal(i64 lead, i64 at, i64 limit) const {
    for (i64 tries = 0; tries < kTries; ++tries) {
      const i64 before = at;
      for (i64 x = member_first_[lead]; x < member_first_[lead + 1]; ++x) {
        const i64 i = member_[x], size = instance_.size[i];
        i64 mine = std::max(at + instance_.distance[i], instance_.lowest[i]);
        mine += floor_mod(instance_.residue[i] - mine, instance_.step[i]);
        if (const i64 page = instance_.page[i]; page > 0) {
          if (size > page) return kAbsent;
          const i64 place = floor_mod(mine + instance_.page_shift[i], page);
          if (place + size > page) mine += page - place;
        }
        for (i64 row = 0; row < instance_.reserved.size; ++row)
          if (instance_.reserved[row][0] < mine + size && mine < instance_.reserved[row][1])
            mine = instance_.reserved[row][1];
        if (mine > std::min(limit, instance_.limit[i]) - size) return kAbsent;
        if (mine > 2 * kLargest) return kFarAway;
        at = std::max(at, mine - instance_.distance[i]);
      }
      if (at == before) return at;
    }
    return kFarAway;
  }

  // The offset to which what is placed raises a group: `at` where it is clear of all.
  i64 raised_by_placed(i64 lead, i64 at) const {
    for (i64 k = 0; k < n_placed_; ++k) {
      const i64 j = placed_[k], low = at_[j], high = low + instance_.size[j];
      for (i64 x = member_first_[lead]; x < member_first_[lead + 1]; ++x) {
        const i64 i = member_[x], mine = at + instance_.distance[i];
        if (low < mine + instance_.size[i] && mine < high && instance_.conflict(i, j))
          return high - instance_.distance[i];
      }
    }
    return at;
  }

  // Place a group; false where it would lie on something.
  bool put(i64 lead, i64 at) {
    if (raised_by_placed(lead, at) != at) return false;
    for (i64 x = member_first_[lead]; x < member_first_[lead + 1]; ++x) {
      at_[member_[x]] = at + instance_.distance[member_[x]];
      placed_[n_placed_++] = member_[x];
    }
    return true;
  }

  bool suits_itself(i64 lead) const {
    for (i64 x = member_first_[lead]; x < member_first_[lead + 1]; ++x)
      for (i64 y = member_first_[lead]; y < x; ++y) {
        const i64 i = member_[x], j = member_[y], mine = instance_.distance[i], other = instance_.distance[j];
        if (mine < other + instance_.size[j] && other < mine + instance_.size[i] && instance_.conflict(i, j))
          return false;
      }
    return true;
  }
};

}  // namespace memplan
