#include "llvm_planner.h"

#include <algorithm>
#include <vector>

#include "memplan.h"

namespace mlir::bufferization {

llvm::SmallVector<int64_t> memplanMemoryPlanner(int64_t arenaAlignment, llvm::ArrayRef<MemoryPlannerAlloc> allocs) {
  std::vector<memplan_buffer> buffers;
  for (const MemoryPlannerAlloc &alloc : allocs) {
    memplan_buffer buffer = {};
    buffer.size = alloc.sizeInBytes;
    buffer.begin = alloc.timeStart;
    // What is freed where it is allocated still lies somewhere meanwhile.
    buffer.end = std::max(alloc.timeEnd, alloc.timeStart + 1);
    buffer.alignment = alloc.alignment;
    buffer.pin = MEMPLAN_FREE;
    buffers.push_back(buffer);
  }
  memplan_problem problem = {};
  problem.buffers = buffers.data(), problem.count = buffers.size();
  problem.capacity = MEMPLAN_UNLIMITED;
  problem.base = arenaAlignment;

  llvm::SmallVector<int64_t> offsets(allocs.size());
  // No clock, so that every build of a compiler makes the same code.
  const memplan_result result = memplan_plan(&problem, nullptr, offsets.data());
  if (result.status != MEMPLAN_OPTIMAL && result.status != MEMPLAN_FEASIBLE) offsets.clear();
  return offsets;
}

}  // namespace mlir::bufferization
