// The rounds of the exact search on one component: the capacities, orders and limits of its runs.
//
// A round searches for a placement under one capacity, in several orders. In some rounds, the capacity is the bound
// itself; in others, it is between the bound and the peak of the last placement. The latter are guided by that
// placement (Beck's solution-guided search, 2007). If this stalls, another descent begins, which is a series of better
// and better placements. Runs are short (Luby, Sinclair and Zuckerman 1993), and failure weights and no-goods are kept
// between them. Dives come in between: many shorter runs at the bound, each with fresh weights.
#pragma once
#include <cmath>

#include "layout.hpp"
#include "random.hpp"

namespace memplan {

using exact::RunResult;

enum Kind : int { kAtBound, kAbove, kAboveWide, kDive, kShakenDive, kDiveAbove, kLearntDive, kKinds };
inline constexpr Kind kDives[] = {kLearntDive, kShakenDive, kLearntDive, kDive, kDiveAbove};
inline constexpr double kSkipWeights[kKinds] = {1.0, 1.0, 3.0, 0.3, 1.0, 1.0, 0.3};
inline constexpr int kOrders = 4;
inline constexpr Measure kOrderMeasures[kOrders][3] = {
    {kWidth, kArea, kTotal}, {kTotal, kArea, kWidth}, {kTotal, kWidth, kArea}, {kSections, kArea, kTotal}};

// Return the k-th number, from 1, of Luby's sequence 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ...
inline i64 luby(i64 k) {
  while (true) {
    i64 power = 1;
    while (2 * power <= k) power *= 2;
    if (k == 2 * power - 1) return power;
    k -= power - 1;
  }
}

class Rounds {
 public:
  // Of several threads that search a component, the one that `is_first` begins with plain orders; others skip these.
  Rounds(Allocator &allocator, Random &random, i64 inferences, bool is_first = true, i64 most_rows = kMostRows)
      : kept_(allocator),
        state_memory_(allocator),
        table_memory_(allocator),
        random_(random),
        inferences_(inferences),
        is_first_(is_first),
        most_rows_(most_rows) {}

  // Begin; if this returns false, memory has run out or time is over, and nothing else may be called.
  template <class IsOver>
  bool begin(const LaidOut &laid_out, IsOver &&is_over) {
    laid_out_ = laid_out;
    n_ = laid_out.sections.size.size, k_ = laid_out_.sections.spare.size;
    for (Array<i64> *column : {&rank_, &no_guide_, &offset_, &guide_}) *column = kept_.array<i64>(n_);
    for (Array<i64> &order : orders_) order = kept_.uncleared<i64>(n_);
    for (Array<double> &weight : weights_) weight = kept_.uncleared<double>(k_);
    noisy_ = kept_.uncleared<double>(n_);
    sorted_ = kept_.uncleared<u32>(n_);
    if (kept_.has_failed || !make_state() || !make_table(1, is_over)) return false;
    no_guide_.fill(kAbsent);
    for (const Array<double> &weight : weights_) weight.fill(1.0);
    for (int order = 0; order < kOrders && !is_over(); ++order) sort_by_measures(order);
    return true;
  }

  i64 nodes() const { return nodes_; }
  i64 inferences() const { return inferences_; }
  bool has(exact::Inference each) const { return (inferences_ & each) != 0; }
  i64 size() const { return n_; }
  i64 slack(i64 section) const { return state_.slack[section]; }  // the slack at the end of the last run
  const exact::Sections &sections() const { return laid_out_.sections; }
  const Array<double> &weights(Kind kind) const { return weights_[kind]; }
  i64 peak() const { return peak_; }
  bool has_guide() const { return has_guide_; }
  bool has_failed() const { return kept_.has_failed || state_memory_.has_failed || table_memory_.has_failed; }

  bool is_stalled() const { return !is_proving && nodes_ - found_ > std::max(kPatience * n_, found_ - began_); }

  // Start a descent from a placement, or from none.
  void start_descent(const i64 *offset, i64 peak) {
    has_guide_ = offset != nullptr;
    if (has_guide_) std::copy(offset, offset + n_, guide_.data);
    peak_ = peak, began_ = found_ = nodes_;
    since_found_[kAbove] = since_found_[kAboveWide] = 0;
  }

  // Continue from a better placement, which a round of this kind has found.
  void follow(Kind kind, const i64 *offset, i64 peak) {
    has_guide_ = true;
    std::copy(offset, offset + n_, guide_.data);
    peak_ = peak, found_ = nodes_, since_found_[kind] = 0;
  }

