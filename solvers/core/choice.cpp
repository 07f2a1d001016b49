// The choice of memories, as Python calls it.
#include "asked.hpp"
#include "cheapest.hpp"
#include "refit.hpp"

using namespace memplan;
using namespace memplan::choice;

namespace {

// See the tables of the same names in choice.py.
struct MultiplierTable {
  Array<i64> pool;
  Rows<i64> size;
  Array<i64> until;
  Array<i64> capacity;
  Rows<i64> worth;
  i64 scale;

  Multipliers multipliers() const { return {{pool, size, until, capacity}, worth, scale}; }
};
struct Bounding {
  Rows<i64> limit;
  Rows<i64> measured;
  i64 goal;
  double guess;
  i64 rounds;
  Array<i64> flag;
  Array<i64> pool;
  Rows<i64> size;
  Array<i64> until;
  Array<i64> capacity;
  Rows<i64> worth;
  Array<i64> answer;
};
struct ChoiceTask {
  Rows<i64> limit;
  Array<i64> nogood_pool;
  Array<i64> nogood_first;
  Array<i64> nogood_item;
  i64 at_most;
  i64 partials;
  i64 kept;
  Array<i64> flag;
  Array<i64> home;
  Array<i64> answer;
};
struct RefitTask {
  Rows<i64> limit;
  i64 tries;
  Array<i64> flag;
  Array<i64> home;
};
struct Amounts {
  Rows<i64> amounts;
};

template <class T>
void copy_rows(const Rows<T> &from, const Rows<T> &to) {
  std::copy(from.data, from.data + from.size * from.columns, to.data);
}

// Return options that end a search once a flag is set; with memplan_choose's way to stop, the search is compiled once.
memplan_options until_set(const Array<i64> &flag) {
  memplan_options options{};
  options.cancel = [](void *context) { return static_cast<int>(is_set(*static_cast<const Array<i64> *>(context))); };
  options.context = const_cast<Array<i64> *>(&flag);
  return options;
}

}  // namespace

MEMPLAN_KERNEL memplan_find_multipliers(const ChoiceItems *knapsack, const Bounding *task) {
  Allocator allocator;
  Arena arena(allocator);
  const Measures measures = measures_of(arena, *knapsack, task->measured);
  if (arena.has_failed) return kNoMemory;
  Ascent ascent(arena, *knapsack, task->limit, task->goal, task->guess);
  const memplan_options options = until_set(task->flag);
  Stop stop(options);
  const Multipliers made = ascent.run(measures, task->rounds, stop);
  if (arena.has_failed) return kNoMemory;
  std::copy(made.measures.pool.begin(), made.measures.pool.end(), task->pool.data);
  std::copy(made.measures.until.begin(), made.measures.until.end(), task->until.data);
  std::copy(made.measures.capacity.begin(), made.measures.capacity.end(), task->capacity.data);
  copy_rows(made.measures.size, task->size);
  copy_rows(made.worth, task->worth);
  task->answer[0] = made.measures.pool.size, task->answer[1] = made.scale;
  return 0;
}

MEMPLAN_KERNEL memplan_choice_value(const ChoiceItems *knapsack, const MultiplierTable *table, const Amounts *limit) {
  Allocator allocator;
  Arena arena(allocator);
  const i64 value = value_of(arena, *knapsack, table->multipliers(), limit->amounts);
  return arena.has_failed ? kNoMemory : value;
}

MEMPLAN_KERNEL memplan_choice_prices(const ChoiceItems *knapsack, const MultiplierTable *table, const Amounts *prices) {
  Allocator allocator;
  Arena arena(allocator);
  const Rows<i64> made = prices_of(arena, *knapsack, table->multipliers());
  if (!arena.has_failed) copy_rows(made, prices->amounts);
  return arena.has_failed ? kNoMemory : 0;
}

MEMPLAN_KERNEL memplan_cheapest_choice(const ChoiceItems *knapsack, const MultiplierTable *table, const ChoiceTask *task) {
  Allocator allocator;
  Arena arena(allocator);
  const memplan_options options = until_set(task->flag);
  Stop stop(options);
  const NoGoods nogoods{task->nogood_pool, task->nogood_first, task->nogood_item};
  const Cheapest made = cheapest(arena, *knapsack, table->multipliers(), task->limit, nogoods, task->at_most,
                                 {task->partials, task->kept}, task->home, allocator, stop);
  const i64 answer[] = {made.is_found, made.cost, made.bound, made.work};
  std::copy(answer, answer + 4, task->answer.data);
  return arena.has_failed ? kNoMemory : 0;
}

MEMPLAN_KERNEL memplan_least_choice(const ChoiceItems *knapsack, const MultiplierTable *table, const ChoiceTask *task) {
  Allocator allocator;
  Arena arena(allocator);
  const memplan_options options = until_set(task->flag);
  Stop stop(options);
  const NoGoods nogoods{task->nogood_pool, task->nogood_first, task->nogood_item};
  const Cheapest made = least_cost(arena, *knapsack, table->multipliers(), task->limit, nogoods, task->at_most, task->partials, stop);
  task->answer[2] = made.bound, task->answer[3] = made.work;
  return arena.has_failed ? kNoMemory : 0;
}

MEMPLAN_KERNEL memplan_refit_choice(const ChoiceItems *knapsack, const RefitTask *task) {
  Allocator allocator;
  Arena arena(allocator);
  const bool fits = Refit(arena, *knapsack, task->limit, task->home).run(task->tries, [&] { return is_set(task->flag); });
  return arena.has_failed ? kNoMemory : fits;
}
