// The least cost of what runs again within a budget: best-first search of states, which are what has run and what is in
// memory. Any order and any number of runs are looked at.
#include <algorithm>
#include <bit>

#include "work_bound.hpp"

namespace memplan::order {
namespace {

// See `LeastRuns` in kernels.py.
struct LeastRuns {
  i64 budget;
  i64 most;
  i64 node_limit;
  Overwriting over;
  Array<i64> run;
  Array<i64> answer;
  Array<i64> flag;
};

enum Answer : i64 { kSteps, kCost, kBound, kNodes };

// What has run and what is in memory, for which cost; no program through here costs less than `least`.
struct Node {
  Bits done, memory;
  i64 cost, least;
  i64 parent, same;  // the node before; another one with the same operations run
  i64 operation;
};

class Search : WorkBound {
 public:
  Search(Arena &arena, const Reruns &graph, const LeastRuns &query)
      : WorkBound(arena, graph, query.budget), query_(query),
        nodes_{arena.uncleared<Node>(query.node_limit + 1)}, queue_{arena.uncleared<i64>(query.node_limit + 1)},
        states_(arena.array<i64>(rows_for(query.node_limit))), dones_(arena.array<i64>(rows_for(query.node_limit))),
        has_memory_(!arena.has_failed) {}

  i64 run() {
    if (!has_memory_) return kNoMemory;
    if (!prepare(query_.over)) return end(kNone, kEndless);
    const Bits nothing;
    limit_ = kEndless;
    i64 bound = least_of(nothing, 0, needs_of(nothing, given_));
    // The limit on the cost rises step by step, because under a low limit few tensors in memory are of use.
    for (i64 step = 1; bound <= query_.most; ++step) {
      limit_ = std::max(bound, limit_ == kEndless ? bound : limit_ + std::max(step, limit_ / 4));
      limit_ = std::min(limit_, query_.most);
      refused_ = kEndless;
      const i64 goal = search(bound);
      if (goal >= 0) return found(goal);
      if (has_stopped_) return end(kStopped, bound);
      bound = std::max(bound, refused_);
    }
    return end(kNone, bound);
  }

 private:
  static i64 rows_for(i64 most) { return static_cast<i64>(std::bit_ceil(2 * static_cast<u64>(most) + 16)); }

  // The least cost first; of equal ones that in which most has run, and the latest.
  auto is_later() const {
    return [this](i64 a, i64 b) {
      const Node &one = nodes_[a], &other = nodes_[b];
      if (one.least != other.least) return one.least > other.least;
      const i64 ran = one.done.count(), ran_other = other.done.count();
      return ran != ran_other ? ran < ran_other : a < b;
    };
  }

  // Search under a limit on the cost; return the node of the least one, or -1. `bound` rises to what is known then.
  i64 search(i64 &bound) {
    first_ = nodes_.size;
    queue_.size = 0;
    enter({}, given_, 0, -1, -1);
    while (queue_.size > 0 && !has_stopped_) {
      std::pop_heap(queue_.begin(), queue_.end(), is_later());
      const i64 at = queue_.pop();
      const Node node = nodes_[at];
      bound = std::max(bound, node.least);
      if (states_[row_of_state(node.done, node.memory)] != at + 1) continue;  // reached at a lower cost since
      if (node.done.count() == n_ && kept_.within(node.memory)) return at;
      const Needs needs = needs_of(node.done, node.memory);
      for (i64 v = 0; v < n_ && !has_stopped_; ++v) run_next(at, v, needs);
    }
    return -1;
  }

  // Count a look at a state, entered or not, and stop after too many, or where the time is over.
  void look() {
    ++looks_;
    has_stopped_ |= looks_ > kLooksPerNode * query_.node_limit;
    if (looks_ % kLooksBetweenFlags == 0) has_stopped_ |= is_set(query_.flag);
  }

  struct Dropping {
    i64 parent, operation, cost;
    Bits done, memory;
    Bits laid;  // outputs that lie over inputs
    Needs needs;
    i64 tensor[kMostBits];  // the largest first
    i64 count;
    i64 rest[kMostBits + 1] = {};  // the bytes of those from one on
  };

