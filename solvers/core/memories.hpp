// A problem of several memories as a problem for each of them.
#pragma once
#include "arena.hpp"
#include "memplan.h"

namespace memplan {

class Memories {
 public:
  // Nothing is to be read where the arena has failed.
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
    pairs_ = by_memory<memplan_pair>(
        problem.pair_count,
        [&](std::size_t row) {
          const std::size_t first = memory_of(problem.pairs[row].first), second = memory_of(problem.pairs[row].second);
          return first == second ? first : MEMPLAN_NONE;
        },
        [&](std::size_t row) {
          return memplan_pair{place(problem.pairs[row].first), place(problem.pairs[row].second)};
        });
  }

  memplan_problem problem(i64 q) const {
    const memplan_memory &memory = problem_.memories[q];
    memplan_problem made{};
    made.capacity = memory.capacity, made.base = memory.base, made.only_pairs = problem_.only_pairs;
    made.reserved = memory.reserved, made.reserved_count = memory.reserved_count;
    made.buffers = buffers_.of(q, made.count);
    made.pairs = pairs_.of(q, made.pair_count);
    made.gaps = gaps_.of(q, made.gap_count);
    made.joins = joins_.of(q, made.join_count);
    return made;
  }

  i64 first(i64 q) const { return row_.first[q]; }
  // The row of each buffer, memory by memory.
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
  Sorted<memplan_pair> pairs_;

  // Rows memory by memory, otherwise in their order, without those of none.
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

}  // namespace memplan
