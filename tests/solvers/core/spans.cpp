// memplan.hpp: ends with 1 where a plan, a check or a refusal is not what it must be.
#include "memplan.hpp"

int main() {
  const memplan_buffer rows[] = {memplan::buffer(8, 0, 10), memplan::buffer(8, 5, 15, 4), memplan::buffer(8, 12, 20)};
  const memplan::Problem problem{.buffers = rows};
  const memplan::Plan plan = memplan::plan(problem);
  if (!plan.is_optimal() || plan.result.peak != 16 || plan.offsets.size() != 3 || plan.status() != "optimal") return 1;
  if (memplan::check(problem, plan.offsets).status != MEMPLAN_FEASIBLE) return 1;
  if (memplan::check(problem, {}).status != MEMPLAN_INVALID) return 1;
  const memplan::Plan none = memplan::plan({.buffers = rows, .capacity = 15});
  if (none.has_offsets() || !none.offsets.empty() || none.result.status != MEMPLAN_INFEASIBLE) return 1;
  const memplan::Fullest full = memplan::fullest(problem);
  if (full.moment.bytes != 16 || full.moment.time != 5 || full.buffers != std::vector<std::size_t>{0, 1}) return 1;
  const memplan_memory memories[] = {{MEMPLAN_UNLIMITED, 0, nullptr, 0, 0}, {8, 0, nullptr, 0, 0}};
  const std::size_t memory_of[] = {0, 1, 0};
  const memplan::Problem two{.buffers = rows, .memories = memories, .memory_of = memory_of};
  const memplan::Plan both = memplan::plan(two);
  if (!both.is_optimal() || both.result.peak != 16 || both.offsets[0] + both.offsets[1] + both.offsets[2] != 0) return 1;
  const memplan_home homes[] = {{0, 0, 3}, {0, 1, 0}, {1, 0, 3}, {1, 1, 0}, {2, 0, 3}, {2, 1, 1}};
  const memplan::Choice choice = memplan::choose({.buffers = rows, .memories = memories}, homes);
  if (!choice.is_optimal() || choice.result.cost != 4 || choice.memory_of != std::vector<std::size_t>{1, 0, 1}) return 1;
  memplan_buffer low = memplan::buffer(8, 0, 20);
  low.limit = 8;  // in the first 8 bytes, so the others lie above it
  const memplan_buffer limited[] = {rows[0], low, rows[2]};
  const memplan::Plan above = memplan::plan({.buffers = limited});
  if (!above.is_optimal() || above.offsets != std::vector<std::int64_t>{8, 0, 8}) return 1;
  if (memplan::check({.buffers = limited}, std::vector<std::int64_t>{0, 8, 0}).rule != MEMPLAN_OUT_OF_RANGE) return 1;
  low.limit = 7;
  const memplan_buffer narrow[] = {low};
  if (memplan::choose({.buffers = narrow, .memories = memories}, {}).result.status != MEMPLAN_INFEASIBLE) return 1;
  const memplan_pair pairs[] = {{0, 1}, {1, 2}};
  if (memplan::plan({.buffers = rows, .shares = pairs}).result.peak != 8) return 1;
  const memplan_place places[] = {{0, 0, 8, 1}, {1, 0, 0, 1}};
  const memplan::Plan kept = memplan::plan({.buffers = rows, .places = places});
  if (kept.result.moved != 0 || kept.offsets[0] != 8 || memplan::check({.buffers = rows, .places = places}, kept.offsets).moved != 0) return 1;
  if (memplan::crowded({.buffers = rows, .memories = memories}, {}, 0).moment.bytes != 16) return 1;
  const auto null = memplan::plan({.buffers = rows, .memories = memories});
  if (null.rule() != "problem, offsets, and each pointer whose count is not 0 must not be NULL") return 1;
  return memplan::plan({.buffers = rows, .capacity = -1}).rule() != "the capacity must not be negative";
}
