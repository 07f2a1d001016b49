// SPDX-License-Identifier: Apache-2.0
// memplan_choose: multipliers bound the cost (Fisher, Management Science 27, 1981), and their prices guide a choice in
// which no live set is too large for its memory. What memplan_plan cannot pack gives up a buffer.
#include "memory_choice.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

namespace {

using i64 = int64_t;
constexpr i64 kNowhere = INT64_MAX;      // the cost where a buffer may not be
constexpr i64 kLargest = i64{1} << 60;   // of sums of sizes, and of costs
constexpr double kNever = 1e300;
constexpr double kExact = 4e15;          // whole numbers below add up in doubles without rounding
constexpr int kRounds = 300, kPatience = 12;
constexpr double kShorter = 0.6, kShortest = 1e-4;
constexpr size_t kGivenUpAtOnce = 8;      // so many have gone one by one, before two go at once
constexpr size_t kMostExchanged = 2000;  // buffers, as each is tried in the place of each

template <class T>
class Table {
 public:
  Table(size_t rows, size_t columns, T value = {}) : columns_(columns), values_(rows * columns, value) {}
  T *operator[](size_t row) { return values_.data() + row * columns_; }
  const T *operator[](size_t row) const { return values_.data() + row * columns_; }
  void fill(T value) { std::fill(values_.begin(), values_.end(), value); }

 private:
  size_t columns_;
  std::vector<T> values_;
};

class Stop {
 public:
  explicit Stop(const memplan_options &options) : options_(options), began_(Clock::now()) {}
  double left() const {
    return options_.seconds - std::chrono::duration<double>(Clock::now() - began_).count();
  }
  bool operator()() const {
    return (options_.cancel != nullptr && options_.cancel(options_.context) != 0) || (options_.seconds > 0 && left() <= 0);
  }

 private:
  using Clock = std::chrono::steady_clock;
  const memplan_options &options_;
  Clock::time_point began_;
};

// The memories that buffers may be in.
class Homes {
 public:
  Homes(const memplan_problem &problem, const memplan_home *rows, size_t count)
      : problem_(problem), cost(problem.count, problem.memory_count, count > 0 ? kNowhere : 0) {
    for (size_t row = 0; row < count; ++row) cost[rows[row].buffer][rows[row].memory] = rows[row].cost;
  }

  bool has_within(size_t i, size_t other) const {
    for (size_t q = 0; q < problem_.memory_count; ++q)
      if (cost[i][q] != kNowhere && cost[other][q] == kNowhere) return false;
    return true;
  }

  i64 capacity(size_t i) const {
    i64 sum = 0;
    for (size_t q = 0; q < problem_.memory_count; ++q)
      if (cost[i][q] != kNowhere) sum += std::min(problem_.memories[q].capacity, MEMPLAN_UNLIMITED - sum);
    return sum;
  }

 private:
  const memplan_problem &problem_;

 public:
  Table<i64> cost;
};

// Lifetimes, as rows of the times at which some begin.
class Lives {
 public:
  explicit Lives(const memplan_problem &problem) {
    size_t gap = 0;
    for (size_t i = 0; i < problem.count; ++i) {
      first.push_back(begin.size());
      if (problem.only_pairs) continue;
      i64 from = problem.buffers[i].begin;
      for (; gap < problem.gap_count && problem.gaps[gap].buffer == i; from = problem.gaps[gap++].end)
        add(from, problem.gaps[gap].begin);
      add(from, problem.buffers[i].end);
    }
    first.push_back(begin.size());
    times = begin;
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    for (std::vector<i64> *each : {&begin, &end})
      for (i64 &time : *each) time = std::lower_bound(times.begin(), times.end(), time) - times.begin();
  }

  bool is_alive(size_t i, i64 row) const {
    for (size_t k = first[i]; k < first[i + 1]; ++k)
      if (begin[k] <= row && row < end[k]) return true;
    return false;
  }

  std::vector<size_t> first;
  std::vector<i64> begin, end, times;

 private:
  void add(i64 from, i64 to) { begin.push_back(from), end.push_back(to); }
};

class Choice {
 public:
  std::vector<size_t> memory_of;
  i64 cost_bound = 0;

