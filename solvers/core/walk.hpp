// A search for cheaper plans by annealed ejection: a buffer moves to the offset where prices, plus a fee for each
// buffer that it ejects, are least. The ejected buffers move in the same way.
#pragma once
#include "piece.hpp"

namespace memplan::prices {

// See `Walk` in kernels.py.
struct Walk {
  Array<i64> at;
  Array<i64> best;
  Array<i64> numbers;
  double heat;
  i64 steps;
  i64 goal;
  Array<i64> flag;
};

enum Number { kRandom, kCost, kLeast };

// Fees are counted in 1 / kPart of a price.
inline constexpr i64 kPart = 1024;
inline constexpr i64 kBan = i64{1} << 44;
// Up to so many starts, evaluating each one is cheaper than sorting the positions at which the price changes.
inline constexpr i64 kFewStarts = 4096;
inline constexpr i64 kMostThrown = 12;

struct Change {
  i64 at;
  i64 by;
};

struct Undo {
  i64 buffer;
  i64 at;
};

template <class IsOver>
class Walker {
 public:
  Walker(const PieceTable &piece, const Walk &run, IsOver &is_over, Arena &arena)
      : piece_(piece), run_(run), n_(piece.size.size), random_(run.numbers[kRandom]), pace_(is_over) {
    i64 most = 0, starts = 0;
    for (i64 v = 0; v < n_; ++v) {
      most = std::max(most, piece.first[v + 1] - piece.first[v]);
      starts = std::max(starts, piece.highest[v] + 2);
    }
    is_few_ = starts <= kFewStarts;
    changes_ = arena.array<Change>(2 * (most + piece.reserved.size));
    by_start_ = arena.array<i64>(is_few_ ? starts : 0);
    fee_ = arena.array<i64>(n_), is_fixed_ = arena.array<i64>(n_);
    busy_ = arena.array<i64>(n_);
    undo_.room = arena.array<Undo>(n_ + 1), queue_.room = arena.array<i64>(n_ + 1);
  }

  i64 run() {
    const Array<i64> &numbers = run_.numbers;
    for (i64 done = 0; done < run_.steps && numbers[kLeast] > run_.goal && !pace_.is_over(); ++done) {
      if ((done & 255) == 0) list_busy();
      step();
    }
    numbers[kRandom] = random_;
    return numbers[kLeast];
  }

 private:
  double uniform() { return static_cast<double>(draw(random_)) / 2147483648.0; }
  i64 pick(i64 count) { return draw(random_) % count; }

  // Return e to the power -x, computed by products alone, so that it is the same on every machine.
  static double decay(double x) {
    if (x > 30.0) return 0.0;
    double power = 1.0 - x / 4096.0;
    for (int k = 0; k < 12; ++k) power *= power;
    return power;
  }

  i64 paid(i64 v) {
    i64 total = 0;
    pace_(4 * (piece_.first[v + 1] - piece_.first[v]));
    for (i64 k = piece_.first[v]; k < piece_.first[v + 1]; ++k) {
      const i64 at = run_.at[piece_.other[k]];
      if (piece_.price[k] > 0 && at >= 0 && meeting(piece_, v, k, at).has(run_.at[v])) total += piece_.price[k];
    }
    return total;
  }

  void list_busy() {
    n_busy_ = 0;
    for (i64 v = 0; v < n_; ++v)
      if (paid(v) > 0) busy_[n_busy_++] = v;
  }

  void lift(i64 v) {
    undo_.push({v, run_.at[v]});
    delta_ -= paid(v);
    run_.at[v] = kAbsent;
    queue_.push(v);
  }

  // Return the start of a buffer with the least sum of prices and fees among placed buffers; kAbsent if there is none.
  i64 cheapest(i64 v, bool may_throw) {
    i64 count = 0;
    auto change = [&](Span span, i64 by) {
      if (is_few_) {
        const i64 end = piece_.highest[v] + 1;
        by_start_[std::clamp<i64>(span.low, 0, end)] += by;
        by_start_[std::clamp<i64>(span.high, 0, end)] -= by;
      } else {
        changes_[count++] = {span.low, by};
        changes_[count++] = {span.high, -by};
      }
    };
    for (i64 k = piece_.first[v]; k < piece_.first[v + 1]; ++k) {
      const i64 u = piece_.other[k];
      if (run_.at[u] < 0) continue;
      const bool is_hard = piece_.price[k] == kNever;
      change(meeting(piece_, v, k, run_.at[u]),
             !is_hard ? piece_.price[k] * kPart : may_throw && is_fixed_[u] == 0 ? fee_[u] : kBan);
    }
    for (i64 r = 0; r < piece_.reserved.size; ++r)
      change({piece_.reserved[r][0] - piece_.size[v] + 1, piece_.reserved[r][1]}, kBan);
    pace_(is_few_ ? piece_.highest[v] : 16 * count);
    i64 least = kBan, found = kAbsent, ties = 0, level = 0;
    // Between two changes of the price, all starts are equal; the outermost two of them leave the largest gaps.
    auto consider = [&](i64 from, i64 past) {
      if (level > least || level >= kBan) return;
      const i64 lowest = piece_.lowest[v], step = piece_.step[v];
      from = std::max(from, lowest), past = std::min(past, piece_.highest[v] + 1);
      const i64 low = lowest - floor_div(lowest - from, step) * step, high = lowest + floor_div(past - 1 - lowest, step) * step;
      if (low > high) return;
      if (level < least) least = level, ties = 0;
      if (pick(++ties) == 0) found = pick(4) != 0 ? low : high;
    };
    if (is_few_) {
      const i64 end = piece_.highest[v] + 1;
      i64 from = 0;
      for (i64 at = 0; at < end; ++at) {
        if (by_start_[at] == 0) continue;
        if (at > from) consider(from, at);
        level += by_start_[at];
        by_start_[at] = 0;
        from = at;
      }
      by_start_[end] = 0;
      consider(from, end);
    } else {
      std::sort(changes_.begin(), changes_.begin() + count, [](const Change &a, const Change &b) { return a.at < b.at; });
      i64 from = 0;
      for (i64 c = 0; c < count; ++c) {
        if (changes_[c].at > from) consider(from, changes_[c].at);
        level += changes_[c].by;
        from = std::max(from, changes_[c].at);
      }
      consider(from, kMost);
    }
    return found;
  }

