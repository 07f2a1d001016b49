// Dummy buffers, which fill the slack of a component, so that the exact search cannot waste bytes.
//
// Where a section has slack, a search may leave gaps in many ways. Without slack, every move is forced or fails at
// once. Buffers that can be placed together with dummy buffers can also be placed without them. So if the slack
// consists of few pieces, guessing these pieces is worthwhile: the slack rises where a dummy buffer begins, and falls
// where it ends. A wrong guess proves nothing.
#pragma once
#include "inner_rounds.hpp"
#include "stack.hpp"

namespace memplan {

// Guesses dummy buffers from the slack of each section, in granules; the dummy buffers of a guess add up to the slack.
class Guesses {
 public:
  bool begin(Arena &arena, i64 sections, Random &random) {
    random_ = &random;
    for (Stack<Dummy> *rows : {&best_, &rows_, &alive_}) rows->room = arena.uncleared<Dummy>(2 * sections + 4);
    return !arena.has_failed;
  }

  // Return the smallest of several guesses, because the simplest explanation is the likeliest.
  Array<Dummy> fewest(const Array<i64> &slack) {
    best_.size = kMost;
    for (int guess = 0; guess < kGuesses; ++guess) {
      // Slack suggests different buffers when it is read backwards, so choose the direction at random.
      read(slack, random_->uniform() < 0.5);
      if (rows_.size < best_.size) std::swap(rows_, best_);
    }
    return {best_.room.data, best_.size};
  }

 private:
  static constexpr int kGuesses = 30;
  Random *random_ = nullptr;
  Stack<Dummy> best_, rows_, alive_;  // `alive_` has the dummy buffers whose end is not yet known

  i64 below(i64 count) { return static_cast<i64>(random_->next() % static_cast<u64>(count)); }

  // Read the slack in one direction: dummy buffers begin where it rises, and end where it falls.
  void read(const Array<i64> &slack, bool is_forwards) {
    const i64 k = slack.size;
    const auto at = [&](i64 s) { return s < 0 || s == k ? 0 : slack[is_forwards ? s : k - 1 - s]; };
    rows_.size = alive_.size = 0;
    for (i64 s = 0; s <= k; ++s) {
      const i64 change = at(s) - at(s - 1);
      if (change > 0) alive_.push({s, 0, change});
      if (change < 0) end_some(s, -change);
    }
    if (!is_forwards)
      for (Dummy &row : rows_) row = {k - row.end, k - row.start, row.size};
  }

  // End dummy buffers for a fall. If they are too large, the last one continues with the rest, or another one begins.
  void end_some(i64 s, i64 fall) {
    for (i64 x = alive_.size - 1; x > 0; --x) std::swap(alive_[x], alive_[below(x + 1)]);
    const i64 count = choose(fall);
    i64 rest = -fall;
    for (i64 x = 0; x < count; ++x) {
      alive_[x].end = s, rest += alive_[x].size;
      rows_.push(alive_[x]);
    }
    std::move(alive_.begin() + count, alive_.end(), alive_.begin());
    alive_.size -= count;
    if (rest == 0) return;
    // A dummy buffer larger than the fall is split in two; either part may have begun earlier, so choose at random.
    Dummy &last = rows_.back();
    const bool goes_on = random_->uniform() < 0.5;
    alive_.push({goes_on ? last.start : s, 0, rest});
    if (goes_on) last.size -= rest;
  }

  // Move the dummy buffers that end to the front; return their number. Likeliest are one or two that equal the fall,
  // then one that is larger; otherwise several dummy buffers end.
  i64 choose(i64 fall) {
    const i64 n = alive_.size;
    for (i64 x = 0; x < n; ++x)
      if (alive_[x].size == fall) return std::swap(alive_[0], alive_[x]), 1;
    for (i64 x = 0; x < n; ++x)
      for (i64 y = x + 1; y < n; ++y)
        if (alive_[x].size + alive_[y].size == fall) {
          std::swap(alive_[0], alive_[x]);
          std::swap(alive_[1], alive_[y]);
          return 2;
        }
    for (i64 x = 0; x < n; ++x)
      if (alive_[x].size > fall) return std::swap(alive_[0], alive_[x]), 1;
    i64 count = 0;
    for (i64 sum = 0; sum < fall; ++count) sum += alive_[count].size;
    return count;
  }
};

// Rounds on a component whose slack dummy buffers fill, guess after guess; `rounds` are those without dummy buffers.
class DummyRounds {
 public:
  DummyRounds(Allocator &allocator, Parts &parts, i64 component, Rounds &rounds, Random &random)
      : parts_(parts), component_(component), rounds_(rounds), random_(random), kept_(allocator), filled_(allocator, random, rounds.inferences(), kMostRows) {}

