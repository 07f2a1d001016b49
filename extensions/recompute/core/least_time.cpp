// The least time with a link within a budget: best-first search of what can be when steps begin and end. Any order, any
// number of runs, and any transfers are looked at.
#include <algorithm>
#include <bit>

#include "time_bound.hpp"

namespace memplan::order {
namespace {

enum Answer : i64 { kSteps, kTime, kBound, kNodes };

// See `LeastTime` in kernels.py.
struct LeastTime {
  i64 budget;
  i64 most;
  i64 node_limit;
  Array<i64> transfer;
  Array<i64> kind;
  Array<i64> what;
  Array<i64> start;
  Array<i64> answer;
  Array<i64> flag;
};

struct Node {
  State state;
  i64 time, least, parent;
  i64 kind, what;  // what leads here from the parent
  i64 same;        // another one that is like it, or -1
  bool is_beaten;
};

class Search : TimeBound {
 private:
  // The least time first; of equal ones the latest.
  auto is_later() const {
    return [this](i64 a, i64 b) {
      const Node &one = nodes_[a], &other = nodes_[b];
      if (one.least != other.least) return one.least > other.least;
      return one.time != other.time ? one.time < other.time : a < b;
    };
  }

 public:
  Search(Arena &arena, const Reruns &graph, const LeastTime &query)
      : TimeBound(arena, graph, query.budget, query.transfer), query_(query),
        nodes_{arena.uncleared<Node>(query.node_limit + 1)}, queue_{arena.uncleared<i64>(query.node_limit + 1)},
        rows_(arena.array<i64>(static_cast<i64>(std::bit_ceil(2 * static_cast<u64>(query.node_limit) + 16)))),
        has_memory_(!arena.has_failed) {}

  i64 run() {
    if (!has_memory_) return kNoMemory;
    State first{0, 0, 0, {kNothing, kNothing, kNothing}, {0, 0, 0}};
    for (i64 t = 0; t < m_; ++t) {
      if (graph_.maker[t] < 0 && graph_.is_there[t]) first.memory |= bit(t);
      if (graph_.is_kept[t]) kept_ |= bit(t);
    }
    bool is_possible = bytes_of(first.memory) <= budget_ && bytes_of(kept_) <= budget_;
    for (i64 v = 0; v < n_; ++v) {
      operations_[v] = {bits_of(graph_.input_first, graph_.input, v),
                        bits_of(graph_.output_first, graph_.output, v),
                        bits_of(graph_.before_first, graph_.before, v),
                        bits_of(graph_.behind_first, graph_.behind, v),
                        graph_.is_again[v] != 0,
                        graph_.work[v],
                        graph_.cost[v],
                        0, 0, 0, 0, 0};
      is_possible &= bytes_of(operations_[v].needs | operations_[v].makes) + operations_[v].work <= budget_;
    }
    given_ = first.memory;
    if (!is_possible) return end(kNone, kEndless);
    list_freed();
    enter(first, 0, kNothing, kAdvance, 0);
    i64 bound = 0;
    while (queue_.size > 0 && !has_stopped_) {
      std::pop_heap(queue_.begin(), queue_.end(), is_later());
      const i64 at = queue_.pop();
      const Node node = nodes_[at];
      bound = std::max(bound, node.least);
      if (nodes_[at].is_beaten) continue;
      if (is_goal(node.state)) return found(at);
      expand(at, node);
    }
    if (has_stopped_) return end(kStopped, bound);
    return end(kNone, refused_);
  }

 private:
  bool is_goal(const State &state) const {
    return std::popcount(state.done) == n_ && (kept_ & ~state.memory) == 0 && state.what[kRun] < 0;
  }

  void expand(i64 at, const Node &node) {
    const State &state = node.state;
    const i64 run = state.what[kRun], send = state.what[kSend], fetch = state.what[kFetch];
    const u64 coming = fetch >= 0 ? bit(fetch) : 0;
    const i64 bytes = bytes_of(state.memory) + bytes_of(coming) +
                      (run >= 0 ? bytes_of(operations_[run].makes) + operations_[run].work : 0);
    u64 used = send >= 0 ? bit(send) : 0;
    if (run >= 0) used |= operations_[run].needs;
    const u64 use = useful(state.done);
    bool is_tight = false;
    for (i64 v = 0; v < n_ && run < 0; ++v) {
      const Operation &row = operations_[v];
      const bool is_done = state.done >> v & 1;
      if ((row.needs & ~state.memory) != 0 || (row.makes & coming) != 0) continue;
      if (is_done ? !may_run_again(v, state.done) || (row.makes & use & ~state.memory) == 0
                  : (row.before & ~state.done) != 0)
        continue;
      if (bytes + bytes_of(row.makes) + row.work > budget_)
        is_tight = true;
      else
        begin(at, node, kRun, v, row.cost);
    }
    each(state.memory & use & ~state.apart, [&](i64 t) {
      if (send < 0 && transfer_[t] >= 0) begin(at, node, kSend, t, transfer_[t]);
    });
    const u64 made = run >= 0 ? operations_[run].makes : 0;
    each(state.apart & use & ~state.memory & ~made, [&](i64 t) {
      if (fetch >= 0) return;
      if (bytes + graph_.size[t] > budget_)
        is_tight = true;
      else
        begin(at, node, kFetch, t, transfer_[t]);
    });
    // A tensor in memory is dropped if another one does not fit beside it; tensors of no bytes never need to be
    // dropped.
    if (is_tight)
      each(state.memory & ~used, [&](i64 t) {
        if (graph_.size[t] == 0) return;
        State next = state;
        next.memory &= ~bit(t);
        enter(next, node.time, at, kDrop, t);
      });
    advance(at, node);
  }

