// memplan_choose: the cheapest choice in which no live set is too large for its memory, packed memory by memory. What a
// search proves not to fit is a no-good, and the choice is made anew (Hooker and Ottosson, Mathematical Programming 96,
// 2003); what it cannot pack leaves more and more of each memory free. All of that comes again with more work, and where
// there is no plan then, buffers are given up.
#include "asked.hpp"
#include "cheapest.hpp"
#include "compile.hpp"
#include "memories.hpp"

namespace memplan {
namespace {

constexpr i64 kNowhere = kMost;         // the cost where a buffer may not be
constexpr i64 kMostMeasured = 5'000;  // items and live sets, above which only units are measured
constexpr i64 kMostChosen = 40'000;   // and above which no partial choices are kept
constexpr i64 kMostRounds = 1'000, kLeastRounds = 200, kRoundsWork = 3'000'000;
constexpr i64 kMostNoGoods = 200;     // choices that are refuted, one after the other
constexpr i64 kMostWork = 60;         // times the work of a plan, in all plans of them
constexpr i64 kMostDoubts = 1;           // choices that could be neither packed nor refuted, before room is left
constexpr i64 kWhole = 1024, kMostRoom = 64;
constexpr i64 kGivenUpAtOnce = 8;  // so many go one by one, before two go at once

// The work of a plan, in times of what the options say, and of a choice.
struct Round {
  i64 times;
  choice::Effort effort;
};
constexpr Round kFirstRound = {1, {10'000, 8'000'000}}, kSecondRound = {16, {50'000, 24'000'000}};

// The first of the buffers that may be in the same memories as one.
bool is_first_of_its_kind(const memplan_home *homes, std::size_t count, std::size_t buffer) {
  if (count == 0) return buffer == 0;
  for (std::size_t i = 0; i < buffer; ++i)
    if (is_within(homes, count, i, buffer) && is_within(homes, count, buffer, i)) return false;
  return true;
}

// The bytes of the memories that a buffer may be in.
i64 capacity_of(const memplan_problem &problem, const memplan_home *homes, std::size_t count, std::size_t buffer) {
  i64 sum = 0;
  const auto add = [&](std::size_t memory) { sum += std::min(problem.memories[memory].capacity, MEMPLAN_UNLIMITED - sum); };
  for (std::size_t row = 0; row < count; ++row)
    if (homes[row].buffer == buffer) add(homes[row].memory);
  for (std::size_t q = 0; q < problem.memory_count && count == 0; ++q) add(q);
  return sum;
}

class Choosing {
 public:
  Choosing(const memplan_problem &problem, const memplan_home *homes, std::size_t home_count, const memplan_options &options,
           memplan_result &result, Allocator &allocator, Stop &stop, std::size_t *memory_of, i64 *offsets)
      : problem_(problem),
        homes_(homes),
        home_count_(home_count),
        options_(options),
        result_(result),
        allocator_(allocator),
        stop_(stop),
        arena_(allocator),
        memory_of_(memory_of),
        offsets_(offsets),
        nogood_pool_(arena_),
        nogood_first_(arena_),
        nogood_item_(arena_),
        grounds_(arena_),
        worked_(arena_) {}

  void run() {
    build();
    if (!arena_.has_failed) search();
    if (arena_.has_failed && result_.cost < 0) result_.status = MEMPLAN_OUT_OF_MEMORY;
  }

 private:
  static constexpr i64 kDropped = -1, kDoubted = 0, kProved = 1;
  const memplan_problem &problem_;
  const memplan_home *homes_;
  const std::size_t home_count_;
  const memplan_options &options_;
  memplan_result &result_;
  Allocator &allocator_;
  Stop &stop_;
  Arena arena_;
  std::size_t *memory_of_;
  i64 *offsets_;
  choice::ChoiceItems knapsack_{};
  Rows<i64> limit_{nullptr, 0, 0};
  Array<i64> home_{nullptr, 0};          // of the best plan's, or the last choice's, buffers
  Array<std::size_t> tried_{nullptr, 0};
  Array<i64> offset_{nullptr, 0};
  i64 unit_ = 1, all_ = 0, dearest_ = 0;
  // The sets of buffers that do not fit into a memory together, or are not known to.
  Growing<i64> nogood_pool_, nogood_first_, nogood_item_, grounds_, worked_;
  Round round_ = kFirstRound;
  i64 doubts_ = 0;
  bool is_small_ = false;
  bool is_proved_ = false;  // that no choice costs less than the plan, or that none fits

  i64 count() const { return static_cast<i64>(problem_.count); }
  i64 memories() const { return static_cast<i64>(problem_.memory_count); }

