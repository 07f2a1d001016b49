// Conversion of a problem of several memories to one problem per memory or, for equal use, to one single problem.
#pragma once
#include <compare>

#include "arena.hpp"
#include "door.hpp"
#include "memplan.h"

namespace memplan {

class Memories {
 public:
  // If the arena has failed, no member may be read.
  Memories(Arena &arena, const memplan_problem &problem)
      : arena_(arena), problem_(problem), place_(arena.uncleared<std::size_t>(static_cast<i64>(problem.count))) {
    const auto memory_of = [&problem](std::size_t row) { return problem.memory_of[row]; };
    row_ = by_memory<std::size_t>(problem.count, memory_of, [](std::size_t row) { return row; });
    if (arena.has_failed) return;
    for (i64 q = 0; q + 1 < row_.first.size; ++q)
      for (i64 k = row_.first[q]; k < row_.first[q + 1]; ++k)
        place_[static_cast<i64>(row_.rows[k])] = static_cast<std::size_t>(k - row_.first[q]);
    const auto place = [this](std::size_t row) { return place_[static_cast<i64>(row)]; };
    buffers_ = by_memory<memplan_buffer>(problem.count, memory_of, [&](std::size_t row) { return problem.buffers[row]; });
    gaps_ = by_memory<memplan_gap>(
        problem.gap_count, [&](std::size_t row) { return memory_of(problem.gaps[row].buffer); },
        [&](std::size_t row) {
          const memplan_gap &gap = problem.gaps[row];
          return memplan_gap{place(gap.buffer), gap.begin, gap.end};
        });
    joins_ = by_memory<memplan_join>(
        problem.join_count, [&](std::size_t row) { return memory_of(problem.joins[row].upper); },
        [&](std::size_t row) {
          const memplan_join &join = problem.joins[row];
          return memplan_join{place(join.upper), place(join.lower), join.distance};
        });
    const auto in_one = [&](const memplan_pair *pairs, std::size_t count) {
      return by_memory<memplan_pair>(
          count,
          [&](std::size_t row) {
            const std::size_t first = memory_of(pairs[row].first), second = memory_of(pairs[row].second);
            return first == second ? first : MEMPLAN_NONE;
          },
          [&](std::size_t row) { return memplan_pair{place(pairs[row].first), place(pairs[row].second)}; });
    };
    pairs_ = in_one(problem.pairs, problem.pair_count), banks_ = in_one(problem.banks, problem.bank_count);
    shares_ = in_one(problem.shares, problem.share_count);
  }

  memplan_problem problem(i64 q) const {
    const memplan_memory &memory = problem_.memories[q];
    memplan_problem made{};
    made.capacity = memory.capacity, made.base = memory.base, made.only_pairs = problem_.only_pairs;
    made.reserved = memory.reserved, made.reserved_count = memory.reserved_count, made.bank = memory.bank;
    made.buffers = buffers_.of(q, made.count);
    made.pairs = pairs_.of(q, made.pair_count);
    made.shares = shares_.of(q, made.share_count);
    if (memory.bank > 0) made.banks = banks_.of(q, made.bank_count);
    made.gaps = gaps_.of(q, made.gap_count);
    made.joins = joins_.of(q, made.join_count);
    return made;
  }

  i64 first(i64 q) const { return row_.first[q]; }
  // The rows of the buffers, sorted by memory.
  const Array<std::size_t> &rows() const { return row_.rows; }

 private:
  template <class Row>
  struct Sorted {
    Array<i64> first{nullptr, 0};
    Array<Row> rows{nullptr, 0};

    const Row *of(i64 q, std::size_t &count) const {
      count = static_cast<std::size_t>(first[q + 1] - first[q]);
      return rows.data + first[q];
    }
  };
  Arena &arena_;
  const memplan_problem &problem_;
  Array<std::size_t> place_;
  Sorted<std::size_t> row_;
  Sorted<memplan_buffer> buffers_;
  Sorted<memplan_gap> gaps_;
  Sorted<memplan_join> joins_;
  Sorted<memplan_pair> pairs_, banks_, shares_;

  // Sort rows by memory, otherwise in their given order; rows without a memory are left out.
  template <class Row, class MemoryOf, class Make>
  Sorted<Row> by_memory(std::size_t count, MemoryOf &&memory_of, Make &&make) {
    const i64 memories = static_cast<i64>(problem_.memory_count);
    Sorted<Row> made{arena_.array<i64>(memories + 2), arena_.uncleared<Row>(static_cast<i64>(count))};
    if (arena_.has_failed) return made;
    for (std::size_t row = 0; row < count; ++row)
      if (memory_of(row) != MEMPLAN_NONE) ++made.first[static_cast<i64>(memory_of(row)) + 2];
    for (i64 q = 2; q < memories + 2; ++q) made.first[q] += made.first[q - 1];
    for (std::size_t row = 0; row < count; ++row)
      if (memory_of(row) != MEMPLAN_NONE) made.rows[made.first[static_cast<i64>(memory_of(row)) + 1]++] = make(row);
    made.first.size = memories + 1;
    return made;
  }
};

// Memories of equal use as one memory, in whose time axis each memory has its own range. Buffers at one offset
// become one buffer with the lifetimes of all of them. If two of them conflict, nothing fits.
class OneMemory {
 public:
  std::size_t first_at_odds = MEMPLAN_NONE, other_at_odds = MEMPLAN_NONE;

