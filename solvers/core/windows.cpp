#include "stack.hpp"
#include "stacks.hpp"

using namespace memplan;

namespace {

// See the table of the same name in windows.py.
struct StackCuts {
  Array<i64> pool;
  Array<i64> end;
  Array<i64> cut_pool;
  Array<i64> need;
  Array<i64> first;
  Array<i64> buffer;
  Array<i64> answer;
};

}  // namespace

MEMPLAN_KERNEL memplan_search_windows(const windows::Spaces *spaces, const windows::WindowSearch *run) {
  Allocator allocator;
  Arena arena(allocator);
  Array<i64> flag = run->flag;
  windows::Search search(allocator, arena, *spaces, *run, {[](void *each) { return static_cast<int>(is_set(*static_cast<Array<i64> *>(each))); }, &flag});
  if (arena.has_failed) return kNoMemory;
  const bool is_done = !search.has_too_many() && search.run();
  run->answer[0] = is_done, run->answer[1] = search.work();
  return 0;
}

MEMPLAN_KERNEL memplan_refute_stacks(const windows::Spaces *spaces, const StackCuts *task) {
  Allocator allocator;
  Arena arena(allocator);
  windows::Stacks stacks(arena, *spaces);
  if (arena.has_failed) return kNoMemory;
  i64 cuts = 0, buffers = 0;
  stacks.refute(task->pool, task->end, [&](i64 q, const i64 *members, i64 count, i64 need) {
    if (cuts == task->cut_pool.size || buffers + count > task->buffer.size) return false;
    task->cut_pool[cuts] = q, task->need[cuts] = need;
    std::copy(members, members + count, task->buffer.data + buffers);
    task->first[++cuts] = buffers += count;
    return true;
  });
  task->answer[0] = cuts;
  return 0;
}