  // Each buffer is an item. Without lifetimes, it has a live set of its own.
  void build() {
    const i64 n = count(), p = memories();
    memplan_problem alone = problem_;  // with nothing but sizes and lifetimes
    alone.memory_count = alone.reserved_count = alone.pair_count = alone.bank_count = 0;
    alone.capacity = MEMPLAN_UNLIMITED, alone.base = alone.bank = 0;
    const OnePool instance = Compiler(arena_, alone).instance([] { return false; });
    const i64 lives = problem_.only_pairs ? n : instance.start.size;
    knapsack_.rows = problem_.only_pairs ? n : instance.n_sets;
    for (Array<i64> *column : {&knapsack_.item, &home_, &offset_}) *column = arena_.array<i64>(n);
    for (Array<i64> *column : {&knapsack_.lifetime_buffer, &knapsack_.start, &knapsack_.end}) *column = arena_.array<i64>(lives);
    for (Rows<i64> *rows : {&knapsack_.homes, &knapsack_.price, &knapsack_.size}) *rows = arena_.rows<i64>(p, n);
    limit_ = arena_.rows<i64>(p, knapsack_.rows);
    tried_ = arena_.array<std::size_t>(n);
    if (arena_.has_failed) return;
    unit_ = instance.unit;
    std::iota(knapsack_.item.begin(), knapsack_.item.end(), i64{0});
    for (i64 i = 0; i < instance.n && !problem_.only_pairs; ++i)
      for (i64 m = instance.first[i]; m < instance.first[i + 1]; ++m)
        knapsack_.lifetime_buffer[m] = instance.source[i], knapsack_.start[m] = instance.start[m], knapsack_.end[m] = instance.end[m];
    for (i64 i = 0; i < n && problem_.only_pairs; ++i)
      knapsack_.lifetime_buffer[i] = knapsack_.start[i] = i, knapsack_.end[i] = i + 1;
    for (i64 i = 0; i < n; ++i) all_ += problem_.buffers[i].size / unit_;
    for (std::size_t row = 0; row < home_count_; ++row) {
      const memplan_home &home = homes_[row];
      const i64 q = static_cast<i64>(home.memory), i = static_cast<i64>(home.buffer);
      knapsack_.homes[q][i] = 1, knapsack_.price[q][i] = home.cost;
    }
    for (i64 q = 0; q < p; ++q) {
      const memplan_memory &memory = problem_.memories[q];
      i64 free = memory.capacity;
      for (std::size_t row = 0; row < memory.reserved_count; ++row)
        free -= std::min(memory.reserved[row].end, memory.capacity) - std::min(memory.reserved[row].begin, memory.capacity);
      std::fill(limit_[q], limit_[q] + knapsack_.rows, std::min(all_, free / unit_));
      for (i64 i = 0; i < n; ++i) {
        knapsack_.size[q][i] = problem_.buffers[i].size / unit_;
        if (home_count_ == 0) knapsack_.homes[q][i] = 1;
        if (problem_.buffers[i].size > free) knapsack_.homes[q][i] = 0;
      }
    }
    for (i64 i = 0; i < n; ++i) {
      i64 most = 0;
      for (i64 q = 0; q < p; ++q)
        if (knapsack_.homes[q][i]) most = std::max(most, knapsack_.price[q][i]);
      dearest_ += most;
    }
  }

  void search() {
    if (is_refuted()) return;
    result_.status = MEMPLAN_UNKNOWN;
    const i64 cells = count() + knapsack_.rows;
    is_small_ = cells <= kMostChosen;
    const i64 rounds = std::clamp(kRoundsWork / std::max<i64>(1, cells), kLeastRounds, kMostRounds);
    choice::Multipliers multipliers{};
    for (const bool is_measured : {false, true}) {
      if (is_measured && (cells > kMostMeasured || all_ > kLargest / kWhole)) break;
      const Rows<i64> measured = is_measured ? limit_ : Rows<i64>{nullptr, 0, knapsack_.rows};
      choice::Ascent ascent(arena_, knapsack_, limit_, kAbsent, static_cast<double>(dearest_));
      multipliers = ascent.run(choice::measures_of(arena_, knapsack_, measured), rounds, stop_);
      if (arena_.has_failed) return;
      raise(choice::rounded_up(choice::value_of(arena_, knapsack_, multipliers, limit_), multipliers.scale));
      if (!is_small_) continue;
      round_ = is_measured ? kSecondRound : kFirstRound;
      decompose(multipliers);
      if (is_over()) break;
      leave_room(multipliers);
    }
    if (result_.cost < 0 && !is_over()) give_up(multipliers);
    if (is_proved_ || (result_.cost >= 0 && result_.cost <= result_.cost_bound))
      result_.status = result_.cost < 0 ? MEMPLAN_INFEASIBLE : MEMPLAN_OPTIMAL;
    if (result_.status == MEMPLAN_OPTIMAL) result_.cost_bound = result_.cost;
  }

