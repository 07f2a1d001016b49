// The lemma search: it proves that buffers cannot be placed under given capacities, and keeps the reasons as lemmas.
//
// Push any placement down: each buffer is then at the least offset that it may have, or on the end of a buffer that it
// conflicts with. So a buffer either rests at its low, which raises all buffers in conflict with it, or it is lifted to
// the least end of one of them. The requirements of both branches, translated back over the move, form a lemma. It
// names few buffers, often at lower offsets than those of the state, and refutes all states that require at least as
// much. `docs/certificates.md` proves the rules. A buffer with a choice of pools is in exactly one of them.
//
// The entry of buffer i and pool q, number i * p + q, is the least offset that the buffer may still have there. It is
// FAR if the pool is excluded, and GONE once the buffer is placed.
#pragma once
#include <limits>

#include "pace.hpp"

namespace memplan::lemmas {

inline constexpr i64 kGone = -1;

// The n unpinned buffers in p pools, with k sets of pairwise conflicting buffers; all lengths are in units.
//
// An offset of entry e is residue[e] + j * step[e], avoids its obstacles, and is in one page of page[e] (0: no pages).
struct LemmaProblem {
  i64 pools;
  Array<i64> size;            // (n,)
  Array<i64> step;            // (n * p,)
  Array<i64> residue;
  Array<i64> least;           // the first legal offset of each entry, FAR if the buffer may not be in the pool
  Array<i64> page;
  Array<i64> page_shift;
  Array<i64> obstacle_first;  // (n * p + 1,): start of each entry's obstacles
  Array<Range> obstacle;      // disjoint ascending ranges that the offset of an entry must avoid
  Array<i64> near_first;      // (n + 1,): start of each buffer's list of conflicting buffers
  Array<i64> near;
  Array<i64> set_first;       // (n + 1,): start of each buffer's list of sets that contain it
  Array<i64> set_of;
  Array<i64> member_first;    // (k + 1,): start of each set's members
  Array<i64> member;
  Array<i64> block_first;     // (k * p + 1,): start of the ranges of a pool that no buffer of a set may use
  Array<Range> block;
  Array<i64> granule;         // (g,): the granules of grids; the first is 1
  Array<i64> remainder;       // (g * p,): the remainder of each grid in each pool
  Array<bool> fits;           // (g * n * p,): true if all offsets of an entry are on the grid
  Array<i64> group;           // (m,): the groups of two or more pools, as bit masks
};

// The state of a run. `need` has the lows that the last failure requires, GONE for entries that it does not require.
struct LemmaState {
  Array<i64> low;      // (n * p,): the least offset of each entry
  Array<i64> only;     // (n,): the only pool that a buffer may be in, or -1
  Array<i64> member;   // the members of each set, the highest low first, as of the last sorting
  Array<i64> floor;    // (k * p,): the least low among a set's unplaced members in a pool, FAR if there are none
  Array<i64> ready;    // (k * p,): the number of members with that low
  Array<i64> left;     // (k * p,): the total size of the unplaced members
  Array<bool> is_dirty;
  Array<i64> need;     // (n * p,): the required low of each entry
  Array<i64> changed;  // the entries that the last move raised
  Array<i64> stamp;    // (k,): the number of the last check that examined each set
  Array<i64> suspect;  // (k,): the sets that the current check examines
  Rows<i64> log;       // the entry and its low before each change
  Rows<i64> frame;     // (depth, 5 + p): one row for each open branch
  Rows<i64> kept;      // (depth, n * p): the lows that the finished branches of each frame require
};

// The lemmas in one list: entries first[k]:first[k + 1] of lemma k, their required lows, and what refutes the lemma.
//
// A row of `refs` has the references that refute a lemma: for a lemma about the entry `branch[k]`, (it rests, it is
// lifted); for one about the pools of a buffer, one for each pool. Each lemma is in the list of one entry for which it
// required more, by `excess`, than the state. `head` has the first lemma of each list, and `next` the following ones.
struct LemmaStore {
  Array<i64> first;   // (l + 1,): start of each lemma's entries
  Array<i64> branch;  // (l,): the entry that the lemma branches on; -1 - buffer for a lemma about pools
  Rows<i64> refs;     // (l, max(2, p)): references
  Array<i64> entry;
  Array<i64> value;
  Array<i64> excess;  // (l,): how much more each lemma required than the state
  Array<i64> next;    // (l,): the next lemma of the same list
  Array<i64> head;    // (n * p,): the first lemma in the list of each entry
  i64 size;
  i64 listed;         // the number of lemmas that are in a list
};

// The parameters of one run: the capacity of each pool, and how to branch. A slim run prefers reasons of few
// buffers; other runs prefer reasons with the largest excess.
struct LemmaRun {
  Array<i64> capacity;   // (p,): the capacity of each pool
  Array<i64> free;       // (k * m,): the units that a set may use in the pools of a group
  Array<double> weight;  // (k,): the failure weight of each set
  Array<double> rank;    // (n,): the rank by which buffers are ordered
  double lift_weight;
  bool is_slim;
  i64 node_limit;
  Array<i64> offset;     // (n,): the offset of each buffer, if a placement was found
  i64 nodes;
  i64 root;
};

// References: kNothing: nothing can lift the buffer; kAlone: a buffer has no offset left. Lower ones: see leaf_ref.
enum Reference : i64 { kNothing = -1, kAlone = -2 };
// The columns of a frame: its entry, its current branch, the log's size before it, and what refutes each branch.
enum Column : i64 { kEntry = 0, kPhase = 1, kMark = 2, kFirstRef = 3 };
// The branches of a frame; from kPools on, a branch is one pool of a buffer with a choice of pools.
enum Phase : i64 { kRest = 0, kLifted = 1, kPools = 2 };

template <class IsOver>
class Search {
 public:
  Search(const LemmaProblem &problem, const LemmaState &state, LemmaStore &store, LemmaRun &run, IsOver &is_over)
      : problem_(problem),
        state_(state),
        store_(store),
        run_(run),
        pace_(is_over),
        n_(problem.size.size),
        p_(problem.pools),
        sets_(state.stamp.size) {}

