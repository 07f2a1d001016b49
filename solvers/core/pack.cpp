#include "pack.hpp"
#include "sweep.hpp"

using namespace memplan;

MEMPLAN_KERNEL memplan_pack(const packing::PackRules *rules, const packing::PackOrder *wanted) {
  Allocator allocator;
  Arena arena(allocator);
  packing::Packer packer(arena, *rules);
  if (!arena.has_failed) packer.begin(*wanted);
  for (i64 body = 0; body + 1 < wanted->body_first.size && !is_set(wanted->flag) && !arena.has_failed; ++body) packer.place(body);
  return arena.has_failed ? kNoMemory : 0;
}

MEMPLAN_KERNEL memplan_sweep(const packing::SweepTask *task) { return run_in_arena<packing::Sweep>(*task); }
