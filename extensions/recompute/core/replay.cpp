// Drops of tensors, tried one after the other: the cost and the bytes of the program with each.
#include "replay.hpp"

namespace memplan::order {
namespace {

// See `Replay` in kernels.py.
struct Replay {
  i64 budget;
  Array<i64> order;
  Array<i64> drop;
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
      : replay_(replay), player_(arena, program, replay.run), place_(arena.array<i64>(program.work.size)),
        turned_(arena.array<i64>(replay.drop.size)), early_{arena.array<i64>(replay.drop.size)},
        has_memory_(!arena.has_failed) {}

  // Try each change of the drops by itself.
  i64 run() {
    if (!has_memory_) return kNoMemory;
    for (i64 k = 0; k < place_.size; ++k) place_[replay_.order[k]] = k;
    player_.take_order(replay_.order, place_);
    for (i64 s = 0; s < turned_.size; ++s) {
      turned_[s] = replay_.drop[s] == kStays ? kDropped : kStays;
      if (replay_.drop[s] >= kEarly) early_.push(s);
    }
    replay_.answer[kAllSteps] = 0;
    for (i64 trial = 0; trial < replay_.peak.size; ++trial) {
      if (is_set(replay_.flag)) return kStopped;
      turn_drops(trial);
      player_.list_early(replay_.drop, early_);
      const i64 steps = player_.play(replay_.drop, INT64_MAX);
      turn_drops(trial);
      replay_.answer[kLastSteps] = steps;
      replay_.answer[kAllSteps] += std::max<i64>(steps, 0) + 1;
      if (steps < 0) {
        replay_.peak[trial] = -1;
        continue;
      }
      const Played played = player_.count(steps, replay_.budget);
      replay_.peak[trial] = played.peak, replay_.cost[trial] = played.cost, replay_.excess[trial] = played.excess;
    }
    return kReplayed;
  }

 private:
  // Turn the drops that a trial names, and turn them back.
  void turn_drops(i64 trial) {
    for (i64 k = replay_.change_first[trial]; k < replay_.change_first[trial + 1]; ++k) {
      i64 &drop = replay_.drop[replay_.change[k]];
      std::swap(drop, turned_[replay_.change[k]]);
    }
  }

  const Replay &replay_;
  Player player_;
  Array<i64> place_, turned_;  // what a drop becomes where it is turned
  Stack<i64> early_;
  bool has_memory_;
};

}  // namespace
}  // namespace memplan::order

MEMPLAN_KERNEL memplan_replay_drops(const memplan::order::Reruns *reruns, const memplan::order::StayRows *stays,
                                    const memplan::order::Replay *replay) {
  memplan::Allocator allocator;
  memplan::Arena arena(allocator);
  const memplan::order::Program program{*reruns, *stays};
  return memplan::order::Replayer(arena, program, *replay).run();
}
