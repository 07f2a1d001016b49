// A choice of memories near a given one, whose loads are within limits and in which no item moves cheaper.
//
// The given choice may exceed the limits, as the cheapest memories of a relaxation do. Of an overfull memory, the items
// that lose least per unit of the excess leave first. Then items return to cheaper memories where they fit. A local search
// may follow: it moves some items to cheaper memories, whatever the limits, and makes the choice fit again.
#pragma once
#include <numeric>

#include "measures.hpp"

namespace memplan::choice {

class Refit {
 public:
  // `home` is the memory of each item, which changes. If the arena has failed, only `run` may be called.
  Refit(Arena &arena, const ChoiceItems &knapsack, const Rows<i64> &limit, const Array<i64> &home)
      : arena_(arena),
        knapsack_(knapsack),
        limit_(limit),
        home_(home),
        load_(arena.rows<i64>(pools(), knapsack.rows)),
        kept_load_(arena.rows<i64>(pools(), knapsack.rows)),
        first_(arena.array<i64>(items() + 1)),
        lives_(arena.array<i64>(knapsack.start.size)),
        excess_(arena.array<double>(knapsack.rows + 1)),
        over_(arena.array<double>(knapsack.rows + 1)),
        loss_(arena.array<double>(items())),
        order_(arena.array<i64>(items() * pools())),
        kept_home_(arena.array<i64>(items())),
        gain_(arena.array<double>(items() * pools())) {}

  // Make the choice fit, and try cheaper ones near it as often as `tries`. Return false if the excess cannot be removed,
  // or if the search is over before it is.
  template <class IsOver>
  bool run(i64 tries, IsOver &&is_over) {
    if (arena_.has_failed) return false;
    list_lifetimes();
    for (i64 q = worst(); q != kAbsent; q = worst())
      if (is_over() || !relieve(q)) return false;
    fill();
    improve(tries, is_over);
    return true;
  }

 private:
  static constexpr i64 kMoves = 32, kShare = 8;  // most moves, or share of the candidates, between two estimates
  static constexpr i64 kRaised = 10;  // limits of the items that one try moves to cheaper memories: one, two, four, ...
  Arena &arena_;
  const ChoiceItems &knapsack_;
  const Rows<i64> &limit_;
  const Array<i64> &home_;
  Rows<i64> load_, kept_load_;
  Array<i64> first_, lives_;  // the lifetimes of item j are lives_[first_[j]:first_[j + 1]]
  Array<double> excess_, over_, loss_;
  Array<i64> order_, kept_home_;
  Array<double> gain_;
  i64 random_ = 1;
  bool is_random_ = false;

  i64 pools() const { return knapsack_.price.size; }
  i64 items() const { return knapsack_.price.columns; }
  i64 size(i64 q, i64 m) const { return knapsack_.size[q][knapsack_.lifetime_buffer[m]]; }
  i64 price(i64 q, i64 j) const { return knapsack_.price[q][j]; }

  // Search for cheaper choices near this one, which fits; stop after some tries, or when the search is over.
  template <class IsOver>
  void improve(i64 tries, IsOver &&is_over) {
    is_random_ = true;
    for (i64 least = cost(); tries > 0 && !is_over(); --tries) {
      std::copy(home_.begin(), home_.end(), kept_home_.data);
      std::copy(load_.data, load_.data + load_.size * load_.columns, kept_load_.data);
      if (!raise()) return;
      bool fits = true;
      for (i64 q = worst(); q != kAbsent && fits; q = worst()) fits = relieve(q);
      if (fits) fill();
      if (const i64 now = fits ? cost() : least + 1; now <= least) {
        least = now;
      } else {
        std::copy(kept_home_.begin(), kept_home_.end(), home_.data);
        std::copy(kept_load_.data, kept_load_.data + load_.size * load_.columns, load_.data);
      }
    }
  }

  void list_lifetimes() {
    const i64 lives = knapsack_.start.size;
    for (i64 m = 0; m < lives; ++m) ++first_[knapsack_.item_of(m) + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.data);
    std::copy(first_.begin(), first_.end() - 1, order_.data);
    for (i64 m = 0; m < lives; ++m) lives_[order_[knapsack_.item_of(m)]++] = m;
    for (i64 m = 0; m < lives; ++m) add(home_[knapsack_.item_of(m)], m, 1);
  }

  void add(i64 q, i64 m, i64 sign) {
    for (i64 t = knapsack_.start[m]; t < knapsack_.end[m]; ++t) load_[q][t] += sign * size(q, m);
  }

  void shift(i64 j, i64 q) {
    for (i64 x = first_[j]; x < first_[j + 1]; ++x) add(home_[j], lives_[x], -1), add(q, lives_[x], 1);
    home_[j] = q;
  }

  i64 cost() const {
    i64 sum = 0;
    for (i64 j = 0; j < items(); ++j) sum += price(home_[j], j);
    return sum;
  }

