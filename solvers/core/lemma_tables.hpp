// Conversion of an instance to the tables of the lemma search: buffers, legal offsets, and sets of pairwise conflicts.
//
// Rules that the lemma search does not know are relaxed: pairs that may share bytes and members of a rigid group do not
// conflict, and banks and colocation have no effect. Buffers that do not fit the relaxation do not fit the problem.
#pragma once
#include <numeric>

#include "lemmas.hpp"
#include "pace.hpp"
#include "stack.hpp"

namespace memplan::lemmas {

// See `LemmaInstance` in lemmas.py. Row q * n + i is of buffer i in pool q.
struct LemmaInstance {
  i64 pools;
  i64 unit;
  i64 n_sets;  // the number of live sets
  i64 has_ties;
  Array<i64> source, size, pin, anchor;
  Array<bool> allowed;
  Array<i64> step, residue, lowest, page, page_shift, first, start, end, time;
  Array<i64> pair_first, pair, share_first, share, reserved_first;
  Rows<i64> reserved;
};

// Builds the tables for the kept, unpinned buffers of an instance; all pinned buffers become obstacles.
class LemmaTables {
 public:
  LemmaTables(Arena &arena, const LemmaInstance &instance) : arena_(arena), given_(instance) {}

  LemmaProblem problem{};
  Array<i64> buffers{nullptr, 0};     // the free buffers, as positions in the instance
  Array<i64> set_first{nullptr, 0};   // the members of each set, including pinned ones, as positions in the instance
  Array<i64> set_member{nullptr, 0};
  Array<i64> set_live{nullptr, 0};    // the live set that equals each set, or ABSENT

  // Build the tables; return false if memory has run out or time is over.
  template <class IsOver>
  bool begin(const Array<bool> &kept, Pace<IsOver> &pace) {
    const i64 n = given_.size.size;
    position_ = arena_.uncleared<i64>(n), both_ = arena_.uncleared<i64>(n);
    if (arena_.has_failed) return false;
    position_.fill(kAbsent);
    for (i64 i = 0; i < n; ++i)
      if (kept[i] && given_.pin[i] == kAbsent) take(i);
    free_ = count_;
    for (i64 i = 0; i < n; ++i)
      if (given_.pin[i] != kAbsent) take(i);
    buffers = {both_.data, free_};
    near_ = arena_.rows<bool>(count_, count_, false);
    if (arena_.has_failed || !find_near(pace) || !fill_columns()) return false;
    list_near(pace);
    list_sets(pace);
    if (arena_.has_failed || pace.is_over()) return false;
    list_members(pace);
    list_obstacles(pace);
    list_granules();
    return !arena_.has_failed && !pace.is_over();
  }

 private:
  // the most alignments with their own granule, besides the greatest common divisor of all alignments
  static constexpr i64 kGranules = 3;
  static constexpr i64 kMostCliques = 1000;  // the most cliques of named conflicts that are examined
  static constexpr i64 kMostGroupedPools = 4;
  Arena &arena_;
  const LemmaInstance &given_;
  // The buffers in the tables, free ones first; the position of each buffer; a matrix of the conflicts.
  Array<i64> position_{nullptr, 0}, both_{nullptr, 0};
  i64 count_ = 0, free_ = 0;
  Rows<bool> near_{nullptr, 0, 0};

  void take(i64 i) {
    position_[i] = count_;
    both_[count_++] = i;
  }

  bool is_alive(i64 i, i64 t) const {
    for (i64 r = given_.first[i]; r < given_.first[i + 1]; ++r)
      if (given_.start[r] <= t && t < given_.end[r]) return true;
    return false;
  }

  template <class IsOver>
  bool find_near(Pace<IsOver> &pace) {
    struct Life {
      i64 start, end, buffer;
    };
    Growing<Life> lives(arena_);
    for (i64 x = 0; x < count_; ++x)
      for (i64 r = given_.first[both_[x]]; r < given_.first[both_[x] + 1]; ++r)
        lives.push({given_.start[r], given_.end[r], x});
    if (arena_.has_failed) return false;
    std::sort(lives.begin(), lives.end(), [](const Life &a, const Life &b) { return a.start < b.start; });
    for (i64 x = 0; x < count_ && !pace(count_); ++x) std::fill(near_[x], near_[x] + count_, false);
    for (const Life *a = lives.begin(); a != lives.end() && !pace.is_over(); ++a) {
      const Life *b = a + 1;
      for (; b != lives.end() && b->start < a->end; ++b)
        near_[a->buffer][b->buffer] = near_[b->buffer][a->buffer] = true;
      pace(4 * (b - a));  // each of these entries is in another row, so it counts four times
    }
    mark_pairs(given_.pair_first, given_.pair, true);
    if (given_.has_ties) mark_pairs(given_.share_first, given_.share, false);
    for (i64 x = 0; x < count_ && !pace(count_); ++x)
      for (i64 y = 0; y < count_; ++y)
        if (given_.anchor[both_[x]] == given_.anchor[both_[y]]) near_[x][y] = false;
    return !pace.is_over();
  }