  bool is_over() { return is_proved_ || arena_.has_failed || stop_() || (result_.cost >= 0 && result_.cost <= result_.cost_bound); }
  void raise(i64 bound) { result_.cost_bound = std::max(result_.cost_bound, bound); }

  // Whether a buffer is larger than each of its memories, or more is alive than all hold that some buffers may be in.
  bool is_refuted() {
    for (i64 i = 0; i < count(); ++i)
      if (choice::cheapest_home(knapsack_, knapsack_.price, i, kNowhere) == kNowhere)
        return refuse(i, problem_.buffers[i].size);
    const Array<i64> load = arena_.array<i64>(knapsack_.rows + 1);
    if (arena_.has_failed) return true;
    for (std::size_t other = 0; other < problem_.count && !problem_.only_pairs; ++other) {
      if (!is_first_of_its_kind(homes_, home_count_, other)) continue;
      const i64 capacity = capacity_of(problem_, homes_, home_count_, other);
      load.fill(0);
      for (i64 m = 0; m < knapsack_.start.size; ++m) {
        const i64 size = problem_.buffers[knapsack_.lifetime_buffer[m]].size;
        if (!is_within(homes_, home_count_, static_cast<std::size_t>(knapsack_.lifetime_buffer[m]), other)) continue;
        load[knapsack_.start[m]] += size, load[knapsack_.end[m]] -= size;
      }
      std::partial_sum(load.begin(), load.end(), load.begin());
      const i64 most = load.size > 0 ? *std::max_element(load.begin(), load.end()) : 0;
      if (most > capacity) return refuse(static_cast<i64>(other), most);
    }
    return false;
  }

  bool refuse(i64 buffer, i64 bytes) {
    result_.status = MEMPLAN_INFEASIBLE, result_.buffer = static_cast<std::size_t>(buffer), result_.bound = bytes;
    return true;
  }

  choice::NoGoods nogoods(Arena &inner, bool with_doubts) const {
    choice::NoGoods made{inner.array<i64>(nogood_pool_.size), inner.array<i64>(nogood_pool_.size + 1),
                         inner.array<i64>(nogood_item_.size)};
    if (inner.has_failed) return made;
    made.pool.size = made.item.size = 0;
    for (i64 g = 0; g < nogood_pool_.size; ++g) {
      if (grounds_[g] != kProved && (grounds_[g] != kDoubted || !with_doubts)) continue;
      made.pool.data[made.pool.size++] = nogood_pool_[g];
      for (i64 x = nogood_first_[g]; x < nogood_first_[g + 1]; ++x) made.item.data[made.item.size++] = nogood_item_[x];
      made.first[made.pool.size] = made.item.size;
    }
    made.first.size = made.pool.size + 1;
    return made;
  }

  choice::Cheapest cheapest(const choice::Multipliers &multipliers, const Rows<i64> &limit, bool with_doubts, i64 most,
                            const choice::Effort &effort) {
    Arena inner(allocator_);
    const choice::NoGoods known = nogoods(inner, with_doubts);
    if (inner.has_failed) return arena_.has_failed = true, choice::Cheapest{};
    const choice::Cheapest made =
        choice::cheapest(inner, knapsack_, multipliers, limit, known, most, effort, home_, allocator_, stop_);
    arena_.has_failed = arena_.has_failed || inner.has_failed;
    return made;
  }

  bool has_work() const { return result_.nodes <= kMostWork * std::min(options_.work, kMost / kMostWork); }
  i64 most() const { return result_.cost < 0 ? dearest_ : result_.cost - 1; }

  // Choose and pack by turns, until the least cost is reached and proved, or packing is open.
  void decompose(const choice::Multipliers &multipliers) {
    drop_doubts();
    while (!is_over() && nogood_pool_.size < kMostNoGoods && has_work()) {
      choice::Cheapest made = cheapest(multipliers, limit_, false, most(), round_.effort);
      if (stop_() || arena_.has_failed) return;
      is_proved_ = made.bound > most();
      raise(std::min(made.bound, most() + 1));
      if (is_proved_) return;
      // What is not known to fit is left out for a plan, and not for the bound.
      if (doubts_ > 0) made = cheapest(multipliers, limit_, true, most(), round_.effort);
      if (!made.is_found || !pack() || doubts_ > kMostDoubts) return;
    }
  }

