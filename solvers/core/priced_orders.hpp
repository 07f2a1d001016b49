// The cheapest plan of a piece. For every two buffers, the search decides which one is below the other or, if that only
// has a price, that they meet. These decisions determine the starts.
#pragma once
#include "piece.hpp"

namespace memplan::prices {

// A search for a plan cheaper than `upper`, in which buffer v is not below the like buffer twin[v]; the order of each
// pair in the plan `guide` is tried first. The search writes the best plan to `at`, and to `counts` the number of nodes
// and the best price found (`upper` if none is lower).
struct Orders {
  Array<i64> twin;
  Array<i64> guide;
  i64 upper;
  i64 most_nodes;
  Array<i64> at;
  Array<i64> counts;
};

enum Relation : i64 { kBelow = 1, kAbove = 2, kApart = 3, kMeet = 4 };

// A pair of buffers: entry `k` in the list of the first buffer, entry `back` in that of the second.
struct Pair {
  i64 i;
  i64 j;
  i64 k;
  i64 back;
  bool is_priced;
};

template <class IsOver>
class OrderSearch {
 public:
  OrderSearch(const PieceTable &piece, const Orders &run, IsOver &is_over, Arena &arena)
      : piece_(piece), run_(run), n_(piece.size.size), top_(run.upper), pace_(is_over) {
    n_pairs_ = piece.other.size / 2;
    pairs_ = arena.array<Pair>(n_pairs_);
    width_ = 2 * n_ + n_pairs_;
    states_ = arena.rows<i64>(n_pairs_ + 2, std::max<i64>(width_, 1), false);
    is_even_ = true;
    for (i64 v = 0; v < n_; ++v)
      is_even_ = is_even_ && piece.step[v] == piece.step[0] && (piece.lowest[v] - piece.lowest[0]) % piece.step[0] == 0;
  }

  i64 run() {
    i64 count = 0;
    for (i64 i = 0; i < n_; ++i)
      for (i64 k = piece_.first[i]; k < piece_.first[i + 1]; ++k) {
        const i64 j = piece_.other[k];
        if (j < i) continue;
        const i64 back = std::lower_bound(piece_.other.data + piece_.first[j], piece_.other.data + piece_.first[j + 1], i) - piece_.other.data;
        pairs_[count++] = {i, j, k, back, piece_.price[k] != kNever};
        is_even_ = is_even_ && piece_.grid[k] == 1;
      }
    most_passes_ = is_even_ ? n_ * (n_ * piece_.reserved.size + 1) + 2 : kMost;
    open(0);
    bool is_legal = true;
    for (i64 v = 0; v < n_; ++v) {
      low_[v] = high_[v] = kAbsent;
      is_legal = is_legal && raise(v, piece_.lowest[v], piece_.highest[v]) && lower(v, piece_.highest[v], piece_.lowest[v]);
    }
    for (i64 p = 0; p < n_pairs_; ++p) mask_[p] = pairs_[p].is_priced ? kApart | kMeet : kApart;
    const bool is_done = !is_legal || go_on(0);
    run_.counts[0] = nodes_, run_.counts[1] = top_;
    return !is_done ? kStopped : top_ < run_.upper ? top_ : kNoneBelow;
  }

 private:
  void open(i64 depth) {
    i64 *const row = states_[depth];
    low_ = row, high_ = row + n_, mask_ = row + 2 * n_;
  }

  // Return the least start of the other buffer of entry k above buffer v, which starts at `at`.
  i64 past(i64 v, i64 k, i64 at) const {
    const i64 end = at + piece_.size[v] + piece_.gap[k], grid = piece_.grid[k];
    return grid == 1 ? end : (floor_div(end - 1 + piece_.shift, grid) + 1) * grid - piece_.shift;
  }

  // Return the greatest start of v below the other buffer of entry k, which starts at `at`.
  i64 under(i64 v, i64 k, i64 at) const {
    const i64 grid = piece_.grid[k];
    const i64 end = grid == 1 ? at : floor_div(at + piece_.shift, grid) * grid - piece_.shift;
    return end - piece_.size[v] - piece_.gap[k];
  }

  // Raise the least start of v to a legal one from `least` on; return false if there is none up to `most`.
  bool raise(i64 v, i64 least, i64 most) {
    const i64 lowest = piece_.lowest[v], step = piece_.step[v], size = piece_.size[v];
    i64 at = lowest - floor_div(lowest - least, step) * step;
    for (i64 r = 0; r < piece_.reserved.size; ++r)
      if (at < piece_.reserved[r][1] && piece_.reserved[r][0] < at + size)
        at = lowest - floor_div(lowest - piece_.reserved[r][1], step) * step;
    low_[v] = at;
    return at <= most;
  }

  bool lower(i64 v, i64 most, i64 least) {
    const i64 lowest = piece_.lowest[v], step = piece_.step[v], size = piece_.size[v];
    i64 at = lowest + floor_div(most - lowest, step) * step;
    for (i64 r = piece_.reserved.size - 1; r >= 0; --r)
      if (at < piece_.reserved[r][1] && piece_.reserved[r][0] < at + size)
        at = lowest + floor_div(piece_.reserved[r][0] - size - lowest, step) * step;
    high_[v] = at;
    return at >= least;
  }

  bool at_least(i64 v, i64 least) {
    if (least <= low_[v]) return true;
    has_moved_ = true;
    return raise(v, least, high_[v]);
  }

