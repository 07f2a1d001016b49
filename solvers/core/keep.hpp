// A plan that keeps the placements of an older plan: as many buffers as fit stay pinned, by weight, then as many hints.
//
// All old placements are pinned that break no rule by themselves and do not collide. If nothing fits around them, the
// pinned buffers that are alive together with an unplaced buffer are freed, and pinned again by halves. If there are
// few placements, every set of buffers to move is tried, the lightest first, which proves the minimum.
#pragma once
#include <cmath>

#include "asked.hpp"
#include "check.hpp"
#include "stack.hpp"

namespace memplan {

enum class Fits { kYes, kNo, kUnknown };
using Pins = Array<const memplan_place *>;  // for each pinned buffer, its place; nullptr for other buffers

// Plan a problem with pins, each buffer in a given memory; the answer is No only if that is proved.
Fits fit_memories(Allocator &allocator, Stop &stop, const memplan_problem &problem, const memplan_options &options, const Pins &pins,
                  const Array<std::size_t> &memory_of, const Array<i64> &offset);

// Return a number increased by a fraction of it.
inline i64 raised_by(i64 value, double part) {
  if (std::isinf(part)) return kMost;  // of 0 bytes, too
  const double more = part > 0 ? static_cast<double>(value) * part : 0;
  return more >= static_cast<double>(kLargest) ? kMost : value + static_cast<i64>(more);
}

// Count the places that a plan misses.
inline void count_moves(const memplan_problem &problem, const std::size_t *memory_of, const i64 *offsets, Allocator &allocator, memplan_result &result) {
  const memplan_result seen = check_plan(problem, memory_of, offsets, allocator);
  result.moved = seen.moved, result.missed = seen.missed;
}

// `Fit` is called with pins, whether to look far, and two columns for the memories and offsets of a plan that fits;
// its function `may_be_in` returns whether a buffer may be in a memory.
template <class Fit>
class Keeping {
 public:
  // The problem has the capacities that a plan may use; the columns hold the memories and offsets of a plan, and the
  // result what it moves. If the arena has failed, nothing else is kept.
  Keeping(Arena &arena, const memplan_problem &problem, std::size_t *memory_of, i64 *offsets, Fit &fit, Stop &stop, memplan_result &result)
      : problem_(problem),
        arena_(arena),
        memory_of_(memory_of),
        offsets_(offsets),
        fit_(fit),
        stop_(stop),
        result_(result),
        pinned_(arena.array<const memplan_place *>(count())),
        row_(arena.uncleared<i64>(rows())),
        state_(arena.array<State>(rows())),
        found_memory_(arena.array<std::size_t>(count())),
        found_offset_(arena.array<i64>(count())),
        pairs_(arena) {
    if (arena.has_failed) return;
    for (i64 k = 0; k < rows(); ++k) row_[k] = k;
    std::sort(row_.begin(), row_.end(), [this](i64 a, i64 b) {
      return place(a).weight != place(b).weight ? place(a).weight > place(b).weight : a < b;
    });
  }

  void run() {
    if (!arena_.has_failed) keep();
    result_.moved_bound = std::min(bound_, result_.moved);
  }

 private:
  void keep() {
    refuse();
    collide();
    if (arena_.has_failed || is_done()) return;
    if (rows() - std::count(state_.begin(), state_.end(), kIllegal) <= kFew) return try_sets();
    pin_all();
    if (try_pins(true) == Fits::kYes && is_done()) return;
    if (result_.moved > bound_) {
      if (free_near() && try_pins(false) != Fits::kYes) pinned_.fill(nullptr);
      pin_again(true);
    }
    pin_kept();
    pin_again(false);
  }