  Kind next_kind() const {
    i64 k = 0, dives = 0;
    for (int kind = 0; kind < kKinds; ++kind) (kind < kDive ? k : dives) += rounds_[kind];
    if (k == 0 && !has_guide_) return kAbove;  // find any placement first
    if (k >= 2 && dives_are_due()) return kDives[dives % 5];
    const bool is_early = nodes_ < kFewNodes * n_;
    // Most real problems have a plan at the bound, so try the bound most often.
    if (k < kRoundsAtBound || (k - kRoundsAtBound) % (is_early ? 2 : 4) == 0) return kAtBound;
    return (is_early ? k / 2 : k) % 2 ? kAboveWide : kAbove;
  }

  // Begin a round, and return the number of nodes that each of its runs may take.
  i64 begin_round(Kind kind) {
    if (rounds_[kind] % kResetEvery == 0 || rounds_[kind] < kCleanRounds) weights_[kind].fill(1.0);
    ++since_found_[kind];
    fraction_ = random_.uniform(0.4, 0.95);
    if (kind >= kDive) return 4 * n_;
    i64 shortest = rounds_[kind] < kCleanRounds ? 2 : 4;
    if (is_proving && kind != kAtBound) shortest = 16;  // proofs need long runs
    return shortest * n_ * luby(since_found_[kind]);
  }

  void end_round(Kind kind) { ++rounds_[kind]; }

  i64 capacity(Kind kind, i64 bound, i64 ceiling) const {
    const bool is_of_bound = kind == kAtBound || (kind >= kDive && kind != kDiveAbove);
    if (is_of_bound || peak_ <= bound) return bound;
    if (!has_guide_) return ceiling;
    return std::min(peak_ - 1, bound + static_cast<i64>(static_cast<double>(peak_ - bound) * fraction_));
  }

  template <class IsOver>
  RunResult run(Kind kind, int order, i64 capacity, i64 limit, IsOver &&is_over) {
    i64 rows = 1;
    while (rows < most_rows_ && rows <= 4 * (nodes_ + limit)) rows *= 2;
    if (rows > table_.size && !make_table(rows, is_over)) return {};
    bool from_right = rounds_[kind] % 2 == 1;  // a search that takes long from one side may be short from the other
    if (kind == kLearntDive) order = drawn(learnt_orders_, kOrders), from_right = drawn(learnt_ends_, 2) == 1;
    if (kind >= kDive) {
      const double shaking = kind == kShakenDive ? 0.15 : 0.0;
      for (double &weight : weights_[kind]) weight = random_.uniform(1 - shaking, 1 + shaking);
    }
    const bool is_clean = rounds_[kind] < kCleanRounds && kind < kDive && is_first_;
    if (!is_clean) shuffle(order);
    const bool is_guided = has(exact::kGuides) && (kind == kAbove || kind == kAboveWide) && !is_proving && has_guide_;
    const exact::ExactRun run{
        table_, is_clean ? orders_[order] : rank_, is_guided ? guide_ : no_guide_, weights_[kind], capacity,
        kSkipWeights[kind], from_right, limit, rounds_[kind] >= 2 && kind < kDive, inferences_, offset_};
    const RunResult result = exact::search(laid_out_.sections, state_, run, is_over);
    nodes_ += result.nodes;
    if (kind >= kDive) dive_nodes_ += result.nodes;
    if (kind == kLearntDive && result.outcome != kFull) {
      const double left = static_cast<double>(result.unplaced) / static_cast<double>(n_);
      for (Learnt *learnt : {&learnt_orders_[order], &learnt_ends_[from_right]}) learnt->times += 1, learnt->left += left;
    }
    if (result.outcome == kFull) {
      scale_ *= 2;
      make_state();
    }
    return result;
  }

  bool is_proving = false;  // true once a run was exhausted after many nodes, because better placements are then rare

 private:
  static constexpr i64 kPatience = 1000, kFewNodes = 1000, kRoundsAtBound = 4, kResetEvery = 8, kCleanRounds = 2;
  static constexpr i64 kMostRows = i64{1} << 18, kChunk = 1 << 13;
  // For each choice in dives: how often it was made, and how many buffers those dives left unplaced.
  struct Learnt {
    double times, left;
  };
  Arena kept_, state_memory_, table_memory_;
  Random &random_;
  const i64 inferences_;  // a mask of `exact::Inference`
  const bool is_first_;
  const i64 most_rows_;
  LaidOut laid_out_{};
  exact::State state_{};
  Rows<u64> table_{nullptr, 0, 4};
  i64 n_ = 0, k_ = 0, scale_ = 1, nodes_ = 0, dive_nodes_ = 0, peak_ = 0, began_ = 0, found_ = 0;
  bool has_guide_ = false;
  double fraction_ = 1.0;
  i64 rounds_[kKinds] = {}, since_found_[kKinds] = {};
  Learnt learnt_orders_[kOrders] = {}, learnt_ends_[2] = {};
  Array<i64> orders_[kOrders], rank_, no_guide_, guide_, offset_;
  Array<double> weights_[kKinds], noisy_;
  Array<u32> sorted_;

