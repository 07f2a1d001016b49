// The least price of plans with few offsets, by Russian doll search: the best plan of the last buffers bounds the cost
// that they add to a larger set.
#pragma once
#include "piece.hpp"

namespace memplan::prices {

// A search for plans that cost less than `upper` and start only at the ascending `place`s; entries have no grid or gap.
// Buffers are placed in `order`. twin[r] is the position in `order` of an earlier buffer interchangeable with
// the one at r, or ABSENT. `is_colours`: all places are alike. `is_mirrored`: plans may be turned upside down.
// The kernel fills `at` with the best plan, and `counts` with (nodes, a lower bound on the price).
struct Dolls {
  Array<i64> place;
  Array<i64> order;
  Array<i64> twin;
  bool is_colours;
  bool is_mirrored;
  i64 upper;
  i64 most_nodes;
  Array<i64> at;
  Array<i64> counts;
};

template <class IsOver>
class DollSearch {
 public:
  DollSearch(const PieceTable &piece, const Dolls &run, IsOver &is_over, Arena &arena)
      : piece_(piece), run_(run), n_(piece.size.size), places_(run.place.size), pace_(is_over) {
    const i64 cells = n_ * places_;
    rank_ = arena.array<i64>(n_), here_ = arena.array<i64>(n_), best_ = arena.array<i64>(n_);
    doll_ = arena.array<i64>(n_ + 1);
    weight_ = arena.rows<i64>(n_, n_);
    pay_ = arena.array<i64>(cells), banned_ = arena.array<i64>(cells);
    from_ = arena.array<i64>(cells), past_ = arena.array<i64>(cells);
    choice_ = arena.array<i64>(cells);
  }

  i64 run() {
    prepare();
    for (i64 first = n_ - 1; first >= 0; --first) {
      first_ = first, top_ = run_.upper, enough_ = doll_[first + 1];
      const bool is_done = go_on(first, 0, 0);
      run_.counts[0] = nodes_, run_.counts[1] = doll_[first + 1];
      if (!is_done) return kStopped;
      doll_[first] = top_;
      if (top_ >= run_.upper) {
        run_.counts[1] = run_.upper;
        return kNoneBelow;
      }
    }
    run_.counts[1] = doll_[0];
    for (i64 r = 0; r < n_; ++r) run_.at[run_.order[r]] = run_.place[best_[r]];
    return doll_[0];
  }

 private:
  // Prepare all tables, which are indexed by rank: the position of a buffer in the order.
  void prepare() {
    for (i64 r = 0; r < n_; ++r) rank_[run_.order[r]] = r;
    for (i64 r = 0; r < n_; ++r) {
      const i64 v = run_.order[r];
      for (i64 k = piece_.first[v]; k < piece_.first[v + 1]; ++k) {
        i64 &weight = weight_[r][rank_[piece_.other[k]]];
        if (weight != kNever) weight = piece_.price[k] == kNever ? kNever : weight + piece_.price[k];
      }
      for (i64 p = 0; p < places_; ++p) {
        pace_(piece_.reserved.size + 20);
        const i64 at = run_.place[p], end = at + piece_.size[v];
        bool is_legal = at >= piece_.lowest[v] && at <= piece_.highest[v] && (at - piece_.lowest[v]) % piece_.step[v] == 0;
        for (i64 k = 0; k < piece_.reserved.size; ++k)
          is_legal = is_legal && (end <= piece_.reserved[k][0] || piece_.reserved[k][1] <= at);
        banned_[r * places_ + p] = !is_legal;
        // A buffer at place p meets this one from the first place above its own start minus the size on.
        from_[r * places_ + p] = std::upper_bound(run_.place.begin(), run_.place.end(), at - piece_.size[v]) - run_.place.begin();
        past_[r * places_ + p] = std::lower_bound(run_.place.begin(), run_.place.end(), end) - run_.place.begin();
      }
    }
  }

  // Add the prices that buffer `r` at place p adds to the later buffers, or subtract them if `sign` is -1.
  void ask(i64 r, i64 p, i64 sign) {
    for (i64 u = r + 1; u < n_; ++u) {
      const i64 weight = weight_[r][u];
      if (weight == 0) continue;
      i64 *const row = (weight == kNever ? banned_.data : pay_.data) + u * places_;
      const i64 added = sign * (weight == kNever ? 1 : weight);
      const i64 past = past_[r * places_ + p];
      for (i64 q = from_[u * places_ + p]; q < past; ++q) row[q] += added;
    }
  }

  // Return how many places a buffer may try after `used` colours; unused colours are alike, so one of them is enough.
  i64 open(i64 used) const { return run_.is_colours ? std::min(places_, used + 1) : places_; }

  // Place the buffers from rank `r` on, with `cost` paid so far; return false if the search must stop.
  bool go_on(i64 r, i64 used, i64 cost) {
    if (++nodes_ > run_.most_nodes || pace_((n_ - r + 1) * places_)) return false;
    if (r == n_) {
      top_ = cost;
      std::copy(here_.begin(), here_.end(), best_.begin());
      return true;
    }
    i64 rest = 0;
    const i64 width = open(used);
    for (i64 u = r; u < n_; ++u) {
      i64 least = kMost;
      const i64 *const pay = pay_.data + u * places_, *const banned = banned_.data + u * places_;
      for (i64 p = 0; p < width && least > 0; ++p)
        if (banned[p] == 0 && pay[p] < least) least = pay[p];
      if (least == kMost) return true;
      rest += least;
    }
    if (cost + rest + doll_[r] >= top_) return true;
    const i64 twin = run_.twin[r];
    const i64 lowest = twin >= first_ ? here_[twin] : 0;
    const i64 *const pay = pay_.data + r * places_;
    i64 *const choice = choice_.data + r * places_;
    i64 count = 0;
    for (i64 p = lowest; p < width; ++p) {
      if (banned_[r * places_ + p] != 0) continue;
      if (r == first_ && run_.is_mirrored && 2 * run_.place[p] > piece_.highest[run_.order[r]]) break;
      choice[count++] = p;
    }
    std::sort(choice, choice + count, [pay](i64 a, i64 b) { return pay[a] != pay[b] ? pay[a] < pay[b] : a < b; });
    for (i64 c = 0; c < count; ++c) {
      const i64 p = choice[c], paid = cost + pay[p];
      if (paid + doll_[r + 1] >= top_) break;
      here_[r] = p;
      ask(r, p, 1);
      const bool is_done = go_on(r + 1, std::max(used, p + 1), paid);
      ask(r, p, -1);
      if (!is_done) return false;
      if (top_ <= enough_) return true;
    }
    return true;
  }

  const PieceTable &piece_;
  const Dolls &run_;
  const i64 n_, places_;
  Array<i64> rank_, here_, best_, doll_, pay_, banned_, from_, past_, choice_;
  Rows<i64> weight_{nullptr, 0, 0};
  i64 first_ = 0, top_ = 0, enough_ = 0, nodes_ = 0;
  Pace<IsOver> pace_;
};

}  // namespace memplan::prices
