// The least price of a piece, computed exactly: for few offsets, by colours if all sizes are equal, or else by the
// relative order of the buffers.
//
// If all sizes equal s, the numbers offset / s of any plan are colours of a plan that costs no more, because two
// buffers of one colour already met. So for equal sizes only the colours count, and all colours are interchangeable.
#pragma once
#include "dolls.hpp"
#include "priced_orders.hpp"

namespace memplan::prices {

// See `LeastPrice` in kernels.py.
struct LeastPrice {
  i64 upper;
  i64 most_nodes;
  Array<i64> at;
  Array<i64> counts;
  Array<i64> flag;
};

inline constexpr i64 kMostBuffers = 64;
// A search by relative order takes as long per decision as a search of few places takes for this many nodes.
inline constexpr i64 kNodesADecision = 20;

template <class IsOver>
class LeastPriceSearch {
 public:
  LeastPriceSearch(const PieceTable &piece, const LeastPrice &run, IsOver &is_over, Arena &arena)
      : piece_(piece), run_(run), n_(piece.size.size), is_over_(is_over), arena_(arena) {
    place_ = arena.array<i64>(kMostPlaces + 1), shifted_ = arena.array<i64>(kMostPlaces + 1);
    merged_ = arena.array<i64>(2 * kMostPlaces + 2), borders_ = arena.array<i64>(n_ + piece.reserved.size);
    order_ = arena.array<i64>(n_), weight_ = arena.array<i64>(n_), twin_ = arena.array<i64>(n_);
    one_ = arena.array<i64>(n_), none_ = arena.array<i64>(n_), highest_ = arena.array<i64>(n_);
  }

  // Return whether no plan costs less than the found one or, if none was found, less than `upper`.
  i64 run() {
    const bool is_plain = std::all_of(piece_.grid.begin(), piece_.grid.end(), [](i64 grid) { return grid == 1; }) &&
                          std::all_of(piece_.gap.begin(), piece_.gap.end(), [](i64 gap) { return gap == 0; });
    if (!is_plain) return by_order();
    const bool is_coloured = has_one_size();
    if (is_coloured)
      colour();
    else
      list_places();
    return place_.size > kMostPlaces ? by_order() : on_places(is_coloured);
  }

 private:
  static constexpr i64 kMostPlaces = 256;
  static constexpr i64 kMostStarts = 1'000'000;  // with at most this many starts, list those that plans need

  i64 on_places(bool is_coloured) {
    for (i64 v = 0; v < n_; ++v) {
      order_[v] = v;
      for (i64 k = piece_.first[v]; k < piece_.first[v + 1]; ++k)
        weight_[v] += piece_.price[k] == kNever ? 3 : piece_.price[k];
    }
    std::sort(order_.begin(), order_.end(), [this](i64 a, i64 b) {
      return weight_.data[a] != weight_.data[b] ? weight_.data[a] > weight_.data[b] : a < b;
    });
    list_twins();
    PieceTable table = piece_;
    if (is_coloured) table.size = table.step = one_, table.lowest = none_, table.highest = highest_;
    const Dolls dolls{place_, order_, twin_, is_coloured, !is_coloured && is_mirrored(), run_.upper, run_.most_nodes,
                      run_.at, run_.counts};
    DollSearch<IsOver> search(table, dolls, is_over_, arena_);
    if (arena_.has_failed) return kNoMemory;
    const i64 price = search.run();
    run_.counts[2] = price >= 0 ? price : run_.upper;
    for (i64 v = 0; v < n_ && is_coloured; ++v) run_.at[v] *= piece_.size[0];
    return price != kStopped;
  }

  i64 by_order() {
    for (i64 v = 0; v < n_; ++v) order_[v] = v;
    list_twins();
    // Without a known plan to follow, buffers listed first are put lower.
    for (i64 v = 0, sum = 0; v < n_; ++v) weight_[v] = sum += piece_.size[v];
    const i64 most_nodes = run_.most_nodes / kNodesADecision;
    const Orders orders{twin_, weight_, run_.upper, most_nodes, run_.at, run_.counts};
    OrderSearch<IsOver> search(piece_, orders, is_over_, arena_);
    if (arena_.has_failed) return kNoMemory;
    const bool is_over = search.run() != kStopped;
    run_.counts[0] *= kNodesADecision;
    run_.counts[2] = run_.counts[1];
    if (!is_over) run_.counts[1] = 0;
    return is_over;
  }

