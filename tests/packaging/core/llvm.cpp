// The allocations of a line each, `size alignment start end`, after the alignment of the arena; writes their offsets.
#include <iostream>

#include "llvm_planner.h"

int main() {
  int64_t alignment;
  std::cin >> alignment;
  std::vector<mlir::bufferization::MemoryPlannerAlloc> allocs;
  for (mlir::bufferization::MemoryPlannerAlloc row; std::cin >> row.sizeInBytes >> row.alignment >> row.timeStart >> row.timeEnd;)
    allocs.push_back(row);
  for (const int64_t offset : mlir::bufferization::memplanMemoryPlanner(alignment, allocs)) std::cout << offset << '\n';
}
