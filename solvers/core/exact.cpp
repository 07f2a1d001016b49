// The exact search, as Python calls it: components that all threads share, and one search per thread.
#include "asked.hpp"
#include "bounds.hpp"
#include "compile.hpp"
#include "handles.hpp"
#include "quick_orders.hpp"
#include "search.hpp"

using namespace memplan;

namespace {

// See `Opening` and `Turn` in exact.py.
struct Opening {
  i64 parts;
  i64 seed;
  i64 is_first;
  i64 inferences;
};
struct Turn {
  i64 end;
  i64 pause;
  i64 bound;
  i64 is_proving;
  i64 has_plan;
  Array<i64> offset;
  Array<i64> answer;
  Array<i64> flag;
};
enum Answer : i64 { kNodes, kBound, kPeak, kIsProving };

struct SharedParts {
  explicit SharedParts(const OnePool &given) : arena(allocator), instance(given), parts(allocator, instance) {}
  Allocator allocator;
  Arena arena;  // the memory of the instance, if the core has made it
  OnePool instance;
  Parts parts;
};
struct ThreadSearch {
  explicit ThreadSearch(const Opening &opening)
      : search(allocator, reinterpret_cast<SharedParts *>(opening.parts)->parts, static_cast<u64>(opening.seed),
               opening.is_first != 0, opening.inferences) {}
  Allocator allocator;
  ExactSearch search;
};

// See `PlainTask` in plain.py.
struct PlainTask {
  Array<i64> size;
  Array<i64> begin;
  Array<i64> end;
  Array<i64> alignment;
  i64 capacity;
  i64 target;
  i64 first;
  double near;
  i64 nodes;
  i64 seed;
  i64 inferences;
  double seconds;
  Rows<i64> columns;
  Rows<i64> offset;
  Array<i64> answer;
  Array<i64> flag;
};
enum Column : i64 { kSize, kStep, kStart, kEnd, kTime, kColumns, kOrder = kColumns };
enum PlainAnswer : i64 {
  kUnit, kSets, kEndBound, kLoad, kMissing, kWhy, kOverfull = kWhy + 3, kRule = kOverfull + 3, kTried, kOutcome, kSpent,
  kSearchBound, kSearchPeak, kIsProvingNow, kParts, kSearch
};

u64 stirred(u64 colour, i64 value) {
  u64 mixed = colour * 0x9e3779b97f4a7c15U + static_cast<u64>(value);
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 31);
}

// Write the canonical order of buffers, equal to `canonical_order` in canonical.py; return false if memory has run out.
bool put_in_order(Arena &arena, const OnePool &instance, i64 n, i64 *order) {
  Array<u64> colour = arena.array<u64>(n);
  if (arena.has_failed) return false;
  for (i64 i = 0; i < n; ++i) {
    const u64 own = stirred(stirred(stirred(stirred(0, instance.size[i]), kAbsent), instance.step[i]), 0);
    colour[i] = stirred(own, static_cast<i64>(stirred(stirred(0, instance.start[i]), instance.end[i])));
    order[i] = i;
  }
  std::sort(order, order + n,
            [&](i64 a, i64 b) { return colour[a] != colour[b] ? colour[a] < colour[b] : a < b; });
  return true;
}

}  // namespace

MEMPLAN_KERNEL memplan_open_parts(const OnePool *instance) {
  return opened<SharedParts>(*instance, [](SharedParts &made) { return made.parts.begin(); });
}

MEMPLAN_KERNEL memplan_open_search(const Opening *opening) {
  return opened<ThreadSearch>(*opening, [](ThreadSearch &made) { return made.search.begin(); });
}

MEMPLAN_KERNEL memplan_take_turn(ThreadSearch *opened, const Turn *table) {
  ExactSearch &search = opened->search;
  if (table->has_plan) search.look(table->offset.data);
  search.bound = std::max(search.bound, table->bound);
  search.is_proving = search.is_proving || table->is_proving;
  const TurnOutcome outcome = search.turn(table->end, table->pause, [table] { return is_set(table->flag); });
  if (outcome == TurnOutcome::kFailed) return kNoMemory;
  i64 *answer = table->answer.data;
  answer[kNodes] = search.nodes, answer[kBound] = search.bound, answer[kIsProving] = search.is_proving;
  answer[kPeak] = search.collect(table->offset.data);
  return static_cast<i64>(outcome);
}

