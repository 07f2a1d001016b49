// Depth-first search of an order whose peak is within a budget.
#include <bit>

#include "segments.hpp"

namespace memplan::order {
namespace {

// See `Budget` in kernels.py.
struct Budget {
  i64 live;
  i64 budget;
  i64 depth;
  i64 rule;
  i64 seed;
  i64 node_limit;
  Array<i64> order;
  Array<i64> answer;
  Array<i64> flag;
};

enum Rule : i64 { kByValley, kByHill };
enum Outcome : i64 { kFound = 1, kExhausted = 0, kStopped = -1 };
enum Answer : i64 { kNodes, kRefused };

constexpr SegmentLimits kLook{0, 40, 100};  // for segments that are only looked at
constexpr i64 kLongest = 200, kAllowed = 600;
constexpr i64 kLowest = -(i64{1} << 62);

// The number after another one in a sequence of 31-bit numbers.
i64 next_state(i64 state) { return (state * 1103515245 + 12345) & 0x7FFFFFFF; }

using Key = std::array<u64, 2>;

// The keys of the states that were entered: open addressing, less than half full.
class SeenStates {
 public:
  SeenStates(Arena &arena, i64 most) : rows_(arena.array<Key>(rows_for(most))) {}

  // Enter a key; return false if it was there.
  bool insert(const Key &key) const {
    const i64 mask = rows_.size - 1;
    i64 i = static_cast<i64>(key[0]) & mask;
    while (rows_[i][0] != 0 && rows_[i] != key) i = (i + 1) & mask;
    if (rows_[i][0] != 0) return false;
    rows_[i] = key;
    return true;
  }

 private:
  static i64 rows_for(i64 most) { return static_cast<i64>(std::bit_ceil(2 * static_cast<u64>(most) + 16)); }

  Array<Key> rows_;
};

class Search {
 public:
  Search(Arena &arena, const Moves &moves, const Budget &query)
      : arena_(arena), query_(query), prefix_(arena, moves),
        segments_(arena, moves, query.budget, query.depth), seen_(arena, query.node_limit),
        open_{arena.array<Node>(moves.count() + 1)}, options_{arena.array<i64>(16 * moves.count() + 1000)},
        worth_(arena.array<double>(moves.count() + 1)) {}

  i64 run();

 private:
  // A state that was entered: its first option, and the length of the log.
  struct Node {
    i64 first_option;
    i64 ran;
  };

  // Run segments as long as there are any.
  void commit();

  // Make room for as many options as macros are ready.
  bool has_room() {
    if (options_.size + prefix_.ready.size <= options_.room.size) return true;
    const Array<i64> larger = arena_.array<i64>(4 * options_.room.size);
    if (arena_.has_failed) return false;
    std::copy(options_.begin(), options_.end(), larger.data);
    options_.room = larger;
    return true;
  }

  // Add the macros that can run next within the budget to the options, the best one last.
  void list_options(i64 state);

  i64 end(Outcome outcome) {
    std::copy(prefix_.log.begin(), prefix_.log.end(), query_.order.data);
    query_.answer[kNodes] = nodes_, query_.answer[kRefused] = segments_.refused;
    return outcome;
  }

  Arena &arena_;
  const Budget &query_;
  Prefix prefix_;
  Segments segments_;
  SeenStates seen_;
  Stack<Node> open_;
  Stack<i64> options_;  // of all open nodes, one after the other
  Array<double> worth_;
  i64 nodes_ = 0;
};

void Search::commit() {
  const SegmentLimits limits{query_.depth, kLongest, kAllowed};
  for (i64 j = 0; j < prefix_.ready.size && !is_set(query_.flag);) {
    const i64 first = prefix_.log.size;
    if (segments_.grow(prefix_, prefix_.ready[j], prefix_.live, limits)) {
      for (i64 row = first; row < prefix_.log.size; ++row) prefix_.turn(prefix_.log[row], 1);
      j = 0;
    } else {
      ++j;
    }
  }
}

void Search::list_options(i64 state) {
  const i64 first = options_.size;
  for (i64 j = 0; j < prefix_.ready.size; ++j) {
    const i64 macro = prefix_.ready[j];
    segments_.grow(prefix_, macro, kLowest, kLook);
    if (segments_.hill > query_.budget) continue;
    const i64 above = query_.rule == kByValley ? 0 : segments_.hill;
    double value = static_cast<double>(segments_.valley - above);
    if (state > 0) {
      state = next_state(state);
      value *= 0.85 + 0.3 * static_cast<double>(state) / 2147483648.0;
    }
    i64 i = options_.size;
    options_.push(macro);
    for (; i > first && worth_[i - 1 - first] < value; --i) {
      worth_[i - first] = worth_[i - 1 - first];
      options_[i] = options_[i - 1];
    }
    worth_[i - first] = value;
    options_[i] = macro;
  }
}

i64 Search::run() {
  if (arena_.has_failed) return kNoMemory;
  prefix_.start(query_.live);
  const i64 n = prefix_.waits.size;
  i64 state = query_.seed;
  bool is_open = true;
  while (true) {
    // 1. Enter a state: run what needs no choice, then list what can run next, unless the state was seen before.
    if (is_open) {
      commit();
      if (prefix_.log.size == n) return end(kFound);
      ++nodes_;
      if (nodes_ > query_.node_limit || is_set(query_.flag)) return end(kStopped);
      open_.push({options_.size, prefix_.log.size});
      if (!has_room()) return kNoMemory;
      if (seen_.insert(prefix_.key)) {
        list_options(state);
        state = next_state(state);
      }
    }

    // 2. Take the next option of the last open node, or close the node.
    if (open_.size == 0) return end(kExhausted);
    const Node node = open_.back();
    while (prefix_.log.size > node.ran) {
      prefix_.turn(prefix_.log.back(), -1);
      prefix_.take_back();
    }
    is_open = options_.size > node.first_option;
    if (is_open) {
      const i64 macro = options_.pop();
      prefix_.run(macro);
      prefix_.turn(macro, 1);
    } else {
      open_.pop();
    }
  }
}

}  // namespace
}  // namespace memplan::order

MEMPLAN_KERNEL memplan_search_order(const memplan::order::Moves *moves, const memplan::order::Budget *query) {
  memplan::Allocator allocator;
  memplan::Arena arena(allocator);
  return memplan::order::Search(arena, *moves, *query).run();
}