  // Dives get one share of the first nodes, and a smaller share of later ones.
  bool dives_are_due() const {
    if (!has(exact::kDives)) return false;
    const i64 early = std::min(nodes_, 400 * n_);
    const double share = 0.75 * static_cast<double>(early) + 0.3 * static_cast<double>(nodes_ - early);
    return !is_proving && static_cast<double>(dive_nodes_) < share;
  }

  void sort_by_measures(int order) {
    for (i64 x = 0; x < n_; ++x) sorted_[x] = static_cast<u32>(x);
    std::sort(sorted_.begin(), sorted_.end(), [&](u32 a, u32 b) {
      for (const Measure which : kOrderMeasures[order]) {
        const Array<i64> &values = laid_out_.measure[which];
        if (values.data[a] != values.data[b]) return values.data[a] > values.data[b];
      }
      return a < b;
    });
    for (i64 x = 0; x < n_; ++x) orders_[order][sorted_[x]] = x;
  }

  // Write an order with some noise into `rank_`.
  void shuffle(int order) {
    const double by = random_.uniform() * 0.03 * static_cast<double>(n_);
    for (i64 x = 0; x < n_; ++x) {
      noisy_[x] = static_cast<double>(orders_[order][x]) + by * random_.noise();
      sorted_[x] = static_cast<u32>(x);
    }
    std::sort(sorted_.begin(), sorted_.end(), [this](u32 a, u32 b) {
      return noisy_.data[a] < noisy_.data[b] || (noisy_.data[a] == noisy_.data[b] && a < b);
    });
    for (i64 x = 0; x < n_; ++x) rank_[sorted_[x]] = x;
  }

  // Draw a choice by the buffers that earlier dives with it left unplaced (Thompson sampling, 1933).
  int drawn(const Learnt *learnt, int choices) {
    double times = 0, left = 0, least = 0;
    for (int c = 0; c < choices; ++c) times += learnt[c].times, left += learnt[c].left;
    int best = kAbsent;
    for (int c = 0; c < choices; ++c) {
      const double mean = learnt[c].times > 0 ? learnt[c].left / learnt[c].times : left / std::max(1.0, times);
      const double value = mean + 0.15 * random_.noise() / std::sqrt(learnt[c].times + 0.3);
      if (best < 0 || value < least) best = c, least = value;
    }
    return best;
  }

  bool make_state() {
    const exact::Sections &sections = laid_out_.sections;
    state_memory_.release();
    Arena &memory = state_memory_;
    for (Array<i64> *column : {&state_.low, &state_.raised}) *column = memory.array<i64>(n_);
    for (Array<i64> *column : {&state_.floor, &state_.ready, &state_.left, &state_.slack, &state_.queue, &state_.logged})
      *column = memory.array<i64>(k_);
    for (Array<i64> *column : {&state_.crossing, &state_.change}) *column = memory.array<i64>(k_ + 1);
    state_.key = memory.rows<u64>(k_, 2);
    state_.member = memory.uncleared<u32>(sections.member.size);
    state_.member_end = memory.array<u32>(k_);
    for (Array<i64> *column : {&state_.member_slot, &state_.seat}) *column = memory.uncleared<i64>(sections.member.size);
    state_.is_queued = memory.array<bool>(k_);
    // Entries that were not written are never read, so the arrays need not be cleared.
    state_.log = memory.uncleared<exact::Change>(scale_ * 64 * (n_ + k_));
    state_.frame = memory.uncleared<exact::Frame>(scale_ * 4 * n_ + 1);
    state_.option = memory.uncleared<i64>(scale_ * 16 * n_ + 1);
    if (memory.has_failed) return false;
    std::copy(sections.member.begin(), sections.member.end(), state_.member.data);
    std::copy(sections.member_slot.begin(), sections.member_slot.end(), state_.member_slot.data);
    for (i64 x = 0; x < sections.member.size; ++x) state_.seat[sections.member_slot[x]] = x;
    return true;
  }

  // Enlarge the table of no-goods, keeping all entries.
  template <class IsOver>
  bool make_table(i64 rows, IsOver &&is_over) {
    Arena &memory = table_memory_;
    const Array<u64> made = memory.uncleared<u64>(4 * rows);
    if (memory.has_failed) return false;
    const Rows<u64> larger{made.data, rows, 4};
    // a chunk takes some hundred microseconds, so look at the clock in between
    for (i64 row = 0; row < rows; row += kChunk) {
      std::fill(larger[row], larger[row] + 4 * std::min(kChunk, rows - row), 0);
      if (rows > kChunk && is_over()) return false;
    }
    for (i64 row = 0; row < table_.size; ++row) {
      const u64 *old = table_[row];
      if (old[2] > 0) std::copy(old, old + 4, larger[exact::slot_of(larger, old[0])]);
      if (row % kChunk == kChunk - 1 && is_over()) return false;
    }
    table_ = larger;
    return true;
  }
};

}  // namespace memplan