  Choice(const memplan_problem &problem, const Homes &homes)
      : memory_of(problem.count),
        problem_(problem),
        n_(problem.count),
        memories_(problem.memory_count),
        lives_(problem),
        rows_(lives_.times.size()),
        cost_(homes.cost),
        load_(memories_, rows_ + 1),
        worth_(memories_, rows_ + 1),
        below_(memories_, rows_ + 1) {
    for (size_t i = 0; i < n_; ++i) all_ += size(i);
    for (size_t q = 0; q < memories_; ++q) {
      const memplan_memory &memory = problem.memories[q];
      i64 free = memory.capacity;
      for (size_t row = 0; row < memory.reserved_count; ++row)
        free -= std::min(memory.reserved[row].end, memory.capacity) - std::min(memory.reserved[row].begin, memory.capacity);
      capacity_.push_back(std::min(free, all_));
      for (size_t i = 0; i < n_; ++i)
        if (size(i) > capacity_[q]) cost_[i][q] = kNowhere;
    }
  }

  i64 cost() const {
    i64 sum = 0;
    for (size_t i = 0; i < n_; ++i) sum += cost_[i][memory_of[i]];
    return sum;
  }

  // The first buffer that is too large for each of its memories, or MEMPLAN_NONE.
  size_t too_large() const {
    for (size_t i = 0; i < n_; ++i)
      if (*std::min_element(cost_[i], cost_[i] + memories_) == kNowhere) return i;
    return MEMPLAN_NONE;
  }

  // The most crowded time of all sets of memories to which some buffers are bound.
  memplan_crowd crowd(const Homes &homes) const {
    memplan_crowd worst{0, 0, 0, 0, MEMPLAN_NONE};
    std::vector<size_t> widest;
    for (size_t other = 0; other < n_; ++other) {
      const auto is_same = [&](size_t i) { return homes.has_within(i, other) && homes.has_within(other, i); };
      if (std::any_of(widest.begin(), widest.end(), is_same)) continue;
      widest.push_back(other);
      std::vector<i64> bytes(rows_ + 1), count(rows_ + 1);
      for (size_t i = 0; i < n_; ++i)
        for (size_t k = lives_.first[i]; k < lives_.first[i + 1] && size(i) > 0 && homes.has_within(i, other); ++k)
          bytes[at(lives_.begin[k])] += size(i), bytes[at(lives_.end[k])] -= size(i), ++count[at(lives_.begin[k])],
              --count[at(lives_.end[k])];
      const i64 capacity = homes.capacity(other);
      for (size_t t = 0; t < rows_; ++t) {
        if (t > 0) bytes[t] += bytes[t - 1], count[t] += count[t - 1];
        if (worst.widest == MEMPLAN_NONE || bytes[t] - capacity > worst.bytes - worst.capacity)
          worst = {lives_.times[t], bytes[t], capacity, static_cast<size_t>(count[t]), other};
      }
    }
    return worst;
  }

  // Raise the bound by subgradients with steps after Polyak; the best multipliers, in whole parts, count exactly.
  void bound_cost(const Stop &stop) {
    double upper = 1, most = -kNever, step = 1;
    for (size_t i = 0; i < n_; ++i) {
      i64 dearest = 0;
      for (size_t q = 0; q < memories_; ++q) dearest = std::max(dearest, cost_[i][q] == kNowhere ? 0 : cost_[i][q]);
      upper += static_cast<double>(dearest);
    }
    Table<double> best = worth_;
    for (int round = 0, stalled = 0; round < kRounds && step > kShortest && !stop(); ++round) {
      const double value = relaxed();
      if (value > most)
        most = value, best = worth_, stalled = 0;
      else if (++stalled > kPatience)
        worth_ = best, step *= kShorter, stalled = 0, relaxed();
      double length = 0;
      for_each_excess([&](double &, double excess) { length += excess * excess; });
      if (length == 0) break;
      const double stride = step * std::max(upper - value, 1.0) / length;
      for_each_excess([&](double &worth, double excess) { worth = std::max(0.0, worth + stride * excess); });
    }
    worth_ = best;
    double sum = upper;
    for_each_excess([&](double &worth, double) { sum += worth * static_cast<double>(all_ + 1); });
    for (scale_ = 1 << 30; scale_ > 1 && sum * scale_ >= kExact;) scale_ /= 2;
    const bool is_exact = sum * scale_ < kExact;
    for_each_excess([&](double &worth, double) {
      worth = is_exact ? static_cast<double>(static_cast<i64>(worth * scale_)) : 0;
    });
    const i64 value = static_cast<i64>(std::max(0.0, relaxed())), scale = static_cast<i64>(scale_);
    cost_bound = is_exact ? value / scale + (value % scale > 0) : 0;
  }

