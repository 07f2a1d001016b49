// A program run in one order with tensors dropped on the way: what is made again, what is alive, what it costs.
#include "stack.hpp"

namespace memplan::order {
namespace {

// See `Program` and `Replay` in kernels.py.
struct Program {
  Array<i64> input_first;
  Array<i64> input;
  Array<i64> output_first;
  Array<i64> output;
  Array<i64> work;
  Array<i64> cost;
  Array<i64> until;
  Array<i64> size;
  Array<i64> maker;
  Array<i64> is_there;
  Array<i64> is_kept;
  Array<i64> stay_first;
};

struct Replay {
  i64 budget;
  Array<bool> is_dropped;
  Array<i64> change_first;
  Array<i64> change;
  Array<i64> peak;
  Array<i64> cost;
  Array<double> excess;
  Array<i64> run;
  Array<i64> flag;
  Array<i64> answer;
};

enum Outcome : i64 { kReplayed = 1, kStopped = -1 };
enum Answer : i64 { kLastSteps, kAllSteps };

class Replayer {
 public:
  Replayer(Arena &arena, const Program &program, const Replay &replay)
      : program_(program), replay_(replay), tensors_(arena.array<Tensor>(program.size.size)),
        delta_(arena.array<i64>(replay.run.size + 1)), wanted_(arena.array<Wanted>(program.work.size + 1)),
        has_memory_(!arena.has_failed) {}

  // Try each change of the drops by itself.
  i64 run() {
    if (!has_memory_) return kNoMemory;
    replay_.answer[kAllSteps] = 0;
    for (i64 trial = 0; trial < replay_.peak.size; ++trial) {
      if (is_set(replay_.flag)) return kStopped;
      turn_drops(trial);
      const i64 steps = replay_all();
      turn_drops(trial);
      replay_.answer[kLastSteps] = steps;
      replay_.answer[kAllSteps] += std::max<i64>(steps, 0) + 1;
      if (steps >= 0)
        count_bytes(trial, steps);
      else
        replay_.peak[trial] = -1;
    }
    return kReplayed;
  }

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

  void turn_drops(i64 trial) {
    for (i64 k = replay_.change_first[trial]; k < replay_.change_first[trial + 1]; ++k)
      replay_.is_dropped[replay_.change[k]] = !replay_.is_dropped[replay_.change[k]];
  }

  // Whether a tensor need not be made again for a use while operation `now` is due.
  bool is_at_hand(i64 tensor, i64 now) const {
    const Tensor &row = tensors_[tensor];
    const i64 maker = program_.maker[tensor];
    return row.is_fresh || !replay_.is_dropped[program_.stay_first[tensor] + row.uses] || maker < 0 ||
           now >= program_.until[maker];
  }

  // Run an operation at a step: its inputs are used, its outputs begin anew.
  void execute(i64 operation, i64 at, bool is_again) {
    replay_.run[at] = operation;
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

  // Run the operations in order, those that are needed again first; return the steps, -1 where they are too many.
  i64 replay_all() {
    delta_.fill(0);
    for (i64 tensor = 0; tensor < tensors_.size; ++tensor)
      tensors_[tensor] = {0, program_.maker[tensor] < 0 && program_.is_there[tensor] ? 0 : -1, 0, false};
    i64 at = 0;
    for (i64 now = 0; now < program_.work.size; ++now) {
      wanted_[0] = {now, program_.input_first[now]};
      for (i64 depth = 0; depth >= 0;) {
        auto &[operation, k] = wanted_[depth];
        const i64 end = program_.input_first[operation + 1];
        while (k < end && is_at_hand(program_.input[k], now)) ++k;
        if (k < end) {
          const i64 maker = program_.maker[program_.input[k++]];
          wanted_[++depth] = {maker, program_.input_first[maker]};
          continue;
        }
        if (at >= replay_.run.size) return -1;
        execute(operation, at++, depth > 0);
        --depth;
      }
      for (i64 k = program_.input_first[now]; k < program_.input_first[now + 1]; ++k) {
        ++tensors_[program_.input[k]].uses;
        tensors_[program_.input[k]].is_fresh = false;
      }
    }
    return at;
  }

  // Count the bytes alive at each step, and what the operations cost.
  void count_bytes(i64 trial, i64 steps) {
    for (i64 tensor = 0; tensor < tensors_.size; ++tensor) {
      if (tensors_[tensor].since < 0) continue;
      const i64 last = program_.is_kept[tensor] ? steps - 1 : tensors_[tensor].last;
      occupy(tensor, std::max<i64>(last, 0) + 1);
    }
    i64 live = 0, peak = 0, cost = 0;
    double excess = 0.0;
    for (i64 at = 0; at < steps; ++at) {
      const i64 operation = replay_.run[at];
      live += delta_[at];
      const i64 here = live + program_.work[operation];
      peak = std::max(peak, here);
      if (here > replay_.budget) excess += static_cast<double>(here - replay_.budget);
      cost += program_.cost[operation];
    }
    replay_.peak[trial] = peak, replay_.cost[trial] = cost, replay_.excess[trial] = excess;
  }

  const Program &program_;
  const Replay &replay_;
  Array<Tensor> tensors_;
  Array<i64> delta_;
  Array<Wanted> wanted_;
  bool has_memory_;
};

}  // namespace
}  // namespace memplan::order

MEMPLAN_KERNEL memplan_replay_drops(const memplan::order::Program *program, const memplan::order::Replay *replay) {
  memplan::Allocator allocator;
  memplan::Arena arena(allocator);
  return memplan::order::Replayer(arena, *program, *replay).run();
}
