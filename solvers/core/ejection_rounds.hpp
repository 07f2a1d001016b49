// Rounds that repair the best placement of a component below a lower end, without proofs.
//
// All buffers that end above the lower end are removed, and wait. Each in turn takes the offset where the buffers in its
// way weigh least, and these are removed and wait in turn. A buffer weighs more each time it is placed, so the search
// leaves local minima (the breakout method, Morris 1993). It is strong where alignments of several sizes leave gaps
// that the exact search cannot bound.
#pragma once
#include "rounds.hpp"

namespace memplan {

class EjectionRounds {
 public:
  EjectionRounds(Allocator &allocator, Rounds &rounds, Random &random) : rounds_(rounds), random_(random), kept_(allocator) {}

  bool begin() {
    const exact::Sections &s = sections();
    const i64 n = rounds_.size();
    i64 most = 0;
    for (i64 x = 0; x < n; ++x)
      most = std::max(most, s.neighbour_first[x + 1] - s.neighbour_first[x] + s.obstacle_first[x + 1] - s.obstacle_first[x]);
    for (const i64 step : s.step) is_suited_ = is_suited_ || step > s.granule;
    changes_ = kept_.uncleared<Change>(2 * most), weight_ = kept_.uncleared<double>(n);
    at_ = kept_.uncleared<i64>(n), waiting_.room = kept_.uncleared<i64>(n);
    return !kept_.has_failed;
  }

  bool has_failed() const { return kept_.has_failed; }

  // Return whether a round is due: in turn with the exact search, once that has had some nodes.
  bool is_due() const { return is_suited_ && rounds_.has(exact::kEjections) && !rounds_.is_proving && nodes_ < rounds_.nodes() - kHeadStart * rounds_.size(); }

  // Search for a placement whose largest end is between `bound` and `peak`, which is that of `offset`, for `most` nodes.
  template <class IsOver>
  RunResult round(const i64 *offset, i64 peak, i64 bound, i64 most, i64 &spent, IsOver &&is_over) {
    if (peak != peak_) fails_ = 0, peak_ = peak;
    const i64 end = peak - std::max<i64>(1, static_cast<i64>(static_cast<double>(peak - bound) * share_));
    waiting_.size = 0;
    for (i64 x = 0; x < rounds_.size(); ++x) {
      weight_[x] = random_.uniform(1.0, 1.1), at_[x] = offset[x];
      if (offset[x] + sections().size[x] > end) remove(x);
    }
    const i64 limit = std::min(most, kNodesEach * rounds_.size() * luby(++fails_)) * kNodeWork;
    bool is_placed = true;
    for (work_ = 0; waiting_.size > 0 && is_placed && work_ < limit && !is_over();) is_placed = place(next(), end);
    spent = 1 + work_ / kNodeWork, nodes_ += spent;
    RunResult result;
    if (waiting_.size == 0 && is_placed) result.outcome = kFound, result.offset = at_.data;
    share_ = result.outcome == kFound ? std::min(0.95, share_ * 1.5) : std::max(0.01, share_ * 0.7);
    return result;
  }

 private:
  // kHeadStart: nodes per buffer of the exact search first. kNodesEach: nodes per buffer of the shortest round.
  // kNodeWork: comparisons that count as a node. kLargestFirst: buffers of which one is taken at random.
  static constexpr i64 kHeadStart = 8, kNodesEach = 4, kNodeWork = 256, kLargestFirst = 4;
  static constexpr double kTie = 1e-6;
  // A change of the weight in the way at an offset, or of the number of obstacles.
  struct Change {
    i64 at;
    double weight;
    i64 obstacles;
  };
  Rounds &rounds_;
  Random &random_;
  Arena kept_;
  Array<Change> changes_{nullptr, 0};
  Array<i64> at_{nullptr, 0};  // ABSENT: waiting
  Array<double> weight_{nullptr, 0};
  Stack<i64> waiting_{{nullptr, 0}};
  i64 nodes_ = 0, work_ = 0, peak_ = kAbsent, fails_ = 0;
  double share_ = 0.5;  // the share of the gap between bound and peak that the next round tries to close
  bool is_suited_ = false;

