// The cheapest plan of one memory with priced pairs, searched from an existing plan.
//
// Buffers whose neighbours cannot block every start are removed, and placed last. The other buffers fall into
// independent pieces. Each piece is searched exactly and by annealed ejection in turn, for longer and longer.
#include "prices.hpp"

#include "least_price.hpp"
#include "walk.hpp"

namespace memplan {
namespace {

class PriceSearch {
 public:
  PriceSearch(Allocator &allocator, const memplan_problem &problem, const OnePool &instance, u64 seed, Stop &stop)
      : allocator_(allocator),
        arena_(allocator),
        instance_(instance),
        n_(instance.n),
        seed_(seed),
        stop_(stop),
        pace_(stop),
        pieces_(arena_),
        gone_(arena_) {
    top_ = ceiling_of(instance);
    const i64 largest = instance.n > 0 ? *std::max_element(instance.size.begin(), instance.size.end()) : 0;
    is_suited_ = n_ <= kMostBuffers && instance.reserved.size <= kMostRanges && top_ < kLargest && largest < kLargest / (2 * kMostBuffers);
    if (is_suited_) begin(problem);
    is_begun_ = is_ready();
  }

  // Search with limited work from a plan of a given cost, or from none; return true if `offset` has a cheaper plan.
  bool run(i64 work, i64 cost, i64 *offset) {
    if (!is_begun_) return false;
    const i64 given = cost;
    for (i64 k = 0; k < pieces_.size && cost < kNoPlan; ++k) start(piece(k), offset);
    i64 before = -1;
    left_ = work;
    for (i64 nodes = kFirstNodes;; nodes *= kFactor) {
      if (!is_infeasible && total() < cost && put_together(offset)) cost = total();
      if (left_ == before || left_ <= 0 || stop_.is_over() || is_infeasible || is_proved()) break;
      before = left_;
      for (i64 k = 0; k < pieces_.size; ++k) {
        Piece &one = piece(k);
        if (!one.is_settled()) search_places(one, std::min(nodes, left_));
        is_infeasible = is_infeasible || one.bound >= kNoPlan;
        if (one.price < kNoPlan && !one.is_settled()) walk(one, std::min(nodes, left_));
      }
    }
    spent = work - left_;
    return cost < given;
  }

  // Return a lower bound, in steps, on the cost of every plan.
  i64 bound() const {
    i64 sum = 0;
    for (i64 k = 0; k < pieces_.size && is_begun_; ++k) sum += pieces_.begin()[k].bound;
    return sum;
  }

  i64 spent = 0;
  bool is_infeasible = false;
  bool has_failed = false;

 private:
  static constexpr i64 kMostBuffers = 2'000;  // the prices of all pairs form a matrix, so limit the buffers
  static constexpr i64 kMostRanges = 256;
  static constexpr i64 kMostAfterwards = 1 << 16;  // the most work that is still done once time is over
  static constexpr i64 kFirstNodes = 10'000, kFactor = 4;
  static constexpr i64 kWorkAStep = 20;
  static constexpr int kCoolings = 16;
  static constexpr double kHot = 2.0, kCooling = 0.85;

  // Buffers that pairs connect, with lengths in their own `unit` (of the instance's units); their best plan, unless its
  // price is kNoPlan; and a lower bound on their price.
  struct Piece {
    prices::PieceTable table;
    Array<i64> member;
    Array<i64> at;
    i64 unit;
    i64 price;
    i64 bound;
    i64 walks;

    bool is_settled() const { return price <= bound; }
  };
  Allocator &allocator_;
  Arena arena_;
  const OnePool &instance_;
  const i64 n_;
  const u64 seed_;
  Stop &stop_;
  Pace<Stop> pace_;
  i64 top_;
  i64 left_ = 0;
  bool is_suited_, is_begun_ = false;
  Array<Array<i64>> price_{nullptr, 0};  // (n, n): the price of each pair in steps, kNever for pairs that must not meet
  Array<i64> lowest_{nullptr, 0}, highest_{nullptr, 0}, whole_{nullptr, 0};
  Array<prices::Span> taken_{nullptr, 0};
  Growing<Piece> pieces_;
  Growing<i64> gone_;