  void begin(i64 at, const Node &node, Kind kind, i64 what, i64 left) {
    State next = node.state;
    next.what[kind] = what;
    next.left[kind] = left;
    enter(next, node.time, at, kind, what);
  }

  // Go on to the next end.
  void advance(i64 at, const Node &node) {
    i64 step = kEndless;
    for (i64 kind = 0; kind < kKinds; ++kind)
      if (node.state.what[kind] >= 0) step = std::min(step, node.state.left[kind]);
    if (step == kEndless) return;
    State next = node.state;
    for (i64 kind = 0; kind < kKinds; ++kind) {
      const i64 what = next.what[kind];
      if (what < 0) continue;
      next.left[kind] -= step;
      if (next.left[kind] > 0) continue;
      next.what[kind] = kNothing;
      if (kind == kRun) next.done |= bit(what), next.memory |= operations_[what].makes;
      if (kind == kSend) next.apart |= bit(what);
      if (kind == kFetch) next.memory |= bit(what);
    }
    u64 used = next.what[kSend] >= 0 ? bit(next.what[kSend]) : 0;
    if (next.what[kRun] >= 0) used |= operations_[next.what[kRun]].needs;
    const u64 use = useful(next.done);
    next.memory &= use | used, next.apart &= use;
    enter(next, node.time + step, at, kAdvance, 0);
  }

  void enter(const State &state, i64 time, i64 parent, i64 kind, i64 what) {
    if (++looks_ % kLooksBetweenFlags == 0) has_stopped_ |= is_set(query_.flag);
    has_stopped_ |= looks_ > kLooksPerNode * query_.node_limit;
    const i64 rest = rest_of(state);
    if (rest >= kEndless || has_stopped_) return;
    if (time + rest > query_.most) {
      refused_ = std::min(refused_, time + rest);
      return;
    }
    const i64 row = row_of(state);
    i64 other = rows_[row] - 1;
    for (i64 look = 0; look < kCompared && other >= 0; ++look, other = nodes_[other].same) {
      Node &node = nodes_[other];
      if (node.is_beaten) continue;
      if (is_as_good(node.state, node.time, state, time)) return;
      if (is_as_good(state, time, node.state, node.time)) node.is_beaten = true;
    }
    if (nodes_.size >= query_.node_limit) {
      has_stopped_ = true;
      return;
    }
    nodes_.push({state, time, time + rest, parent, kind, what, rows_[row] - 1, false});
    rows_[row] = nodes_.size;
    queue_.push(nodes_.size - 1);
    std::push_heap(queue_.begin(), queue_.end(), is_later());
  }

  // Whatever follows one of two states that are alike can follow the other one, and ends no later.
  static bool is_as_good(const State &one, i64 time, const State &other, i64 later) {
    if (time > later || (other.apart & ~one.apart) != 0) return false;
    for (const i64 kind : {kRun, kFetch})
      if (one.what[kind] >= 0 && time + one.left[kind] > later + other.left[kind]) return false;
    const i64 sent = other.what[kSend];
    const bool is_same = sent >= 0 && one.what[kSend] == sent;
    if (is_same) return time + one.left[kSend] <= later + other.left[kSend];
    // A state that sends another tensor has finished before the other state could begin.
    const bool is_idle = one.what[kSend] < 0 || time + one.left[kSend] <= later;
    return is_idle && (sent < 0 || (one.apart >> sent & 1));
  }

  // The row of a table that holds the latest node of a state, counted from 1 on, or would.
  i64 row_of(const State &state) const {
    u64 hash = 0;
    for (const u64 word : {state.done, state.memory, static_cast<u64>(state.what[kRun]),
                           static_cast<u64>(state.what[kFetch])}) {
      hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
      hash ^= hash >> 29;
    }
    const i64 mask = rows_.size - 1;
    i64 row = static_cast<i64>(hash) & mask;
    while (rows_[row] > 0 && !nodes_[rows_[row] - 1].state.is_like(state)) row = (row + 1) & mask;
    return row;
  }

  i64 found(i64 goal) {
    i64 steps = 0;
    for (i64 at = goal; nodes_[at].parent >= 0; at = nodes_[at].parent) steps += nodes_[at].kind < kKinds;
    query_.answer[kTime] = nodes_[goal].time;
    if (steps > query_.kind.size) return end(kStopped, nodes_[goal].time);
    query_.answer[kSteps] = steps;
    for (i64 at = goal; nodes_[at].parent >= 0; at = nodes_[at].parent) {
      if (nodes_[at].kind >= kKinds) continue;
      --steps;
      query_.kind[steps] = nodes_[at].kind, query_.what[steps] = nodes_[at].what;
      query_.start[steps] = nodes_[at].time;
    }
    return end(kLeast, nodes_[goal].time);
  }

  i64 end(Outcome outcome, i64 bound) {
    query_.answer[kBound] = bound, query_.answer[kNodes] = nodes_.size;
    return outcome;
  }

  const LeastTime &query_;
  Stack<Node> nodes_;
  Stack<i64> queue_;
  Array<i64> rows_;
  bool has_memory_, has_stopped_ = false;
  i64 looks_ = 0, refused_ = kEndless;
};

}  // namespace
}  // namespace memplan::order

MEMPLAN_KERNEL memplan_least_time(const memplan::order::Reruns *graph, const memplan::order::LeastTime *query) {
  if (graph->work.size > memplan::order::kMostBits || graph->size.size > memplan::order::kMostBits)
    return memplan::order::kStopped;
  memplan::Allocator allocator;
  memplan::Arena arena(allocator);
  return memplan::order::Search(arena, *graph, *query).run();
}
