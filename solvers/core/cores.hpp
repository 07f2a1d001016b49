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

// Positions are those in the component.
class CoreRounds {
 public:
  CoreRounds(Allocator &allocator, Parts &parts, i64 component, Rounds &rounds, Random &random)
      : parts_(parts), component_(component), rounds_(rounds), random_(random), kept_(allocator), inner_(allocator, random, kMostRows) {}

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
    return (rounds_.is_proving || n <= kSmall) && nodes_ <= rounds_.nodes() - kHeadStart * n;
  }

  // Search a core for at most so many nodes, and have it grow, or give it up. EXHAUSTED with a capacity that the
  // component takes at least, or FOUND with its offsets.
  template <class IsOver>
  RunResult round(i64 capacity, i64 most, i64 &spent, IsOver &&is_over) {
    RunResult result;
    if (is_given_up_ && !begin_core(is_over)) return result;
    const i64 before = inner_.rounds().nodes(), left = limit() - before;
    result = search(capacity, std::max<i64>(1, std::min(most, left)), is_over);
    spent = inner_.rounds().nodes() - before;
    nodes_ += spent;
    if (inner_.has_failed() || is_over()) return result;
    if (result.outcome == kFound && core_.size < rounds_.size()) {
      grow(result.offset, capacity);
      result.outcome = kStopped;
      is_given_up_ = !set_core(is_over);
    } else if (result.outcome == kFound || result.outcome == kExhausted || inner_.rounds().nodes() >= limit()) {
      is_given_up_ = true;  // its offsets are read before the next one
    }
    return result;
  }

 private:
  // Larger components have cores searched only once some capacity above the bound is ruled out: most have placements
  // there. The nodes for each buffer that are spent on the whole before any on cores, after which both get equally many,
  // and the nodes that making the sections of a core counts as.
  static constexpr i64 kSmall = 100, kHeadStart = 250, kOfCompiling = 16, kMostRows = 1 << 16;
  // A core of a component of n buffers begins with 1 + n / kFirstShare of them. To a core of m buffers, 1 + m / kJoining
  // are added at a time.
  static constexpr i64 kFirstShare = 8, kJoining = 16;
  // The nodes for each buffer of the first core, and the factor for each next core.
  static constexpr double kFirstLimit = 250, kLonger = 1.2;
  Parts &parts_;
  const i64 component_;
  Rounds &rounds_;
  Random &random_;
  Arena kept_;
  InnerRounds inner_;
  Array<u32> order_{nullptr, 0};  // which buffers join first
  Array<double> value_{nullptr, 0}, failures_{nullptr, 0};
  Stack<i64> core_, near_;
  Array<i64> buffers_{nullptr, 0}, low_{nullptr, 0};
  i64 cores_ = 0, nodes_ = 0;
  double limit_ = kFirstLimit / kLonger;
  bool is_given_up_ = true;

  i64 limit() const { return static_cast<i64>(limit_ * static_cast<double>(rounds_.size())); }

  // Search in all orders, in rounds, for about so many nodes.
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

  // Begin another core: first come buffers that are large and alive where searches of the whole have failed.
  template <class IsOver>
  bool begin_core(IsOver &&is_over) {
    const exact::Sections &sections = rounds_.sections();
    const i64 n = rounds_.size();
    const Array<double> &weight = rounds_.weights(cores_ % 2 == 0 ? kAbove : kAboveWide);
    for (i64 s = 0; s < weight.size; ++s) failures_[s + 1] = failures_[s] + weight[s];
    for (i64 x = 0; x < n; ++x) {
      const double failed = failures_[sections.rightmost[x]] - failures_[sections.leftmost[x]];
      // The first core is by the failures alone; later ones differ by chance, by about a half.
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
    inner_.rounds().is_proving = true;  // its runs are long
    return true;
  }

  // Let the first that do not fit around the core join it, or all, where there is none. The others are packed by first
  // fit, in their order; alignments and obstacles are not looked at, as this is but a way to choose.
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