  // FOUND: `offset` holds a placement. EXHAUSTED: none exists, and `root` refers to why. STOPPED: by the limit or
  // the flag, with the lemmas kept. FULL: too little space. A node takes O(n p + lemmas that name what moved) time.
  i64 prove() {
    i64 nodes = 0, depth = 0;
    begin();
    i64 ref = failure(true);
    while (true) {
      if (pace_(kLeastWork + 4 * (n_ * p_ + sets_))) return kStopped;
      // 1. A new node: look for a lemma, then branch.
      if (ref == kNothing) {
        run_.nodes = ++nodes;
        if (nodes > run_.node_limit) return kStopped;
        ref = known();
      }
      if (ref == kNothing) {
        if (unplaced_ == 0) return kFound;
        if (depth == state_.frame.size || n_logged_ + state_.changed.size + p_ > state_.log.size) return kFull;
        if (n_open_ > 0) {
          open_frame(depth, chosen_with_pools() * p_, kPools);
          std::fill(state_.kept[depth], state_.kept[depth] + n_ * p_, kGone);
          to_next_pool(depth);
        } else {
          const i64 entry = chosen();
          if (pace_.is_over()) return kStopped;
          open_frame(depth, entry, kRest);
          rest(entry);
        }
        ++depth;
        ref = failure(false);
        continue;
      }

      // 2. The state fails for the reason in `need`: step back over all moves that this reason does not need.
      if (depth == 0) {
        run_.root = ref;
        return kExhausted;
      }
      i64 *frame = state_.frame[depth - 1];
      take_back(frame[kMark]);
      if (has_all_that_is_needed()) {
        --depth;
        continue;
      }
      if (ref >= store_.listed) list_lemma(ref);

      // 3. Try the other branch.
      if (frame[kPhase] == kRest) {
        std::copy(state_.need.begin(), state_.need.end(), state_.kept[depth - 1]);
        frame[kFirstRef] = ref;
        const i64 raised = lifted_low(frame[kEntry]);
        if (raised >= 0) {
          frame[kPhase] = kLifted;
          n_changed_ = 0;
          raise_low(frame[kEntry], raised);
          ref = failure(false);
          continue;
        }
        state_.need.fill(kGone);
        frame[kFirstRef + 1] = kNothing;
        combine(depth - 1, false);
      } else if (frame[kPhase] == kLifted) {
        frame[kFirstRef + 1] = ref;
        combine(depth - 1, true);
      } else {
        const i64 q = frame[kPhase] - kPools - 1;
        frame[kFirstRef + q] = ref;
        gather(depth - 1, q);
        if (to_next_pool(depth - 1)) {
          ref = failure(false);
          continue;
        }
        std::copy(state_.kept[depth - 1], state_.kept[depth - 1] + n_ * p_, state_.need.begin());
      }

      // 4. All branches fail, so store their reason as a lemma.
      --depth;
      ref = learn(depth, frame[kPhase] >= kPools);
      if (ref < 0) return kFull;
    }
  }