  bool begin() {
    const i64 k = rounds_.sections().spare.size;
    slack_ = kept_.array<i64>(k);
    return guesses_.begin(kept_, k, random_);
  }

  bool has_failed() { return filled_.has_failed(); }

  // Return whether the next round at this capacity should use dummy buffers.
  template <class IsOver>
  bool is_due(i64 capacity, IsOver &&is_over) {
    if (!rounds_.has(exact::kDummies)) return false;
    if (rounds_.is_proving || nodes_ > rounds_.nodes() - kHeadStart * rounds_.size()) return false;
    if (capacity != capacity_) {
      capacity_ = capacity;
      has_guess_ = false;
      is_simple_ = has_simple_slack(is_over);
    }
    return is_simple_;
  }

  // Search in each order, for at most `most` nodes; return FOUND with the offsets of the component's real buffers.
  template <class IsOver>
  RunResult round(i64 most, i64 &spent, IsOver &&is_over) {
    if (!has_guess_ && !guess(is_over)) return {};
    RunResult result;
    const i64 limit = filled_.rounds().begin_round(kAtBound), before = filled_.rounds().nodes();
    bool is_done = false;
    for (int order = 0; order < kOrders && !is_done && !is_over(); ++order) {
      const i64 left = most - (filled_.rounds().nodes() - before);
      if (left <= 0) break;
      result = filled_.rounds().run(kAtBound, order, capacity_, std::min(limit, left), is_over);
      // A refuted guess proves nothing about the problem, and the next one may be right, so go on.
      is_done = result.outcome == kFound || result.outcome == kExhausted || filled_.rounds().has_failed();
    }
    filled_.rounds().end_round(kAtBound);
    spent = filled_.rounds().nodes() - before;
    nodes_ += spent;
    // The placement is read before the next guess, so the guess may end here.
    has_guess_ = !is_done && filled_.rounds().nodes() < kOfGuess * rounds_.size();
    return result;
  }

 private:
  // kHeadStart: nodes per buffer spent without dummy buffers first; afterwards, both searches get equally many.
  // kOfGuess: most nodes per buffer for a guess. kOfGuessing: nodes that making a guess counts as.
  static constexpr i64 kHeadStart = 64, kOfGuess = 64, kOfGuessing = 16, kMostRows = 1 << 14;
  // The most dummy buffers per buffer, and per rise of the slack; guesses with more are wrong.
  static constexpr double kMostDummies = 0.1, kMostOfRises = 1.5;
  Parts &parts_;
  const i64 component_;
  Rounds &rounds_;
  Random &random_;
  Arena kept_;
  InnerRounds filled_;
  Guesses guesses_;
  Array<i64> slack_{nullptr, 0};
  i64 capacity_ = kAbsent, nodes_ = 0;
  bool is_simple_ = false, has_guess_ = false;

  // Read the slack before any placement; return false if it requires many dummy buffers.
  template <class IsOver>
  bool has_simple_slack(IsOver &&is_over) {
    // A search of one node leaves the slack of the empty placement.
    if (rounds_.run(kAtBound, 0, capacity_, 1, is_over).outcome == kExhausted) return false;
    i64 rises = 0;
    for (i64 s = 0; s < slack_.size; ++s) {
      slack_[s] = rounds_.slack(s) / rounds_.sections().granule;
      rises += slack_[s] > (s > 0 ? slack_[s - 1] : 0);
    }
    // A few missing buffers leave little slack, so slack that needs more dummy buffers is not worth a guess.
    const double most = std::min(kMostDummies * static_cast<double>(rounds_.size()), kMostOfRises * static_cast<double>(rises));
    return rises > 0 && static_cast<double>(rises) <= most && static_cast<double>(guesses_.fewest(slack_).size) <= most;
  }

  template <class IsOver>
  bool guess(IsOver &&is_over) {
    nodes_ += kOfGuessing * rounds_.size();
    const Array<Dummy> dummies = guesses_.fewest(slack_);
    const Component &component = parts_[component_];
    return filled_.begin([&](Arena &arena) { return parts_.laid_out(arena, component, is_over, dummies); }, is_over);
  }
};

}  // namespace memplan
