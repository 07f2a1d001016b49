// Proofs by fewer buffers: a component needs its peak if a core, some of its buffers, needs that peak by itself.
//
// The search of a core is often exhausted quickly where the search of the whole component is not. So a core grows by
// the buffers that cause failures: as long as the core has a placement under the peak, the other buffers are packed
// around it, and the first ones that do not fit join it. A core that takes too long is given up for another one. If a
// core of all buffers has a placement, this is not a proof but a better peak.
#pragma once
#include "inner_rounds.hpp"
#include "stack.hpp"

namespace memplan {

// Searches cores of one component in rounds; positions are those in the component.
class CoreRounds {
 public:
  CoreRounds(Allocator &allocator, Parts &parts, i64 component, Rounds &rounds, Random &random)
      : parts_(parts), component_(component), rounds_(rounds), random_(random), kept_(allocator), inner_(allocator, random, rounds.inferences(), kMostRows) {}

  bool begin() {
    const i64 n = rounds_.size();
    order_ = kept_.uncleared<u32>(n);
    value_ = kept_.uncleared<double>(n);
    failures_ = kept_.array<double>(rounds_.sections().spare.size + 1);
    core_.room = kept_.uncleared<i64>(n);
    buffers_ = kept_.uncleared<i64>(n);
    low_ = kept_.uncleared<i64>(n);
    near_.room = kept_.uncleared<i64>(n);
    return !kept_.has_failed;
  }

  bool has_failed() { return inner_.has_failed(); }

  bool is_due() const {
    const i64 n = rounds_.size();
    if (!rounds_.has(exact::kCores)) return false;
    return (rounds_.is_proving || n <= kSmall) && nodes_ <= rounds_.nodes() - kHeadStart * n;
  }

  // Search a core for at most `most` nodes, and let it grow or give it up. Return EXHAUSTED with a capacity that the
  // component needs at least, or FOUND with the offsets of the component.
  template <class IsOver>
  RunResult round(i64 capacity, i64 most, i64 &spent, IsOver &&is_over) {
    RunResult result;
    if (is_given_up_ && !begin_core(is_over)) return result;
    const i64 before = inner_.rounds().nodes(), left = limit() - before;
    result = search(capacity, std::max<i64>(1, std::min(most, left)), is_over);
    spent = inner_.rounds().nodes() - before;
    nodes_ += spent;
    const bool is_of_core = result.outcome == kFound && core_.size < rounds_.size();
    if (inner_.has_failed() || is_over()) {
      if (is_of_core) result.outcome = kStopped;  // the offsets of a core are not those of the component
      return result;
    }
    if (is_of_core) {
      grow(result.offset, capacity);
      result.outcome = kStopped;
      is_given_up_ = !set_core(is_over);
    } else if (result.outcome == kFound || result.outcome == kExhausted || inner_.rounds().nodes() >= limit()) {
      is_given_up_ = true;  // the offsets are read before the next core begins, so they stay valid
    }
    return result;
  }

 private:
  // For larger components, search cores only once a capacity above the bound is refuted: most have a plan at the bound.
  // kHeadStart: nodes per buffer spent on the whole component first; afterwards, both searches get equally many nodes.
  // kOfCompiling: the nodes that building the sections of a core counts as.
  static constexpr i64 kSmall = 100, kHeadStart = 250, kOfCompiling = 16, kMostRows = 1 << 16;
  // A core of a component of n buffers begins with 1 + n / kFirstShare of them.
  // A core of m buffers grows by 1 + m / kJoining buffers at a time.
  static constexpr i64 kFirstShare = 8, kJoining = 16;
  // The nodes per buffer of the first core, and the factor by which each next core gets more.
  static constexpr double kFirstLimit = 250, kLonger = 1.2;
  Parts &parts_;
  const i64 component_;
  Rounds &rounds_;
  Random &random_;
  Arena kept_;
  InnerRounds inner_;
  Array<u32> order_{nullptr, 0};  // the order in which buffers join a core
  Array<double> value_{nullptr, 0}, failures_{nullptr, 0};
  Stack<i64> core_, near_;
  Array<i64> buffers_{nullptr, 0}, low_{nullptr, 0};
  i64 cores_ = 0, nodes_ = 0;
  double limit_ = kFirstLimit / kLonger;
  bool is_given_up_ = true;

  i64 limit() const { return static_cast<i64>(limit_ * static_cast<double>(rounds_.size())); }