  // Move some random items, mostly few, to random cheaper memories; return false if no item has one.
  bool raise() {
    i64 count = 0;
    for (i64 q = 0; q < pools(); ++q)
      for (i64 j = 0; j < items(); ++j)
        if (knapsack_.homes[q][j] && price(q, j) < price(home_[j], j)) order_[count++] = q * items() + j;
    const i64 most = i64{1} << draw(random_) % kRaised;
    for (i64 left = 1 + draw(random_) % most; left > 0 && count > 0; --left) {
      const i64 drawn = order_[draw(random_) % count], q = drawn / items(), j = drawn % items();
      if (price(q, j) < price(home_[j], j)) shift(j, q);
    }
    return count > 0;
  }

  // Return the memory of the largest excess in all live sets together, or ABSENT.
  i64 worst() const {
    i64 found = kAbsent;
    double most = 0;
    for (i64 q = 0; q < pools(); ++q) {
      double sum = 0;
      for (i64 t = 0; t < knapsack_.rows; ++t) sum += static_cast<double>(std::max<i64>(0, load_[q][t] - limit_[q][t]));
      if (sum > most) most = sum, found = q;
    }
    return found;
  }

  // Move some items out of an overfull memory; return false if none can leave.
  bool relieve(i64 q) {
    for (i64 t = 0; t < knapsack_.rows; ++t) {
      const i64 excess = std::max<i64>(0, load_[q][t] - limit_[q][t]);
      excess_[t + 1] = excess_[t] + static_cast<double>(excess), over_[t + 1] = over_[t] + (excess > 0);
    }
    i64 count = 0, moved = 0;
    for (i64 j = 0; j < items(); ++j) {
      double gain = 0;
      for (i64 x = first_[j]; home_[j] == q && x < first_[j + 1]; ++x) {
        const i64 m = lives_[x], start = knapsack_.start[m], end = knapsack_.end[m];
        gain += std::min(excess_[end] - excess_[start], (over_[end] - over_[start]) * static_cast<double>(size(q, m)));
      }
      const i64 to = gain > 0 ? cheapest_other(j, q, kAbsent) : kAbsent;
      if (to == kAbsent) continue;
      loss_[j] = static_cast<double>(price(to, j) - price(q, j)) / gain;
      if (is_random_) loss_[j] *= 1 + static_cast<double>(draw(random_)) / 2147483648.0;
      order_[count++] = j;
    }
    std::sort(order_.data, order_.data + count, [this](i64 a, i64 b) {
      return loss_.data[a] < loss_.data[b] || (loss_.data[a] == loss_.data[b] && a < b);
    });
    for (i64 x = 0; x < count && moved < std::max(kMoves, count / kShare); ++x)
      if (const i64 j = order_[x]; is_over(q, j))
        for (i64 to = cheapest_other(j, q, kAbsent); to != kAbsent; to = cheapest_other(j, q, to))
          if (move(j, to)) {
            ++moved;
            break;
          }
    return moved > 0;
  }

  // Return the cheapest memory of an item besides `q`, of those that follow `after` in the order of price and number.
  i64 cheapest_other(i64 j, i64 q, i64 after) const {
    i64 found = kAbsent;
    for (i64 r = 0; r < pools(); ++r) {
      if (r == q || !knapsack_.homes[r][j]) continue;
      if (after != kAbsent && (price(r, j) < price(after, j) || (price(r, j) == price(after, j) && r <= after))) continue;
      if (found == kAbsent || price(r, j) < price(found, j)) found = r;
    }
    return found;
  }

  bool is_over(i64 q, i64 j) const {
    for (i64 x = first_[j]; x < first_[j + 1]; ++x)
      for (i64 t = knapsack_.start[lives_[x]]; t < knapsack_.end[lives_[x]]; ++t)
        if (load_[q][t] > limit_[q][t]) return true;
    return false;
  }

  // Move an item to a memory if it fits there, with all its buffers that are alive at the same time.
  bool move(i64 j, i64 q) {
    const i64 from = home_[j];
    for (i64 x = first_[j]; x < first_[j + 1]; ++x)
      for (i64 m = lives_[x], t = knapsack_.start[m]; t < knapsack_.end[m]; ++t)
        if (load_[q][t] + size(q, m) > limit_[q][t]) return false;
    shift(j, q);
    if (first_[j + 1] - first_[j] == 1 || !is_over(q, j)) return true;
    shift(j, from);
    return false;
  }

  void fill() {
    i64 count = 0;
    for (i64 q = 0; q < pools(); ++q)
      for (i64 j = 0; j < items(); ++j) {
        if (!knapsack_.homes[q][j] || price(q, j) >= price(home_[j], j)) continue;
        double bytes = 1;
        for (i64 x = first_[j]; x < first_[j + 1]; ++x) bytes = std::max(bytes, static_cast<double>(size(q, lives_[x])));
        order_[count++] = q * items() + j;
        gain_[q * items() + j] = static_cast<double>(price(home_[j], j) - price(q, j)) / bytes;
      }
    std::sort(order_.data, order_.data + count, [this](i64 a, i64 b) {
      return gain_.data[a] > gain_.data[b] || (gain_.data[a] == gain_.data[b] && a < b);
    });
    for (i64 x = 0; x < count; ++x) {
      const i64 q = order_[x] / items(), j = order_[x] % items();
      if (price(q, j) < price(home_[j], j)) move(j, q);
    }
  }
};

}  // namespace memplan::choice
