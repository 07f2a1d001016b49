// What no program through a state costs less than: what it lacks is made again, and so is what must be away meanwhile.
#pragma once
#include <algorithm>
#include <cmath>

#include "bits.hpp"
#include "reruns.hpp"

namespace memplan::order {

// The outputs of operation v that may lie over its inputs, row by row, where nothing needs the input any more.
struct Overwriting {
  Array<i64> first, output, input;
};

// The bound for a graph's programs within a budget; a state is what has run and what is in memory.
class WorkBound {
 protected:
  struct Operation {
    Bits needs;   // tensors that must be in memory
    Bits makes;   // tensors that are in memory behind it, whatever was there
    Bits before;  // operations that must run first
    Bits behind;  // operations behind which it must not run again
    bool is_again;
    i64 work, cost;
    i64 saved;  // the most bytes of its outputs that can lie over its inputs
  };

  // The tensors that must still come into memory, the operations that run again for them, and their cost.
  struct Needs {
    Bits tensors, again;
    i64 cost;
  };

  WorkBound(Arena &arena, const Reruns &graph, i64 budget)
      : graph_(graph), budget_(budget), n_(graph.work.size), m_(graph.size.size),
        operations_(arena.array<Operation>(n_)), excess_(arena.array<i64>(n_)),
        freed_{arena.array<Freed>(n_ * n_ + 1)}, freed_first_(arena.array<i64>(n_ + 1)) {}

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
  bool prepare(const Overwriting &over) {
    for (i64 t = 0; t < m_; ++t) {
      if (graph_.maker[t] < 0 && graph_.is_there[t]) given_.add(t);
      if (graph_.is_kept[t]) kept_.add(t);
      if (graph_.size[t] > 0) sized_.add(t);
    }
    bool is_possible = bytes_of(given_) <= budget_;
    for (i64 v = 0; v < n_; ++v) {
      operations_[v] = {bits_of(graph_.input_first, graph_.input, v),
                        bits_of(graph_.output_first, graph_.output, v),
                        bits_of(graph_.before_first, graph_.before, v),
                        bits_of(graph_.behind_first, graph_.behind, v),
                        graph_.is_again[v] != 0,
                        graph_.work[v],
                        graph_.cost[v],
                        bytes_of(bits_of(over.first, over.output, v))};
      const Operation &row = operations_[v];
      is_possible &= bytes_of(row.needs | row.makes) + row.work - row.saved <= budget_;
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
      excess_[v] = bytes_of(own) + operations_[v].work - operations_[v].saved - budget_;
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

  const Reruns &graph_;
  i64 budget_, n_, m_;
  Bits given_, kept_, sized_;
  Array<Operation> operations_;
  Array<i64> excess_;  // bytes above the budget while an operation runs, if nothing of use is away
  Stack<Freed> freed_;
  Array<i64> freed_first_;
};

}  // namespace memplan::order