 private:
  static constexpr i64 kLeastWork = 256;  // the least work of a node
  const LemmaProblem &problem_;
  const LemmaState &state_;
  LemmaStore &store_;
  LemmaRun &run_;
  Pace<IsOver> pace_;
  const i64 n_, p_, sets_;
  // Counts: unplaced buffers, rows of the log, changed entries, checks, and buffers with a choice of pools.
  i64 unplaced_ = 0, n_logged_ = 0, n_changed_ = 0, n_checks_ = 0, n_open_ = 0;

  i64 buffer_of(i64 entry) const { return p_ == 1 ? entry : entry / p_; }
  i64 pool_of(i64 entry) const { return p_ == 1 ? 0 : entry % p_; }
  bool has(i64 granule, i64 entry) const { return problem_.fits[granule * problem_.least.size + entry]; }
  i64 leaf_ref(i64 t, i64 g, i64 group) const {
    return -3 - ((t * problem_.granule.size + g) * (i64{1} << p_) + group);
  }

  // Return the first legal offset of an entry from `at` on; FAR if the buffer would end above the capacity.
  i64 legal(i64 entry, i64 at) const {
    const i64 size = problem_.size[buffer_of(entry)], last = run_.capacity[pool_of(entry)];
    if (problem_.least[entry] >= kFar || at > last - size) return kFar;
    at = std::max(at, problem_.least[entry]);
    const i64 stride = problem_.step[entry], residue = problem_.residue[entry], page = problem_.page[entry];
    bool is_moved = true;
    for (int turns = 0; is_moved && turns < 64 && at <= last; ++turns) {
      is_moved = false;
      at += floor_mod(residue - at, stride);
      for (i64 r = problem_.obstacle_first[entry]; r < problem_.obstacle_first[entry + 1]; ++r) {
        const Range &range = problem_.obstacle[r];
        if (range.low < at + size && at < range.high) at = range.high + floor_mod(residue - range.high, stride);
      }
      if (page > 0) {
        const i64 over = floor_mod(at + problem_.page_shift[entry], page);
        if (over + size > page) at += page - over, is_moved = true;
      }
    }
    return at <= last - size ? at : kFar;
  }

  // Return a number from which on the first legal offset of an entry is at least `want`, itself a legal offset or FAR.
  i64 wanted(i64 entry, i64 want) const {
    if (want >= kFar) return run_.capacity[pool_of(entry)] - problem_.size[buffer_of(entry)] + 1;
    return want - problem_.step[entry] + 1;
  }

  // ---- Moves
  // Reset the state: nothing is placed, and everything counts as changed.
  void begin() {
    unplaced_ = n_changed_ = n_, n_logged_ = n_open_ = n_checks_ = 0;
    state_.is_dirty.fill(true);
    state_.stamp.fill(0);
    for (i64 i = 0; i < n_; ++i) {
      state_.changed[i] = i * p_;
      for (i64 e = i * p_; e < i * p_ + p_; ++e) state_.low[e] = legal(e, problem_.least[e]);
      state_.only[i] = only_pool(i);
      n_open_ += state_.only[i] < 0;
    }
  }

  // Return the only pool that a buffer may be in; the first pool if there is none; -1 if there is a choice.
  i64 only_pool(i64 i) const {
    i64 found = kAbsent;
    for (i64 q = 0; q < p_; ++q) {
      const i64 low = state_.low[i * p_ + q];
      if (low == kGone || low >= kFar) continue;
      if (found >= 0) return kAbsent;
      found = q;
    }
    return std::max<i64>(found, 0);
  }

  // Change the low of an entry, and log its old value.
  void put(i64 entry, i64 low) {
    i64 *row = state_.log[n_logged_++];
    row[0] = entry, row[1] = state_.low[entry];
    state_.low[entry] = low;
    refresh(buffer_of(entry));
  }