  // Put all where the prices make it cheapest, those first that lose most elsewhere. Returns whether all are in.
  bool insert() {
    load_.fill(0);
    std::vector<double> regret;
    for (size_t i = 0; i < n_; ++i) {
      double least = kNever, next = kNever;
      for (size_t q = 0; q < memories_; ++q) {
        const double here = priced(i, q);
        next = std::min(next, std::max(least, here)), least = std::min(least, here);
      }
      regret.push_back(next - least);
    }
    std::vector<size_t> order(n_);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return regret[a] > regret[b]; });
    for (const size_t i : order) {
      size_t found = MEMPLAN_NONE;
      for (size_t q = 0; q < memories_; ++q)
        if (fits(i, q) && (found == MEMPLAN_NONE || priced(i, q) < priced(i, found))) found = q;
      if (found == MEMPLAN_NONE) return false;
      put(i, found);
    }
    return true;
  }

  // Move buffers, and exchange two, as long as that costs less.
  void improve(const Stop &stop) {
    for (bool is_better = n_ <= kMostExchanged; is_better;) {
      is_better = false;
      for (size_t i = 0; i < n_ && !stop(); ++i)
        for (size_t q = 0; q < memories_; ++q)
          if (cost_[i][q] < cost_[i][memory_of[i]] && enter(i, q)) is_better = true;
    }
  }

  // Move a buffer out of a memory for good, the one that costs least by the bytes and times it takes. Returns the memory
  // that it is in then, or MEMPLAN_NONE where none can go.
  size_t give_up(size_t q) {
    size_t which = MEMPLAN_NONE, where = MEMPLAN_NONE;
    double least = kNever;
    for (size_t i = 0; i < n_; ++i) {
      if (memory_of[i] != q || size(i) == 0) continue;
      double area = 1;
      for (size_t k = lives_.first[i]; k < lives_.first[i + 1]; ++k)
        area += static_cast<double>(size(i)) * static_cast<double>(lives_.end[k] - lives_.begin[k]);
      for (size_t other = 0; other < memories_; ++other) {
        if (other == q || !fits(i, other)) continue;
        const double more = static_cast<double>(cost_[i][other] - cost_[i][q]) / area;
        if (more < least) least = more, which = i, where = other;
      }
    }
    if (which == MEMPLAN_NONE) return MEMPLAN_NONE;
    add(which, q, -size(which)), put(which, where);
    cost_[which][q] = kNowhere;
    return where;
  }

 private:
  const memplan_problem &problem_;
  size_t n_, memories_;
  Lives lives_;
  size_t rows_;
  i64 all_ = 0;
  double scale_ = 1;
  Table<i64> cost_, load_;
  Table<double> worth_, below_;
  std::vector<i64> capacity_;

  static size_t at(i64 row) { return static_cast<size_t>(row); }
  i64 size(size_t i) const { return problem_.buffers[i].size; }

  // The least cost where what is above a capacity is paid for, in parts of which a unit of cost has `scale_`.
  double relaxed() {
    load_.fill(0);
    double value = 0;
    for (size_t q = 0; q < memories_; ++q) {
      for (size_t t = 0; t < rows_; ++t) below_[q][t + 1] = below_[q][t] + worth_[q][t];
      value -= below_[q][rows_] * static_cast<double>(capacity_[q]);
    }
    for (size_t i = 0; i < n_; ++i) {
      size_t home = 0;
      for (size_t q = 1; q < memories_; ++q)
        if (priced(i, q) < priced(i, home)) home = q;
      value += priced(i, home);
      for (size_t k = lives_.first[i]; k < lives_.first[i + 1]; ++k)
        load_[home][lives_.begin[k]] += size(i), load_[home][lives_.end[k]] -= size(i);
    }
    for (size_t q = 0; q < memories_; ++q) std::partial_sum(load_[q], load_[q] + rows_, load_[q]);
    return value;
  }

  template <class Visit>
  void for_each_excess(Visit visit) {
    for (size_t q = 0; q < memories_; ++q)
      for (size_t t = 0; t < rows_; ++t) {
        const double excess = static_cast<double>(load_[q][t] - capacity_[q]);
        visit(worth_[q][t], worth_[q][t] <= 0 && excess < 0 ? 0.0 : excess);
      }
  }

  double priced(size_t i, size_t q) const {
    if (cost_[i][q] == kNowhere) return kNever;
    double charge = 0;
    for (size_t k = lives_.first[i]; k < lives_.first[i + 1]; ++k)
      charge += below_[q][lives_.end[k]] - below_[q][lives_.begin[k]];
    return static_cast<double>(cost_[i][q]) * scale_ + charge * static_cast<double>(size(i));
  }

  void add(size_t i, size_t q, i64 bytes) {
    for (size_t k = lives_.first[i]; k < lives_.first[i + 1]; ++k)
      for (i64 t = lives_.begin[k]; t < lives_.end[k]; ++t) load_[q][t] += bytes;
  }
  void put(size_t i, size_t q) { memory_of[i] = q, add(i, q, size(i)); }

  bool fits(size_t i, size_t q) const {
    for (size_t k = lives_.first[i]; k < lives_.first[i + 1]; ++k)
      for (i64 t = lives_.begin[k]; t < lives_.end[k]; ++t)
        if (load_[q][t] + size(i) > capacity_[q]) return false;
    return cost_[i][q] != kNowhere;
  }

  // Move a buffer to a memory, if need be in the place of one there that loses less than is won.
  bool enter(size_t i, size_t q) {
    const size_t from = memory_of[i];
    const i64 won = cost_[i][from] - cost_[i][q];
    add(i, from, -size(i));
    if (fits(i, q)) return put(i, q), true;
    for (size_t j = 0; j < n_; ++j) {
      if (memory_of[j] != q || j == i || size(j) == 0) continue;
      add(j, q, -size(j));
      for (size_t other = 0; other < memories_ && fits(i, q); ++other)
        if (other != q && fits(j, other) && cost_[j][other] - cost_[j][q] < won)
          return put(j, other), put(i, q), true;
      add(j, q, size(j));
    }
    add(i, from, size(i));
    return false;
  }
};