  // Search in all orders, in rounds, for about `most` nodes.
  template <class IsOver>
  RunResult search(i64 capacity, i64 most, IsOver &&is_over) {
    Rounds &inner = inner_.rounds();
    RunResult result;
    const i64 end = inner.nodes() + most;
    const auto is_done = [&] { return result.outcome == kFound || result.outcome == kExhausted; };
    while (!is_done() && inner.nodes() < end && !is_over() && !inner.has_failed()) {
      const i64 longest = inner.begin_round(kAbove);
      for (int order = 0; order < kOrders && !is_done(); ++order)
        result = inner.run(kAbove, order, capacity, std::clamp<i64>(end - inner.nodes(), 1, longest), is_over);
      inner.end_round(kAbove);
    }
    return result;
  }

  // Begin another core with the buffers that are large and alive where searches of the whole component failed.
  template <class IsOver>
  bool begin_core(IsOver &&is_over) {
    const exact::Sections &sections = rounds_.sections();
    const i64 n = rounds_.size();
    const Array<double> &weight = rounds_.weights(cores_ % 2 == 0 ? kAbove : kAboveWide);
    for (i64 s = 0; s < weight.size; ++s) failures_[s + 1] = failures_[s] + weight[s];
    for (i64 x = 0; x < n; ++x) {
      const double failed = failures_[sections.rightmost[x]] - failures_[sections.leftmost[x]];
      // The first core depends on the failures alone; later cores vary at random, by a factor of about one and a half.
      double chance = 1 + (cores_ > 0 ? random_.noise() / 16 : 0);
      for (int k = 0; k < 3; ++k) chance *= chance;
      order_[x] = static_cast<u32>(x);
      value_[x] = static_cast<double>(sections.extent[x]) * failed * chance;
    }
    std::sort(order_.begin(), order_.end(), [this](u32 a, u32 b) {
      return value_.data[a] > value_.data[b] || (value_.data[a] == value_.data[b] && a < b);
    });
    ++cores_, limit_ *= kLonger;
    core_.size = 0;
    for (i64 x = 0; x < 1 + n / kFirstShare && x < n; ++x) core_.push(order_[x]);
    is_given_up_ = !set_core(is_over);
    return !is_given_up_;
  }

  template <class IsOver>
  bool set_core(IsOver &&is_over) {
    std::sort(core_.begin(), core_.end(), [](i64 a, i64 b) { return a < b; });
    for (i64 x = 0; x < core_.size; ++x) buffers_[x] = parts_[component_].buffers[core_[x]];
    nodes_ += kOfCompiling * core_.size;
    const Component core{core_.size, buffers_.data};
    if (!inner_.begin([&](Arena &arena) { return parts_.laid_out(arena, core, is_over); }, is_over)) return false;
    inner_.rounds().is_proving = true;  // proofs need long runs, so prefer these
    return true;
  }

  // Let the first buffers that do not fit around the core join it; if all fit, let every buffer join. Others are packed
  // by first fit in their order; ignoring alignments and obstacles is safe, because this only selects buffers.
  void grow(const i64 *offset, i64 capacity) {
    const exact::Sections &sections = rounds_.sections();
    const i64 before = core_.size, joining = 1 + before / kJoining;
    low_.fill(kAbsent);
    for (i64 x = 0; x < before; ++x) low_[core_[x]] = offset[x];
    for (i64 x = 0; x < rounds_.size() && core_.size < before + joining; ++x) {
      const i64 i = order_[x];
      if (low_[i] != kAbsent) continue;
      low_[i] = first_fit(sections, i);
      if (low_[i] + sections.extent[i] <= capacity) continue;
      low_[i] = kAbsent;
      core_.push(i);
    }
    if (core_.size > before) return;
    core_.size = 0;
    for (i64 i = 0; i < rounds_.size(); ++i) core_.push(i);
  }

  i64 first_fit(const exact::Sections &sections, i64 i) {
    near_.size = 0;
    for (i64 y = sections.neighbour_first[i]; y < sections.neighbour_first[i + 1]; ++y)
      if (low_[sections.neighbour[y]] != kAbsent) near_.push(sections.neighbour[y]);
    std::sort(near_.begin(), near_.end(), [this](i64 a, i64 b) { return low_.data[a] < low_.data[b]; });
    i64 at = 0;
    for (const i64 j : near_) {
      if (low_[j] - at >= sections.extent[i]) break;
      at = std::max(at, low_[j] + sections.extent[j]);
    }
    return at;
  }
};

}  // namespace memplan
