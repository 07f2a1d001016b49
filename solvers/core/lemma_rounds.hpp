// The rounds of the lemma search, which keep all lemmas learned in earlier rounds.
#pragma once
#include "lemma_tables.hpp"
#include "random.hpp"

namespace memplan::lemmas {

// The search for one question: do these buffers fit at these capacities (in units)?
class LemmaRounds {
 public:
  LemmaRounds(Allocator &allocator, u64 seed) : arena_(allocator), tables_(arena_, instance_), random_(20261121 + seed) {}

  // The instance must outlive the rounds. Returns false if memory failed or time is over; then call nothing else.
  template <class IsOver>
  bool begin(const LemmaInstance &instance, const Array<bool> &kept, const Array<i64> &capacity, IsOver &&is_over) {
    instance_ = instance;
    Pace pace(is_over);
    if (!tables_.begin(kept, pace)) return false;
    const LemmaProblem &problem = tables_.problem;
    const i64 n = problem.size.size, p = problem.pools, k = tables_.set_live.size, m = problem.group.size;
    run_.capacity = capacity;
    run_.free = arena_.array<i64>(k * m), run_.offset = arena_.array<i64>(n);
    run_.weight = arena_.array<double>(k), run_.rank = arena_.array<double>(n);
    for (Array<i64> *column : {&state_.floor, &state_.ready, &state_.left}) *column = arena_.array<i64>(k * p);
    state_.low = arena_.array<i64>(n * p), state_.need = arena_.array<i64>(n * p), state_.only = arena_.array<i64>(n);
    state_.stamp = arena_.array<i64>(k), state_.suspect = arena_.array<i64>(k), state_.is_dirty = arena_.array<bool>(k);
    state_.member = arena_.uncleared<i64>(problem.member.size);
    longest_ = p + 1;
    for (i64 i = 0; i < n; ++i) longest_ = std::max(longest_, p + 1 + problem.near_first[i + 1] - problem.near_first[i]);
    state_.changed = arena_.array<i64>(n * p + longest_);
    store_.head = arena_.uncleared<i64>(n * p);
    if (arena_.has_failed) return false;
    copy(problem.member, state_.member, pace);
    run_.weight.fill(1.0);
    store_.head.fill(kAbsent);
    for (i64 t = 0; t < k; ++t)
      for (i64 g = 0; g < m; ++g)
        for (i64 q = 0; q < p; ++q)
          if ((problem.group[g] >> q) & 1) run_.free[t * m + g] += free_of(t, q);
    make_room(2 * n + 64);
    make_store(64 * n + 1024, 8 * (64 * n + 1024), pace);
    return !arena_.has_failed && !pace.is_over();
  }

  // Search for about `most` more nodes; return FOUND, EXHAUSTED, or STOPPED if undecided so far.
  template <class IsOver>
  i64 run(i64 most, IsOver &&is_over) {
    const i64 end = nodes + most, n = tables_.problem.size.size;
    while (outcome == kStopped && nodes < end && !is_over() && !arena_.has_failed) {
      const i64 limit = std::min({end - nodes, kLongest, kShortest * n << std::min<i64>(rounds_ / 3, 30)});
      const i64 found = round(std::max<i64>(1, limit), is_over);
      if (found == kFull) {
        Pace pace(is_over);
        grow(pace);
      } else {
        outcome = found;
        ++rounds_;
      }
    }
    return outcome;
  }

  bool has_failed() const { return arena_.has_failed; }
  const LemmaTables &tables() const { return tables_; }
  const LemmaStore &store() const { return store_; }
  // after EXHAUSTED: the lows that the refutation of the first state needs
  const Array<i64> &need() const { return state_.need; }
  const Array<i64> &offset() const { return run_.offset; }  // after FOUND: the offsets of the placement
  i64 root() const { return run_.root; }
  // Return the units below the capacity that the buffers of set `t` may use in pool `q`.
  i64 free_of(i64 t, i64 q) const {
    const LemmaProblem &problem = tables_.problem;
    const i64 end = run_.capacity[q], section = t * problem.pools + q;
    i64 free = end;
    for (i64 r = problem.block_first[section]; r < problem.block_first[section + 1]; ++r)
      free -= std::min(problem.block[r].high, end) - std::min(problem.block[r].low, end);
    return free;
  }