  enum State : i64 { kKeeps, kIllegal, kGivenUp };
  static constexpr i64 kFew = 10;            // with at most this many places, every set of them is tried
  static constexpr i64 kMostTries = 400, kLeastTries = 20, kTriesWork = 2'000'000;
  static constexpr i64 kMostPairs = 1'000'000;
  struct Pair {
    i64 first, second;
  };
  struct Set {
    i64 weight, hints, leaves;
  };
  const memplan_problem &problem_;
  Arena &arena_;
  std::size_t *const memory_of_;
  i64 *const offsets_;
  Fit &fit_;
  Stop &stop_;
  memplan_result &result_;
  Pins pinned_;
  Array<i64> row_;  // the rows of places, ordered by decreasing weight
  Array<State> state_;
  Array<std::size_t> found_memory_;
  Array<i64> found_offset_;
  Growing<Pair> pairs_;  // pairs of rows that cannot both keep their places
  i64 bound_ = 0, tries_ = 0;

  i64 count() const { return static_cast<i64>(problem_.count); }
  i64 rows() const { return static_cast<i64>(problem_.place_count); }
  const memplan_place &place(i64 row) const { return problem_.places[row]; }
  const memplan_buffer &buffer_of(i64 row) const { return problem_.buffers[place(row).buffer]; }
  bool is_over() { return arena_.has_failed || tries_ >= std::clamp(kTriesWork / (count() + 1), kLeastTries, kMostTries) || stop_(); }
  bool is_done() { return (result_.moved <= bound_ && result_.missed == 0) || is_over(); }
  memplan_memory memory(std::size_t q) const {
    if (problem_.memory_count > 0) return problem_.memories[q];
    return {problem_.capacity, problem_.base, problem_.reserved, problem_.reserved_count, problem_.bank};
  }

  bool is_met(i64 row) const {
    const std::size_t i = place(row).buffer;
    return problem_.buffers[i].size == 0 || (offsets_[i] == place(row).offset && memory_of_[i] == place(row).memory);
  }

  // Mark the places that are illegal regardless of other buffers.
  void refuse() {
    for (i64 k = 0; k < rows(); ++k) {
      if (may_lie(k)) continue;
      state_[k] = kIllegal;
      bound_ += place(k).weight;
    }
  }

  bool may_lie(i64 row) const {
    const memplan_buffer &buffer = buffer_of(row);
    if (buffer.size == 0) return true;
    if (!fit_.may_be_in(place(row).buffer, place(row).memory)) return false;
    const memplan_memory in = memory(place(row).memory);
    const i64 at = place(row).offset;
    if (buffer.size > in.capacity || at > in.capacity - buffer.size || at > kLargest) return false;
    const i64 end = at + buffer.size, address = at + in.base;
    if (buffer.alignment > 1 && address % buffer.alignment != 0) return false;
    if (buffer.pin != MEMPLAN_FREE && buffer.pin != at) return false;
    if (at < buffer.lowest || (buffer.limit > 0 && end > buffer.limit)) return false;
    if (buffer.no_cross > 0 && address / buffer.no_cross != (end + in.base - 1) / buffer.no_cross) return false;
    const auto meets = [=](const memplan_range &range) { return range.begin < end && at < range.end; };
    return std::none_of(in.reserved, in.reserved + in.reserved_count, meets);
  }