memplan_choice refused(const char *reason, size_t row) {
  return {MEMPLAN_INVALID, reason, row, {0, 0, 0, 0, MEMPLAN_NONE}, -1, 0, -1, 0};
}

// What is wrong with the problem, its options or the homes; nothing is searched then.
memplan_choice fault_of(const memplan_problem *problem, const memplan_home *homes, size_t count,
                        const memplan_options *options, const size_t *memory_of, const i64 *offsets) {
  if (problem == nullptr || (homes == nullptr && count > 0)) return refused("a pointer must not be NULL", MEMPLAN_NONE);
  if (problem->count > 0 && (memory_of == nullptr || offsets == nullptr))
    return refused("memory_of and offsets must have room for each buffer", MEMPLAN_NONE);
  if (problem->memory_count == 0 || problem->price_count + problem->join_count > 0 || problem->same_offset != nullptr)
    return refused("memories are chosen among `memories`, without prices, joins and same_offset", MEMPLAN_NONE);
  if (problem->count > INT32_MAX) return refused(memplan_rule_text(MEMPLAN_TOO_MANY), MEMPLAN_NONE);
  // All else is as it must be for plans in any one memory that has bytes; the search for one is ended at once.
  size_t any = 0;
  while (problem->memories != nullptr && any + 1 < problem->memory_count && problem->memories[any].capacity == 0) ++any;
  const std::vector<size_t> all(problem->count, any);
  memplan_problem whole = *problem;
  whole.memory_of = all.data();
  memplan_options ended = options != nullptr ? *options : memplan_options{};
  ended.cancel = [](void *) { return 1; };
  std::vector<i64> nowhere(problem->count);
  const memplan_result found = memplan_plan(&whole, &ended, nowhere.data());
  if (found.status == MEMPLAN_INVALID) return refused(memplan_rule_text(found.rule), found.buffer);
  i64 sum = 0;
  for (size_t row = 0; row < count; ++row) {
    const memplan_home &home = homes[row], &before = homes[row > 0 ? row - 1 : 0];
    if (home.buffer >= problem->count) return refused("the buffer of the home is not there", row);
    if (home.memory >= problem->memory_count) return refused("the memory of the home is not there", row);
    if (home.cost < 0) return refused("the cost of the home must not be negative", row);
    if (row > 0 && std::pair(before.buffer, before.memory) >= std::pair(home.buffer, home.memory))
      return refused("homes must ascend by buffer, then by memory", row);
    if (home.cost > kLargest - sum) return refused("the costs of homes must add up to at most 2^60", row);
    sum += home.cost;
  }
  memplan_choice fine = refused("", MEMPLAN_NONE);
  fine.status = MEMPLAN_UNKNOWN;
  return fine;
}

// Plan one memory of a choice: what is in others takes no place.
memplan_result plan_one(const memplan_problem &problem, const std::vector<size_t> &memory_of, size_t q,
                        const memplan_options &options, i64 *offsets) {
  std::vector<memplan_buffer> buffers(problem.buffers, problem.buffers + problem.count);
  std::vector<i64> own(problem.count);
  for (size_t i = 0; i < problem.count; ++i)
    if (memory_of[i] != q) buffers[i].size = 0;
  memplan_problem part = problem;
  part.buffers = buffers.data(), part.memory_count = 0, part.memories = nullptr;
  part.capacity = problem.memories[q].capacity, part.base = problem.memories[q].base;
  part.reserved = problem.memories[q].reserved, part.reserved_count = problem.memories[q].reserved_count;
  const memplan_result result = memplan_plan(&part, &options, own.data());
  for (size_t i = 0; i < problem.count && result.status <= MEMPLAN_FEASIBLE; ++i)
    if (memory_of[i] == q) offsets[i] = own[i];
  return result;
}

