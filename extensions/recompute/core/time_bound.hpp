// What no program with a link through a state takes less time than: what has not run and what is lost must run, and what
// must be away meanwhile is made again, or sent and fetched.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>

#include "reruns.hpp"

namespace memplan::order {

constexpr i64 kNothing = -1, kMostBits = 64;
enum Kind : i64 { kRun, kSend, kFetch, kKinds, kDrop = kKinds, kAdvance };

inline u64 bit(i64 at) { return u64{1} << at; }

template <class F>
void each(u64 bits, F visit) {
  for (; bits != 0; bits &= bits - 1) visit(std::countr_zero(bits));
}

// What has run, what is in memory, what has a copy at the other end, and what is under way with the time that it takes
// yet.
struct State {
  u64 done, memory, apart;
  i64 what[kKinds], left[kKinds];

  bool is_like(const State &other) const {
    return done == other.done && memory == other.memory && what[kRun] == other.what[kRun] &&
           what[kFetch] == other.what[kFetch];
  }
};

// The bound for a graph's programs within a budget; `transfer` is the time of each tensor on the link, -1 without.
class TimeBound {
 protected:
  struct Operation {
    u64 needs, makes, before, behind;
    bool is_again;
    i64 work, cost;
    u64 earlier, later;  // what runs before and behind it in any order
    u64 across;          // what is surely of use both before and behind
    i64 above;           // bytes above the budget while it runs, if all of that is in memory
    i64 tail;            // the time behind the fetch of the last of it, at least
  };

  TimeBound(Arena &arena, const Reruns &graph, i64 budget, const Array<i64> &transfer)
      : graph_(graph), transfer_(transfer), budget_(budget), n_(graph.work.size), m_(graph.size.size),
        operations_(arena.array<Operation>(n_)), freed_{arena.array<Freed>(n_ * n_ + 1)},
        freed_first_(arena.array<i64>(n_ + 1)) {}

  static u64 bits_of(const Array<i64> &first, const Array<i64> &row, i64 at) {
    u64 bits = 0;
    for (i64 k = first[at]; k < first[at + 1]; ++k) bits |= bit(row[k]);
    return bits;
  }

  i64 bytes_of(u64 tensors) const {
    i64 bytes = 0;
    each(tensors, [&](i64 t) { bytes += graph_.size[t]; });
    return bytes;
  }

  bool may_run_again(i64 v, u64 done) const {
    return operations_[v].is_again && (operations_[v].behind & done) == 0;
  }

  // The tensors that are still of use: those kept at the end, those that an operation reads that has not run, and those
  // from which such tensors are made again.
  u64 useful(u64 done) const {
    u64 tensors = kept_;
    for (i64 v = n_ - 1; v >= 0; --v) {
      const bool is_left = !(done >> v & 1);
      if (is_left || (may_run_again(v, done) && (operations_[v].makes & tensors) != 0))
        tensors |= operations_[v].needs;
    }
    return tensors;
  }

  // For each operation, list what is surely of use both before and behind, and what of it can be made again.
  void list_freed() {
    for (i64 t = 0; t < m_; ++t)
      if (transfer_[t] > 0)
        speed_ = std::max(speed_, static_cast<double>(graph_.size[t]) / static_cast<double>(transfer_[t]));
    for (i64 v = 0; v < n_; ++v)
      each(operations_[v].before, [&](i64 u) { operations_[v].earlier |= bit(u) | operations_[u].earlier; });
    for (i64 v = 0; v < n_; ++v) each(operations_[v].earlier, [&](i64 u) { operations_[u].later |= bit(v); });
    for (i64 v = 0; v < n_; ++v) {
      Operation &row = operations_[v];
      const u64 own = row.needs | row.makes;
      i64 bytes[kMostBits] = {};
      row.above = bytes_of(own) + row.work - budget_;
      row.tail = kEndless;
      for (i64 t = 0; t < m_; ++t) {
        const i64 maker = graph_.maker[t];
        if ((own >> t & 1) || (maker < 0 ? !(given_ >> t & 1) : !(row.earlier >> maker & 1))) continue;
        i64 tail = kept_ >> t & 1 ? 0 : kEndless;
        each(row.later, [&](i64 w) {
          if (!(operations_[w].needs >> t & 1)) return;
          const i64 behind = cost_of(operations_[w].later) + operations_[w].cost;
          tail = tail == kEndless ? behind : std::max(tail, behind);
        });
        if (tail == kEndless || graph_.size[t] == 0) continue;
        row.across |= bit(t);
        row.above += graph_.size[t];
        if (maker >= 0) bytes[maker] += graph_.size[t];
        if (transfer_[t] >= 0) row.tail = std::min(row.tail, tail);
      }
      freed_first_[v] = freed_.size;
      for (i64 w = 0; w < n_; ++w)
        if (bytes[w] > 0 && operations_[w].is_again)
          freed_.push({w, bytes[w], static_cast<double>(operations_[w].cost) / static_cast<double>(bytes[w])});
      std::sort(freed_.begin() + freed_first_[v], freed_.end(), [](const Freed &a, const Freed &b) {
        return a.per_byte < b.per_byte || (a.per_byte == b.per_byte && a.maker < b.maker);
      });
    }
    freed_first_[n_] = freed_.size;
  }