  // Look for plans of choices that leave some of each memory free, as little as a plan needs.
  void leave_room(const choice::Multipliers &multipliers) {
    const Rows<i64> limit = arena_.rows<i64>(limit_.size, limit_.columns);
    i64 low = 0, high = kMostRoom + 1;
    drop_doubts();
    while (low + 1 < high && !is_over() && has_work()) {
      const i64 room = high > kMostRoom ? std::max<i64>(2, 2 * low) : (low + high) / 2, before = result_.cost;
      if (room > kMostRoom) return;
      for (i64 x = 0; x < limit.size * limit.columns; ++x) limit.data[x] = limit_.data[x] - limit_.data[x] * room / kWhole;
      const choice::Cheapest made = cheapest(multipliers, limit, false, most(), kFirstRound.effort);
      if (made.is_found) pack();
      // Where nothing cheaper leaves so much free, nothing cheaper leaves more.
      (!made.is_found || result_.cost != before ? high : low) = room;
    }
  }

  void drop_doubts() {
    std::replace(grounds_.begin(), grounds_.end(), kDoubted, kDropped);
    doubts_ = 0;
  }

  void put_where_cheapest(i64 i) {
    for (i64 q = memories() - 1; q >= 0; --q) {
      const bool is_cheaper = !knapsack_.homes[home_[i]][i] || knapsack_.price[q][i] <= knapsack_.price[home_[i]][i];
      if (knapsack_.homes[q][i] && is_cheaper) home_[i] = q;
    }
  }

  // Pack the choice, and keep it where it fits. Returns false where nothing new is learnt.
  bool pack() {
    for (i64 i = 0; i < count(); ++i) {
      if (problem_.buffers[i].size == 0) put_where_cheapest(i);  // in no live set, so that nothing chose for it
      tried_[i] = static_cast<std::size_t>(home_[i]);
    }
    for (i64 q = 0; q < memories(); ++q) {
      const i64 before = learnt(q);
      if (before != kAbsent && worked_[before] >= round_.times) return note(before, false), true;
      const memplan_status status = pack_one(q);
      if (status <= MEMPLAN_FEASIBLE) continue;
      if (status == MEMPLAN_OUT_OF_MEMORY || stop_()) return false;
      learn(q, status == MEMPLAN_INFEASIBLE);
      return true;
    }
    return take();
  }

  // Plan one memory of the choice.
  memplan_status pack_one(i64 q) {
    Arena inner(allocator_);
    memplan_problem whole = problem_;
    whole.memory_of = tried_.data;
    const Memories split(inner, whole);
    const Array<i64> offset = inner.array<i64>(count());
    if (inner.has_failed) return arena_.has_failed = true, MEMPLAN_OUT_OF_MEMORY;
    const memplan_problem own = split.problem(q);
    memplan_options options = options_;
    options.work = std::min(options.work, kMost / round_.times) * round_.times;
    if (options.seconds > 0) options.seconds = std::max(1e-9, stop_.left());
    const memplan_result made = memplan_plan(&own, &options, offset.data);
    result_.nodes += made.nodes, result_.orders += made.orders;
    if (made.status == MEMPLAN_OUT_OF_MEMORY) arena_.has_failed = true;
    for (std::size_t k = 0; k < own.count && made.status <= MEMPLAN_FEASIBLE; ++k)
      offset_[static_cast<i64>(split.rows()[split.first(q) + static_cast<i64>(k)])] = offset[static_cast<i64>(k)];
    return made.status;
  }

  bool is_in(i64 i, i64 q) const { return home_[i] == q && problem_.buffers[i].size > 0; }

  // The no-good of all that the choice has in a memory, or ABSENT.
  i64 learnt(i64 q) const {
    const i64 members = std::count_if(knapsack_.item.begin(), knapsack_.item.end(), [&](i64 i) { return is_in(i, q); });
    for (i64 g = 0; g < nogood_pool_.size; ++g) {
      const i64 *begin = &nogood_item_[nogood_first_[g]], *end = begin + (nogood_first_[g + 1] - nogood_first_[g]);
      if (nogood_pool_[g] == q && end - begin == members && std::all_of(begin, end, [&](i64 i) { return is_in(i, q); }))
        return g;
    }
    return kAbsent;
  }