  // Run an operation in a state, with what must be dropped for it.
  void run_next(i64 at, i64 v, const Needs &needs) {
    const Node &node = nodes_[at];
    const Operation &row = operations_[v];
    if (!row.needs.within(node.memory)) return;
    i64 cost = node.cost;
    if (node.done.has(v)) {
      if (!may_run_again(v, node.done) || row.makes.within(node.memory)) return;
      cost += row.cost;
      const i64 least = cost + needs.cost - (needs.again.has(v) ? row.cost : 0);
      if (least > limit_) {
        refused_ = std::min(refused_, least);
        return;
      }
    } else if (!row.before.within(node.done)) {
      return;
    }
    Dropping drop{at, v, cost, node.done, node.memory | row.makes, {}, {}, {}, 0};
    drop.done.add(v);
    const i64 over = bytes_of(drop.memory) + row.work - budget_;
    if (over <= 0) {
      enter(drop.done, drop.memory, cost, at, v);
      return;
    }
    drop.needs = needs_of(drop.done, drop.memory);
    if (drop.needs.cost >= kEndless) return;
    overwrite_from(drop, query_.over.first[v], over, cost + drop.needs.cost, drop.needs.again);
  }

  // Lay outputs from row `k` on over inputs, each or not, and drop tensors if bytes above the budget remain.
  void overwrite_from(Dropping &drop, i64 k, i64 over, i64 least, const Bits &again) {
    if (over <= 0 || k == query_.over.first[drop.operation + 1]) {
      list_droppable(drop);
      drop_from(drop, 0, over, least, kEndless, again);
      return;
    }
    overwrite_from(drop, k + 1, over, least, again);
    const i64 output = query_.over.output[k], input = query_.over.input[k];
    if (has_stopped_ || drop.laid.has(output) || !drop.memory.has(input) || !may_lose(drop, input)) return;
    drop.laid.add(output);
    drop.memory.remove(input);
    Bits with = again;
    const i64 more = cost_without(drop, input, with);
    overwrite_from(drop, k + 1, over - graph_.size[output], least + more, with);
    drop.memory.add(input);
    drop.laid.remove(output);
  }

  // List the tensors that the operation of `drop` does not use, the largest first.
  void list_droppable(Dropping &drop) const {
    const Operation &row = operations_[drop.operation];
    drop.count = 0;
    ((drop.memory & sized_) - (row.needs | row.makes)).each([&](i64 t) { drop.tensor[drop.count++] = t; });
    std::sort(drop.tensor, drop.tensor + drop.count, [&](i64 a, i64 b) {
      return graph_.size[a] > graph_.size[b] || (graph_.size[a] == graph_.size[b] && a < b);
    });
    drop.rest[drop.count] = 0;
    for (i64 k = drop.count; k > 0; --k) drop.rest[k - 1] = drop.rest[k] + graph_.size[drop.tensor[k - 1]];
  }

  // Whether a tensor may leave memory: nothing needs it any more, or it can be made again.
  bool may_lose(const Dropping &drop, i64 tensor) const {
    const i64 maker = graph_.maker[tensor];
    return !drop.needs.tensors.has(tensor) || (maker >= 0 && may_run_again(maker, drop.done));
  }

  // The cost of making a tensor again, if anything needs it and its maker is not in `again` yet, to which it is added.
  i64 cost_without(const Dropping &drop, i64 tensor, Bits &again) const {
    const i64 maker = graph_.maker[tensor];
    if (!drop.needs.tensors.has(tensor) || again.has(maker)) return 0;
    again.add(maker);
    return operations_[maker].cost;
  }

  // Enter the states that drop just enough of the tensors from `k` on; `smallest` is the smallest one dropped so far.
  void drop_from(Dropping &drop, i64 k, i64 over, i64 least, i64 smallest, Bits again) {
    look();
    if (least > limit_) {
      refused_ = std::min(refused_, least);
      return;
    }
    if (over <= 0) {
      // A state with fewer dropped tensors is as good.
      if (smallest > -over) enter(drop.done, drop.memory, drop.cost, drop.parent, drop.operation);
      return;
    }
    if (drop.rest[k] < over || has_stopped_) return;
    const i64 tensor = drop.tensor[k], size = graph_.size[tensor];
    if (may_lose(drop, tensor)) {
      Bits with = again;
      const i64 more = cost_without(drop, tensor, with);
      drop.memory.remove(tensor);
      drop_from(drop, k + 1, over - size, least + more, std::min(smallest, size), with);
      drop.memory.add(tensor);
    }
    drop_from(drop, k + 1, over, least, smallest, again);
  }