  void mark_pairs(const Array<i64> &first, const Array<i64> &other, bool are_near) {
    for (i64 x = 0; x < count_; ++x)
      for (i64 r = first[both_[x]]; r < first[both_[x] + 1]; ++r)
        if (const i64 y = position_[other[r]]; y != kAbsent) near_[x][y] = are_near;
  }

  bool fill_columns() {
    const i64 n = given_.size.size, p = given_.pools;
    problem.pools = p;
    problem.size = arena_.array<i64>(free_);
    for (Array<i64> *column : {&problem.step, &problem.residue, &problem.least, &problem.page, &problem.page_shift})
      *column = arena_.array<i64>(free_ * p);
    i64 groups = 0;
    problem.group = arena_.array<i64>(p <= kMostGroupedPools ? i64{1} << p : 1);
    if (arena_.has_failed) return false;
    for (i64 x = 0; x < free_; ++x) {
      problem.size[x] = given_.size[both_[x]];
      for (i64 q = 0; q < p; ++q) {
        const i64 row = q * n + both_[x], e = x * p + q, lowest = given_.lowest[row];
        problem.step[e] = given_.step[row], problem.residue[e] = given_.residue[row];
        problem.least[e] = given_.allowed[row] ? lowest + floor_mod(given_.residue[row] - lowest, given_.step[row]) : kFar;
        problem.page[e] = given_.page[row], problem.page_shift[e] = given_.page_shift[row];
      }
    }
    // The number of groups doubles with each pool, so with more than four pools, only all of them together are a group.
    if (p > kMostGroupedPools)
      problem.group[groups++] = (i64{1} << p) - 1;
    else
      for (i64 group = 1; group < i64{1} << p; ++group)
        if ((group & (group - 1)) != 0) problem.group[groups++] = group;
    problem.group.size = groups;
    return true;
  }

  template <class IsOver>
  void list_near(Pace<IsOver> &pace) {
    problem.near_first = arena_.array<i64>(free_ + 1);
    if (arena_.has_failed) return;
    for (i64 x = 0; x < free_ && !pace(free_); ++x)
      problem.near_first[x + 1] = problem.near_first[x] + std::count(near_[x], near_[x] + free_, true);
    problem.near = arena_.uncleared<i64>(problem.near_first[free_]);
    if (arena_.has_failed) return;
    for (i64 x = 0; x < free_ && !pace(free_); ++x) {
      i64 *next = problem.near.data + problem.near_first[x];
      for (i64 y = 0; y < free_; ++y)
        if (near_[x][y]) *next++ = y;
    }
  }

  // ---- Sets: maximal live sets of the free buffers, cliques of named conflicts, and the remaining conflicts
  template <class IsOver>
  void list_sets(Pace<IsOver> &pace) {
    Growing<i64> first(arena_), member(arena_), live(arena_);
    i64 slots = 0;
    for (i64 r = 0; r < given_.start.size; ++r) slots += given_.end[r] - given_.start[r];
    member.reserve(slots + count_);
    first.push(0);
    const auto close = [&](i64 t) {
      first.push(member.size);
      live.push(t);
    };
    Array<bool> begins = arena_.array<bool>(given_.n_sets), is_covered = arena_.array<bool>(count_);
    if (arena_.has_failed) return;
    for (i64 x = 0; x < free_; ++x)
      for (i64 r = given_.first[both_[x]]; r < given_.first[both_[x] + 1]; ++r) begins[given_.start[r]] = true;
    i64 before = kAbsent;
    for (i64 t = 0; t < given_.n_sets && !arena_.has_failed && !pace(1); ++t) {
      if (!begins[t]) continue;
      pace(2 * given_.start.size);
      // A live set that contains the previous one replaces it.
      if (before != kAbsent && holds(t, before)) --live.size, --first.size, member.size = first.end()[-1];
      before = t;
      list_alive(t, member, pace);
      close(given_.has_ties ? kAbsent : t);
    }
    if (given_.pair.size > 0) list_cliques(first, member, live, pace);
    if (arena_.has_failed) return;
    for (const i64 i : member) is_covered[position_[i]] = true;
    for (i64 x = 0; x < free_; ++x)
      if (!is_covered[x]) member.push(both_[x]), close(kAbsent);
    set_first = first.array(), set_member = member.array(), set_live = live.array();
  }

