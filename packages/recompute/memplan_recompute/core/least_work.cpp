// The least cost of what runs again within a budget: best-first search of states, which are what has run and what is in
// memory. Any order and any number of runs are looked at.
#include <algorithm>
#include <bit>
#include <cmath>

#include "reruns.hpp"

namespace memplan::order {
namespace {

constexpr i64 kWords = 2, kMostBits = 64 * kWords;

// See `LeastRuns` in kernels.py.
struct LeastRuns {
  i64 budget;
  i64 most;
  i64 node_limit;
  Array<i64> run;
  Array<i64> answer;
  Array<i64> flag;
};

enum Answer : i64 { kSteps, kCost, kBound, kNodes };

// A set of operations or of tensors.
struct Bits {
  u64 word[kWords] = {};

  bool has(i64 at) const { return word[at >> 6] >> (at & 63) & 1; }
  void add(i64 at) { word[at >> 6] |= u64{1} << (at & 63); }
  void remove(i64 at) { word[at >> 6] &= ~(u64{1} << (at & 63)); }
  bool any() const { return (word[0] | word[1]) != 0; }
  bool within(const Bits &other) const { return !(*this - other).any(); }
  i64 count() const { return std::popcount(word[0]) + std::popcount(word[1]); }
  friend Bits operator|(const Bits &a, const Bits &b) { return {{a.word[0] | b.word[0], a.word[1] | b.word[1]}}; }
  friend Bits operator&(const Bits &a, const Bits &b) { return {{a.word[0] & b.word[0], a.word[1] & b.word[1]}}; }
  friend Bits operator-(const Bits &a, const Bits &b) { return {{a.word[0] & ~b.word[0], a.word[1] & ~b.word[1]}}; }
  friend bool operator==(const Bits &a, const Bits &b) { return a.word[0] == b.word[0] && a.word[1] == b.word[1]; }

  template <class F>
  void each(F visit) const {
    for (i64 k = 0; k < kWords; ++k)
      for (u64 rest = word[k]; rest != 0; rest &= rest - 1) visit(64 * k + std::countr_zero(rest));
  }
};

u64 mixed(u64 hash, const Bits &bits) {
  for (const u64 word : bits.word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 29;
  }
  return hash;
}

struct Operation {
  Bits needs;   // tensors that must be in memory
  Bits makes;   // tensors that are in memory behind it, whatever was there
  Bits before;  // operations that must run first
  Bits behind;  // operations behind which it must not run again
  bool is_again;
  i64 work, cost;
};

// What has run and what is in memory, for which cost; no program through here costs less than `least`.
struct Node {
  Bits done, memory;
  i64 cost, least;
  i64 parent, same;  // the node before; another one with the same operations run
  i64 operation;
};

// The tensors that must still come into memory, the operations that run again for them, and their cost.
struct Needs {
  Bits tensors, again;
  i64 cost;
};

class Search {
 public:
  Search(Arena &arena, const Reruns &graph, const LeastRuns &query)
      : graph_(graph), query_(query), n_(graph.work.size), m_(graph.size.size),
        operations_(arena.array<Operation>(n_)), excess_(arena.array<i64>(n_)),
        freed_{arena.array<Freed>(n_ * n_ + 1)}, freed_first_(arena.array<i64>(n_ + 1)),
        nodes_{arena.uncleared<Node>(query.node_limit + 1)}, queue_{arena.uncleared<i64>(query.node_limit + 1)},
        states_(arena.array<i64>(rows_for(query.node_limit))), dones_(arena.array<i64>(rows_for(query.node_limit))),
        has_memory_(!arena.has_failed) {}