  // Put a buffer at its best start, and ejected buffers into the queue; return false if there is no start.
  bool settle(i64 v, bool may_throw, i64 &thrown) {
    const i64 at = cheapest(v, may_throw);
    if (at < 0) return false;
    for (i64 k = piece_.first[v]; may_throw && k < piece_.first[v + 1]; ++k) {
      const i64 u = piece_.other[k];
      if (piece_.price[k] != kNever || run_.at[u] < 0 || !meeting(piece_, v, k, run_.at[u]).has(at)) continue;
      lift(u);
      ++thrown;
    }
    run_.at[v] = at;
    delta_ += paid(v);
    return true;
  }

  void set_fees(i64 v, double scale, double least) {
    for (i64 k = piece_.first[v]; k < piece_.first[v + 1]; ++k)
      if (piece_.price[k] == kNever) fee_[piece_.other[k]] = 1 + static_cast<i64>(scale * (least + uniform()) * kPart);
  }

  bool eject(i64 v) {
    i64 thrown = 0;
    const double scale = 0.2 + 3.0 * uniform();
    bool is_placed = true;
    lift(v);
    i64 head = 0;
    for (; is_placed && head < queue_.size; ++head) {
      const i64 x = queue_[head];
      set_fees(x, head == 0 ? scale : scale * (1.0 + 0.3 * static_cast<double>(head)), head == 0 ? 0.3 : 0.5);
      is_placed = settle(x, thrown < kMostThrown, thrown);
      is_fixed_[x] = 1;
    }
    for (i64 q = 0; q < head; ++q) is_fixed_[queue_[q]] = 0;
    return is_placed;
  }

  // Take out a buffer and some neighbours, and put them back, roughly the largest first.
  bool reinsert(i64 v) {
    lift(v);
    for (i64 more = 1 + pick(6); more > 0; --more) {
      const i64 from = pick(3) != 0 ? v : queue_[pick(queue_.size)];
      const i64 degree = piece_.first[from + 1] - piece_.first[from];
      if (degree == 0) continue;
      const i64 u = piece_.other[piece_.first[from] + pick(degree)];
      if (run_.at[u] >= 0) lift(u);
    }
    std::sort(queue_.begin(), queue_.end(), [this](i64 a, i64 b) {
      return piece_.size[a] != piece_.size[b] ? piece_.size[a] > piece_.size[b] : a < b;
    });
    const double noise = uniform();
    for (i64 a = 0; a + 1 < queue_.size; ++a)
      if (uniform() < noise) std::swap(queue_[a], queue_[a + pick(queue_.size - a)]);
    i64 thrown = 0;
    for (i64 q = 0; q < queue_.size; ++q)
      if (!settle(queue_[q], false, thrown)) return false;
    return true;
  }

  void step() {
    undo_.size = queue_.size = 0;
    delta_ = 0;
    const i64 v = n_busy_ == 0 || pick(8) == 0 ? pick(n_) : busy_[pick(n_busy_)];
    const bool is_placed = pick(8) != 0 ? eject(v) : reinsert(v);
    if (is_placed && (delta_ <= 0 || uniform() < decay(static_cast<double>(delta_) / run_.heat))) {
      i64 &cost = run_.numbers[kCost];
      cost += delta_;
      if (cost < run_.numbers[kLeast]) {
        run_.numbers[kLeast] = cost;
        std::copy(run_.at.begin(), run_.at.end(), run_.best.begin());
      }
    } else {
      while (undo_.size > 0) {
        const Undo last = undo_.pop();
        run_.at[last.buffer] = last.at;
      }
    }
  }

  const PieceTable &piece_;
  const Walk &run_;
  const i64 n_;
  i64 random_;
  i64 delta_ = 0, n_busy_ = 0;
  bool is_few_ = false;
  Array<Change> changes_{nullptr, 0};
  Array<i64> by_start_{nullptr, 0}, fee_{nullptr, 0}, is_fixed_{nullptr, 0}, busy_{nullptr, 0};
  Stack<Undo> undo_{{nullptr, 0}};
  Stack<i64> queue_{{nullptr, 0}};
  Pace<IsOver> pace_;
};

}  // namespace memplan::prices