  Piece &piece(i64 k) { return pieces_.begin()[k]; }
  bool is_ready() const { return is_suited_ && !arena_.has_failed && !pace_.is_over(); }
  i64 total() const {
    i64 sum = 0;
    for (const Piece &one : pieces_.array()) sum = std::min(kNoPlan, sum + one.price);
    return sum;
  }
  bool is_proved() const {
    return std::all_of(pieces_.begin(), pieces_.end(), [](const Piece &one) { return one.is_settled(); });
  }

  void begin(const memplan_problem &problem) {
    price_ = arena_.uncleared<Array<i64>>(n_);
    lowest_ = arena_.array<i64>(n_), highest_ = arena_.array<i64>(n_), whole_ = arena_.array<i64>(n_);
    taken_ = arena_.array<prices::Span>(n_ + instance_.reserved.size);
    for (i64 v = 0; v < n_ && !arena_.has_failed && !pace_(n_); ++v) price_[v] = arena_.array<i64>(n_);
    if (!is_ready()) return;
    for (i64 v = 0; v < n_; ++v) {
      const i64 size = instance_.size[v], step = instance_.step[v], pin = instance_.pin[v];
      lowest_[v] = pin != kAbsent ? pin : instance_.lowest[v] + floor_mod(instance_.residue[v] - instance_.lowest[v], step);
      const i64 most = pin != kAbsent ? pin : std::min(top_, instance_.limit[v]) - size;
      highest_[v] = lowest_[v] + floor_div(most - lowest_[v], step) * step;
      is_suited_ = is_suited_ && lowest_[v] <= highest_[v];
    }
    const i64 step = price_step(problem);
    for (std::size_t row = 0; row < problem.price_count && !pace_(16); ++row) {
      const auto &[first, second, price] = problem.prices[row];
      if (problem.buffers[first].size == 0 || problem.buffers[second].size == 0) continue;
      const i64 v = position_of(first), w = position_of(second);
      price_[v][w] += price / step, price_[w][v] += price / step;
    }
    for (i64 v = 0; v < n_; ++v)
      for (i64 w = 0; w < v; ++w) {
        if (pace_(16 + (instance_.first[v + 1] - instance_.first[v]) * (instance_.first[w + 1] - instance_.first[w]))) return;
        if (instance_.conflict(v, w)) price_[v][w] = price_[w][v] = prices::kNever;
      }
    const Array<bool> is_left = arena_.array<bool>(n_);
    if (!is_ready()) return;
    take_out(is_left);
    cut(is_left);
  }

  i64 position_of(std::size_t row) const {
    return std::lower_bound(instance_.source.begin(), instance_.source.end(), static_cast<i64>(row)) - instance_.source.begin();
  }

  // Return the most starts of v, on its grid, that w can block.
  i64 blocked(i64 v, i64 w) const {
    return price_[v][w] == 0 ? 0 : (instance_.size[v] + instance_.size[w] - 2) / instance_.step[v] + 1;
  }

  void take_out(const Array<bool> &is_left) {
    is_left.fill(true);
    const Array<i64> room = arena_.array<i64>(n_);
    if (arena_.has_failed) return;
    for (i64 v = 0; v < n_ && !pace_(n_ + instance_.reserved.size); ++v) {
      room[v] = (highest_[v] - lowest_[v]) / instance_.step[v] + 1;
      for (i64 r = 0; r < instance_.reserved.size; ++r)
        room[v] -= (instance_.reserved[r][1] - instance_.reserved[r][0] + instance_.size[v] - 2) / instance_.step[v] + 1;
      for (i64 w = 0; w < n_; ++w)
        if (w != v) room[v] -= blocked(v, w);
    }
    for (bool has_moved = true; has_moved && !pace_(n_);) {
      has_moved = false;
      for (i64 v = 0; v < n_; ++v) {
        if (!is_left[v] || room[v] <= 0 || pace_(n_)) continue;
        is_left[v] = false, has_moved = true;
        gone_.push(v);
        for (i64 w = 0; w < n_; ++w)
          if (w != v) room[w] += blocked(w, v);
      }
    }
  }