  void learn(i64 q, bool is_proved) {
    i64 g = learnt(q);
    if (nogood_first_.size == 0) nogood_first_.push(0);
    if (g == kAbsent) {
      for (i64 i = 0; i < count(); ++i)
        if (is_in(i, q)) nogood_item_.push(i);
      g = nogood_pool_.size;
      nogood_pool_.push(q), nogood_first_.push(nogood_item_.size), grounds_.push(kDropped), worked_.push(0);
    }
    if (arena_.has_failed) return;
    worked_[g] = round_.times;
    note(g, is_proved);
  }

  void note(i64 g, bool is_proved) {
    grounds_[g] = is_proved ? kProved : kDoubted;
    doubts_ += !is_proved;
  }

  // Keep the plan, if it costs less than the best.
  bool take() {
    i64 cost = 0, peak = 0;
    for (i64 i = 0; i < count(); ++i) cost += knapsack_.price[home_[i]][i];
    if (result_.cost >= 0 && cost >= result_.cost) return false;
    for (i64 q = 0; q < memories(); ++q) {
      i64 end = 0;
      for (i64 i = 0; i < count(); ++i)
        if (home_[i] == q && problem_.buffers[i].size > 0) end = std::max(end, offset_[i] + problem_.buffers[i].size);
      peak += end;
    }
    std::copy(tried_.begin(), tried_.end(), memory_of_);
    std::copy(offset_.begin(), offset_.end(), offsets_);
    result_.cost = cost, result_.peak = peak, result_.status = MEMPLAN_FEASIBLE;
    return true;
  }

  // Move buffers on, those first that cost least elsewhere by the bytes and times they take, from what cannot be packed.
  void give_up(const choice::Multipliers &multipliers) {
    drop_doubts();
    if (!is_small_ || !cheapest(multipliers, limit_, false, dearest_, kFirstRound.effort).is_found)
      for (i64 i = 0; i < count(); ++i) put_where_cheapest(i);
    i64 given_up = 0;
    for (i64 q = 0; q < memories() && !stop_();) {
      for (i64 i = 0; i < count(); ++i) tried_[i] = static_cast<std::size_t>(home_[i]);
      if (pack_one(q) <= MEMPLAN_FEASIBLE) {
        ++q;
        continue;
      }
      // One at a time where few do, and ever more where many must go.
      const i64 most = given_up + 1 + given_up / kGivenUpAtOnce, before = given_up;
      i64 next = q;
      for (i64 to = 0; given_up < most && (to = move_on(q)) != kAbsent; ++given_up) next = std::min(next, to);
      if (given_up == before || arena_.has_failed) return;
      q = next;
    }
    if (!stop_()) take();
  }

  // The memory to which a buffer of `q` goes for good, or ABSENT where none can.
  i64 move_on(i64 q) {
    i64 which = kAbsent, where = kAbsent;
    double least = INFINITY;
    for (i64 m = 0; m < knapsack_.start.size; ++m) {
      const i64 i = knapsack_.lifetime_buffer[m];
      if (home_[i] != q) continue;
      const double area = static_cast<double>(knapsack_.size[q][i]) * static_cast<double>(knapsack_.end[m] - knapsack_.start[m]);
      for (i64 other = 0; other < memories(); ++other) {
        if (other == q || !knapsack_.homes[other][i]) continue;
        const double more = static_cast<double>(knapsack_.price[other][i] - knapsack_.price[q][i]) / area;
        if (more < least) least = more, which = i, where = other;
      }
    }
    if (which == kAbsent) return kAbsent;
    home_[which] = where, knapsack_.homes[q][which] = 0;
    return where;
  }
};

}  // namespace
}  // namespace memplan

extern "C" memplan_result memplan_choose(const memplan_problem *problem, const memplan_home *homes, size_t home_count,
                                         const memplan_options *options, size_t *memory_of, int64_t *offsets) {
  const bool has_null = problem != nullptr && problem->count > 0 && (memory_of == nullptr || offsets == nullptr);
  const memplan_problem none{};
  const bool is_beside = problem != nullptr && memplan::is_beside_choice(*problem);
  memplan::Asked asked(is_beside ? &none : problem, options, has_null, true);
  if (is_beside) asked.refuse(MEMPLAN_CHOICE_BESIDE);
  if (asked.result.rule == MEMPLAN_FINE) asked.refuse(memplan::fault_of_choice(*problem, homes, home_count, asked.result.buffer));
  if (asked.result.rule != MEMPLAN_FINE) return asked.result;
  memplan::Allocator allocator = asked.allocator();
  memplan::Stop stop(asked.options);
  memplan::Choosing(*problem, homes, home_count, asked.options, asked.result, allocator, stop, memory_of, offsets).run();
  asked.result.memory = allocator.most, asked.result.ran_out = allocator.has_refused;
  return asked.result;
}