  // Return whether all free buffers alive in live set `other` are also alive in live set `t`.
  bool holds(i64 t, i64 other) const {
    for (const i64 i : buffers)
      if (is_alive(i, other) && !is_alive(i, t)) return false;
    return true;
  }

  // Add the buffers alive in a live set; of those that may share bytes, add the largest ones that may not.
  template <class IsOver>
  void list_alive(i64 t, Growing<i64> &member, Pace<IsOver> &pace) {
    const i64 from = member.size;
    for (i64 i = 0; i < given_.size.size; ++i)
      if (position_[i] != kAbsent && is_alive(i, t)) member.push(i);
    if (!given_.has_ties || arena_.has_failed) return;
    std::sort(member.begin() + from, member.end(), [this](i64 a, i64 b) { return is_larger(a, b); });
    i64 kept = from;
    for (i64 at = from; at < member.size && !pace(kept - from + 1); ++at)
      if (conflicts_with_all(member.begin()[at], member.begin() + from, member.begin() + kept))
        member.begin()[kept++] = member.begin()[at];
    member.size = kept;
  }

  bool is_larger(i64 a, i64 b) const {
    const i64 *size = given_.size.data;
    return size[a] > size[b] || (size[a] == size[b] && a < b);
  }

  bool conflicts_with_all(i64 i, const i64 *begin, const i64 *end) const {
    return std::all_of(begin, end, [this, i](i64 j) { return near_[position_[i]][position_[j]]; });
  }

  // Add cliques with at least one named conflict, the largest buffers first, and no clique twice.
  template <class IsOver>
  void list_cliques(Growing<i64> &first, Growing<i64> &member, Growing<i64> &live, Pace<IsOver> &pace) {
    const i64 others = live.size;
    i64 left = kMostCliques;
    Array<i64> heavy = arena_.uncleared<i64>(free_);
    if (arena_.has_failed) return;
    std::copy(buffers.begin(), buffers.end(), heavy.data);
    std::sort(heavy.begin(), heavy.end(), [this](i64 a, i64 b) { return is_larger(a, b); });
    for (const i64 i : buffers)
      for (i64 r = given_.pair_first[i]; r < given_.pair_first[i + 1] && left > 0; ++r) {
        const i64 j = given_.pair[r], from = member.size;
        if (j <= i || position_[j] == kAbsent || position_[j] >= free_) continue;
        --left;
        if (!near_[position_[i]][position_[j]]) continue;
        member.push(i), member.push(j);
        for (const i64 k : heavy)
          if (!pace(1) && conflicts_with_all(k, member.begin() + from, member.end())) {
            pace(member.size - from);
            member.push(k);
          }
        std::sort(member.begin() + from, member.end(), [](i64 a, i64 b) { return a < b; });
        bool is_new = !arena_.has_failed;
        for (i64 s = others; s < live.size && is_new && !pace(4); ++s)
          is_new = !std::equal(member.begin() + first.begin()[s], member.begin() + first.begin()[s + 1],
                               member.begin() + from, member.end());
        if (is_new)
          first.push(member.size), live.push(kAbsent);
        else
          member.size = from;
      }
  }

  // ---- Tables derived from the sets: members, and the obstacles of buffers and sets
  // List the free members of each set, the sets of each buffer, and the blocks of each set.
  template <class IsOver>
  void list_members(Pace<IsOver> &pace) {
    const i64 p = given_.pools, k = set_live.size;
    Growing<i64> member(arena_), set_of(arena_);
    Growing<Range> blocks(arena_);
    problem.member_first = arena_.array<i64>(k + 1), problem.set_first = arena_.array<i64>(free_ + 1);
    problem.block_first = arena_.array<i64>(k * p + 1);
    member.reserve(set_member.size);
    if (arena_.has_failed) return;
    for (i64 t = 0; t < k && !pace(set_first[t + 1] - set_first[t]); ++t) {
      const i64 *begin = set_member.data + set_first[t], *end = set_member.data + set_first[t + 1];
      for (const i64 *i = begin; i != end; ++i)
        if (position_[*i] < free_) member.push(position_[*i]), ++problem.set_first[position_[*i] + 1];
      problem.member_first[t + 1] = member.size;
      for (i64 q = 0; q < p; ++q) {
        list_in_the_way(q, begin, end, blocks);
        problem.block_first[t * p + q + 1] = blocks.size;
      }
    }
    if (pace.is_over()) return;
    for (i64 x = 0; x < free_; ++x) problem.set_first[x + 1] += problem.set_first[x];
    problem.set_of = arena_.uncleared<i64>(member.size);
    Array<i64> next = arena_.uncleared<i64>(free_);
    if (arena_.has_failed) return;
    std::copy(problem.set_first.begin(), problem.set_first.begin() + free_, next.data);
    for (i64 t = 0; t < k && !pace(4 * (problem.member_first[t + 1] - problem.member_first[t])); ++t)
      for (i64 a = problem.member_first[t]; a < problem.member_first[t + 1]; ++a)
        problem.set_of[next[member.begin()[a]]++] = t;
    problem.member = member.array(), problem.block = blocks.array();
  }

