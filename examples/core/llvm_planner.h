// The planner that mlir's static memory planner calls: an arena's alignment and the allocations, to their offsets.
//
// The types below have the shape of LLVM's, so that this compiles by itself; in LLVM include its own instead
// (mlir/Dialect/Bufferization/Transforms/StaticMemoryPlanning.h) with MEMPLAN_IN_LLVM defined.
#pragma once
#ifndef MEMPLAN_IN_LLVM
#include <cstdint>
#include <vector>

namespace llvm {
template <class T>
using SmallVector = std::vector<T>;
template <class T>
class ArrayRef {
 public:
  ArrayRef(const std::vector<T> &rows) : data_(rows.data()), size_(rows.size()) {}
  const T *begin() const { return data_; }
  const T *end() const { return data_ + size_; }
  std::size_t size() const { return size_; }

 private:
  const T *data_;
  std::size_t size_;
};
}  // namespace llvm

namespace mlir::bufferization {
struct MemoryPlannerAlloc {
  int64_t sizeInBytes;
  int64_t alignment;
  int64_t timeStart;
  int64_t timeEnd;
};
}  // namespace mlir::bufferization
#endif

namespace mlir::bufferization {
// Return an offset for each allocation, in their order; the arena begins at a multiple of its alignment. The same
// allocations have the same offsets wherever the compiler runs.
llvm::SmallVector<int64_t> memplanMemoryPlanner(int64_t arenaAlignment, llvm::ArrayRef<MemoryPlannerAlloc> allocs);
}  // namespace mlir::bufferization
