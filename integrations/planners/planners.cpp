// planners NAME < inputs: the offsets that another system's planner gives to each line `size start end size start end ...`.
// Compiled with the original files; where these need headers of their system, `stubs.hpp` says the few things they use.
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

struct Row {
  int64_t size, start, end;
};

static std::vector<int64_t> plan([[maybe_unused]] const std::string &name, const std::vector<Row> &rows) {
  const size_t n = rows.size();
  std::vector<int64_t> offsets(n);
#ifdef OPENVINO
  std::vector<ov::MemorySolver::Box> boxes;
  for (size_t k = 0; k < n; ++k) boxes.push_back({int(rows[k].start), int(rows[k].end - 1), rows[k].size, int64_t(k)});
  ov::MemorySolver solver(boxes);
  solver.solve();
  for (size_t k = 0; k < n; ++k) offsets[k] = solver.get_offset(int(k));
#endif
#ifdef XNNPACK
  std::vector<xnn_usage_record> usage(n);
  for (size_t k = 0; k < n; ++k) {
    usage[k].first_node = uint32_t(rows[k].start), usage[k].last_node = uint32_t(rows[k].end - 1);
    usage[k].tensor_size = size_t(rows[k].size), usage[k].reuse_value_id = XNN_INVALID_VALUE_ID;
  }
  xnn_value_allocation_tracker tracker = {};
  tracker.usage = usage.data(), tracker.max_value_id = uint32_t(n - 1);
  xnn_plan_value_allocation_tracker(&tracker);
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
  const auto solution = mlir::tt::ttl::detail::createMultiOrderDecreasingSRAMAllocator()->allocateImpl(problem, reason);
  offsets.assign(solution->offsets.begin(), solution->offsets.end());
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
