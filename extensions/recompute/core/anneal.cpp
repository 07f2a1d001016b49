// Simulated annealing of drops and of an order, for the cheapest programs within a budget and below it.
#include <bit>

#include "replay.hpp"

namespace memplan::order {
namespace {

// See `Annealing` in kernels.py.
struct Annealing {
  i64 budget;
  i64 seed;
  i64 steps;
  double heat;
  Array<i64> order;
  Array<i64> drop;
  Array<i64> stay;
  Array<i64> begin;
  Array<i64> run;
  Array<i64> mark;
  Array<i64> cost;
  Array<i64> peak;
  Array<i64> orders;
  Array<i64> drops;
  Array<i64> flag;
  Array<i64> answer;
};

enum Outcome : i64 { kAnnealed = 1, kStopped = -1 };
enum Answer : i64 { kSteps, kFound, kPeak, kCost };

constexpr double kCooled = 0.9;        // what is left of the temperature after each of the levels
constexpr i64 kLevels = 64;
constexpr i64 kStepsPerTry = 16;       // as long as what a try takes besides its steps
constexpr double kDearer = 1.1;        // the factor of the price of a byte above the budget
constexpr i64 kPriced = 64;            // accepted programs between two changes of that price
constexpr double kWithin = 0.4;        // the part of them that is to be within the budget
constexpr i64 kLooks = 24;             // stays that are looked at for one across a place
constexpr i64 kHighest = 4;            // places of which the one with most bytes is taken
constexpr i64 kLooksBetweenFlags = 64;
constexpr double kPlainly = 0.6, kAlways = 0.75;  // the parts of drops of which the next ones begin
constexpr double kTogether = 0.5;      // the part of drops with which the last stay of an input is turned
constexpr double kNear = 0.7;          // the part of these that are of an input, and not of what that is made of
constexpr i64 kDeepest = 4;
constexpr double kFarthest = 0.3;      // the part of moves that go anywhere, and not near

class Annealer {
 public:
  Annealer(Arena &arena, const Program &program, const Annealing &query)
      : program_(program), query_(query), n_(program.work.size), player_(arena, program, query.run),
        place_(arena.array<i64>(n_)), successor_first_(arena.array<i64>(n_ + 1)),
        successor_(arena.array<i64>(program.before.size)), bytes_(arena.array<i64>(n_)),
        position_(arena.array<i64>(query.drop.size)), dropped_{arena.array<i64>(query.stay.size)},
        state_(static_cast<u64>(query.seed) * 0x9E3779B97F4A7C15ULL + 1), has_memory_(!arena.has_failed) {}

  i64 run() {
    if (!has_memory_) return kNoMemory;
    list_successors();
    for (i64 k = 0; k < n_; ++k) place_[query_.order[k]] = k;
    for (i64 s = 0; s < position_.size; ++s) position_[s] = -1;
    for (i64 k = 0; k < query_.stay.size; ++k)
      if (query_.drop[query_.stay[k]] != kStays) list(query_.stay[k]);
    player_.take_order(query_.order, place_);
    player_.list_early(query_.drop, dropped_);
    for (i64 v = 0; v < n_; ++v) once_ += program_.cost[v];
    const i64 steps = player_.play(query_.drop, INT64_MAX);
    query_.answer[kSteps] = query_.answer[kFound] = 0;
    if (steps < 0 || query_.stay.size == 0) return kAnnealed;
    Played now = player_.count(steps, query_.budget);
    note(now);
    const double scale = static_cast<double>(std::max({now.cost - once_, once_ / n_, i64{1}}));
    double temperature = query_.heat * static_cast<double>(once_) / static_cast<double>(n_);
    price_ = 4.0 * scale / static_cast<double>(std::max<i64>(query_.budget, 1));
    i64 accepted = 0, within = 0, level = 1;
    for (i64 tried = 0; query_.answer[kSteps] < query_.steps; ++tried) {
      if (tried % kLooksBetweenFlags == 0 && is_set(query_.flag)) return kStopped;
      for (; level * (query_.steps / kLevels + 1) < query_.answer[kSteps]; ++level) temperature *= kCooled;
      const double most = worth(now) + temperature * delay();
      if (!change()) {
        query_.answer[kSteps] += kStepsPerTry;
        continue;
      }
      const i64 taken = player_.play(query_.drop, static_cast<i64>(std::min(most, 9e18)));
      query_.answer[kSteps] += kStepsPerTry + (taken < 0 ? n_ : taken);
      if (taken < 0) {
        undo();
        continue;
      }
      const Played then = player_.count(taken, query_.budget);
      keep(then);
      if (worth(then) > most) {
        undo();
        continue;
      }
      now = then;
      note(now);
      within += now.excess <= 0.0;
      if (++accepted % kPriced == 0) {
        price_ *= static_cast<double>(within) < kWithin * kPriced ? kDearer : 1.0 / kDearer;
        within = 0;
      }
    }
    return kAnnealed;
  }