  // Divide the remaining buffers into pieces.
  void cut(const Array<bool> &is_left) {
    const Array<i64> member = arena_.array<i64>(n_);
    if (arena_.has_failed) return;
    for (i64 v = 0; v < n_; ++v) {
      if (!is_left[v]) continue;
      i64 count = 0;
      member[count++] = v, is_left[v] = false;
      for (i64 at = 0; at < count; ++at) {
        if (pace_(n_)) return;
        for (i64 w = 0; w < n_; ++w)
          if (is_left[w] && price_[member[at]][w] != 0) member[count++] = w, is_left[w] = false;
      }
      std::sort(member.data, member.data + count, [](i64 a, i64 b) { return a < b; });
      add_piece({member.data, count});
      if (!is_ready()) return;
    }
  }

  void add_piece(const Array<i64> &member) {
    const i64 m = member.size, ranges = instance_.reserved.size;
    const auto is_odd = [&](i64 unit, i64 v) { return unit % instance_.step[v] != 0; };
    Piece made{{}, arena_.array<i64>(m), arena_.array<i64>(m), 0, kNoPlan, 0, 0};
    prices::PieceTable &table = made.table;
    for (Array<i64> *column : {&table.size, &table.lowest, &table.highest, &table.step}) *column = arena_.array<i64>(m);
    table.first = arena_.array<i64>(m + 1), table.reserved = arena_.rows<i64>(ranges, 2);
    if (arena_.has_failed) return;
    for (const i64 v : member) made.unit = std::gcd(made.unit, std::gcd(instance_.size[v], lowest_[v]));
    for (i64 k = 0; k < 2 * ranges; ++k) made.unit = std::gcd(made.unit, instance_.reserved.data[k]);
    if (std::any_of(member.begin(), member.end(), [&](i64 v) { return is_odd(made.unit, v); }))
      for (const i64 v : member) made.unit = std::gcd(made.unit, instance_.step[v]);
    for (i64 k = 0; k < 2 * ranges; ++k) table.reserved.data[k] = instance_.reserved.data[k] / made.unit;
    for (i64 x = 0; x < m; ++x) {
      const i64 v = made.member[x] = member[x];
      table.size[x] = instance_.size[v] / made.unit, table.step[x] = std::max<i64>(1, instance_.step[v] / made.unit);
      table.lowest[x] = lowest_[v] / made.unit, table.highest[x] = highest_[v] / made.unit;
      if (pace_(m)) return;
      table.first[x + 1] = table.first[x];
      for (const i64 w : member) table.first[x + 1] += price_[v][w] != 0;
    }
    for (Array<i64> *column : {&table.other, &table.price, &table.grid, &table.gap})
      *column = arena_.array<i64>(table.first[m]);
    if (arena_.has_failed) return;
    table.grid.fill(1);
    for (i64 x = 0, k = 0; x < m && !pace_(m); ++x)
      for (i64 y = 0; y < m; ++y)
        if (const i64 price = price_[member[x]][member[y]]; price != 0) table.other[k] = y, table.price[k++] = price;
    pieces_.push(made);
  }

  // Start a piece from known offsets, rounded down to its units; buffers keep their order and the pairs that share.
  void start(Piece &one, const i64 *offset) const {
    const prices::PieceTable &table = one.table;
    one.price = 0;
    for (i64 x = 0; x < one.at.size; ++x) one.at[x] = offset[one.member[x]] / one.unit;
    for (i64 x = 0; x < one.at.size; ++x)
      for (i64 k = table.first[x]; k < table.first[x + 1] && table.other[k] < x; ++k)
        if (table.price[k] > 0 && prices::meeting(table, x, k, one.at[table.other[k]]).has(one.at[x]))
          one.price += table.price[k];
  }