memplan_choice chosen(const memplan_problem &problem, const memplan_home *homes, size_t count, memplan_options options,
                      size_t *memory_of, i64 *offsets, memplan_choice made) {
  const Stop stop(options);
  const Homes rows(problem, homes, count);
  Choice choice(problem, rows);
  made.status = MEMPLAN_INFEASIBLE, made.crowd = choice.crowd(rows);
  made.row = choice.too_large();
  if (made.row != MEMPLAN_NONE) return made.reason = "the buffer is larger than each memory in which it may be", made;
  if (made.crowd.bytes > made.crowd.capacity) {
    made.row = made.crowd.widest;
    made.reason = "more bytes are alive at the time of the crowd than the only memories hold in which they may be";
    return made;
  }
  choice.bound_cost(stop);
  made.status = MEMPLAN_UNKNOWN, made.cost_bound = choice.cost_bound;
  made.reason = "no choice was found in which no memory is too small at any time, and none is ruled out";
  if (!choice.insert()) return made;
  choice.improve(stop);
  made.reason = "a memory was not packed in the work, and no buffer in it can be in another one";
  std::vector<i64> peaks(problem.memory_count, -1);
  size_t given_up = 0;
  const double seconds = options.seconds;
  for (size_t q = 0; q < peaks.size();) {
    if (peaks[q] < 0) {
      if (seconds > 0) options.seconds = std::max(1e-9, stop.left());
      const memplan_result part = plan_one(problem, choice.memory_of, q, options, offsets);
      made.nodes += part.nodes;
      if (part.status == MEMPLAN_OUT_OF_MEMORY) throw std::bad_alloc();
      peaks[q] = part.peak;
    }
    if (peaks[q] >= 0) {
      ++q;
      continue;
    }
    // One at a time where few do, and ever more where many must go.
    const size_t most = given_up + 1 + given_up / kGivenUpAtOnce, before = given_up;
    size_t next = q;
    for (; given_up < most; ++given_up) {
      const size_t to = choice.give_up(q);
      if (to == MEMPLAN_NONE) break;
      peaks[to] = -1, next = std::min(next, to);
    }
    if (given_up == before) return made.row = q, made;
    q = next;
  }
  made.cost = choice.cost(), made.reason = "", made.peak = std::accumulate(peaks.begin(), peaks.end(), i64{0});
  made.status = made.cost <= made.cost_bound ? MEMPLAN_OPTIMAL : MEMPLAN_FEASIBLE;
  std::copy(choice.memory_of.begin(), choice.memory_of.end(), memory_of);
  return made;
}

}  // namespace

extern "C" memplan_choice memplan_choose(const memplan_problem *problem, const memplan_home *homes, size_t home_count,
                                         const memplan_options *options, size_t *memory_of, int64_t *offsets) {
  try {
    const memplan_choice fault = fault_of(problem, homes, home_count, options, memory_of, offsets);
    if (fault.status == MEMPLAN_INVALID) return fault;
    memplan_options given{};
    given.work = 100'000;
    return chosen(*problem, homes, home_count, options != nullptr ? *options : given, memory_of, offsets, fault);
  } catch (const std::bad_alloc &) {
    memplan_choice failed = refused("the allocator gave nothing", MEMPLAN_NONE);
    return failed.status = MEMPLAN_OUT_OF_MEMORY, failed;
  }
}

extern "C" size_t memplan_crowded(const memplan_problem *problem, const memplan_home *homes, size_t home_count,
                                  memplan_crowd crowd, size_t *buffers, size_t room) {
  size_t found = 0;
  if (crowd.widest == MEMPLAN_NONE) return found;
  try {
    const Homes rows(*problem, homes, home_count);
    const Lives lives(*problem);
    const i64 row = std::lower_bound(lives.times.begin(), lives.times.end(), crowd.time) - lives.times.begin();
    for (size_t i = 0; i < problem->count; ++i)
      if (problem->buffers[i].size > 0 && rows.has_within(i, crowd.widest) && lives.is_alive(i, row)) {
        if (found < room) buffers[found] = i;
        ++found;
      }
  } catch (const std::bad_alloc &) {
  }
  return found;
}