  i64 cost_of(u64 operations) const {
    i64 cost = 0;
    each(operations, [&](i64 v) { cost += operations_[v].cost; });
    return cost;
  }

  // While each operation runs that has not, the bytes above the budget are away: they are made again, or sent before
  // and fetched behind, for which `rest` and what is added to it must be enough time. Returns the most that is added.
  i64 waits_of(const State &state, i64 rest, u64 again) const {
    double most = 0.0;
    u64 undone = 0;
    for (i64 v = 0; v < n_; ++v)
      if (!(state.done >> v & 1) && state.what[kRun] != v) undone |= bit(v);
    bool is_lost = false;
    each(undone, [&](i64 v) {
      const Operation &row = operations_[v];
      if (row.above <= 0 || is_lost) return;
      double above = static_cast<double>(row.above), time = 0.0;
      for (i64 k = freed_first_[v]; k < freed_first_[v + 1]; ++k)
        if (again >> freed_[k].maker & 1) above -= static_cast<double>(freed_[k].bytes);
      const bool is_moved = row.tail < kEndless;
      if (is_moved) {
        u64 apart = state.apart;
        if (state.what[kSend] >= 0) apart |= bit(state.what[kSend]);
        const double left = static_cast<double>(rest - row.cost);
        const double fetched = left - static_cast<double>(cost_of(row.earlier & undone) + row.tail);
        const double sent = left - static_cast<double>(cost_of(row.later));
        const double there = static_cast<double>(bytes_of(row.across & apart));
        above -= std::min(speed_ * std::max(fetched, 0.0), there + speed_ * std::max(sent, 0.0));
      }
      const double speed = is_moved ? speed_ : 0.0;
      for (i64 k = freed_first_[v]; k < freed_first_[v + 1] && above > 0; ++k) {
        const Freed &freed = freed_[k];
        if ((again >> freed.maker & 1) || !may_run_again(freed.maker, state.done)) continue;
        const double cost = freed.per_byte * static_cast<double>(freed.bytes);
        const double gain = static_cast<double>(freed.bytes) + speed * cost;
        time += cost * std::min(1.0, above / gain);
        above -= gain;
      }
      if (above > 0.5 && speed == 0.0)
        is_lost = true;
      else if (above > 0.5)
        time += above / speed;
      most = std::max(most, time);
    });
    return is_lost ? kEndless : static_cast<i64>(std::ceil(most * (1.0 - kRounding) - 1e-6));
  }

  // A lower bound on the time from a state on: operations that have not run, and those whose results are lost, must
  // run.
  i64 rest_of(const State &state) const {
    u64 made = given_, needed = kept_, again = 0;
    i64 rest = state.what[kRun] >= 0 ? state.left[kRun] : 0;
    u64 ran = state.done;
    if (state.what[kRun] >= 0) ran |= bit(state.what[kRun]);
    for (i64 v = 0; v < n_; ++v) {
      if (ran >> v & 1) {
        made |= operations_[v].makes;
      } else {
        needed |= operations_[v].needs;
        rest += operations_[v].cost;
      }
    }
    u64 there = state.memory | state.apart;
    if (state.what[kRun] >= 0) there |= operations_[state.what[kRun]].makes;
    for (i64 kind = kSend; kind < kKinds; ++kind)
      if (state.what[kind] >= 0) there |= bit(state.what[kind]);
    u64 seen = 0;
    for (u64 lacking = needed & made & ~there; lacking != 0;) {
      u64 more = 0;
      bool is_lost = false;
      each(lacking, [&](i64 t) {
        const i64 maker = graph_.maker[t];
        if (maker < 0 || !may_run_again(maker, state.done)) {
          is_lost = true;
        } else if (!(again >> maker & 1)) {
          again |= bit(maker);
          rest += operations_[maker].cost;
          more |= operations_[maker].needs;
        }
      });
      if (is_lost) return kEndless;
      seen |= lacking;
      lacking = more & ~there & ~seen;
    }
    const i64 waits = waits_of(state, rest, again);
    return waits >= kEndless ? kEndless : rest + waits;
  }

  const Reruns &graph_;
  const Array<i64> &transfer_;
  i64 budget_, n_, m_;
  u64 kept_ = 0, given_ = 0;
  Array<Operation> operations_;
  Stack<Freed> freed_;
  Array<i64> freed_first_;
  double speed_ = 0.0;
};

}  // namespace memplan::order