  bool has_one_size() const {
    const i64 size = piece_.size[0], level = piece_.highest[0] / size;
    bool is_one = piece_.reserved.size == 0;
    for (i64 v = 0; v < n_ && is_one; ++v)
      is_one = piece_.lowest[v] == 0 && piece_.size[v] == size && size % piece_.step[v] == 0 && piece_.highest[v] / size == level;
    return is_one;
  }

  // Return whether a plan turned upside down is also a plan.
  bool is_mirrored() const {
    const i64 top = piece_.highest[0] + piece_.size[0];
    bool is_so = piece_.reserved.size == 0;
    for (i64 v = 0; v < n_ && is_so; ++v)
      is_so = piece_.lowest[v] == 0 && piece_.step[v] == 1 && piece_.highest[v] + piece_.size[v] == top;
    return is_so;
  }

  void colour() {
    place_.size = std::min(piece_.highest[0] / piece_.size[0] + 1, n_);
    for (i64 c = 0; c < place_.size; ++c) place_[c] = c;
    one_.fill(1), highest_.fill(place_.size - 1);
  }

  // List all starts in plans whose buffers are moved down: sums of sizes, from the bottom or from a border.
  // Only the least starts are kept, because a search of too many places takes too long.
  void list_places() {
    const i64 top = *std::max_element(piece_.highest.begin(), piece_.highest.end()) + 1;
    if (top > kMostStarts || std::any_of(piece_.step.begin(), piece_.step.end(), [](i64 step) { return step > 1; })) {
      place_.size = std::min(top, kMostPlaces + 1);
      for (i64 p = 0; p < place_.size; ++p) place_[p] = p;
      return;
    }
    i64 *end = std::copy(piece_.lowest.begin(), piece_.lowest.end(), borders_.data);
    for (i64 r = 0; r < piece_.reserved.size; ++r) *end++ = piece_.reserved[r][1];
    std::sort(borders_.data, end, [](i64 a, i64 b) { return a < b; });
    end = std::unique(borders_.data, end);
    keep(borders_.data, end, top);
    for (i64 v = 0; v < n_; ++v) {  // each buffer is added at most once
      for (i64 p = 0; p < place_.size; ++p) shifted_[p] = place_[p] + piece_.size[v];
      end = std::set_union(place_.begin(), place_.end(), shifted_.data, shifted_.data + place_.size, merged_.data);
      keep(merged_.data, end, top);
    }
  }

  void keep(const i64 *begin, const i64 *end, i64 top) {
    end = std::min(std::lower_bound(begin, end, top), begin + kMostPlaces + 1);
    place_.size = std::copy(begin, end, place_.data) - place_.data;
  }

  // Find for each position of the order an earlier buffer that is interchangeable with the one there, or ABSENT.
  void list_twins() {
    for (i64 b = 0; b < n_; ++b) {
      i64 a = b - 1;
      while (a >= 0 && !are_twins(order_[a], order_[b])) --a;
      twin_[b] = a;
    }
  }

  bool are_twins(i64 v, i64 w) const {
    for (const Array<i64> *column : {&piece_.size, &piece_.lowest, &piece_.highest, &piece_.step})
      if ((*column)[v] != (*column)[w]) return false;
    i64 k = piece_.first[v], l = piece_.first[w];
    while (true) {
      k += k < piece_.first[v + 1] && piece_.other[k] == w;
      l += l < piece_.first[w + 1] && piece_.other[l] == v;
      const bool is_end = k == piece_.first[v + 1];
      if (is_end || l == piece_.first[w + 1]) return is_end && l == piece_.first[w + 1];
      for (const Array<i64> *column : {&piece_.other, &piece_.price, &piece_.grid, &piece_.gap})
        if ((*column)[k] != (*column)[l]) return false;
      ++k, ++l;
    }
  }

  const PieceTable &piece_;
  const LeastPrice &run_;
  const i64 n_;
  IsOver &is_over_;
  Arena &arena_;
  Array<i64> place_, shifted_, merged_, borders_, order_, weight_, twin_, one_, none_, highest_;
};

}  // namespace memplan::prices
