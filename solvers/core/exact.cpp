// The exact search as Python calls it: components that threads share, and a search for each thread.
#include "handles.hpp"
#include "search.hpp"

using namespace memplan;

namespace {

// See `Opening` and `Turn` in exact.py.
struct Opening {
  i64 parts;
  i64 seed;
  i64 is_first;
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
  explicit SharedParts(const OnePool &given) : instance(given), parts(allocator, instance) {}
  Allocator allocator;
  OnePool instance;
  Parts parts;
};
struct ThreadSearch {
  explicit ThreadSearch(const Opening &opening)
      : search(allocator, reinterpret_cast<SharedParts *>(opening.parts)->parts, static_cast<u64>(opening.seed),
               opening.is_first != 0) {}
  Allocator allocator;
  ExactSearch search;
};

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