 private:
  enum Kind { kDrops, kMove };

  double worth(const Played &played) const { return static_cast<double>(played.cost) + price_ * played.excess; }

  u64 next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    u64 z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  double chance() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  // About an exponential variable with mean 1, without logarithms, which differ between machines.
  double delay() {
    const u64 word = next() | 1;
    const i64 zeros = std::countl_zero(word);
    return 0.6931471805599453 * (static_cast<double>(zeros + 1) - static_cast<double>(word << zeros << 1 >> 11) * 0x1.0p-53);
  }

  i64 below(i64 count) { return static_cast<i64>(next() % static_cast<u64>(count)); }

  void list_successors() {
    for (i64 k = 0; k < program_.before.size; ++k) ++successor_first_[program_.before[k] + 1];
    for (i64 v = 0; v < n_; ++v) successor_first_[v + 1] += successor_first_[v];
    for (i64 v = n_ - 1; v >= 0; --v)
      for (i64 k = program_.before_first[v]; k < program_.before_first[v + 1]; ++k)
        successor_[--successor_first_[program_.before[k] + 1]] = v;
    // Each row was filled from its end, so its start is now one place further.
    for (i64 v = 0; v < n_; ++v) successor_first_[v] = successor_first_[v + 1];
    successor_first_[n_] = program_.before.size;
  }

  void note(const Played &played) {
    query_.answer[kPeak] = played.peak, query_.answer[kCost] = played.cost;
    for (i64 k = 0; k < n_; ++k) bytes_[k] = player_.bytes_at(k);
  }

  void list(i64 stay) {
    position_[stay] = dropped_.size;
    dropped_.push(stay);
  }

  void unlist(i64 stay) {
    const i64 last = dropped_.pop();
    if (last != stay) {
      dropped_[position_[stay]] = last;
      position_[last] = position_[stay];
    }
    position_[stay] = -1;
  }

  void set(i64 stay, i64 drop) {
    query_.drop[stay] = drop;
    if (program_.end[stay] >= n_) return;
    if (position_[stay] < 0 && drop != kStays) list(stay);
    if (position_[stay] >= 0 && drop == kStays) unlist(stay);
  }

  void turn(i64 stay, i64 drop) {
    turned_[turned_count_++] = {stay, query_.drop[stay]};
    set(stay, drop);
  }

  i64 some_drop() {
    const double which = chance();
    if (which < kPlainly) return kDropped;
    if (which < kAlways) return kDroppedAlways;
    // Draws few places as often as many.
    return kEarly + below(i64{1} << below(1 + std::bit_width(static_cast<u64>(n_))));
  }

  // Change something by chance; return false where nothing was.
  bool change() {
    turned_count_ = 0;
    const double which = chance();
    if (which < 0.2) return move_operation();
    kind_ = kDrops;
    if (which < 0.3 && dropped_.size > 0) {
      const i64 stay = dropped_[below(dropped_.size)], drop = some_drop();
      if (which < 0.25) turn_last(stay);
      else if (drop != query_.drop[stay]) turn(stay, drop);
    } else {
      if (which < 0.55 || which > 0.85)
        if (dropped_.size > 0) turn(dropped_[below(dropped_.size)], kStays);
      if (which > 0.55)
        if (const i64 stay = stay_to_drop(); stay >= 0) {
          turn(stay, some_drop());
          if (chance() < kTogether) turn_last(stay);
        }
    }
    player_.list_early(query_.drop, dropped_);
    return turned_count_ > 0;
  }