  // Update everything that depends on the lows of a buffer.
  void refresh(i64 i) {
    if (p_ > 1) {
      n_open_ -= state_.only[i] < 0;
      state_.only[i] = only_pool(i);
      n_open_ += state_.only[i] < 0;
    }
    for (i64 r = problem_.set_first[i]; r < problem_.set_first[i + 1]; ++r) state_.is_dirty[problem_.set_of[r]] = true;
    pace_(problem_.set_first[i + 1] - problem_.set_first[i]);
  }

  void raise_low(i64 entry, i64 low) {
    state_.changed[n_changed_++] = entry;
    put(entry, low);
  }

  // Place a buffer at its low; conflicting buffers that cannot be below it are raised above it.
  void rest(i64 entry) {
    const i64 i = buffer_of(entry), q = pool_of(entry), at = state_.low[entry], end = at + problem_.size[i];
    n_changed_ = 0;
    for (i64 r = problem_.near_first[i]; r < problem_.near_first[i + 1]; ++r) {
      const i64 j = problem_.near[r], other = j * p_ + q, low = state_.low[other];
      if (low == kGone || low >= kFar || low + problem_.size[j] <= at) continue;
      const i64 raised = legal(other, end);
      if (raised > low) raise_low(other, raised);
    }
    for (i64 e = i * p_; e < i * p_ + p_; ++e) put(e, kGone);
    --unplaced_;
    run_.offset[i] = at;
  }

  // Return the least offset of a buffer on the end of a conflicting buffer; -1 if no conflicting buffer is left.
  i64 lifted_low(i64 entry) const {
    const i64 i = buffer_of(entry), q = pool_of(entry);
    i64 least = kFar;
    for (i64 r = problem_.near_first[i]; r < problem_.near_first[i + 1]; ++r) {
      const i64 low = state_.low[problem_.near[r] * p_ + q];
      if (low != kGone && low < kFar) least = std::min(least, low + problem_.size[problem_.near[r]]);
    }
    return least == kFar ? kAbsent : legal(entry, std::max(least, state_.low[entry]));
  }

  // Confine a buffer to the pool of an entry.
  void move_to_pool(i64 entry) {
    const i64 i = buffer_of(entry);
    n_changed_ = 0;
    for (i64 e = i * p_; e < i * p_ + p_; ++e)
      if (e != entry && state_.low[e] < kFar) raise_low(e, kFar);
  }

  // Confine the buffer of a frame to its next allowed pool; return false if there is none.
  bool to_next_pool(i64 depth) {
    i64 *frame = state_.frame[depth];
    while (frame[kPhase] - kPools < p_) {
      const i64 q = frame[kPhase]++ - kPools;
      if (state_.low[frame[kEntry] + q] < kFar) {
        move_to_pool(frame[kEntry] + q);
        return true;
      }
      frame[kFirstRef + q] = kNothing;
      state_.kept[depth][frame[kEntry] + q] = kFar;
    }
    return false;
  }

  void take_back(i64 mark) {
    while (n_logged_ > mark) {
      const i64 *row = state_.log[--n_logged_];
      const i64 entry = row[0], i = buffer_of(entry);
      if (state_.low[entry] == kGone && entry - i * p_ == p_ - 1) ++unplaced_;
      state_.low[entry] = row[1];
      refresh(i);
    }
  }

  void open_frame(i64 depth, i64 entry, i64 phase) {
    i64 *frame = state_.frame[depth];
    frame[kEntry] = entry, frame[kPhase] = phase, frame[kMark] = n_logged_;
  }

  // ---- Branches
  // Recompute for a set in each pool: its floor, the number of members there, and the total size of the rest.
  void measure(i64 t) {
    state_.is_dirty[t] = false;
    for (i64 u = t * p_; u < t * p_ + p_; ++u) state_.floor[u] = kFar, state_.ready[u] = state_.left[u] = 0;
    for (i64 a = problem_.member_first[t]; a < problem_.member_first[t + 1]; ++a) {
      const i64 i = problem_.member[a], q = state_.only[i];
      if (q < 0) continue;
      const i64 low = state_.low[i * p_ + q], u = t * p_ + q;
      if (low == kGone) continue;
      state_.left[u] += problem_.size[i];
      if (low < state_.floor[u])
        state_.floor[u] = low, state_.ready[u] = 1;
      else if (low == state_.floor[u])
        ++state_.ready[u];
    }
  }