MEMPLAN_KERNEL memplan_close_parts(SharedParts *parts) { return closed(parts); }

MEMPLAN_KERNEL memplan_close_search(ThreadSearch *search) { return closed(search); }

// Plan plain columns: live sets, bound, quick orders and, if a gap remains, an exact search that can be continued.
MEMPLAN_KERNEL memplan_plan_plain(const PlainTask *task) {
  const double end = task->seconds > 0 ? now() + task->seconds : 0;
  const auto is_over = [task, end] { return is_set(task->flag) || (end > 0 && now() >= end); };
  const i64 n = task->size.size;
  i64 *answer = task->answer.data;
  SharedParts *shared = nullptr;
  const i64 address = opened<SharedParts>(OnePool{}, [&](SharedParts &made) {
    shared = &made;
    Array<memplan_buffer> buffers = made.arena.array<memplan_buffer>(n);
    if (made.arena.has_failed) return false;
    for (i64 i = 0; i < n; ++i)
      buffers[i] = {task->size[i], task->begin[i], task->end[i], task->alignment[i], MEMPLAN_FREE, 0, 0, 0};
    memplan_problem problem{};
    problem.buffers = buffers.data, problem.count = static_cast<std::size_t>(n), problem.capacity = task->capacity;
    made.instance = Compiler(made.arena, problem).instance([] { return false; });
    return !made.arena.has_failed;
  });
  if (address == kNoMemory) return kNoMemory;
  const OnePool &instance = shared->instance;
  const Array<i64> columns[] = {instance.size, instance.step, instance.start, instance.end, instance.time};
  for (i64 k = 0; k < kColumns; ++k) std::copy(columns[k].begin(), columns[k].end(), task->columns[k]);
  Allocator allocator;
  Arena arena(allocator);
  if (!put_in_order(arena, instance, n, task->columns[kOrder])) return closed(shared), kNoMemory;
  const LiveBound bound = Bounds(arena, instance).bound();
  const i64 target = std::max(bound.end, task->target / instance.unit);
  const quick::OrderTask wanted{instance.size, instance.start, instance.end, instance.step, instance.n_sets,
                                instance.capacity, target, task->first, task->near, {task->offset[0], n},
                                {answer + kTried, 1}};
  quick::QuickOrders orders(arena, wanted);
  const i64 told[] = {instance.unit, instance.n_sets, bound.end, bound.load, bound.missing,
                      bound.why.ground, bound.why.at, bound.why.step,
                      bound.overfull.ground, bound.overfull.at, bound.overfull.step};
  std::copy(told, told + kRule, answer);
  answer[kRule] = arena.has_failed || !bound.fits() ? kAbsent : orders.pack(is_over);
  answer[kParts] = answer[kSearch] = 0;
  if (arena.has_failed) return closed(shared), kNoMemory;
  if (task->nodes == 0 || !bound.fits() || orders.peak() <= target || is_over()) return closed(shared);
  const Opening opening{address, task->seed, 1, task->inferences};
  answer[kParts] = address;
  if (!shared->parts.begin()) return closed(shared), kNoMemory;
  answer[kSearch] = memplan_open_search(&opening);
  if (answer[kSearch] == kNoMemory) return closed(shared), kNoMemory;
  ExactSearch &search = reinterpret_cast<ThreadSearch *>(answer[kSearch])->search;
  if (answer[kRule] != kAbsent) search.look(task->offset[0]);
  search.bound = target;
  TurnOutcome outcome = TurnOutcome::kSpent;
  do outcome = search.turn(task->nodes, task->nodes, is_over);
  while (outcome == TurnOutcome::kBetter || outcome == TurnOutcome::kRaised || outcome == TurnOutcome::kPaused);
  if (outcome == TurnOutcome::kFailed)
    return memplan_close_search(reinterpret_cast<ThreadSearch *>(answer[kSearch])), closed(shared), kNoMemory;
  answer[kOutcome] = static_cast<i64>(outcome), answer[kSpent] = search.nodes;
  answer[kSearchBound] = search.bound, answer[kIsProvingNow] = search.is_proving;
  answer[kSearchPeak] = search.collect(task->offset[1]);
  return 0;
}