  bool at_most(i64 v, i64 most) {
    if (most >= high_[v]) return true;
    has_moved_ = true;
    return lower(v, most, low_[v]);
  }

  // Decide that buffer i of entry k is below buffer j; return false if no start is left.
  bool put_below(i64 i, i64 j, i64 k) { return at_least(j, past(i, k, low_[i])) && at_most(i, under(i, k, high_[j])); }

  // Decide that buffer i of entry k is not below buffer j; return false if no start is left.
  bool keep_up(i64 i, i64 j, i64 k) {
    return at_least(i, under(i, k, low_[j]) + 1) && at_most(j, past(i, k, high_[i]) - 1);
  }

  bool narrow(const Pair &pair, i64 &mask) {
    const auto &[i, j, k, back, is_priced] = pair;
    i64 left = mask;
    if ((left & kBelow) && past(i, k, low_[i]) > high_[j]) left &= ~kBelow;
    if ((left & kAbove) && past(j, back, low_[j]) > high_[i]) left &= ~kAbove;
    if ((left & kMeet) && (low_[j] >= past(i, k, high_[i]) || low_[i] >= past(j, back, high_[j]))) left &= ~kMeet;
    if (left != mask) mask = left, is_new_ = true;
    if (left == 0) return false;
    if (left == kBelow) return put_below(i, j, k);
    if (left == kAbove) return put_below(j, i, back);
    // If a pair must be neither below nor above, neither direction alone may be excluded.
    if (!(left & kBelow) && !keep_up(i, j, k)) return false;
    return (left & kAbove) || keep_up(j, i, back);
  }

  // Draw all conclusions; return false if no start is left, or no plan that is cheap enough.
  bool conclude() {
    for (i64 passes = 0; !pace_(8 * n_pairs_ + width_); ++passes) {
      has_moved_ = is_new_ = false;
      for (i64 p = 0; p < n_pairs_; ++p)
        if (!narrow(pairs_[p], mask_[p])) return false;
      for (i64 v = 0; v < n_; ++v)
        if (const i64 u = run_.twin[v]; u >= 0 && !(at_least(v, low_[u]) && at_most(u, high_[v]))) return false;
      if (is_new_) passes = 0;
      if (has_moved_) {
        // Starts that still rise after so many passes rise in a circle, so no plan exists.
        if (passes > most_passes_) return false;
        continue;
      }
      if (!is_cheap()) return false;
      if (!is_new_) return true;
    }
    return false;
  }

  bool is_cheap() {
    paid_ = 0;
    for (i64 p = 0; p < n_pairs_; ++p)
      if (pairs_[p].is_priced && mask_[p] == kMeet) paid_ += piece_.price[pairs_[p].k];
    return paid_ < top_;
  }

  // Return the slack of a relation: how far both buffers may still move.
  i64 slack(const Pair &pair, i64 relation) const {
    const auto &[i, j, k, back, is_priced] = pair;
    if (relation == kBelow) return high_[j] - past(i, k, low_[i]);
    if (relation == kAbove) return high_[i] - past(j, back, low_[j]);
    return kMost;
  }

  // Branch on an open pair from the state at a depth; return false if the search must stop.
  bool go_on(i64 depth) {
    if (++nodes_ > run_.most_nodes) return false;
    if (!conclude()) return !pace_.is_over();
    i64 chosen = kAbsent, fewest = kMost, tightest = kMost;
    for (i64 p = 0; p < n_pairs_; ++p) {
      const i64 mask = mask_[p], options = (mask & 1) + (mask >> 1 & 1) + (mask >> 2);
      if (options < 2 || options > fewest) continue;
      i64 room = 0;
      for (const i64 relation : {kBelow, kAbove})
        if (mask & relation) room += slack(pairs_[p], relation);
      if (options < fewest || room < tightest) chosen = p, fewest = options, tightest = room;
    }
    if (chosen == kAbsent) {
      top_ = paid_;
      std::copy(low_, low_ + n_, run_.at.data);
      return true;
    }
    const Pair pair = pairs_[chosen];
    const i64 a = run_.guide[pair.i], b = run_.guide[pair.j];
    const i64 liked = past(pair.i, pair.k, a) <= b ? i64{kBelow} : past(pair.j, pair.back, b) <= a ? i64{kAbove} : i64{kMeet};
    bool is_tried = false;
    for (const i64 relation : {liked, i64{kBelow}, i64{kAbove}, i64{kMeet}}) {
      if (relation == liked && is_tried) continue;
      is_tried = true;
      if (!(mask_[chosen] & relation)) continue;
      std::copy(states_[depth], states_[depth] + width_, states_[depth + 1]);
      open(depth + 1);
      mask_[chosen] = relation;
      const bool is_done = go_on(depth + 1);
      open(depth);
      if (!is_done) return false;
      if (top_ <= 0) return true;
    }
    return true;
  }

  const PieceTable &piece_;
  const Orders &run_;
  const i64 n_;
  i64 top_;
  i64 n_pairs_ = 0, width_ = 0, nodes_ = 0, most_passes_ = 0, paid_ = 0;
  bool is_even_ = false, has_moved_ = false, is_new_ = false;
  Array<Pair> pairs_{nullptr, 0};
  Rows<i64> states_{nullptr, 0, 0};
  i64 *low_ = nullptr, *high_ = nullptr, *mask_ = nullptr;
  Pace<IsOver> pace_;
};

}  // namespace memplan::prices