  // Return the entry to branch on, at the floor of the set with the fewest options per failure; -1 if there is none.
  i64 chosen() {
    i64 best = kAbsent;
    double least = std::numeric_limits<double>::infinity();
    for (i64 t = 0; t < sets_; ++t) {
      if (state_.is_dirty[t]) measure(t), pace_(problem_.member_first[t + 1] - problem_.member_first[t]);
      for (i64 q = 0; q < p_; ++q) {
        const i64 u = t * p_ + q;
        if (state_.left[u] == 0) continue;
        const bool may_lift = run_.capacity[q] - state_.floor[u] - state_.left[u] > 0;
        const double options = static_cast<double>(state_.ready[u]) + (may_lift ? run_.lift_weight : 0.0);
        if (options / run_.weight[t] < least) best = u, least = options / run_.weight[t];
      }
    }
    if (best < 0) return kAbsent;
    const i64 t = best / p_, q = best % p_;
    i64 entry = kAbsent;
    for (i64 a = problem_.member_first[t]; a < problem_.member_first[t + 1]; ++a) {
      const i64 i = problem_.member[a];
      if (state_.only[i] != q || state_.low[i * p_ + q] != state_.floor[best]) continue;
      if (entry < 0 || run_.rank[i] > run_.rank[buffer_of(entry)]) entry = i * p_ + q;
    }
    return lowest_near(entry);
  }

  // Return an entry no higher than any conflicting one, by repeatedly going to a conflicting buffer with a lower low.
  i64 lowest_near(i64 entry) const {
    while (true) {
      const i64 i = buffer_of(entry), q = pool_of(entry);
      i64 lower = entry;
      for (i64 r = problem_.near_first[i]; r < problem_.near_first[i + 1]; ++r) {
        const i64 other = problem_.near[r] * p_ + q;
        if (state_.only[problem_.near[r]] == q && state_.low[other] != kGone && state_.low[other] < state_.low[lower])
          lower = other;
      }
      if (lower == entry) return entry;
      entry = lower;
    }
  }

  // Return the largest buffer with a choice of pools, in the set that is fullest per failure.
  i64 chosen_with_pools() const {
    i64 found = kAbsent;
    double most = -1.0;
    for (i64 t = 0; t < sets_; ++t) {
      double amount = 0.0;
      i64 largest = kAbsent;
      for (i64 a = problem_.member_first[t]; a < problem_.member_first[t + 1]; ++a) {
        const i64 i = problem_.member[a];
        if (state_.low[i * p_] == kGone) continue;
        amount += static_cast<double>(problem_.size[i]);
        if (state_.only[i] < 0 && (largest < 0 || run_.rank[i] > run_.rank[largest])) largest = i;
      }
      if (largest >= 0 && amount * run_.weight[t] > most) most = amount * run_.weight[t], found = largest;
    }
    return found;
  }

  // ---- Failures without branching: sets that are too long, known lemmas, buffers without a legal offset
  // Return why the state fails after the last move, and set `need`; NOTHING if no reason is found or time is over.
  i64 failure(bool is_root) {
    for (i64 c = 0; c < n_changed_; ++c) {
      const i64 i = buffer_of(state_.changed[c]);
      if (!is_without_place(i)) continue;
      state_.need.fill(kGone);
      for (i64 e = i * p_; e < i * p_ + p_; ++e) state_.need[e] = kFar;
      return kAlone;
    }
    Length best{kAbsent, n_ + 1, 0, 0, 0};
    const i64 suspects = list_suspects(is_root);
    for (i64 s = 0; s < suspects; ++s) longest(state_.suspect[s], best);
    if (pace_.is_over()) return kNothing;
    if (best.set >= 0) {
      run_.weight[best.set] += 1.0;
      write_need(best);
      return leaf_ref(best.set, best.granule, i64{1} << best.pool);
    }
    for (i64 s = 0; s < suspects && problem_.group.size > 0; ++s) {
      const i64 ref = overfull(state_.suspect[s]);
      if (ref != kNothing) return ref;
    }
    return kNothing;
  }

  bool is_without_place(i64 i) const {
    for (i64 e = i * p_; e < i * p_ + p_; ++e)
      if (state_.low[e] < kFar) return false;
    return true;
  }