  // Enter a state, unless one that is as good was entered, or no program through it costs at most the limit.
  void enter(const Bits &done, Bits memory, i64 cost, i64 parent, i64 operation) {
    look();
    const Needs needs = needs_of(done, memory);
    const i64 least = least_of(done, cost, needs);
    if (least > limit_) {
      refused_ = std::min(refused_, least);
      return;
    }
    memory = memory & useful(done, needs, limit_ - cost - needs.cost);
    const i64 row = row_of_state(done, memory);
    if (states_[row] > first_ && nodes_[states_[row] - 1].cost <= cost) return;
    const i64 same = row_of_done(done);
    i64 other = dones_[same] > first_ ? dones_[same] - 1 : -1;
    for (i64 look = 0; look < kCompared && other >= 0; ++look, other = nodes_[other].same)
      if (nodes_[other].cost <= cost && memory.within(nodes_[other].memory)) return;
    if (nodes_.size >= query_.node_limit) {
      has_stopped_ = true;
      return;
    }
    const i64 before = dones_[same] > first_ ? dones_[same] - 1 : -1;
    nodes_.push({done, memory, cost, least, parent, before, operation});
    states_[row] = dones_[same] = nodes_.size;
    queue_.push(nodes_.size - 1);
    std::push_heap(queue_.begin(), queue_.end(), is_later());
  }

  // Rows of tables hold a node's number from 1 on; what an earlier search has left counts as empty.
  i64 row_of_state(const Bits &done, const Bits &memory) const {
    const i64 mask = states_.size - 1;
    i64 row = static_cast<i64>(mixed(mixed(0, done), memory)) & mask;
    while (states_[row] > first_ &&
           !(nodes_[states_[row] - 1].done == done && nodes_[states_[row] - 1].memory == memory))
      row = (row + 1) & mask;
    return row;
  }

  i64 row_of_done(const Bits &done) const {
    const i64 mask = dones_.size - 1;
    i64 row = static_cast<i64>(mixed(0, done)) & mask;
    while (dones_[row] > first_ && !(nodes_[dones_[row] - 1].done == done)) row = (row + 1) & mask;
    return row;
  }

  i64 found(i64 goal) {
    i64 steps = 0;
    for (i64 at = goal; nodes_[at].parent >= 0; at = nodes_[at].parent) ++steps;
    if (steps > query_.run.size) return end(kStopped, nodes_[goal].cost);
    query_.answer[kSteps] = steps, query_.answer[kCost] = nodes_[goal].cost;
    for (i64 at = goal; nodes_[at].parent >= 0; at = nodes_[at].parent) query_.run[--steps] = nodes_[at].operation;
    return end(kLeast, nodes_[goal].cost);
  }

  i64 end(Outcome outcome, i64 bound) {
    query_.answer[kBound] = bound, query_.answer[kNodes] = nodes_.size;
    return outcome;
  }

  const LeastRuns &query_;
  Stack<Node> nodes_;
  Stack<i64> queue_;
  Array<i64> states_, dones_;
  bool has_memory_;
  bool has_stopped_ = false;
  i64 limit_ = 0, refused_ = kEndless;
  i64 looks_ = 0;
  i64 first_ = 0;  // the first node under this limit
};

}  // namespace
}  // namespace memplan::order

MEMPLAN_KERNEL memplan_least_work(const memplan::order::Reruns *graph, const memplan::order::LeastRuns *query) {
  if (graph->work.size > memplan::order::kMostBits || graph->size.size > memplan::order::kMostBits)
    return memplan::order::kStopped;
  memplan::Allocator allocator;
  memplan::Arena arena(allocator);
  return memplan::order::Search(arena, *graph, *query).run();
}
