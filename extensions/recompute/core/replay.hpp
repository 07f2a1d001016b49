// A program run in some order with tensors dropped on the way: what is made again, what is alive, what it costs.
#pragma once
#include "graph.hpp"

namespace memplan::order {

// See `StayRows` in kernels.py.
struct StayRows {
  Array<i64> stay_first;
  Array<i64> tensor;
  Array<i64> end;
};

struct Program : Reruns, StayRows {};

// How a tensor is dropped in a stay. Where it is made again for what runs again, that one may stay until its next use,
// or go at once. From `kEarly` on it is made again so many places, and one, before its next use.
enum Drop : i64 { kStays, kDropped, kDroppedAlways, kEarly };

// What a program that runs with drops needs and costs; `excess` are the bytes above a budget, over all steps.
struct Played {
  i64 peak, cost;
  double excess;
};

class Player {
 public:
  Player(Arena &arena, const Program &program, const Array<i64> &run)
      : program_(program), run_(run), tensors_(arena.array<Tensor>(program.size.size)),
        delta_(arena.array<i64>(run.size + 2)), until_(arena.array<i64>(program.work.size)),
        first_(arena.array<i64>(program.work.size + 1)), early_(arena.array<i64>(program.work.size + 1)),
        another_(arena.array<i64>(program.end.size)), wanted_(arena.array<Wanted>(program.work.size + 1)) {}

  // Take an order of the operations, and the places that it gives them.
  void take_order(const Array<i64> &order, const Array<i64> &place) {
    order_ = order, place_ = place;
    for (i64 v = 0; v < program_.work.size; ++v) {
      until_[v] = program_.is_again[v] ? order.size + 1 : 0;
      for (i64 k = program_.behind_first[v]; k < program_.behind_first[v + 1]; ++k)
        until_[v] = std::min(until_[v], place[program_.behind[k]]);
    }
  }

  // List the tensors that are made again early, by their place: of the stays in the list, or of all stays without one.
  template <class Stays>
  void list_early(const Array<i64> &drop, const Stays &stays) {
    if (has_early_) early_.fill(0);
    has_early_ = false;
    for (const i64 stay : stays) {
      const i64 reader = program_.end[stay];
      if (drop[stay] < kEarly || reader >= order_.size) continue;
      const i64 at = std::max<i64>(place_[reader] - (drop[stay] - kEarly + 1), 0);
      another_[stay] = early_[at], early_[at] = stay + 1, has_early_ = true;
    }
  }

  // Run the operations in order, those that are needed again first; return the steps, -1 where there are too many, or
  // where the cost is above the most.
  i64 play(const Array<i64> &drop, i64 most) {
    delta_[0] = 0;
    for (i64 tensor = 0; tensor < tensors_.size; ++tensor)
      tensors_[tensor] = {0, program_.maker[tensor] < 0 && program_.is_there[tensor] ? 0 : -1, 0, false};
    at_ = cost_ = 0;
    for (i64 now = 0; now < order_.size; ++now) {
      if (has_early_)
        for (i64 next = early_[now]; next > 0; next = another_[next - 1]) {
          const i64 tensor = program_.tensor[next - 1], maker = program_.maker[tensor];
          const Tensor &row = tensors_[tensor];
          if (row.since < 0 || row.is_fresh || program_.stay_first[tensor] + row.uses != next - 1 || now >= until_[maker])
            continue;
          if (!execute_with_inputs(maker, now, drop, most, true)) return -1;
        }
      const i64 due = order_[now];
      if (!execute_with_inputs(due, now, drop, most, false)) return -1;
      first_[now] = at_ - 1;
      for (i64 k = program_.input_first[due]; k < program_.input_first[due + 1]; ++k) {
        ++tensors_[program_.input[k]].uses;
        tensors_[program_.input[k]].is_fresh = false;
      }
    }
    return at_;
  }