  // Find the pairs that cannot both keep their places, give up places that cover these pairs,
  // and raise the bound on the moved weight.
  void collide() {
    const Array<i64> sorted = arena_.uncleared<i64>(rows()), alive = arena_.uncleared<i64>(rows());
    const Array<bool> is_seen = arena_.array<bool>(rows());
    if (arena_.has_failed) return;
    for (i64 k = 0; k < rows(); ++k) sorted[k] = k;
    std::sort(sorted.begin(), sorted.end(), [this](i64 a, i64 b) {
      return buffer_of(a).begin != buffer_of(b).begin ? buffer_of(a).begin < buffer_of(b).begin : a < b;
    });
    i64 living = 0;
    for (const i64 k : sorted) {
      if (state_[k] != kKeeps || problem_.only_pairs || pairs_.size > kMostPairs) continue;
      i64 kept = 0;
      for (i64 x = 0; x < living; ++x) {
        if (buffer_of(alive[x]).end <= buffer_of(k).begin) continue;
        alive[kept++] = alive[x];
        if (clash(k, alive[x])) pairs_.push({k, alive[x]});
      }
      alive[kept] = k, living = kept + 1;
    }
    std::sort(pairs_.begin(), pairs_.end(), [this](const Pair &a, const Pair &b) {
      const i64 one = weight_of(a), two = weight_of(b);
      return one != two ? one > two : a.first != b.first ? a.first < b.first : a.second < b.second;
    });
    for (const Pair &pair : pairs_.array()) {
      if (state_[pair.first] != kKeeps || state_[pair.second] != kKeeps) continue;
      state_[place(pair.first).weight <= place(pair.second).weight ? pair.first : pair.second] = kGivenUp;
    }
    // Of pairs that have no buffer in common, one buffer each must move, so their lighter weights add up to a bound.
    for (const Pair &pair : pairs_.array()) {
      if (is_seen[pair.first] || is_seen[pair.second]) continue;
      is_seen[pair.first] = is_seen[pair.second] = true, bound_ += weight_of(pair);
    }
  }

  i64 weight_of(const Pair &pair) const { return std::min(place(pair.first).weight, place(pair.second).weight); }

  // Return whether two rows, alive together, illegally share bytes at their places.
  // The search finds violations of other pair rules.
  bool clash(i64 row, i64 other) const {
    const memplan_place &a = place(row), &b = place(other);
    const i64 size = buffer_of(row).size, beside = buffer_of(other).size;
    if (a.memory != b.memory || size == 0 || beside == 0) return false;
    if (a.offset >= b.offset + beside || b.offset >= a.offset + size) return false;
    if (problem_.share_count > 0 && a.offset == b.offset) return false;
    return !has_gap(a.buffer) && !has_gap(b.buffer);
  }

  bool has_gap(std::size_t buffer) const {
    const memplan_gap *end = problem_.gaps + problem_.gap_count;
    const auto below = [](const memplan_gap &gap, std::size_t number) { return gap.buffer < number; };
    const memplan_gap *at = std::lower_bound(problem_.gaps, end, buffer, below);
    return at != end && at->buffer == buffer;
  }

  void pin_all() {
    for (i64 k = 0; k < rows(); ++k)
      if (state_[k] == kKeeps && place(k).weight > 0) pin(k);
  }
  void pin(i64 row) { pinned_[static_cast<i64>(place(row).buffer)] = &place(row); }
  bool is_pinned(i64 row) const { return pinned_[static_cast<i64>(place(row).buffer)] != nullptr; }

  Fits try_pins(bool is_far) {
    ++tries_;
    const Fits answer = fit_(pinned_, is_far, found_memory_, found_offset_);
    return answer != Fits::kYes || take() ? answer : Fits::kUnknown;
  }

  // Keep the found plan if it moves less weight, or as much with fewer missed hints; return whether it passes the check.
  bool take() {
    for (i64 i = 0; i < count(); ++i)
      if (!fit_.may_be_in(static_cast<std::size_t>(i), found_memory_[i])) return false;
    const memplan_result seen = check_plan(problem_, found_memory_.data, found_offset_.data, arena_.allocator());
    if (seen.status != MEMPLAN_FEASIBLE) return false;
    if (seen.moved > result_.moved || (seen.moved == result_.moved && seen.missed >= result_.missed)) return true;
    result_.moved = seen.moved, result_.missed = seen.missed, result_.peak = seen.peak;
    std::copy(found_memory_.begin(), found_memory_.end(), memory_of_);
    std::copy(found_offset_.begin(), found_offset_.end(), offsets_);
    return true;
  }

