#include "stack.hpp"
#include "windows.hpp"

using namespace memplan;

MEMPLAN_KERNEL memplan_search_windows(const windows::Spaces *spaces, const windows::WindowSearch *run) {
  Allocator allocator;
  Arena arena(allocator);
  const auto is_over = [run] { return is_set(run->flag); };
  windows::Search search(allocator, arena, *spaces, *run, is_over);
  if (arena.has_failed) return kNoMemory;
  const bool is_done = !search.has_too_many() && search.run();
  run->answer[0] = is_done, run->answer[1] = search.work();
  return 0;
}