  // Count the bytes alive at each step of the last run.
  Played count(i64 steps, i64 budget) {
    for (i64 tensor = 0; tensor < tensors_.size; ++tensor) {
      if (tensors_[tensor].since < 0) continue;
      const i64 last = program_.is_kept[tensor] ? steps - 1 : tensors_[tensor].last;
      occupy(tensor, std::max<i64>(last, 0) + 1);
    }
    Played played{0, cost_, 0.0};
    i64 live = 0;
    for (i64 at = 0; at < steps; ++at) {
      live += delta_[at];
      const i64 here = live + program_.work[run_[at]];
      delta_[at] = here;
      played.peak = std::max(played.peak, here);
      if (here > budget) played.excess += static_cast<double>(here - budget);
    }
    return played;
  }

  // The bytes alive, once counted, while the operation at a place of the order runs for the first time.
  i64 bytes_at(i64 place) const { return delta_[first_[place]]; }

 private:
  struct Tensor {
    i64 uses;       // so far
    i64 since;      // the step that made it last, or -1
    i64 last;       // its last use since
    bool is_fresh;  // made in this stay
  };
  // An operation to run again, and the next of its inputs to look at.
  struct Wanted {
    i64 operation, input;
  };

  // Whether a tensor need not be made again for a use while the operation at a place is due.
  bool is_at_hand(i64 tensor, i64 now, const Array<i64> &drop) const {
    const Tensor &row = tensors_[tensor];
    const i64 way = drop[program_.stay_first[tensor] + row.uses], maker = program_.maker[tensor];
    return way == kStays || (row.is_fresh && way != kDroppedAlways) || maker < 0 || now >= until_[maker];
  }

  // Run an operation, and first what is needed for it again; false where the steps or the costs are too many.
  bool execute_with_inputs(i64 due, i64 now, const Array<i64> &drop, i64 most, bool is_again) {
    wanted_[0] = {due, program_.input_first[due]};
    for (i64 depth = 0; depth >= 0;) {
      auto &[operation, k] = wanted_[depth];
      const i64 end = program_.input_first[operation + 1];
      while (k < end && is_at_hand(program_.input[k], now, drop)) ++k;
      if (k < end) {
        const i64 maker = program_.maker[program_.input[k++]];
        wanted_[++depth] = {maker, program_.input_first[maker]};
        continue;
      }
      cost_ += program_.cost[operation];
      if (at_ >= run_.size || cost_ > most) return false;
      execute(operation, at_++, is_again || depth > 0);
      --depth;
    }
    return true;
  }

  // Run an operation at a step: its inputs are used, its outputs begin anew.
  void execute(i64 operation, i64 at, bool is_again) {
    run_[at] = operation;
    delta_[at + 1] = 0;
    for (i64 k = program_.input_first[operation]; k < program_.input_first[operation + 1]; ++k)
      tensors_[program_.input[k]].last = at;
    for (i64 k = program_.output_first[operation]; k < program_.output_first[operation + 1]; ++k) {
      const i64 tensor = program_.output[k];
      Tensor &row = tensors_[tensor];
      if (row.since >= 0) occupy(tensor, row.last + 1);
      row.since = at, row.last = at, row.is_fresh = is_again;
    }
  }

  // Count a tensor's bytes from the step that made it up to another one.
  void occupy(i64 tensor, i64 end) {
    delta_[tensors_[tensor].since] += program_.size[tensor];
    delta_[end] -= program_.size[tensor];
  }

  const Program &program_;
  Array<i64> run_;
  Array<i64> order_{nullptr, 0}, place_{nullptr, 0};
  Array<Tensor> tensors_;
  Array<i64> delta_, until_, first_;
  Array<i64> early_, another_;  // by places, the last stay listed there, and the one before it; one more, 0 for none
  bool has_early_ = false;
  Array<Wanted> wanted_;
  i64 at_ = 0, cost_ = 0;
};

}  // namespace memplan::order
