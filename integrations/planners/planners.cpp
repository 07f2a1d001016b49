// planners NAME < inputs: the offsets that another system's planner gives to each line `size start end size start end ...`;
// with NAME memplan, those that memplan fills into that system's interface. Compiled with the original file, memplan.cpp,
// and where the file needs headers of its system, with the few things of these that it uses.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#ifdef OPENVINO
#include <openvino/runtime/memory_solver.hpp>
#endif
#ifdef XNNPACK
extern "C" {
#include "src/xnnpack/memory-planner.h"
}
#endif
#ifdef NNTRAINER
#include <basic_planner.h>
#include <optimized_v1_planner.h>
#include <optimized_v2_planner.h>
#include <optimized_v3_planner.h>

#include "../nntrainer/memplan_planner.h"
#endif
#ifdef TTLANG
#include "SRAMAllocator.h"
#include "SRAMAllocator_Internal.h"
#endif
#ifdef MEMPLAN_IN_LLVM
#include <mlir/Dialect/Bufferization/Transforms/StaticMemoryPlanning.h>

#include "../../examples/core/llvm_planner.h"
#endif
#include "memplan.h"

struct Row {
  int64_t size, start, end;
};

// Offsets of buffers that are alive at times, or where there are pairs, of which those conflict. Without a plan: none.
[[maybe_unused]] static std::vector<int64_t> planned(const std::vector<Row> &rows, const std::vector<memplan_pair> &pairs = {},
                                                     int64_t alignment = 1) {
  std::vector<memplan_buffer> buffers;
  for (const Row &row : rows) buffers.push_back({row.size, row.start, row.end, alignment, MEMPLAN_FREE, 0, 0, 0});
  memplan_problem problem = MEMPLAN_PROBLEM_INIT;
  problem.buffers = buffers.data(), problem.count = buffers.size();
  problem.pairs = pairs.data(), problem.pair_count = pairs.size(), problem.only_pairs = !pairs.empty();
  std::vector<int64_t> offsets(rows.size());
  const memplan_options options = {.work = pairs.empty() ? 100000 : 2000};
  if (memplan_plan(&problem, &options, offsets.data()).status > MEMPLAN_FEASIBLE) offsets.clear();
  return offsets;
}

#ifdef OPENVINO
class MemplanSolver { // as ov::MemorySolver: boxes, alive at their finish, too, and their offsets by id
 public:
  explicit MemplanSolver(const std::vector<ov::MemorySolver::Box> &boxes) : boxes_(boxes) {}
  int64_t solve() {
    std::vector<Row> rows;
    for (const auto &box : boxes_) rows.push_back({box.size, box.start, int64_t(box.finish) + 1});
    const std::vector<int64_t> offsets = planned(rows);
    int64_t peak = 0;
    for (size_t k = 0; k < offsets.size(); ++k)
      offsets_[boxes_[k].id] = offsets[k], peak = std::max(peak, offsets[k] + boxes_[k].size);
    return peak;
  }
  int64_t get_offset(int id) const { return offsets_.at(id); }

 private:
  std::vector<ov::MemorySolver::Box> boxes_;
  std::map<int64_t, int64_t> offsets_;
};

template <class Solver> static std::vector<int64_t> solved(const std::vector<ov::MemorySolver::Box> &boxes) {
  Solver solver(boxes);
  solver.solve();
  std::vector<int64_t> offsets;
  for (const auto &box : boxes) offsets.push_back(solver.get_offset(int(box.id)));
  return offsets;
}
#endif
#ifdef XNNPACK
static void memplan_value_allocation_tracker(xnn_value_allocation_tracker *tracker) {
  std::vector<Row> rows;
  std::vector<size_t> ids;
  for (size_t k = tracker->min_value_id; k <= tracker->max_value_id; ++k)
    if (const xnn_usage_record &use = tracker->usage[k]; use.tensor_size && use.reuse_value_id == XNN_INVALID_VALUE_ID)
      ids.push_back(k), rows.push_back({int64_t(use.tensor_size), use.first_node, int64_t(use.last_node) + 1});
  const std::vector<int64_t> offsets = planned(rows);
  for (size_t k = 0; k < offsets.size(); ++k) {
    tracker->usage[ids[k]].alloc_offset = size_t(offsets[k]);
    tracker->mem_arena_size = std::max(tracker->mem_arena_size, size_t(offsets[k] + rows[k].size));
  }
}
#endif
#ifdef TTLANG
struct MemplanAllocator final : mlir::tt::ttl::SRAMAllocator { // conflicts need be of no lifetimes: its own, or less
  llvm::StringRef getName() const override { return "memplan"; }
  mlir::FailureOr<mlir::tt::ttl::SRAMAllocationSolution> allocateImpl(const mlir::tt::ttl::SRAMAllocationProblem &problem,
                                                                      std::string &reason) const override {
    std::vector<Row> rows;
    std::vector<memplan_pair> pairs;
    for (size_t a = 0; a < problem.regionBytes.size(); ++a) {
      rows.push_back({int64_t(problem.regionBytes[a]), int64_t(a), int64_t(a) + 1});
      for (size_t b = 0; b < a; ++b)
        if (problem.conflicts.interferes(unsigned(a), unsigned(b))) pairs.push_back({b, a});
    }
    const std::vector<int64_t> places = planned(rows, pairs, int64_t(problem.alignmentBytes));
    mlir::tt::ttl::SRAMAllocationSolution solution = {};
    for (size_t k = 0; k < places.size(); ++k) {
      solution.offsets.push_back(problem.payloadBaseOffset + uint64_t(places[k]));
      solution.arenaBytes = std::max(solution.arenaBytes, solution.offsets[k] + problem.regionBytes[k]);
    }
    const auto own = mlir::tt::ttl::detail::createMultiOrderDecreasingSRAMAllocator()->allocateImpl(problem, reason);
    const bool is_less = !places.empty() && (!mlir::succeeded(own) || solution.arenaBytes < own->arenaBytes);
    return is_less && solution.arenaBytes <= problem.budgetBytes ? solution : own;
  }
};
#endif