  // List the sets that may fail now: all of them at the root, else those with changed members; return their number.
  i64 list_suspects(bool is_root) {
    i64 count = 0;
    if (is_root) {
      for (; count < sets_; ++count) state_.suspect[count] = count;
      return count;
    }
    ++n_checks_;
    for (i64 c = 0; c < n_changed_; ++c) {
      const i64 i = buffer_of(state_.changed[c]);
      for (i64 r = problem_.set_first[i]; r < problem_.set_first[i + 1]; ++r) {
        const i64 t = problem_.set_of[r];
        if (state_.stamp[t] == n_checks_) continue;
        state_.stamp[t] = n_checks_;
        state_.suspect[count++] = t;
      }
      pace_(problem_.set_first[i + 1] - problem_.set_first[i]);
    }
    return count;
  }

  // Sort the members of a set by their lows, the highest first; placed ones and those with a choice of pools come last.
  void sort_members(i64 t) {
    const auto low_of = [this](i64 i) { return state_.only[i] < 0 ? kGone : state_.low[i * p_ + state_.only[i]]; };
    const i64 first = problem_.member_first[t];
    for (i64 a = first + 1, b = a; a < problem_.member_first[t + 1] && !pace_(a - b + 1); ++a) {
      const i64 i = state_.member[a], low = low_of(i);
      b = a;
      for (; b > first; --b) {
        const i64 j = state_.member[b - 1], other = low_of(j);
        if (other > low || (other == low && problem_.size[j] >= problem_.size[i])) break;
        state_.member[b] = j;
      }
      state_.member[b] = i;
    }
  }

  // Return the first number from `at` on that is on a granule's grid in a pool.
  i64 rounded(i64 g, i64 q, i64 at) const {
    return at + floor_mod(problem_.remainder[g * p_ + q] - at, problem_.granule[g]);
  }

  // Return the least end such that `amount` units from `at` on are outside the blocks of a set in a pool.
  i64 reach(i64 t, i64 g, i64 q, i64 at, i64 amount) const {
    const i64 section = t * p_ + q;
    for (i64 r = problem_.block_first[section]; r < problem_.block_first[section + 1]; ++r) {
      const i64 low = rounded(g, q, problem_.block[r].low), high = rounded(g, q, problem_.block[r].high);
      if (high <= at) continue;
      if (low > at) {
        if (amount <= low - at) return at + amount;
        amount -= low - at;
      }
      at = high;
    }
    return at + amount;
  }

  // Return the least number from which on less than `amount` is free up to `end`; 0 if that holds from every number.
  i64 highest_start(i64 t, i64 g, i64 q, i64 end, i64 amount) const {
    const i64 section = t * p_ + q;
    --amount;
    for (i64 r = problem_.block_first[section + 1] - 1; r >= problem_.block_first[section]; --r) {
      const i64 low = rounded(g, q, problem_.block[r].low), high = rounded(g, q, problem_.block[r].high);
      if (low >= end) continue;
      if (high < end) {
        if (amount <= end - high) return std::max<i64>(0, end - amount);
        amount -= end - high;
      }
      end = low;
    }
    return std::max<i64>(0, end - amount);
  }

  // A failure: the `count` members of a set with the highest lows exceed the capacity by `excess`, on a granule's grid.
  struct Length {
    i64 set, count, excess, granule, pool;
  };

  // Replace the best reason by a better one of this set. A slim run prefers few members; others prefer a large excess.
  void longest(i64 t, Length &best) {
    sort_members(t);
    if (pace_((problem_.member_first[t + 1] - problem_.member_first[t]) * problem_.granule.size * p_)) return;
    for (i64 q = 0; q < p_; ++q)
      for (i64 g = 0; g < problem_.granule.size; ++g) {
        const i64 grain = problem_.granule[g];
        i64 amount = 0, waste = 0, count = 0;
        for (i64 a = problem_.member_first[t]; a < problem_.member_first[t + 1]; ++a) {
          const i64 i = state_.member[a], entry = i * p_ + q;
          if (state_.only[i] < 0 || state_.low[i * p_ + state_.only[i]] < 0) break;
          if (state_.only[i] != q || !has(g, entry)) continue;
          const i64 more = floor_mod(-problem_.size[i], grain);
          amount += problem_.size[i] + more;
          waste = std::max(waste, more);
          ++count;
          const i64 excess = reach(t, g, q, state_.low[entry], amount) - waste - run_.capacity[q];
          if (excess <= 0) continue;
          if (run_.is_slim) {
            if (count < best.count) best.set = t, best.count = count, best.granule = g, best.pool = q;
            break;
          }
          if (excess > best.excess) best = {t, count, excess, g, q};
        }
      }
  }

