// Placement of all buffers below fixed ends by ejection, which leaves most buffers where they were.
//
// Unplaced buffers wait in a queue. Each in turn takes the spot whose occupants have the least total weight, and ejects
// them into the queue. The weight of a buffer grows each time it is ejected, and is doubled at its home. The spots are
// the home, the lowest and the highest offset in each pool, and the offsets just above and below placed buffers in
// conflict.
#pragma once
#include "tables.hpp"

namespace memplan::ejection {

// See `Homes` and `Ejection` in ejection.py.
struct Homes {
  Array<i64> size;
  Rows<i64> may_use;
  Rows<i64> alignment;
  Rows<i64> lowest;
  Rows<i64> highest;
  Array<i64> home;
  Array<i64> home_pool;
  Array<bool> is_fixed;
  Array<i64> near_first;
  Array<i64> near;
  Rows<i64> reserved;
};

struct Ejection {
  Array<i64> pool;
  Array<i64> offset;
  Array<double> heat;
  Array<i64> queue;
  Array<i64> waiting;
  Array<i64> random;
  i64 rounds;
  Array<i64> flag;
};

enum Outcome : i64 { kPlaced = 1, kGivenUp = 0, kStopped = -1 };

class Search {
 public:
  Search(const Homes &homes, const Ejection &run) : homes_(homes), run_(run), waiting_(run.waiting[0]) {}

  // Place all waiting buffers within the number of rounds; return the outcome.
  i64 eject() {
    for (i64 round = 0; round < run_.rounds && waiting_ > 0; ++round) {
      if (is_set(run_.flag)) return kStopped;
      const i64 buffer = take();
      run_.heat[buffer] += 1.0;
      if (!settle(buffer)) {
        run_.queue[waiting_++] = buffer;
        return kGivenUp;
      }
    }
    if (waiting_ > 0) return kGivenUp;
    while (go_home())
      if (is_set(run_.flag)) return kStopped;
    return kPlaced;
  }

 private:
  static constexpr double kEndless = 1e300;
  const Homes &homes_;
  const Ejection &run_;
  i64 &waiting_;

  // Take a buffer out of the queue: mostly the largest one, but every third time a random one.
  i64 take() {
    i64 best = draw(run_.random[0]) % waiting_;
    if (draw(run_.random[0]) % 3 != 0) {
      for (i64 k = 0; k < waiting_; ++k) {
        const i64 i = run_.queue[k], j = run_.queue[best];
        if (homes_.size[i] > homes_.size[j] || (homes_.size[i] == homes_.size[j] && run_.heat[i] > run_.heat[j]))
          best = k;
      }
    }
    const i64 buffer = run_.queue[best];
    run_.queue[best] = run_.queue[--waiting_];
    return buffer;
  }

  // Return the weight of all buffers that a buffer would eject; a value of at least `most` if that is not below `most`,
  // and a value below 0 if the buffer must not be there.
  double price(i64 buffer, i64 pool, i64 offset, double most) const {
    const i64 end = offset + homes_.size[buffer];
    for (i64 r = 0; r < homes_.reserved.size; ++r) {
      const i64 *range = homes_.reserved[r];
      if (range[0] == pool && range[1] < end && offset < range[2]) return -1.0;
    }
    double total = 0.0;
    for (i64 k = homes_.near_first[buffer]; k < homes_.near_first[buffer + 1]; ++k) {
      const i64 j = homes_.near[k], low = run_.offset[j];
      if (low < 0 || run_.pool[j] != pool || low >= end || offset >= low + homes_.size[j]) continue;
      if (homes_.is_fixed[j]) return -1.0;
      const bool is_home = low == homes_.home[j] && pool == homes_.home_pool[j];
      total += is_home ? 2.0 * run_.heat[j] : run_.heat[j];
      if (total >= most) return total;
    }
    return total;
  }

  // Eject all buffers that overlap a buffer that was just placed.
  void push_out(i64 buffer) {
    const i64 low = run_.offset[buffer], pool = run_.pool[buffer], high = low + homes_.size[buffer];
    for (i64 k = homes_.near_first[buffer]; k < homes_.near_first[buffer + 1]; ++k) {
      const i64 j = homes_.near[k], other = run_.offset[j];
      if (other >= 0 && run_.pool[j] == pool && other < high && low < other + homes_.size[j]) {
        run_.offset[j] = kAbsent;
        run_.queue[waiting_++] = j;
      }
    }
  }

  // Place a buffer at the spot with the least ejected weight; return false if there is no spot.
  bool settle(i64 buffer) {
    double least = kEndless;
    i64 best_pool = kAbsent, best_offset = kAbsent;
    if (homes_.home[buffer] >= 0) {
      const double cost = price(buffer, homes_.home_pool[buffer], homes_.home[buffer], least);
      if (cost >= 0.0) least = cost, best_pool = homes_.home_pool[buffer], best_offset = homes_.home[buffer];
    }
    auto try_spot = [&](i64 pool, i64 spot) {
      if (spot < homes_.lowest[pool][buffer] || spot > homes_.highest[pool][buffer]) return;
      const double noise = 0.5 + 0.01 * (static_cast<double>(draw(run_.random[0])) / 2147483648.0);
      const double cost = price(buffer, pool, spot, least);
      if (cost >= 0.0 && cost + noise < least) least = cost + noise, best_pool = pool, best_offset = spot;
    };
    for (i64 pool = 0; pool < homes_.may_use.size && !homes_.is_fixed[buffer]; ++pool) {
      if (homes_.may_use[pool][buffer] == 0) continue;
      const i64 lowest = homes_.lowest[pool][buffer], alignment = homes_.alignment[pool][buffer];
      auto above = [&](i64 at) { return lowest + std::max<i64>(0, -floor_div(lowest - at, alignment)) * alignment; };
      auto below = [&](i64 at) { return lowest + floor_div(at - lowest, alignment) * alignment; };
      try_spot(pool, above(0));
      try_spot(pool, below(homes_.highest[pool][buffer]));
      for (i64 k = homes_.near_first[buffer]; k < homes_.near_first[buffer + 1]; ++k) {
        const i64 j = homes_.near[k];
        if (run_.offset[j] < 0 || run_.pool[j] != pool) continue;
        try_spot(pool, above(run_.offset[j] + homes_.size[j]));
        try_spot(pool, below(run_.offset[j] - homes_.size[buffer]));
      }
    }
    if (best_offset < 0) return false;
    run_.pool[buffer] = best_pool, run_.offset[buffer] = best_offset;
    if (least >= 0.9) push_out(buffer);
    return true;
  }

  // Return each buffer that is away to its home if that is free; return whether any buffer moved.
  bool go_home() {
    bool is_changed = false;
    for (i64 i = 0; i < homes_.size.size; ++i) {
      const i64 at = homes_.home[i], pool = homes_.home_pool[i];
      const bool is_away = at >= 0 && run_.offset[i] >= 0 && (run_.offset[i] != at || run_.pool[i] != pool);
      if (is_away && price(i, pool, at, kEndless) == 0.0) {
        run_.offset[i] = at, run_.pool[i] = pool;
        is_changed = true;
      }
    }
    return is_changed;
  }
};

}  // namespace memplan::ejection