static std::vector<int64_t> plan([[maybe_unused]] const std::string &name, const std::vector<Row> &rows) {
  const size_t n = rows.size();
  std::vector<int64_t> offsets(n);
#ifdef OPENVINO
  std::vector<ov::MemorySolver::Box> boxes;
  for (size_t k = 0; k < n; ++k) boxes.push_back({int(rows[k].start), int(rows[k].end - 1), rows[k].size, int64_t(k)});
  offsets = name == "memplan" ? solved<MemplanSolver>(boxes) : solved<ov::MemorySolver>(boxes);
#endif
#ifdef XNNPACK
  std::vector<xnn_usage_record> usage(n);
  for (size_t k = 0; k < n; ++k) {
    usage[k].first_node = uint32_t(rows[k].start), usage[k].last_node = uint32_t(rows[k].end - 1);
    usage[k].tensor_size = size_t(rows[k].size), usage[k].reuse_value_id = XNN_INVALID_VALUE_ID;
  }
  xnn_value_allocation_tracker tracker = {};
  tracker.usage = usage.data(), tracker.max_value_id = uint32_t(n - 1);
  if (name == "memplan") memplan_value_allocation_tracker(&tracker);
  else xnn_plan_value_allocation_tracker(&tracker);
  for (size_t k = 0; k < n; ++k) offsets[k] = int64_t(usage[k].alloc_offset);
#endif
#ifdef NNTRAINER
  std::vector<size_t> sizes, places;
  std::vector<std::pair<unsigned, unsigned>> valid;
  std::vector<bool> gradient;
  size_t gradients = 0;
  for (size_t k = 0; k < n; ++k) {
    sizes.push_back(size_t(rows[k].size)), valid.push_back({unsigned(rows[k].start), unsigned(rows[k].end)});
    gradient.push_back(name == "v2" && k % 3 == 0), gradients += gradient.back();
  }
  if (name == "basic") nntrainer::BasicPlanner().planLayout(sizes, valid, places, gradient, 0);
  if (name == "v1") nntrainer::OptimizedV1Planner().planLayout(sizes, valid, places, gradient, 0);
  if (name == "v2") nntrainer::OptimizedV2Planner().planLayout(sizes, valid, places, gradient, gradients);
  if (name == "v3") nntrainer::OptimizedV3Planner().planLayout(sizes, valid, places, gradient, 0);
  if (name == "memplan") nntrainer::MemplanPlanner().planLayout(sizes, valid, places, gradient, 0);
  offsets.assign(places.begin(), places.end());
#endif
#ifdef TTLANG
  mlir::tt::ttl::SRAMAllocationProblem problem;
  problem.alignmentBytes = 1, problem.payloadBaseOffset = 0, problem.budgetBytes = uint64_t(1) << 40;
  problem.conflicts = mlir::tt::ttl::InterferenceGraph(unsigned(n));
  for (const Row &row : rows) problem.regionBytes.push_back(uint64_t(row.size));
  for (size_t a = 0; a < n; ++a)
    for (size_t b = 0; b < a; ++b)
      if (rows[a].start < rows[b].end && rows[b].start < rows[a].end) problem.conflicts.addInterference(a, b);
  std::string reason;
  const auto theirs = mlir::tt::ttl::detail::createMultiOrderDecreasingSRAMAllocator();
  const auto solution = name == "memplan" ? MemplanAllocator().allocateImpl(problem, reason) : theirs->allocateImpl(problem, reason);
  offsets.assign(solution->offsets.begin(), solution->offsets.end());
#endif
#ifdef MEMPLAN_IN_LLVM
  std::vector<mlir::bufferization::MemoryPlannerAlloc> allocs;
  for (const Row &row : rows) allocs.push_back({row.size, 1, row.start, row.end});
  const auto places = name == "memplan" ? mlir::bufferization::memplanMemoryPlanner(1, allocs)
                                        : mlir::bufferization::bestFitMemoryPlanner(1, allocs);
  offsets.assign(places.begin(), places.end());
#endif
  return offsets;
}

int main(int count, char **arguments) {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream fields(line);
    std::vector<Row> rows;
    for (Row row; fields >> row.size >> row.start >> row.end;) rows.push_back(row);
    const std::vector<int64_t> offsets = plan(count > 1 ? arguments[1] : "", rows);
    for (size_t k = 0; k < offsets.size(); ++k) printf("%s%lld", k ? " " : "", (long long)offsets[k]);
    puts("");
  }
  return 0;
}