  // Write the lows that the highest members of a set need, so that they still end above the capacity.
  void write_need(const Length &reason) const {
    const i64 t = reason.set, g = reason.granule, q = reason.pool, grain = problem_.granule[g];
    state_.need.fill(kGone);
    i64 amount = 0, waste = 0, count = 0, last = problem_.member_first[t];
    for (i64 a = problem_.member_first[t]; a < problem_.member_first[t + 1] && count < reason.count; ++a) {
      const i64 i = state_.member[a];
      if (state_.only[i] != q || !has(g, i * p_ + q)) continue;
      const i64 more = floor_mod(-problem_.size[i], grain);
      amount += problem_.size[i] + more;
      waste = std::max(waste, more);
      ++count;
      last = a;
    }
    const i64 start = highest_start(t, g, q, run_.capacity[q] + waste, amount);
    for (i64 a = problem_.member_first[t]; a <= last; ++a) {
      const i64 i = state_.member[a], entry = i * p_ + q;
      if (state_.only[i] != q || !has(g, entry)) continue;
      for (i64 e = i * p_; e < i * p_ + p_; ++e) state_.need[e] = kFar;
      state_.need[entry] = std::min(state_.low[entry], legal(entry, start));
    }
  }

  // If a set is too large for a group of its pools, write its needs and return its reference;
  // otherwise, return NOTHING.
  i64 overfull(i64 t) const {
    const i64 m = problem_.group.size;
    for (i64 k = 0; k < m; ++k) {
      const i64 group = problem_.group[k];
      i64 amount = 0;
      for (i64 a = problem_.member_first[t]; a < problem_.member_first[t + 1]; ++a)
        if (is_confined(state_.member[a], group)) amount += problem_.size[state_.member[a]];
      if (amount <= run_.free[t * m + k]) continue;
      run_.weight[t] += 1.0;
      state_.need.fill(kGone);
      i64 spare = amount - run_.free[t * m + k] - 1;
      for (i64 a = problem_.member_first[t]; a < problem_.member_first[t + 1]; ++a) {
        const i64 i = state_.member[a];
        if (!is_confined(i, group)) continue;
        if (problem_.size[i] <= spare) {
          spare -= problem_.size[i];
          continue;
        }
        for (i64 q = 0; q < p_; ++q) state_.need[i * p_ + q] = (group >> q) & 1 ? problem_.least[i * p_ + q] : kFar;
      }
      return leaf_ref(t, 0, group);
    }
    return kNothing;
  }

  // Return whether a buffer is unplaced and may be only in pools of a group.
  bool is_confined(i64 i, i64 group) const {
    if (state_.low[i * p_] == kGone) return false;
    for (i64 q = 0; q < p_; ++q)
      if (state_.low[i * p_ + q] < kFar && ((group >> q) & 1) == 0) return false;
    return true;
  }

  // ---- Lemmas
  // Return a lemma that refutes the state because of the last move's changes, and write what it needs.
  i64 known() {
    for (i64 c = 0; c < n_changed_; ++c) {
      const i64 changed = state_.changed[c];
      i64 last = kAbsent;
      for (i64 k = store_.head[changed], following; k >= 0 && !pace_(4); k = following) {
        following = store_.next[k];
        if (store_.excess[k] > state_.low[changed]) {
          last = k;
          continue;
        }
        const i64 r = open_entry(k);
        if (r < 0) {
          state_.need.fill(kGone);
          for (i64 x = store_.first[k]; x < store_.first[k + 1]; ++x) state_.need[store_.entry[x]] = store_.value[x];
          return k;
        }
        if (store_.entry[r] == changed) {
          last = k;
          continue;
        }
        if (last < 0)
          store_.head[changed] = following;
        else
          store_.next[last] = following;
        list_at(k, r);
      }
    }
    return kNothing;
  }

  // Return an entry for which a lemma requires more than the state does, preferably one of an unplaced buffer;
  // -1 if there is none, because the lemma then refutes the state.
  i64 open_entry(i64 k) const {
    i64 found = kAbsent;
    for (i64 r = store_.first[k]; r < store_.first[k + 1]; ++r) {
      const i64 low = state_.low[store_.entry[r]];
      if (store_.value[r] <= low) continue;
      found = r;
      if (low != kGone) break;
    }
    return found;
  }