  void search_places(Piece &one, i64 most_nodes) {
    if (one.at.size > prices::kMostBuffers) return;
    Arena arena(allocator_);
    const prices::LeastPrice run{one.price, most_nodes, arena.array<i64>(one.at.size), arena.array<i64>(3), {nullptr, 0}};
    prices::LeastPriceSearch<Stop> search(one.table, run, stop_, arena);
    has_failed = has_failed || arena.has_failed || search.run() == kNoMemory;
    if (has_failed) return;
    left_ -= std::min(run.counts[0], most_nodes);
    one.bound = std::max(one.bound, std::min(run.counts[1], one.price));
    if (run.counts[2] >= one.price) return;
    one.price = run.counts[2];
    std::copy(run.at.begin(), run.at.end(), one.at.data);
  }

  // Search by annealed ejection from the best plan, with decreasing randomness.
  void walk(Piece &one, i64 work) {
    const i64 m = one.at.size, steps = work / kCoolings / (kWorkAStep + one.table.other.size / 6 / m);
    if (steps == 0) return;
    Arena arena(allocator_);
    const Array<i64> at = arena.uncleared<i64>(m), numbers = arena.array<i64>(3);
    prices::Walk run{at, one.at, numbers, kHot, steps, one.bound, {nullptr, 0}};
    has_failed = has_failed || arena.has_failed;
    if (has_failed) return;
    std::copy(one.at.begin(), one.at.end(), at.data);
    numbers[0] = static_cast<i64>((seed_ * 1'000'003 + 7'919 * static_cast<u64>(one.walks++) + 12'345) % (u64{1} << 62)) + 1;
    numbers[1] = numbers[2] = one.price;
    prices::Walker<Stop> walker(one.table, run, stop_, arena);
    has_failed = arena.has_failed;
    if (has_failed) return;
    for (int k = 0; k < kCoolings && !stop_.is_over() && walker.run() > one.bound; ++k) run.heat *= kCooling;
    left_ -= work;
    one.price = numbers[2];
  }

  // Write the best plans of all pieces and place the removed buffers around them; return false if time is over.
  bool put_together(i64 *offset) {
    if (stop_.is_over() && gone_.size * n_ > kMostAfterwards) return false;
    whole_.fill(kAbsent);
    for (const Piece &one : pieces_.array())
      for (i64 x = 0; x < one.at.size; ++x) whole_[one.member[x]] = one.at[x] * one.unit;
    for (i64 k = gone_.size - 1; k >= 0; --k) {
      if (pace_(16 * n_) && gone_.size * n_ > kMostAfterwards) return false;
      whole_[gone_.begin()[k]] = lowest_free(gone_.begin()[k]);
    }
    std::copy(whole_.begin(), whole_.end(), offset);
    return true;
  }

  // Return the lowest start at which a buffer meets no placed buffer.
  i64 lowest_free(i64 v) const {
    const i64 size = instance_.size[v], step = instance_.step[v];
    i64 count = 0, at = lowest_[v];
    for (i64 r = 0; r < instance_.reserved.size; ++r)
      taken_[count++] = {instance_.reserved[r][0] - size + 1, instance_.reserved[r][1]};
    for (i64 w = 0; w < n_; ++w)
      if (price_[v][w] != 0 && whole_[w] != kAbsent) taken_[count++] = {whole_[w] - size + 1, whole_[w] + instance_.size[w]};
    std::sort(taken_.data, taken_.data + count, [](const prices::Span &a, const prices::Span &b) { return a.low < b.low; });
    for (i64 k = 0; k < count; ++k)
      if (taken_[k].has(at)) at = lowest_[v] - floor_div(lowest_[v] - taken_[k].high, step) * step;
    return at;
  }
};

}  // namespace

Paid pay_less(Allocator &allocator, const memplan_problem &problem, const OnePool &instance, u64 seed, Stop &stop,
              i64 work, i64 cost, i64 *offset) {
  PriceSearch search(allocator, problem, instance, seed, stop);
  const bool is_less = search.run(work, cost, offset);
  return {is_less, search.bound(), search.is_infeasible, search.has_failed, search.spent};
}

}  // namespace memplan
