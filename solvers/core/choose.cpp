// memplan_choose: the cheapest choice in which no live set is too large for its memory, packed memory by memory. A set
// of buffers that a search proves not to fit becomes a no-good, and the choice is repeated (Hooker and Ottosson,
// Mathematical Programming 96, 2003). For sets that the search cannot pack, the choice leaves more and more of each
// memory free. All of this is repeated with more work.
#include <optional>

#include "asked.hpp"
#include "cheapest.hpp"
#include "check.hpp"
#include "keep.hpp"
#include "memories.hpp"
#include "no_goods.hpp"
#include "problem_items.hpp"
#include "refit.hpp"
#include "stacks.hpp"

namespace memplan {
namespace {

constexpr i64 kMostMeasured = 5'000;  // with more items and live sets than this, only units are measured
constexpr i64 kMostRounds = 1'000, kLeastRounds = 200, kRoundsWork = 3'000'000;
constexpr i64 kMostNoGoods = 200;     // most choices refuted one after the other
constexpr i64 kMostWork = 60;         // most work in all plans of choices, as a multiple of the work of one plan
constexpr i64 kMostDoubts = 1;        // most choices neither packed nor refuted before space is left free
constexpr i64 kMostWithout = 20;      // the same limit while there is no plan
// fractions of a memory are counted in 1 / kWhole; steps are kFine times finer than the free space
constexpr i64 kWhole = 1024, kFine = 8;

// The work of a plan, as a multiple of the work in the options, and the effort for a choice.
struct Round {
  i64 times;
  choice::Effort effort;
};
constexpr i64 kQuickRooms[] = {kWhole / 2, kWhole / 4, kWhole / 8, kWhole / 16};  // space left free for the first plans
constexpr choice::Effort kQuickEffort = {200, 200'000};
constexpr i64 kTries = 1000, kTryWork = 2'000'000;  // choices tried near another one, and those times their cells
// space left free for the first windows; rounds of multipliers for them
constexpr i64 kFirstRooms[] = {kWhole / 16, 0}, kFirstRounds = 20;
constexpr i64 kLeastOfHurry = 1'000;  // from this many buffers on, choosing takes long, so a quicker choice precedes it
constexpr choice::Effort kFirstEffort = {30, 8'000'000};
constexpr double kMostAlive = 40;  // with more buffers alive, windows have no space, so whole choices are packed first
constexpr i64 kNearRooms[] = {1, 4, 16, 64, 160};  // space left free in these choices
constexpr i64 kLeastOfWindows = 40;  // from this many buffers on, the first plans are sought window by window
constexpr i64 kWindowWork = 5'000;  // steps per buffer
constexpr i64 kWidest[] = {1'000, 3'000, 10'000};  // partial choices of the bounds on the cost of all choices
constexpr i64 kWindowSlice = 300;  // steps per buffer, after which a better plan is kept
constexpr choice::Effort kWindowEffort = {300, 8'000'000};
constexpr Round kSmallRound = {1, {100, 50'000}};
constexpr Round kFirstRound = {1, {10'000, 8'000'000}}, kSecondRound = {16, {50'000, 24'000'000}};

using choice::kNowhere;

class Choosing {
 public:
  // A plan that costs at most `enough` is sufficient, so the search then ends.
  Choosing(const memplan_problem &problem, const memplan_home *homes, std::size_t home_count, const memplan_options &options,
           memplan_result &result, Allocator &allocator, Stop &stop, std::size_t *memory_of, i64 *offsets, i64 enough = kAbsent)
      : problem_(problem),
        options_(options),
        result_(result),
        allocator_(allocator),
        stop_(stop),
        arena_(allocator),
        memory_of_(memory_of),
        offsets_(offsets),
        enough_(enough),
        items_(arena_, problem, homes, home_count),
        learnt_(arena_),
        home_(arena_.array<i64>(items_.bytes.size)),
        tried_(arena_.array<std::size_t>(count())),
        offset_(arena_.array<i64>(count())) {}

  void run() {
    if (!arena_.has_failed) search();
    if (arena_.has_failed && result_.cost < 0) result_.status = MEMPLAN_OUT_OF_MEMORY;
  }

 private:
  const memplan_problem &problem_;
  const memplan_options &options_;
  memplan_result &result_;
  Allocator &allocator_;
  Stop &stop_;
  const windows::IsOver is_stopped_{[](void *stop) { return static_cast<int>((*static_cast<Stop *>(stop))()); }, &stop_};
  Arena arena_;
  std::size_t *memory_of_;
  i64 *offsets_;
  const i64 enough_;
  choice::ProblemItems items_;
  choice::Learnt learnt_;
  windows::Spaces spaces_{};                // set if windows know all rules of the problem
  std::optional<windows::Stacks> stacks_;
  Array<i64> pool_{nullptr, 0}, end_{nullptr, 0};  // the memory of each buffer in a choice, and the end of each memory
  i64 cuts_ = 0;                            // the number of no-goods learnt from stacks
  Array<i64> home_;  // the memory of each item in the last choice
  Array<std::size_t> tried_;
  Array<i64> offset_;
  i64 clash_[2] = {kAbsent, kAbsent};  // two items whose pins collide in one memory, as the last plan found
  Round round_ = kFirstRound;
  bool is_quick_ = false;  // true while a first plan is sought
  i64 first_cost_ = kAbsent;  // the cost of the first plan, or ABSENT
  bool is_proved_ = false;  // true if no choice costs less than the plan, or if none fits

  i64 count() const { return static_cast<i64>(problem_.count); }
  i64 items() const { return items_.bytes.size; }
  i64 memories() const { return static_cast<i64>(problem_.memory_count); }
  i64 price(i64 q, i64 j) const { return items_.knapsack.price[q][j]; }
  bool may_be_in(i64 q, i64 j) const { return items_.knapsack.homes[q][j] != 0; }
  bool is_in(i64 q, i64 j) const { return home_[j] == q && items_.bytes[j] > 0; }

  void search() {
    choice::Reason reason;
    if (items_.is_refuted(reason)) {
      result_.status = arena_.has_failed ? MEMPLAN_OUT_OF_MEMORY : MEMPLAN_INFEASIBLE;
      result_.buffer = reason.buffer, result_.other = reason.other, result_.bound = reason.bytes;
      return;
    }
    result_.status = MEMPLAN_UNKNOWN;
    begin_stacks();
    if (stacks_) fill();
    if (stacks_ && count() >= kLeastOfHurry && !is_over()) hurry();
    if (arena_.has_failed) return;
    const choice::ChoiceItems &knapsack = items_.knapsack;
    const i64 cells = items() + knapsack.rows;
    const i64 rounds = std::clamp(kRoundsWork / std::max<i64>(1, cells), kLeastRounds, kMostRounds);
    choice::Multipliers multipliers{};
    for (const bool is_measured : {false, true}) {
      if (is_measured && (cells > kMostMeasured || items_.all > kLargest / kWhole)) break;
      const Rows<i64> measured = is_measured ? items_.limit : Rows<i64>{nullptr, 0, knapsack.rows};
      multipliers = ascend(measured, rounds);
      if (arena_.has_failed) return;
      raise(choice::rounded_up(choice::value_of(arena_, knapsack, multipliers, items_.limit), multipliers.scale));
      round_ = is_measured ? kSecondRound : kFirstRound;
      if (!is_measured) plan_quickly(multipliers);
      if (!is_measured && mean_alive() > kMostAlive) pack_near(multipliers);
      if (!is_measured && stacks_ && count() >= kLeastOfWindows && !is_over()) go_through(multipliers);
      // for few buffers, this is mostly sufficient and takes little memory
      if (!is_measured && count() < kLeastOfWindows) {
        round_ = kSmallRound;
        decompose(multipliers, kMostDoubts);
        if (is_over()) break;
        round_ = kFirstRound;
      }
      decompose(multipliers, kMostDoubts);
      if (is_over()) break;
      leave_room(multipliers);
      if (!has_plan()) decompose(multipliers, kMostWithout);
    }
    if (is_proved_ || (result_.cost >= 0 && result_.cost <= result_.cost_bound))
      result_.status = result_.cost < 0 ? MEMPLAN_INFEASIBLE : MEMPLAN_OPTIMAL;
    if (result_.status == MEMPLAN_OPTIMAL) result_.cost_bound = result_.cost;
  }

  choice::Multipliers ascend(const Rows<i64> &measured, i64 rounds) {
    choice::Ascent ascent(arena_, items_.knapsack, items_.limit, kAbsent, static_cast<double>(items_.dearest));
    return ascent.run(choice::measures_of(arena_, items_.knapsack, measured), rounds, stop_);
  }

  bool is_over() {
    const bool is_settled = result_.cost >= 0 && result_.cost <= std::max(enough_, result_.cost_bound);
    return is_proved_ || is_settled || arena_.has_failed || stop_() || (enough_ >= 0 && result_.cost_bound > enough_);
  }
  void raise(i64 bound) { result_.cost_bound = std::max(result_.cost_bound, bound); }

  choice::Cheapest cheapest(const choice::Multipliers &multipliers, const Rows<i64> &limit, bool with_doubts, i64 most,
                            const choice::Effort &effort) {
    while (true) {
      Arena inner(allocator_);
      const choice::NoGoods known = learnt_.list(inner, with_doubts);
      if (inner.has_failed) return arena_.has_failed = true, choice::Cheapest{};
      const choice::Cheapest made =
          choice::cheapest(inner, items_.knapsack, multipliers, limit, known, most, effort, home_, allocator_, stop_);
      arena_.has_failed = arena_.has_failed || inner.has_failed;
      if (!made.is_found || arena_.has_failed || stop_() || !refute_stacks()) return made;
    }
  }

  // Learn no-goods from the sets of a choice that fit in no stacking order; return false if there are none.
  bool refute_stacks() {
    if (!stacks_ || problem_.share_count > 0) return false;
    const i64 before = learnt_.size();
    for (i64 i = 0; i < count(); ++i) pool_[i] = home_[items_.knapsack.item[i]];
    stacks_->refute(pool_, end_, [this](i64 q, const i64 *members, i64 size, i64) {
      learnt_.add(q, items(), 0, true, [&](i64 j) {
        return std::any_of(members, members + size, [&](i64 i) { return items_.knapsack.item[i] == j; });
      });
      return true;
    });
    cuts_ += learnt_.size() - before;
    return learnt_.size() > before;
  }

  void begin_stacks() {
    if (!is_bare()) return;
    spaces_ = spaces_of(arena_), pool_ = arena_.array<i64>(count()), end_ = arena_.array<i64>(memories());
    stacks_.emplace(arena_, spaces_);
    if (arena_.has_failed) return stacks_.reset();
    for (i64 q = 0; q < memories(); ++q) end_[q] = problem_.memories[q].capacity;
  }

  bool has_work() const { return result_.nodes <= kMostWork * std::min(options_.work, kMost / kMostWork); }
  i64 most() const {
    const i64 most = result_.cost < 0 ? items_.dearest : result_.cost - 1;
    return enough_ >= 0 ? std::min(most, enough_) : most;
  }

  // Choose and pack in turn, until the least cost is reached and proved, or packing stays undecided.
  void decompose(const choice::Multipliers &multipliers, i64 most_doubts) {
    learnt_.drop_doubts();
    while (!is_over() && learnt_.size() - cuts_ < kMostNoGoods && has_work()) {
      choice::Cheapest made = cheapest(multipliers, items_.limit, false, most(), round_.effort);
      if (stop_() || arena_.has_failed) return;
      is_proved_ = made.bound > most();
      raise(std::min(made.bound, most() + 1));
      if (is_proved_) return;
      // Sets that may not fit are avoided for a plan, but a bound must not rely on them.
      if (learnt_.doubts() > 0) made = cheapest(multipliers, items_.limit, true, most(), round_.effort);
      if (!made.is_found || !pack() || learnt_.doubts() > most_doubts) return;
    }
  }

  // Make first plans by packing orders alone: all buffers in memories without a limit, whatever the remaining time is,
  // and then choices that leave less and less of the limited memories free.
  void plan_quickly(const choice::Multipliers &multipliers) {
    is_quick_ = true;
    if (put_without_limits()) pack();
    const Rows<i64> limit = arena_.rows<i64>(items_.limit.size, items_.limit.columns);
    for (const i64 room : kQuickRooms) {
      if (is_over()) break;
      leave_free(limit, room);
      if (!cheapest(multipliers, limit, false, most(), kQuickEffort).is_found || !pack()) break;
    }
    is_quick_ = false, first_cost_ = result_.cost;
  }

  // Return the mean number of buffers in a live set.
  double mean_alive() const {
    const choice::ChoiceItems &knapsack = items_.knapsack;
    double sum = 0;
    for (i64 m = 0; m < knapsack.start.size; ++m) sum += static_cast<double>(knapsack.end[m] - knapsack.start[m]);
    return sum / static_cast<double>(std::max<i64>(1, knapsack.rows));
  }

  // Pack choices near the one of each item's cheapest memory by the multipliers, which leave more and more room free.
  void pack_near(const choice::Multipliers &multipliers) {
    Arena arena(allocator_);
    const Rows<i64> prices = choice::prices_of(arena, items_.knapsack, multipliers);
    const Rows<i64> limit = arena.rows<i64>(items_.limit.size, items_.limit.columns);
    for (const i64 room : kNearRooms) {
      if (arena.has_failed || is_over()) return;
      leave_free(limit, room);
      home_.fill(kAbsent);
      for (i64 j = 0; j < items(); ++j)
        for (i64 q = 0; q < memories(); ++q)
          if (may_be_in(q, j) && (home_[j] == kAbsent || prices[q][j] < prices[home_[j]][j])) home_[j] = q;
      Arena inner(allocator_);
      const i64 before = result_.cost;
      const i64 tries = std::min(kTries, kTryWork / ((items() + limit.columns) * memories() + 1));
      if (!choice::Refit(inner, items_.knapsack, limit, home_).run(tries, [this] { return is_over(); })) continue;
      if (!pack() || result_.cost != before) return;
    }
  }

  // Return whether windows and stacks know all rules of the problem.
  bool is_bare() const {
    const auto is_other = [](const memplan_buffer &each) {
      if (each.size == 0) return true;
      if (each.pin == MEMPLAN_FREE) return false;
      return each.pin < each.lowest || (each.limit > 0 && each.pin > each.limit - each.size) ||
             (each.alignment > 1 && each.pin % each.alignment != 0);
    };
    const auto has_base = [](const memplan_memory &each) { return each.base != 0 || each.bank != 0; };
    return !problem_.only_pairs && problem_.join_count == 0 && problem_.bank_count == 0 &&
           std::none_of(problem_.buffers, problem_.buffers + problem_.count, is_other) &&
           std::none_of(problem_.memories, problem_.memories + problem_.memory_count, has_base);
  }

  // The tables of a choice that windows pack; afterwards, they hold the plan of the windows.
  struct Packing {
    Array<i64> goal, home, pool, offset, random;

    windows::WindowSearch run() const { return {goal, home, pool, offset, 0, {nullptr, 0}, random, {nullptr, 0}, {nullptr, 0}}; }
  };

  // Return the last choice, not yet packed. If the arena has failed, the result must not be read.
  Packing begin_packing(Arena &arena) const {
    const auto column = [&] { return arena.array<i64>(count()); };
    const Packing made{column(), column(), column(), column(), arena.array<i64>(1)};
    if (arena.has_failed) return made;
    made.random[0] = static_cast<i64>(options_.seed >> 2) | 1;
    for (i64 i = 0; i < count(); ++i) made.home[i] = home_[items_.knapsack.item[i]], made.goal[i] = spaces_.price[made.home[i]][i];
    return made;
  }

  // Make plans near choices that are chosen and packed quickly.
  void hurry() {
    const choice::Multipliers multipliers = ascend(Rows<i64>{nullptr, 0, items_.knapsack.rows}, kFirstRounds);
    const Rows<i64> limit = arena_.rows<i64>(items_.limit.size, items_.limit.columns);
    for (const i64 room : kFirstRooms) {
      if (arena_.has_failed || is_over()) return;
      leave_free(limit, room);
      if (!cheapest(multipliers, limit, false, most(), kFirstEffort).is_found) continue;
      Arena arena(allocator_);
      const Packing packing = begin_packing(arena);
      if (arena.has_failed) return;
      packing.pool.fill(kAbsent);
      const windows::WindowSearch run = packing.run();
      windows::Search search(allocator_, arena, spaces_, run, is_stopped_);
      if (arena.has_failed || search.has_too_many()) return;
      search.run();
      take_placed(packing.pool, packing.offset);
    }
  }

  // Bound the cost of all choices, and improve plans near a cheap choice by placing the buffers of some windows again.
  void go_through(const choice::Multipliers &multipliers) {
    if (!cheapest(multipliers, items_.limit, false, most(), kWindowEffort).is_found) return;
    Arena arena(allocator_);
    const choice::NoGoods known = learnt_.list(arena, false);
    if (arena.has_failed) return;
    const Packing packing = begin_packing(arena);
    if (arena.has_failed) return;
    packing.pool.fill(kAbsent);
    const windows::WindowSearch run = packing.run();
    windows::Search search(allocator_, arena, spaces_, run, is_stopped_);
    if (arena.has_failed || search.has_too_many()) return;
    const bool is_whole = search.run();
    take_placed(packing.pool, packing.offset);
    if (!is_over()) raise_bound(multipliers, known, kWidest[0]);
    for (i64 work = 0; is_whole && work < kWindowWork && !is_over(); work += kWindowSlice) {
      search.improve(search.work() + kWindowSlice * count());
      take_placed(packing.pool, packing.offset);
    }
    for (const i64 widest : {kWidest[1], kWidest[2]})
      if (!is_over()) raise_bound(multipliers, known, widest);
  }

  // Raise the bound on the cost by a relaxation of at most `widest` partial choices.
  void raise_bound(const choice::Multipliers &multipliers, const choice::NoGoods &known, i64 widest) {
    Arena arena(allocator_);
    raise(std::min(most() + 1, choice::least_cost(arena, items_.knapsack, multipliers, items_.limit, known, most(), widest, stop_).bound));
  }

  // Make the first plan, which needs no search: see windows::Search::fill.
  void fill() {
    Arena arena(allocator_);
    const Array<i64> none = arena.array<i64>(count()), pool = arena.array<i64>(count()), offset = arena.array<i64>(count());
    const Array<i64> random = arena.array<i64>(1);
    if (arena.has_failed) return;
    pool.fill(kAbsent);
    const windows::WindowSearch run{none, {nullptr, 0}, pool, offset, 0, {nullptr, 0}, random, {nullptr, 0}, {nullptr, 0}};
    windows::Search search(allocator_, arena, spaces_, run, is_stopped_, true);
    if (arena.has_failed || search.has_too_many()) return;
    search.fill();
    take_placed(pool, offset);
    first_cost_ = result_.cost;
  }

  // Keep the placement of windows if it is complete and cheaper than the plan; memories without a limit are packed now.
  void take_placed(const Array<i64> &pool, const Array<i64> &offset) {
    i64 cost = 0;
    for (i64 i = 0; i < count(); ++i) {
      if (pool[i] == kAbsent) return;
      cost += spaces_.price[pool[i]][i];
    }
    if (result_.cost >= 0 && cost >= result_.cost) return;
    for (i64 i = 0; i < count(); ++i) {
      home_[items_.knapsack.item[i]] = pool[i], offset_[i] = offset[i];
      tried_[i] = static_cast<std::size_t>(pool[i]);
    }
    is_quick_ = true;
    bool is_whole = true;
    for (i64 q = 0; q < memories(); ++q)
      if (!items_.is_limited(q)) is_whole = is_whole && pack_one(q) <= MEMPLAN_FEASIBLE;
    is_quick_ = false;
    if (is_whole) take();
  }

  // Return the problem in the form for windows, in bytes. If the arena has failed, the result must not be read.
  windows::Spaces spaces_of(Arena &arena) const {
    const choice::ChoiceItems &knapsack = items_.knapsack;
    const i64 n = count(), p = memories(), links = static_cast<i64>(problem_.pair_count);
    windows::Spaces made{};
    for (Rows<i64> *each : {&made.homes, &made.alignment, &made.lowest, &made.highest, &made.page, &made.page_shift}) *each = arena.rows<i64>(p, n);
    for (Array<i64> *each : {&made.size, &made.together, &made.distance}) *each = arena.array<i64>(n);
    made.price = knapsack.price, made.lifetime_buffer = items_.life_buffer;
    made.start = items_.start, made.end = items_.end;
    made.conflict_first = arena.array<i64>(n + 2), made.conflict = arena.array<i64>(2 * links);
    made.share_first = made.bank_first = arena.array<i64>(n + 1), made.share = made.bank_with = made.bank_price = arena.array<i64>(0);
    made.bank = made.bank_shift = arena.array<i64>(p);
    made.capacity = arena.array<i64>(p), made.reserved_first = arena.array<i64>(p + 1);
    std::size_t ranges = 0;
    for (i64 q = 0; q < p; ++q) ranges += problem_.memories[q].reserved_count;
    made.reserved = arena.rows<i64>(static_cast<i64>(ranges), 2);
    if (arena.has_failed) return made;
    for (i64 i = 0; i < n; ++i) {
      const memplan_buffer &buffer = problem_.buffers[i];
      const i64 step = std::max<i64>(1, buffer.alignment);
      made.size[i] = buffer.size, made.together[i] = i;
      for (i64 q = 0; q < p; ++q) {
        made.homes[q][i] = knapsack.homes[q][i], made.alignment[q][i] = step;
        made.page[q][i] = buffer.no_cross;
        made.lowest[q][i] = buffer.pin != MEMPLAN_FREE ? buffer.pin : (buffer.lowest + step - 1) / step * step;
        made.highest[q][i] = buffer.pin != MEMPLAN_FREE ? buffer.pin : buffer.limit > 0 ? buffer.limit - buffer.size : kFar;
      }
    }
    made.lead = made.together;
    for (i64 k = 0; k < links; ++k)
      for (const std::size_t i : {problem_.pairs[k].first, problem_.pairs[k].second}) ++made.conflict_first[static_cast<i64>(i) + 2];
    for (i64 k = 2; k < n + 2; ++k) made.conflict_first[k] += made.conflict_first[k - 1];
    for (i64 k = 0; k < links; ++k) {
      const i64 first = static_cast<i64>(problem_.pairs[k].first), second = static_cast<i64>(problem_.pairs[k].second);
      made.conflict[made.conflict_first[first + 1]++] = second, made.conflict[made.conflict_first[second + 1]++] = first;
    }
    for (i64 q = 0, row = 0; q < p; ++q) {
      const memplan_memory &memory = problem_.memories[q];
      made.capacity[q] = items_.is_limited(q) ? memory.capacity : kAbsent;
      for (std::size_t k = 0; k < memory.reserved_count; ++k, ++row)
        made.reserved[row][0] = memory.reserved[k].begin, made.reserved[row][1] = memory.reserved[k].end;
      made.reserved_first[q + 1] = row;
    }
    return made;
  }

  // Return whether a search, and not only packing in orders, has found the plan.
  bool has_plan() const { return result_.cost >= 0 && result_.cost != first_cost_; }

  // Choose for each item its cheapest memory without a limit; return false if an item may be in no such memory.
  bool put_without_limits() {
    for (i64 j = 0; j < items(); ++j) {
      home_[j] = kAbsent;
      for (i64 q = 0; q < memories(); ++q)
        if (!items_.is_limited(q) && may_be_in(q, j) && (home_[j] == kAbsent || price(q, j) < price(home_[j], j))) home_[j] = q;
      if (home_[j] == kAbsent) return false;
    }
    return true;
  }

  void leave_free(const Rows<i64> &limit, i64 room) {
    for (i64 q = 0; q < limit.size; ++q)
      for (i64 t = 0; t < limit.columns; ++t)
        limit[q][t] = items_.limit[q][t] - (items_.is_limited(q) ? items_.limit[q][t] * room / kWhole : 0);
  }

  // Look for plans of choices that leave a part of each limited memory free, as small a part as a plan needs.
  void leave_room(const choice::Multipliers &multipliers) {
    const Rows<i64> limit = arena_.rows<i64>(items_.limit.size, items_.limit.columns);
    i64 low = 0, high = kWhole + 1;
    learnt_.drop_doubts();
    while (high - low > std::max<i64>(1, low / kFine) && !is_over() && (!has_plan() || has_work())) {
      const i64 room = high > kWhole ? std::max<i64>(2, 2 * low) : (low + high) / 2, before = result_.cost;
      if (room > kWhole) return;
      leave_free(limit, room);
      const choice::Cheapest made = cheapest(multipliers, limit, false, most(), kFirstRound.effort);
      if (made.is_found) pack();
      // If no cheaper choice leaves this much free, none leaves more free, so search below.
      (!made.is_found || result_.cost != before ? high : low) = room;
    }
  }

  void put_where_cheapest(i64 j) {
    for (i64 q = memories() - 1; q >= 0; --q)
      if (may_be_in(q, j) && (!may_be_in(home_[j], j) || price(q, j) <= price(home_[j], j))) home_[j] = q;
  }

  void spread() {
    for (i64 i = 0; i < count(); ++i) tried_[i] = static_cast<std::size_t>(home_[items_.knapsack.item[i]]);
  }

  // Pack the choice, and keep the plan if it fits; return false if nothing new was learnt.
  bool pack() {
    for (i64 j = 0; j < items(); ++j)
      // an item without bytes is in no live set, so its memory is chosen here
      if (items_.bytes[j] == 0) put_where_cheapest(j);
    spread();
    for (i64 q = 0; q < memories(); ++q) {
      const i64 before = learnt_.find(q, items(), [&](i64 j) { return is_in(q, j); });
      if (before != kAbsent && learnt_.times(before) >= round_.times) return learnt_.doubt(before), true;
      const memplan_status status = pack_one(q);
      if (status <= MEMPLAN_FEASIBLE) continue;
      if (status == MEMPLAN_OUT_OF_MEMORY || stop_() || (is_quick_ && status != MEMPLAN_INFEASIBLE)) return false;
      const bool is_clash = clash_[0] != kAbsent;  // true if pins collide, whatever else is in the memory
      learnt_.add(q, items(), round_.times, status == MEMPLAN_INFEASIBLE, [&](i64 j) {
        return is_clash ? j == clash_[0] || j == clash_[1] : is_in(q, j);
      });
      return true;
    }
    return take();
  }

  // Plan one memory of the choice, and return the status.
  memplan_status pack_one(i64 q) {
    Arena inner(allocator_);
    memplan_problem whole = problem_;
    whole.memory_of = tried_.data, whole.places = nullptr, whole.place_count = 0;
    const Memories split(inner, whole);
    const Array<i64> offset = inner.array<i64>(count());
    if (inner.has_failed) return arena_.has_failed = true, MEMPLAN_OUT_OF_MEMORY;
    const memplan_problem own = split.problem(q);
    memplan_options options = options_;
    options.work = std::min(options.work, kMost / round_.times) * round_.times;
    if (is_quick_) options.work = 0;  // no search, only packing in orders
    if (is_quick_ && result_.cost < 0) options.seconds = 0;
    if (options.seconds > 0) options.seconds = std::max(1e-9, stop_.left());
    const memplan_result made = memplan_plan(&own, &options, offset.data);
    allocator_.most = std::max(allocator_.most, allocator_.taken + made.memory);
    result_.nodes += made.nodes, result_.orders += made.orders;
    if (made.status == MEMPLAN_OUT_OF_MEMORY) arena_.has_failed = true;
    const auto row_of = [&](std::size_t k) { return static_cast<i64>(split.rows()[split.first(q) + static_cast<i64>(k)]); };
    clash_[0] = kAbsent;
    if (made.status == MEMPLAN_INFEASIBLE && made.buffer != MEMPLAN_NONE && made.other != MEMPLAN_NONE)
      clash_[0] = items_.knapsack.item[row_of(made.buffer)], clash_[1] = items_.knapsack.item[row_of(made.other)];
    for (std::size_t k = 0; k < own.count && made.status <= MEMPLAN_FEASIBLE; ++k)
      offset_[row_of(k)] = offset[static_cast<i64>(k)];
    return made.status;
  }

  // Keep the plan if it costs less than the best one and passes the check; return whether it is kept.
  bool take() {
    i64 cost = 0;
    for (i64 j = 0; j < items(); ++j) cost += price(home_[j], j);
    if (result_.cost >= 0 && cost >= result_.cost) return false;
    for (i64 i = 0; i < count(); ++i)
      if (!may_be_in(static_cast<i64>(tried_[i]), items_.knapsack.item[i])) return false;
    const memplan_result seen = check_plan(problem_, tried_.data, offset_.data, allocator_);
    if (seen.status != MEMPLAN_FEASIBLE) return false;
    std::copy(tried_.begin(), tried_.end(), memory_of_);
    std::copy(offset_.begin(), offset_.end(), offsets_);
    result_.cost = cost, result_.peak = seen.peak, result_.status = MEMPLAN_FEASIBLE;
    return true;
  }

};

// Finds plans with pins: other buffers stay in their known memories or, when looking far, may be in any memory.
class PinnedChoice {
 public:
  PinnedChoice(Allocator &allocator, Stop &stop, const memplan_problem &problem, const memplan_home *homes, std::size_t home_count,
               const memplan_options &options, const std::size_t *memory_of, i64 most)
      : allocator_(allocator),
        stop_(stop),
        problem_(problem),
        homes_(homes),
        home_count_(home_count),
        options_(options),
        memory_of_(memory_of),
        most_(std::min(most, kMost - 1)) {}  // kMost is the cost of what breaks a rule

  bool may_be_in(std::size_t buffer, std::size_t memory) const { return cost_of(buffer, memory) != kAbsent; }

  i64 cost_of(std::size_t buffer, std::size_t memory) const {
    if (home_count_ == 0) return 0;
    const auto is_below = [](const memplan_home &home, const memplan_home &other) {
      return home.buffer != other.buffer ? home.buffer < other.buffer : home.memory < other.memory;
    };
    const memplan_home *end = homes_ + home_count_, wanted{buffer, memory, 0};
    const memplan_home *at = std::lower_bound(homes_, end, wanted, is_below);
    return at != end && at->buffer == buffer && at->memory == memory ? at->cost : kAbsent;
  }

  Fits operator()(const Pins &pins, bool is_far, const Array<std::size_t> &memory, const Array<i64> &offset) {
    for (i64 i = 0; i < memory.size; ++i) memory[i] = pins[i] != nullptr ? pins[i]->memory : memory_of_[i];
    for (std::size_t row = 0; row < problem_.join_count; ++row) follow(pins, problem_.joins[row], memory);
    i64 cost = 0;
    for (i64 i = 0; i < memory.size && cost <= most_; ++i) {
      const i64 more = cost_of(static_cast<std::size_t>(i), memory[i]);
      cost = more == kAbsent ? kMost : cost + more;
    }
    for (std::size_t row = 0; row < problem_.join_count; ++row)
      if (memory[static_cast<i64>(problem_.joins[row].upper)] != memory[static_cast<i64>(problem_.joins[row].lower)]) cost = kMost;
    if (cost <= most_ && fit_memories(allocator_, stop_, problem_, options_, pins, memory, offset) == Fits::kYes) return Fits::kYes;
    if (memory.size >= kLeastOfWindows && (!is_far || ++far_ > kMostFar)) return Fits::kUnknown;
    return choose(pins, memory, offset);
  }

 private:
  static constexpr i64 kMostFar = 2;  // the most choices for many buffers
  Allocator &allocator_;
  Stop &stop_;
  const memplan_problem &problem_;
  const memplan_home *homes_;
  const std::size_t home_count_;
  const memplan_options &options_;
  const std::size_t *memory_of_;
  const i64 most_;
  i64 far_ = 0;

  static void follow(const Pins &pins, const memplan_join &join, const Array<std::size_t> &memory) {
    const i64 upper = static_cast<i64>(join.upper), lower = static_cast<i64>(join.lower);
    if (pins[lower] != nullptr || pins[upper] == nullptr)
      memory[upper] = memory[lower];
    else
      memory[lower] = memory[upper];
  }

  Fits choose(const Pins &pins, const Array<std::size_t> &memory, const Array<i64> &offset) {
    Arena arena(allocator_);
    const i64 p = static_cast<i64>(problem_.memory_count);
    const Array<memplan_buffer> buffers = arena.uncleared<memplan_buffer>(pins.size);
    const Array<memplan_home> homes = arena.uncleared<memplan_home>(home_count_ > 0 ? static_cast<i64>(home_count_) : pins.size * p);
    if (arena.has_failed) return Fits::kUnknown;
    i64 rows = 0;
    const auto add = [&](std::size_t i, std::size_t q, i64 cost) {
      const memplan_place *pin = pins[static_cast<i64>(i)];
      if (pin == nullptr || pin->memory == q || problem_.buffers[i].size == 0) homes[rows++] = {i, q, cost};
    };
    for (std::size_t row = 0; row < home_count_; ++row) add(homes_[row].buffer, homes_[row].memory, homes_[row].cost);
    for (i64 i = 0; i < pins.size; ++i) {
      for (i64 q = 0; q < p && home_count_ == 0; ++q) add(static_cast<std::size_t>(i), static_cast<std::size_t>(q), 0);
      buffers[i] = problem_.buffers[i];
      if (pins[i] != nullptr && buffers[i].size > 0) buffers[i].pin = pins[i]->offset;
    }
    memplan_problem pinned = problem_;
    pinned.buffers = buffers.data, pinned.places = nullptr, pinned.place_count = 0;
    memplan_result made{};
    made.status = MEMPLAN_OUT_OF_MEMORY, made.cost = -1;
    Choosing(pinned, homes.data, static_cast<std::size_t>(rows), options_, made, allocator_, stop_, memory.data, offset.data, most_).run();
    if (made.cost >= 0 && made.cost <= most_) return Fits::kYes;
    return made.status == MEMPLAN_INFEASIBLE || made.cost_bound > most_ ? Fits::kNo : Fits::kUnknown;
  }
};

// Choose without old places first, and then keep as many old places as fit at a cost near that of the first plan.
void choose_and_keep(const memplan_problem &problem, const memplan_home *homes, std::size_t home_count, Asked &asked,
                     std::size_t *memory_of, i64 *offsets) {
  Stop stop(asked.options);
  memplan_problem bare = problem;
  bare.places = nullptr, bare.place_count = 0;
  memplan_options half = asked.options;
  half.seconds /= 2;
  memplan_result &result = asked.result = memplan_choose(&bare, homes, home_count, &half, memory_of, offsets);
  if (result.status > MEMPLAN_FEASIBLE) return;
  Allocator allocator = asked.allocator();
  count_moves(problem, memory_of, offsets, allocator, result);
  {
    Arena arena(allocator);
    PinnedChoice fit(allocator, stop, problem, homes, home_count, asked.options, memory_of, raised_by(result.cost, asked.options.accept));
    Keeping(arena, problem, memory_of, offsets, fit, stop, result).run();
    result.cost = 0;
    for (i64 i = 0; i < static_cast<i64>(problem.count); ++i) result.cost += fit.cost_of(static_cast<std::size_t>(i), memory_of[i]);
    if (result.cost > result.cost_bound) result.status = MEMPLAN_FEASIBLE;
  }
  result.memory = std::max(result.memory, allocator.most), result.ran_out |= allocator.has_refused;
}

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
  if (problem->place_count > 0)
    return memplan::choose_and_keep(*problem, homes, home_count, asked, memory_of, offsets), asked.result;
  memplan::Allocator allocator = asked.allocator();
  memplan::Stop stop(asked.options);
  memplan::Choosing(*problem, homes, home_count, asked.options, asked.result, allocator, stop, memory_of, offsets).run();
  asked.result.memory = allocator.most, asked.result.ran_out = allocator.has_refused;
  if (asked.result.status <= MEMPLAN_FEASIBLE) asked.result.moved = 0, asked.result.least = asked.result.cost;
  return asked.result;
}
