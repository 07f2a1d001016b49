// The cheapest set that is closed under predecessors, as a maximum flow (Picard 1976; flow by Dinitz 1970).
#include "stack.hpp"

namespace memplan::order {
namespace {

// See `Network` in kernels.py.
struct Network {
  Array<i64> first;
  Array<i64> to;
  Array<i64> back;
  Array<i64> rest;
  Array<i64> gain;
  Array<i64> price;
  Array<bool> is_open;
  Array<i64> level;
  Array<i64> flag;
};

enum Outcome : i64 { kCut = 1, kStopped = -1 };

class Flow {
 public:
  Flow(Arena &arena, const Network &network)
      : network_(network), n_(network.gain.size), arc_(arena.array<i64>(n_)), queue_(arena.array<i64>(n_)),
        path_(arena.array<i64>(n_)), has_memory_(!arena.has_failed) {}

  i64 run() {
    if (!has_memory_) return kNoMemory;
    while (find_levels()) {
      std::copy_n(network_.first.data, n_, arc_.data);
      for (i64 node = 0; node < n_; ++node) {
        if (is_set(network_.flag)) return kStopped;
        if (network_.level[node] == 0) send(node);
      }
    }
    return kCut;
  }

 private:
  // Count the arcs from a gain to each node; return false if no price can be reached.
  bool find_levels() {
    const Network &net = network_;
    i64 tail = 0;
    bool is_reached = false;
    for (i64 node = 0; node < n_; ++node) {
      const bool is_source = net.is_open[node] && net.gain[node] > 0;
      net.level[node] = is_source ? 0 : -1;
      if (is_source) queue_[tail++] = node;
    }
    for (i64 head = 0; head < tail; ++head) {
      const i64 node = queue_[head];
      is_reached = is_reached || net.price[node] > 0;
      for (i64 k = net.first[node]; k < net.first[node + 1]; ++k) {
        const i64 to = net.to[k];
        if (net.rest[k] <= 0 || !net.is_open[to] || net.level[to] >= 0) continue;
        net.level[to] = net.level[node] + 1;
        queue_[tail++] = to;
      }
    }
    return is_reached;
  }

  // Send what a node gains along shortest paths, until no path is left.
  void send(i64 source) {
    const Network &net = network_;
    i64 node = source, depth = 0;
    while (net.gain[source] > 0) {
      if (net.price[node] > 0) {
        push(source, node, depth);
        node = source, depth = 0;
        continue;
      }
      i64 &k = arc_[node];
      const i64 end = net.first[node + 1];
      while (k < end && !leads_on(node, k)) ++k;
      if (k < end) {
        path_[depth++] = k;
        node = net.to[k];
      } else if (depth == 0) {
        return;
      } else {
        node = net.to[net.back[path_[--depth]]];
        ++arc_[node];
      }
    }
  }

  bool leads_on(i64 node, i64 k) const {
    const i64 to = network_.to[k];
    return network_.rest[k] > 0 && network_.is_open[to] && network_.level[to] == network_.level[node] + 1;
  }

  // Send as much as the path takes.
  void push(i64 source, i64 sink, i64 depth) {
    const Network &net = network_;
    i64 amount = std::min(net.gain[source], net.price[sink]);
    for (i64 k = 0; k < depth; ++k) amount = std::min(amount, net.rest[path_[k]]);
    for (i64 k = 0; k < depth; ++k) {
      net.rest[path_[k]] -= amount;
      net.rest[net.back[path_[k]]] += amount;
    }
    net.gain[source] -= amount;
    net.price[sink] -= amount;
  }

  const Network &network_;
  i64 n_;
  Array<i64> arc_, queue_, path_;
  bool has_memory_;
};

}  // namespace
}  // namespace memplan::order

MEMPLAN_KERNEL memplan_close_cheaply(const memplan::order::Network *network) {
  memplan::Allocator allocator;
  memplan::Arena arena(allocator);
  return memplan::order::Flow(arena, *network).run();
}