  template <class IsOver>
  void list_obstacles(Pace<IsOver> &pace) {
    const i64 p = given_.pools;
    Growing<Range> obstacles(arena_);
    Growing<i64> near(arena_);
    problem.obstacle_first = arena_.array<i64>(free_ * p + 1);
    if (arena_.has_failed) return;
    for (i64 x = 0; x < free_ && !pace(4 * (count_ - free_ + given_.reserved.size)); ++x) {
      near.size = 0;
      for (i64 y = free_; y < count_; ++y)
        if (near_[x][y]) near.push(both_[y]);
      for (i64 q = 0; q < p; ++q) {
        list_in_the_way(q, near.begin(), near.end(), obstacles);
        problem.obstacle_first[x * p + q + 1] = obstacles.size;
      }
    }
    problem.obstacle = obstacles.array();
  }

  // Add the reserved ranges of a pool and the extents of pinned buffers in a list, as disjoint ascending ranges.
  void list_in_the_way(i64 q, const i64 *begin, const i64 *end, Growing<Range> &ranges) {
    const i64 from = ranges.size;
    for (i64 r = given_.reserved_first[q]; r < given_.reserved_first[q + 1]; ++r)
      ranges.push({given_.reserved[r][0], given_.reserved[r][1]});
    for (const i64 *i = begin; i != end; ++i)
      if (given_.pin[*i] != kAbsent && given_.allowed[q * given_.size.size + *i])
        ranges.push({given_.pin[*i], given_.pin[*i] + given_.size[*i]});
    merge(ranges, from);
  }

  // ---- Granules: the greatest common divisor of all alignments, and the commonest alignments; the first granule is 1
  struct Count {
    i64 value, count;
  };

  // Count the values in a list, the commonest first, the smaller one of equally common values; this sorts the list.
  static void count(Growing<i64> &values, Growing<Count> &counts) {
    counts.size = 0;
    std::sort(values.begin(), values.end(), [](i64 a, i64 b) { return a < b; });
    for (const i64 value : values)
      if (counts.size > 0 && counts.end()[-1].value == value)
        ++counts.end()[-1].count;
      else
        counts.push({value, 1});
    std::sort(counts.begin(), counts.end(), [](const Count &a, const Count &b) {
      return a.count > b.count || (a.count == b.count && a.value < b.value);
    });
  }

  void list_granules() {
    const i64 p = given_.pools, entries = free_ * p;
    Growing<i64> values(arena_), granules(arena_);
    Growing<Count> counts(arena_);
    i64 common = 0;
    for (i64 e = 0; e < entries; ++e)
      if (problem.least[e] < kFar) values.push(problem.step[e]), common = std::gcd(common, problem.step[e]);
    count(values, counts);
    granules.push(1), granules.push(std::max<i64>(1, common));
    for (i64 c = 0; c < std::min(kGranules, counts.size); ++c) granules.push(counts.begin()[c].value);
    if (arena_.has_failed) return;
    std::sort(granules.begin(), granules.end(), [](i64 a, i64 b) { return a < b; });
    granules.size = std::unique(granules.begin(), granules.end()) - granules.begin();
    problem.granule = granules.array();
    problem.remainder = arena_.array<i64>(granules.size * p), problem.fits = arena_.array<bool>(granules.size * entries);
    if (arena_.has_failed) return;
    for (i64 g = 0; g < granules.size; ++g)
      for (i64 q = 0; q < p; ++q) {
        const i64 grain = problem.granule[g];
        const auto is_on = [&](i64 e) { return problem.least[e] < kFar && problem.step[e] % grain == 0; };
        values.size = 0;
        for (i64 e = q; e < entries; e += p)
          if (is_on(e)) values.push(problem.residue[e] % grain);
        count(values, counts);
        const i64 rest = counts.size > 0 ? counts.begin()->value : 0;
        problem.remainder[g * p + q] = rest;
        for (i64 e = q; e < entries; e += p)
          problem.fits[g * entries + e] = is_on(e) && problem.residue[e] % grain == rest;
      }
  }
};

}  // namespace memplan::lemmas