  // Unpin the buffers that are alive together with a buffer without a place; return whether any was unpinned.
  bool free_near() {
    Growing<Range> times(arena_);
    for (i64 i = 0; i < count(); ++i)
      if (const memplan_buffer &each = problem_.buffers[i]; pinned_[i] == nullptr && each.size > 0) times.push({each.begin, each.end});
    merge(times, 0);
    bool has_freed = false;
    for (i64 k = 0; k < rows() && !arena_.has_failed; ++k) {
      const memplan_buffer &each = buffer_of(k);
      const Range *first = std::partition_point(times.begin(), times.end(), [&](const Range &time) { return time.high <= each.begin; });
      const bool is_near = problem_.only_pairs || (first != times.end() && first->low < each.end);
      if (is_near && is_pinned(k)) pinned_[static_cast<i64>(place(k).buffer)] = nullptr, has_freed = true;
    }
    return has_freed;
  }

  // Pin the places that the best plan keeps.
  void pin_kept() {
    pinned_.fill(nullptr);
    for (i64 k = 0; k < rows(); ++k)
      if (is_met(k)) pin(k);
  }

  // Pin unpinned places again, as many at once as fit: the heaviest first, or hints if `has_weight` is false.
  void pin_again(bool has_weight) {
    pin_kept();
    i64 count = 0;
    for (i64 k = 0; k < rows(); ++k)
      if (const i64 row = row_[k]; state_[row] != kIllegal && (place(row).weight > 0) == has_weight) std::swap(row_[count++], row_[k]);
    halve(0, count);
  }

  void halve(i64 from, i64 to) {
    i64 free = 0;
    for (i64 k = from; k < to; ++k) free += !is_pinned(row_[k]);
    if (free == 0 || is_done()) return;
    const i64 before = result_.moved, hints = result_.missed;
    for (i64 k = from; k < to; ++k) pin(row_[k]);
    const Fits answer = try_pins(false);
    pin_kept();
    if (answer == Fits::kYes && (result_.moved < before || result_.missed < hints)) return;
    if (free == 1 || to - from == 1) return;
    halve(from, (from + to) / 2);
    halve((from + to) / 2, to);
  }

  // If there are few places, try every set of places to give up, the lightest first.
  void try_sets() {
    i64 few[kFew], count = 0, given = 0, hints_given = 0;
    for (i64 k = 0; k < rows(); ++k)
      if (state_[k] != kIllegal)
        few[count++] = k;
      else
        given += place(k).weight, hints_given += place(k).weight == 0;
    const Array<Set> sets = arena_.uncleared<Set>(i64{1} << count);
    if (arena_.has_failed) return;
    for (i64 leaves = 0; leaves < sets.size; ++leaves) {
      sets[leaves] = {given, hints_given, leaves};
      for (i64 x = 0; x < count; ++x)
        if (leaves >> x & 1) sets[leaves].weight += place(few[x]).weight, sets[leaves].hints += place(few[x]).weight == 0;
    }
    std::sort(sets.begin(), sets.end(), [](const Set &a, const Set &b) {
      return a.weight != b.weight ? a.weight < b.weight : a.hints != b.hints ? a.hints < b.hints : a.leaves < b.leaves;
    });
    bool is_proved = true;
    for (const Set &set : sets) {
      if (is_proved) bound_ = std::max(bound_, std::min(set.weight, result_.moved));
      if (set.weight > result_.moved || (set.weight == result_.moved && set.hints >= result_.missed) || stop_()) return;
      pinned_.fill(nullptr);
      for (i64 x = 0; x < count; ++x)
        if (!(set.leaves >> x & 1)) pin(few[x]);
      if (std::any_of(pairs_.begin(), pairs_.end(), [this](const Pair &pair) { return is_pinned(pair.first) && is_pinned(pair.second); }))
        continue;
      const Fits answer = try_pins(true);
      if (answer == Fits::kYes) return;
      is_proved = is_proved && answer == Fits::kNo;
    }
  }
};

}  // namespace memplan