  // Keep the inputs from which a stay's tensor is made again in memory after their last use, or stop keeping them.
  void turn_last(i64 stay) {
    for (i64 depth = 0; depth < kDeepest; ++depth) {
      const i64 maker = program_.maker[program_.tensor[stay]], first = program_.input_first[maker];
      const i64 count = program_.input_first[maker + 1] - first;
      if (count == 0) return;
      const i64 tensor = program_.input[first + below(count)];
      if (program_.maker[tensor] < 0) return;
      stay = program_.stay_first[tensor + 1] - 1;
      if (chance() < kNear) {
        turn(stay, query_.drop[stay] == kStays ? kDropped : kStays);
        return;
      }
    }
  }

  void undo() {
    if (kind_ == kMove) {
      shift(to_, from_);
      return;
    }
    for (i64 count = turned_count_; count > 0; --count) set(turned_[count - 1].stay, turned_[count - 1].drop);
    player_.list_early(query_.drop, dropped_);
  }

  // A stay that is not dropped, across one of the places with many bytes.
  i64 stay_to_drop() {
    i64 place = below(n_);
    for (i64 k = 1; k < kHighest; ++k)
      if (const i64 other = below(n_); bytes_[other] > bytes_[place]) place = other;
    // Stays are found by the places of the first order, which are still nearly right.
    const i64 across = query_.order[place];
    for (i64 k = 0; k < kLooks; ++k) {
      const i64 stay = query_.stay[below(query_.stay.size)];
      if (position_[stay] < 0 && query_.begin[stay] < across && across < program_.end[stay]) return stay;
    }
    return -1;
  }

  bool move_operation() {
    kind_ = kMove;
    from_ = below(n_);
    const i64 v = query_.order[from_];
    i64 low = 0, high = n_ - 1;
    for (i64 k = program_.before_first[v]; k < program_.before_first[v + 1]; ++k)
      low = std::max(low, place_[program_.before[k]] + 1);
    for (i64 k = successor_first_[v]; k < successor_first_[v + 1]; ++k)
      high = std::min(high, place_[successor_[k]] - 1);
    if (low == high) return false;
    if (chance() > kFarthest) low = std::max(low, from_ - 3), high = std::min(high, from_ + 3);
    to_ = low + below(high - low + 1);
    if (to_ == from_) return false;
    shift(from_, to_);
    return true;
  }

  void shift(i64 from, i64 to) {
    const i64 v = query_.order[from];
    for (i64 k = from; k != to; k += from < to ? 1 : -1) {
      query_.order[k] = query_.order[k + (from < to ? 1 : -1)];
      place_[query_.order[k]] = k;
    }
    query_.order[to] = v;
    place_[v] = to;
    player_.take_order(query_.order, place_);
    player_.list_early(query_.drop, dropped_);
  }

  // Keep a program if it is the cheapest so far of those above the mark below and within its own.
  void keep(const Played &played) {
    const i64 *mark = std::lower_bound(query_.mark.data, query_.mark.data + query_.mark.size, played.peak);
    const i64 k = mark - query_.mark.data;
    if (k == query_.mark.size || played.cost >= query_.cost[k]) return;
    // A program within a lower mark must not be as cheap.
    for (i64 j = 0; j < k; ++j)
      if (query_.cost[j] <= played.cost) return;
    query_.cost[k] = played.cost, query_.peak[k] = played.peak;
    std::copy(query_.order.data, query_.order.data + n_, query_.orders.data + k * n_);
    const i64 stays = query_.drop.size;
    std::copy(query_.drop.data, query_.drop.data + stays, query_.drops.data + k * stays);
    ++query_.answer[kFound];
  }

  const Program &program_;
  const Annealing &query_;
  i64 n_;
  Player player_;
  Array<i64> place_, successor_first_, successor_, bytes_, position_;
  Stack<i64> dropped_;
  struct Turned {
    i64 stay, drop;
  };
  Turned turned_[3] = {};
  i64 turned_count_ = 0;
  i64 from_ = 0, to_ = 0, once_ = 0;
  Kind kind_ = kDrops;
  double price_ = 0.0;
  u64 state_;
  bool has_memory_;
};

}  // namespace
}  // namespace memplan::order

MEMPLAN_KERNEL memplan_anneal(const memplan::order::Reruns *reruns, const memplan::order::StayRows *stays,
                              const memplan::order::Annealing *query) {
  memplan::Allocator allocator;
  memplan::Arena arena(allocator);
  const memplan::order::Program program{*reruns, *stays};
  return memplan::order::Annealer(arena, program, *query).run();
}