  i64 run() {
    if (!has_memory_) return kNoMemory;
    if (!prepare()) return end(kNone, kEndless);
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

  static Bits bits_of(const Array<i64> &first, const Array<i64> &row, i64 at) {
    Bits bits;
    for (i64 k = first[at]; k < first[at + 1]; ++k) bits.add(row[k]);
    return bits;
  }

  i64 bytes_of(const Bits &tensors) const {
    i64 bytes = 0;
    tensors.each([&](i64 t) { bytes += graph_.size[t]; });
    return bytes;
  }

  // Read the tables; return false if an operation, or the start, exceeds the budget by itself.
  bool prepare() {
    for (i64 t = 0; t < m_; ++t) {
      if (graph_.maker[t] < 0 && graph_.is_there[t]) given_.add(t);
      if (graph_.is_kept[t]) kept_.add(t);
      if (graph_.size[t] > 0) sized_.add(t);
    }
    bool is_possible = bytes_of(given_) <= query_.budget;
    for (i64 v = 0; v < n_; ++v) {
      operations_[v] = {bits_of(graph_.input_first, graph_.input, v),
                        bits_of(graph_.output_first, graph_.output, v),
                        bits_of(graph_.before_first, graph_.before, v),
                        bits_of(graph_.behind_first, graph_.behind, v),
                        graph_.is_again[v] != 0,
                        graph_.work[v],
                        graph_.cost[v]};
      const Operation &row = operations_[v];
      is_possible &= bytes_of(row.needs | row.makes) + row.work <= query_.budget;
    }
    if (is_possible) list_freed();
    return is_possible;
  }

  // For each operation, list what is surely of use both before and after it, and may be away while it runs.
  void list_freed() {
    Bits earlier[kMostBits], later[kMostBits];
    for (i64 v = 0; v < n_; ++v)
      operations_[v].before.each([&](i64 u) {
        earlier[v].add(u);
        earlier[v] = earlier[v] | earlier[u];
      });
    for (i64 v = 0; v < n_; ++v) earlier[v].each([&](i64 u) { later[u].add(v); });
    for (i64 v = 0; v < n_; ++v) {
      const Bits own = operations_[v].needs | operations_[v].makes;
      Bits across = kept_;
      later[v].each([&](i64 w) { across = across | operations_[w].needs; });
      i64 bytes[kMostBits] = {};
      excess_[v] = bytes_of(own) + operations_[v].work - query_.budget;
      (across - own).each([&](i64 t) {
        const i64 maker = graph_.maker[t];
        if (maker < 0 ? !given_.has(t) : !earlier[v].has(maker)) return;
        excess_[v] += graph_.size[t];
        if (maker >= 0) bytes[maker] += graph_.size[t];
      });
      freed_first_[v] = freed_.size;
      for (i64 w = 0; w < n_; ++w)
        if (bytes[w] > 0 && operations_[w].is_again) freed_.push({w, bytes[w], static_cast<double>(operations_[w].cost) / static_cast<double>(bytes[w])});
      std::sort(freed_.begin() + freed_first_[v], freed_.end(), [](const Freed &a, const Freed &b) {
        return a.per_byte < b.per_byte || (a.per_byte == b.per_byte && a.maker < b.maker);
      });
    }
    freed_first_[n_] = freed_.size;
  }

  // The tensors that a state lacks, and all operations that must run again for them; an infinite cost if one cannot.
  Needs needs_of(const Bits &done, const Bits &memory) const {
    Bits made = given_;
    Needs needs{kept_, {}, 0};
    for (i64 v = 0; v < n_; ++v)
      if (done.has(v))
        made = made | operations_[v].makes;
      else
        needs.tensors = needs.tensors | operations_[v].needs;
    needs.tensors = needs.tensors & made;
    for (Bits lacking = needs.tensors - memory, seen; lacking.any();) {
      Bits more;
      bool is_lost = false;
      lacking.each([&](i64 t) {
        const i64 maker = graph_.maker[t];
        if (maker < 0 || !may_run_again(maker, done)) {
          is_lost = true;
        } else if (!needs.again.has(maker)) {
          needs.again.add(maker);
          needs.cost += operations_[maker].cost;
          more = more | operations_[maker].needs;
        }
      });
      if (is_lost) return {needs.tensors, needs.again, kEndless};
      needs.tensors = needs.tensors | more;
      seen = seen | lacking;
      lacking = more - memory - seen;
    }
    return needs;
  }

  bool may_run_again(i64 v, const Bits &done) const {
    return operations_[v].is_again && !(operations_[v].behind & done).any();
  }

  // No program through a state costs less: what it lacks is made, and for each operation that has not run, enough of
  // what stays is away and made again.
  i64 least_of(const Bits &done, i64 cost, const Needs &needs) const {
    if (needs.cost >= kEndless) return kEndless;
    i64 most = 0;
    for (i64 v = 0; v < n_; ++v) {
      if (done.has(v) || excess_[v] <= 0) continue;
      i64 excess = excess_[v];
      double price = 0.0;
      for (i64 k = freed_first_[v]; k < freed_first_[v + 1]; ++k)
        if (needs.again.has(freed_[k].maker)) excess -= freed_[k].bytes;
      for (i64 k = freed_first_[v]; k < freed_first_[v + 1] && excess > 0; ++k) {
        const Freed &row = freed_[k];
        if (needs.again.has(row.maker) || !may_run_again(row.maker, done)) continue;
        // For a bound, a fraction of the last tensor is enough.
        const i64 part = std::min(row.bytes, excess);
        price += row.per_byte * static_cast<double>(part);
        excess -= part;
      }
      if (excess > 0) return kEndless;
      // Costs are integers, so a value that is too low by the rounding of doubles is still a bound.
      most = std::max(most, static_cast<i64>(std::ceil(price * (1.0 - kRounding))));
    }
    return cost + needs.cost + most;
  }

  // What can be of use yet, where no more than `slack` is spent on what need not run again.
  Bits useful(const Bits &done, const Needs &needs, i64 slack) const {
    Bits tensors = needs.tensors;
    for (i64 v = n_ - 1; v >= 0; --v) {
      const Operation &row = operations_[v];
      const bool runs = !done.has(v) || (may_run_again(v, done) && (needs.again.has(v) || row.cost <= slack) &&
                                         (row.makes & tensors).any());
      if (runs) tensors = tensors | row.needs;
    }
    return tensors;
  }

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
    Dropping drop{at, v, cost, node.done, node.memory | row.makes, {}, {}, 0};
    drop.done.add(v);
    const i64 over = bytes_of(drop.memory) + row.work - query_.budget;
    if (over <= 0) {
      enter(drop.done, drop.memory, cost, at, v);
      return;
    }
    drop.needs = needs_of(drop.done, drop.memory);
    if (drop.needs.cost >= kEndless) return;
    ((drop.memory & sized_) - (row.needs | row.makes)).each([&](i64 t) { drop.tensor[drop.count++] = t; });
    std::sort(drop.tensor, drop.tensor + drop.count, [&](i64 a, i64 b) {
      return graph_.size[a] > graph_.size[b] || (graph_.size[a] == graph_.size[b] && a < b);
    });
    drop.rest[drop.count] = 0;
    for (i64 k = drop.count; k > 0; --k) drop.rest[k - 1] = drop.rest[k] + graph_.size[drop.tensor[k - 1]];
    drop_from(drop, 0, over, cost + drop.needs.cost, kEndless, drop.needs.again);
  }

  struct Dropping {
    i64 parent, operation, cost;
    Bits done, memory;
    Needs needs;
    i64 tensor[kMostBits];  // the largest first
    i64 count;
    i64 rest[kMostBits + 1] = {};  // the bytes of those from one on
  };

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
    const i64 tensor = drop.tensor[k], maker = graph_.maker[tensor], size = graph_.size[tensor];
    const bool is_needed = drop.needs.tensors.has(tensor);
    if (!is_needed || (maker >= 0 && may_run_again(maker, drop.done))) {
      Bits with = again;
      i64 more = 0;
      if (is_needed && !again.has(maker)) {
        with.add(maker);
        more = operations_[maker].cost;
      }
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

  const Reruns &graph_;
  const LeastRuns &query_;
  i64 n_, m_;
  Bits given_, kept_, sized_;
  Array<Operation> operations_;
  Array<i64> excess_;  // bytes above the budget while an operation runs, if nothing of use is away
  Stack<Freed> freed_;
  Array<i64> freed_first_;
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