  const exact::Sections &sections() const { return rounds_.sections(); }
  i64 below(i64 count) { return static_cast<i64>(random_.next() % static_cast<u64>(count)); }
  i64 kept_free(i64 k) const { return sections().neighbour_clearance.size > 0 ? sections().neighbour_clearance[k] : 0; }
  void remove(i64 x) { at_[x] = kAbsent, waiting_.push(x); }

  // Take a waiting buffer: the largest one, or at times any.
  i64 next() {
    const Array<i64> &size = sections().size;
    i64 best = below(waiting_.size);
    for (i64 k = 0, is_any = below(kLargestFirst) == 0; k < waiting_.size && !is_any; ++k)
      if (size[waiting_[k]] > size[waiting_[best]]) best = k;
    const i64 taken = waiting_[best];
    waiting_[best] = waiting_.back(), --waiting_.size;
    return taken;
  }

  // Place a buffer, and remove all in its way; return false if it fits nowhere.
  bool place(i64 x, i64 end) {
    const exact::Sections &s = sections();
    const i64 at = lightest(x, end);
    if (at == kAbsent) return false;
    for (i64 k = s.neighbour_first[x]; k < s.neighbour_first[x + 1]; ++k) {
      const i64 y = s.neighbour[k], free = kept_free(k);
      if (at_[y] != kAbsent && at_[y] < at + s.size[x] + free && at < at_[y] + s.size[y] + free) remove(y);
    }
    weight_[x] += 1, at_[x] = at;
    return true;
  }

  // Return the offset where the buffers in the way of a buffer weigh least; ABSENT if there is none below `end`.
  i64 lightest(i64 x, i64 end) {
    const exact::Sections &s = sections();
    i64 count = 0;
    for (i64 k = s.neighbour_first[x]; k < s.neighbour_first[x + 1]; ++k) {
      const i64 y = s.neighbour[k], free = kept_free(k);
      if (at_[y] == kAbsent) continue;
      changes_[count++] = {at_[y] - s.size[x] - free + 1, weight_[y], 0};
      changes_[count++] = {at_[y] + s.size[y] + free, -weight_[y], 0};
    }
    for (i64 row = s.obstacle_first[x]; row < s.obstacle_first[x + 1]; ++row)
      if (s.obstacle[row].low < s.obstacle[row].high)
        changes_[count++] = {s.obstacle[row].low, 0.0, 1}, changes_[count++] = {s.obstacle[row].high, 0.0, -1};
    std::sort(changes_.data, changes_.data + count, [](const Change &a, const Change &b) { return a.at < b.at; });
    work_ += 2 * (s.neighbour_first[x + 1] - s.neighbour_first[x]) + 4 * count + waiting_.size / 4 + 1;
    double weight = 0, least = static_cast<double>(kMost);
    i64 found = kAbsent, ties = 0, obstacles = 0;
    // Between two changes, all offsets are equal; the outermost two leave the largest gaps.
    const auto consider = [&](i64 from, i64 past) {
      from = std::max<i64>(from, 0), past = std::min(past, end - s.size[x] + 1);
      const i64 low = from + floor_mod(s.residue[x] - from, s.step[x]);
      if (obstacles > 0 || weight > least + kTie || low >= past) return;
      if (weight < least - kTie) least = weight, ties = 0;
      if (below(++ties) == 0) found = below(2) == 0 ? low : past - 1 - floor_mod(past - 1 - s.residue[x], s.step[x]);
    };
    i64 from = 0;
    for (i64 c = 0; c < count; ++c) {
      if (changes_[c].at > from) consider(from, changes_[c].at), from = changes_[c].at;
      weight += changes_[c].weight, obstacles += changes_[c].obstacles;
    }
    consider(from, end);
    return found;
  }
};

}  // namespace memplan