  i64 outcome = kStopped;
  i64 nodes = 0;

 private:
  // The nodes per buffer of a run, which double after every three rounds, and their maximum.
  static constexpr i64 kShortest = 8, kLongest = 1 << 22;
  static constexpr i64 kFreshEvery = 8, kMostEntries = 1 << 24, kCopied = 1 << 14;
  static constexpr double kNoise = 0.03;
  Arena arena_;
  LemmaInstance instance_{};
  LemmaTables tables_;
  Random random_;
  LemmaState state_{};
  LemmaStore store_{};
  LemmaRun run_{};
  i64 rounds_ = 0, longest_ = 0;

  template <class IsOver>
  i64 round(i64 limit, IsOver &&is_over) {
    const LemmaProblem &problem = tables_.problem;
    // Old failure weights keep the search at the same sets, so reset the weights at times, as the exact search does.
    if (rounds_ % kFreshEvery == kFreshEvery - 1) run_.weight.fill(1.0);
    for (i64 i = 0; i < problem.size.size; ++i) {
      const double area = static_cast<double>(problem.size[i]) * static_cast<double>(problem.set_first[i + 1] - problem.set_first[i]);
      run_.rank[i] = area * (rounds_ > 3 ? 1 + kNoise * random_.uniform() : 1);
    }
    run_.lift_weight = rounds_ % 2 == 0 ? 1 : 3;
    // Two ways to pull requirements back give lemmas of different lengths, so use them in turn.
    run_.is_slim = rounds_ / 2 % 2 == 0;
    run_.node_limit = limit, run_.nodes = 0;
    const i64 found = Search(problem, state_, store_, run_, is_over).prove();
    nodes += run_.nodes;
    return found;
  }

  // Double the space. Lemmas only save work, so if there are too many, it is correct to search without the old ones.
  template <class IsOver>
  void grow(Pace<IsOver> &pace) {
    make_room(2 * state_.frame.size);
    if (store_.entry.size < kMostEntries) return make_store(2 * store_.branch.size, 2 * store_.entry.size, pace);
    store_.size = store_.listed = 0;
    store_.head.fill(kAbsent);
  }

  void make_room(i64 depth) {
    const i64 entries = state_.low.size;
    state_.log = arena_.rows<i64>(depth * std::min<i64>(longest_, 64) + entries + longest_, 2, false);
    state_.frame = arena_.rows<i64>(depth, 5 + tables_.problem.pools, false);
    state_.kept = arena_.rows<i64>(depth, std::max<i64>(1, entries), false);
  }

  template <class IsOver>
  static void copy(const Array<i64> &from, const Array<i64> &to, Pace<IsOver> &pace) {
    for (i64 at = 0; at < from.size && !pace(kCopied); at += kCopied)
      std::copy(from.data + at, from.data + std::min(from.size, at + kCopied), to.data + at);
  }

  // Enlarge the store of lemmas; if time is over, nothing has changed.
  template <class IsOver>
  void make_store(i64 lemmas, i64 entries, Pace<IsOver> &pace) {
    const i64 columns = std::max<i64>(2, tables_.problem.pools);
    LemmaStore made = store_;
    const auto copied = [&](Array<i64> &column, i64 room) {
      const Array<i64> larger = arena_.uncleared<i64>(room);
      if (!arena_.has_failed) copy(column, larger, pace);
      column = larger;
    };
    for (Array<i64> *column : {&made.branch, &made.excess, &made.next}) copied(*column, lemmas);
    for (Array<i64> *column : {&made.entry, &made.value}) copied(*column, entries);
    copied(made.first, lemmas + 1);
    Array<i64> refs = {store_.refs.data, store_.refs.size * columns};
    copied(refs, lemmas * columns);
    if (arena_.has_failed || pace.is_over()) return;
    made.refs = {refs.data, lemmas, columns};
    if (store_.first.size == 0) made.first[0] = 0;
    store_ = made;
  }
};

}  // namespace memplan::lemmas