  // Put a lemma into the list of one of its entries; the entry becomes its first, so that it is compared first.
  void list_at(i64 k, i64 r) const {
    const i64 first = store_.first[k];
    std::swap(store_.entry[r], store_.entry[first]);
    std::swap(store_.value[r], store_.value[first]);
    const i64 entry = store_.entry[first];
    store_.excess[k] = store_.value[first];
    store_.next[k] = store_.head[entry];
    store_.head[entry] = k;
  }

  // Put a new lemma into a list, which is possible because it no longer refutes the state.
  void list_lemma(i64 k) const {
    list_at(k, open_entry(k));
    store_.listed = k + 1;
  }

  bool has_all_that_is_needed() const {
    for (i64 e = 0; e < state_.low.size; ++e)
      if (state_.need[e] > state_.low[e]) return false;
    return true;
  }

  // Add the needs of the branch of one pool to those of the other pools.
  void gather(i64 depth, i64 q) const {
    const i64 own = state_.frame[depth][kEntry];
    i64 *kept = state_.kept[depth];
    for (i64 e = 0; e < state_.need.size; ++e)
      if (e < own || e >= own + p_) kept[e] = std::max(kept[e], state_.need[e]);
    kept[own + q] = state_.need[own + q];
  }

  // Write what a state needs so that a buffer can neither rest nor be lifted: both branches' needs before the move.
  // In `kept` of the frame are the needs of the first branch, in `need` those of the second one.
  void combine(i64 depth, bool can_lift) const {
    const i64 entry = state_.frame[depth][kEntry], i = buffer_of(entry), q = pool_of(entry);
    const i64 size = problem_.size[i], low = state_.low[entry];
    i64 *kept = state_.kept[depth];

    // 1. The buffer's own low: the least from which the buffers above are as high as the first branch needs.
    i64 least = problem_.least[entry];
    for (i64 r = problem_.near_first[i]; r < problem_.near_first[i + 1]; ++r) {
      const i64 other = problem_.near[r] * p_ + q;
      if (kept[other] > state_.low[other]) least = std::max(least, wanted(other, kept[other]) - size);
    }
    least = std::min(low, legal(entry, least));
    const i64 enough = can_lift ? wanted(entry, state_.need[entry]) : kFar;

    // 2. The conflicting buffers: high enough to be raised, or not to carry the buffer too low.
    for (i64 r = problem_.near_first[i]; r < problem_.near_first[i + 1]; ++r) {
      const i64 j = problem_.near[r], other = j * p_ + q, first = kept[other], second = state_.need[other];
      if (first == kGone && second == kGone) continue;
      i64 want = second;
      if (first != kGone) {
        if (legal(other, least + size) >= first) {
          const i64 above = legal(other, std::max<i64>(0, least - problem_.size[j] + 1));
          want = std::max(want, std::min(first, std::min(state_.low[other], above)));
        } else {
          want = std::max(want, first);
        }
      }
      if (can_lift) {
        const i64 above = legal(other, std::max<i64>(0, enough - problem_.size[j]));
        want = std::max(want, std::min(state_.low[other], above));
      } else {
        want = state_.low[other];
      }
      kept[other] = state_.need[other] = want;
    }

    // 3. All other buffers: the higher of the needs of both branches.
    for (i64 e = 0; e < state_.need.size; ++e) state_.need[e] = std::max(state_.need[e], kept[e]);
    for (i64 e = i * p_; e < i * p_ + p_; ++e) state_.need[e] = kFar;
    state_.need[entry] = least;
  }

  // Store the needs of the last failure as a lemma, and return its number; -1 if there is no space.
  i64 learn(i64 depth, bool is_about_pools) const {
    const i64 k = store_.size;
    if (k >= store_.branch.size) return kAbsent;
    i64 at = store_.first[k];
    for (i64 e = 0; e < state_.need.size; ++e) {
      if (state_.need[e] == kGone) continue;
      if (at == store_.entry.size) return kAbsent;
      store_.entry[at] = e, store_.value[at] = state_.need[e];
      ++at;
    }
    store_.first[k + 1] = at;
    const i64 *frame = state_.frame[depth];
    store_.branch[k] = is_about_pools ? -1 - buffer_of(frame[kEntry]) : frame[kEntry];
    std::copy(frame + kFirstRef, frame + kFirstRef + store_.refs.columns, store_.refs[k]);
    store_.size = k + 1;
    return k;
  }
};

}  // namespace memplan::lemmas
