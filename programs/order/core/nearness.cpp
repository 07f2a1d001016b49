// An order that stays near another one, made of an order within a budget by running operations earlier.
#include "moves.hpp"

namespace memplan::order {
namespace {

// See `Follow` in kernels.py.
struct Follow {
  i64 live;
  i64 budget;
  i64 work;
  Array<i64> order;
  Array<i64> near;
  Array<i64> followed;
  Array<i64> flag;
};

enum Outcome : i64 { kFollowed = 1, kStopped = -1 };

constexpr i64 kMostTries = 6;  // the operations that are tried for one place of the order

// What is left of a known order, as a chain, with what may go before it.
class Follower {
 public:
  Follower(Arena &arena, const Moves &moves, const Follow &query)
      : prefix(arena, moves), work(query.work), n_(moves.count()), budget_(query.budget),
        after_(arena.array<i64>(n_ + 1)), before_(arena.array<i64>(n_ + 1)), block_(arena.array<i64>(n_)) {}

  // Begin with nothing run.
  void start(const Follow &query) {
    prefix.start(query.live);
    block_.fill(kAbsent);
    i64 last = n_;
    for (const i64 operation : query.order) {
      after_[last] = operation, before_[operation] = last;
      last = operation;
    }
    after_[last] = n_, before_[n_] = last;
  }

  // The next operation of the known order.
  i64 first() const { return after_[n_]; }

  // An operation is not tried again until the one that blocked it has run.
  bool is_blocked(i64 operation) const {
    return block_[operation] >= 0 && !prefix.has_run(block_[operation]);
  }

  // Return true if the known order stays within the budget when an operation runs now, before all that it has left.
  bool can_go_first(i64 operation);

  // Run an operation, and take it out of what is left.
  void run(i64 operation) {
    prefix.run(operation);
    after_[before_[operation]] = after_[operation];
    before_[after_[operation]] = before_[operation];
  }

  Prefix prefix;
  i64 work;

 private:
  i64 n_, budget_;
  Array<i64> after_, before_, block_;
};

bool Follower::can_go_first(i64 operation) {
  const i64 ran = prefix.log.size, live = prefix.live;
  const i64 top = prefix.run(operation);
  --work;
  i64 blocked_by = top > budget_ ? first() : -1;
  // What adds no bytes makes nothing worse for those that follow.
  const bool is_free = prefix.live <= live;
  for (i64 other = first(); blocked_by < 0 && !is_free && other != operation; other = after_[other]) {
    if (prefix.run(other) > budget_) blocked_by = other;
    --work;
  }
  while (prefix.log.size > ran) prefix.take_back();
  block_[operation] = blocked_by;
  return blocked_by < 0;
}

i64 follow(const Moves &moves, const Follow &query) {
  Allocator allocator;
  Arena arena(allocator);
  Follower left(arena, moves, query);
  const i64 n = moves.count();
  const Array<i64> at = arena.array<i64>(n);
  if (arena.has_failed) return kNoMemory;
  left.start(query);
  for (i64 v = 0; v < n; ++v) at[query.near[v]] = v;
  for (i64 low = 0; left.prefix.log.size < n;) {
    if (is_set(query.flag)) return kStopped;
    // Look for an operation that comes before the known one in the order to stay near, and can run.
    i64 chosen = left.first(), tries = 0;
    while (low < n && left.prefix.has_run(at[low])) ++low;
    for (i64 place = low; place < query.near[left.first()] && tries < kMostTries && left.work > 0; ++place) {
      const i64 other = at[place];
      if (left.prefix.spot[other] < 0 || left.is_blocked(other)) continue;
      ++tries;
      if (left.can_go_first(other)) {
        chosen = other;
        break;
      }
    }
    left.run(chosen);
  }
  std::copy(left.prefix.log.begin(), left.prefix.log.end(), query.followed.data);
  return kFollowed;
}

}  // namespace
}  // namespace memplan::order

MEMPLAN_KERNEL memplan_follow_order(const memplan::order::Moves *moves, const memplan::order::Follow *query) {
  return memplan::order::follow(*moves, *query);
}
