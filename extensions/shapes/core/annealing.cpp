// Improve an order of stacking for several values at once: threshold accepting on the chains that carry the peaks. What
// is minimised is the largest ratio of peak to bound, plus a fifth of the mean.
#include <utility>

#include "stack.hpp"

namespace memplan::shapes {
namespace {

// See `Stacking` in annealing.py.
struct Stacking {
  Array<i64> first;
  Array<i64> sets;
  Rows<i64> size;
  Rows<i64> least;
  Array<i64> bound;
  Array<i64> order;
  Array<i64> random;
  i64 live_sets;
  i64 moves;
  double heat;
};

constexpr double kMeanWeight = 0.2;
constexpr i64 kTurned = 75, kNear = 90;  // of a hundred moves, these turn a chain around, or move a buffer near by
constexpr i64 kReach = 20;

class Annealer {
 public:
  Annealer(Arena &arena, const Stacking &task)
      : task_(task), n_(task.order.size), k_(task.bound.size), order_(arena.array<i64>(n_)),
        trial_(arena.array<i64>(n_)), chain_(arena.array<i64>(n_)), top_(arena.array<i64>(task.live_sets * k_)),
        end_(arena.array<i64>(n_ * k_)), next_end_(arena.array<i64>(n_ * k_)), peak_(arena.array<i64>(k_)),
        next_peak_(arena.array<i64>(k_)) {}

  // Leave the best order in the task; return how many moves were made.
  i64 improve() {
    std::copy(task_.order.begin(), task_.order.end(), order_.begin());
    std::copy(task_.order.begin(), task_.order.end(), trial_.begin());
    double current = stack(), best = current;
    keep();
    i64 made = 0;
    for (; made < task_.moves && best > 1.0 + kMeanWeight; ++made) {
      vary();
      const double cost = stack();
      const double share = 1.0 - static_cast<double>(made) / static_cast<double>(task_.moves);
      if (cost > current + task_.heat * share * static_cast<double>(random()) / 2147483648.0) continue;
      current = cost;
      keep();
      if (cost >= best) continue;
      best = cost;
      std::copy(order_.begin(), order_.end(), task_.order.begin());
    }
    return made;
  }

 private:
  i64 random() { return draw(task_.random[0]); }
  i64 random(i64 below) { return random() % below; }

  void keep() {
    std::copy(trial_.begin(), trial_.end(), order_.begin());
    std::swap(end_, next_end_);
    std::swap(peak_, next_peak_);
  }

  // Stack the trial; return what is minimised.
  double stack() {
    top_.fill(0), next_peak_.fill(0);
    for (const i64 b : trial_) {
      i64 *end = next_end_.data + b * k_;
      std::copy_n(task_.least[b], k_, end);
      for (i64 at = task_.first[b]; at < task_.first[b + 1]; ++at) {
        const i64 *top = top_.data + task_.sets[at] * k_;
        for (i64 j = 0; j < k_; ++j) end[j] = std::max(end[j], top[j]);
      }
      for (i64 j = 0; j < k_; ++j) {
        end[j] += task_.size[b][j];
        next_peak_[j] = std::max(next_peak_[j], end[j]);
      }
      for (i64 at = task_.first[b]; at < task_.first[b + 1]; ++at)
        std::copy_n(end, k_, top_.data + task_.sets[at] * k_);
    }
    double worst = 0.0, sum = 0.0;
    for (i64 j = 0; j < k_; ++j) {
      const double ratio = ratio_of(next_peak_, j);
      worst = std::max(worst, ratio), sum += ratio;
    }
    return worst + kMeanWeight * sum / static_cast<double>(k_);
  }

  double ratio_of(const Array<i64> &peak, i64 value) const {
    return static_cast<double>(peak[value]) / static_cast<double>(task_.bound[value]);
  }

  // A value to improve: the worst of four drawn ones, or of all where these have nothing to gain.
  i64 value() {
    i64 found = random(k_);
    for (i64 i = 0; i < 3; ++i) {
      const i64 j = random(k_);
      if (ratio_of(peak_, j) > ratio_of(peak_, found)) found = j;
    }
    for (i64 j = 0; j < k_ && peak_[found] <= task_.bound[found]; ++j)
      if (ratio_of(peak_, j) > ratio_of(peak_, found)) found = j;
    return found;
  }

  // The places in the order of buffers that carry the peak of a value, from the top; return how many they are.
  i64 follow_chain(i64 value) {
    i64 count = 0, height = peak_[value];
    for (i64 place = n_ - 1; place >= 0 && height > 0; --place) {
      const i64 b = order_[place];
      if (task_.size[b][value] == 0 || end_[b * k_ + value] != height) continue;
      if (count > 0 && !shares_a_set(b, order_[chain_[count - 1]])) continue;
      chain_[count++] = place;
      height -= task_.size[b][value];
    }
    return count;
  }

  bool shares_a_set(i64 a, i64 b) const {
    i64 i = task_.first[a], j = task_.first[b];
    while (i < task_.first[a + 1] && j < task_.first[b + 1] && task_.sets[i] != task_.sets[j])
      ++(task_.sets[i] < task_.sets[j] ? i : j);
    return i < task_.first[a + 1] && j < task_.first[b + 1];
  }

  // Make the trial a neighbour of the order.
  void vary() {
    const i64 count = follow_chain(value()), kind = random(100);
    i64 source = random(n_), target = random(n_);
    if (count > 1 && kind < kTurned) {
      const i64 i = random(count - 1);
      source = chain_[i], target = chain_[i + 1];
      if (random(2)) std::swap(source, target);
    } else {
      if (count > 0) source = chain_[random(count)];
      if (kind < kNear) target = std::clamp<i64>(source + random(2 * kReach + 1) - kReach, 0, n_ - 1);
    }
    std::copy(order_.begin(), order_.end(), trial_.begin());
    i64 *begin = trial_.data;
    if (source < target) std::rotate(begin + source, begin + source + 1, begin + target + 1);
    else std::rotate(begin + target, begin + source, begin + source + 1);
  }

  const Stacking &task_;
  i64 n_, k_;
  Array<i64> order_, trial_, chain_, top_, end_, next_end_, peak_, next_peak_;
};

}  // namespace
}  // namespace memplan::shapes

MEMPLAN_KERNEL memplan_anneal(const memplan::shapes::Stacking *task) {
  memplan::Allocator allocator;
  memplan::Arena arena(allocator);
  memplan::shapes::Annealer annealer(arena, *task);
  return arena.has_failed ? memplan::kNoMemory : annealer.improve();
}