  // If the arena has failed, no member may be read.
  OneMemory(Arena &arena, const memplan_problem &problem)
      : problem_(problem),
        place_(arena.uncleared<i64>(static_cast<i64>(problem.count))),
        buffers_(arena.uncleared<memplan_buffer>(static_cast<i64>(problem.count))),
        lives_(arena.uncleared<Life>(static_cast<i64>(problem.only_pairs ? 0 : problem.count + problem.gap_count))),
        times_(arena.uncleared<Moment>(2 * lives_.size)),
        gaps_(arena.uncleared<memplan_gap>(lives_.size)),
        pairs_(arena.uncleared<memplan_pair>(static_cast<i64>(problem.pair_count))),
        joins_(arena.uncleared<memplan_join>(static_cast<i64>(problem.join_count))) {
    if (arena.has_failed) return;
    place_buffers();
    list_lives();
    join_lives();
    pairs_.size = 0;
    for (std::size_t row = 0; row < problem.pair_count; ++row) {
      const memplan_pair &pair = problem.pairs[row];
      if (!is_in_one(problem, pair.first, pair.second)) continue;
      pairs_.data[pairs_.size++] = {slot(pair.first), slot(pair.second)};
      if (place(pair.first) == place(pair.second)) note_odds(pair.first, pair.second);
    }
    for (std::size_t row = 0; row < problem.join_count; ++row) {
      const memplan_join &join = problem.joins[row];
      joins_[static_cast<i64>(row)] = {slot(join.upper), slot(join.lower), join.distance};
    }
  }

  memplan_problem problem() const {
    memplan_problem made = problem_;
    made.buffers = buffers_.data, made.count = static_cast<std::size_t>(buffers_.size);
    made.gaps = gaps_.data, made.gap_count = static_cast<std::size_t>(gaps_.size);
    made.pairs = pairs_.data, made.pair_count = static_cast<std::size_t>(pairs_.size);
    made.joins = joins_.data;
    made.memory_count = 0, made.same_offset = nullptr;
    if (problem_.memory_count == 0) return made;
    const memplan_memory &least = problem_.memories[smallest()];
    made.capacity = least.capacity, made.base = least.base;
    made.reserved = least.reserved, made.reserved_count = least.reserved_count;
    return made;
  }

  i64 place(std::size_t buffer) const { return place_[static_cast<i64>(buffer)]; }
  // Return the first buffer that is in a place.
  std::size_t source(std::size_t place) const {
    return static_cast<std::size_t>(std::find(place_.begin(), place_.end(), static_cast<i64>(place)) - place_.begin());
  }
  std::size_t smallest() const {
    std::size_t least = 0;
    for (std::size_t q = 1; q < problem_.memory_count; ++q)
      if (problem_.memories[q].capacity < problem_.memories[least].capacity) least = q;
    return least;
  }

 private:
  // A time within the range of a memory.
  struct Moment {
    std::size_t memory;
    i64 time;
    auto operator<=>(const Moment &) const = default;
  };
  struct Life {
    std::size_t buffer;
    Moment begin, end;
  };
  const memplan_problem &problem_;
  Array<i64> place_;
  Array<memplan_buffer> buffers_;
  Array<Life> lives_;
  Array<Moment> times_;
  Array<memplan_gap> gaps_;
  Array<memplan_pair> pairs_;
  Array<memplan_join> joins_;

  std::size_t slot(std::size_t buffer) const { return static_cast<std::size_t>(place(buffer)); }

  void note_odds(std::size_t a, std::size_t b) {
    if (problem_.buffers[a].size > 0) first_at_odds = a, other_at_odds = b;
  }

  void place_buffers() {
    buffers_.size = 0;
    for (std::size_t i = 0; i < problem_.count; ++i) {
      const bool is_first = !has_same_offset(problem_, i) || problem_.same_offset[i] == i;
      place_[static_cast<i64>(i)] = is_first ? buffers_.size : place(problem_.same_offset[i]);
      if (is_first) buffers_.data[buffers_.size++] = problem_.buffers[i];
    }
  }

  // List the lifetimes without gaps of all buffers, by place and time.
  void list_lives() {
    const i64 most = lives_.size;
    lives_.size = times_.size = 0;
    std::size_t gap = 0;
    for (std::size_t i = 0; i < problem_.count && most > 0; ++i) {
      const std::size_t memory = problem_.memory_count > 0 ? problem_.memory_of[i] : 0;
      i64 begin = problem_.buffers[i].begin;
      for (; gap < problem_.gap_count && problem_.gaps[gap].buffer == i; begin = problem_.gaps[gap++].end)
        lives_.data[lives_.size++] = {i, {memory, begin}, {memory, problem_.gaps[gap].begin}};
      lives_.data[lives_.size++] = {i, {memory, begin}, {memory, problem_.buffers[i].end}};
    }
    for (const Life &life : lives_) times_.data[times_.size++] = life.begin, times_.data[times_.size++] = life.end;
    std::sort(times_.begin(), times_.end());
    times_.size = std::unique(times_.begin(), times_.end()) - times_.begin();
    std::sort(lives_.begin(), lives_.end(), [this](const Life &a, const Life &b) {
      return place(a.buffer) != place(b.buffer) ? place(a.buffer) < place(b.buffer) : a.begin < b.begin;
    });
  }

  i64 rank(const Moment &moment) const { return std::lower_bound(times_.begin(), times_.end(), moment) - times_.begin(); }

  void join_lives() {
    gaps_.size = 0;
    for (i64 k = 0; k < lives_.size; ++k) {
      const Life &life = lives_[k];
      memplan_buffer &buffer = buffers_[place(life.buffer)];
      const i64 begin = rank(life.begin);
      if (k == 0 || place(lives_[k - 1].buffer) != place(life.buffer))
        buffer.begin = begin;
      else if (begin < buffer.end)
        note_odds(lives_[k - 1].buffer, life.buffer);
      else if (begin > buffer.end)
        gaps_.data[gaps_.size++] = {slot(life.buffer), buffer.end, begin};
      buffer.end = rank(life.end);
    }
  }
};

}  // namespace memplan
