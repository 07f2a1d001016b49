// The problem that hw-native-sys/pypto#1980 asks a solver to take, and its answer, solved by memplan.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace dsa {

using BufferId = uint32_t;
using PoolId = uint32_t;

// Alive from `begin` up to, and without, `end`.
struct Interval {
  int64_t begin, end;
};

struct Buffer {
  BufferId id;
  std::vector<Interval> intervals;
  uint64_t size, align;
  PoolId pool;
};

struct PinnedBuffer {
  BufferId id;
  uint64_t offset;
};

struct ReusePenalty {
  BufferId a, b;
  uint64_t penalty;
};

struct BankGeometry {
  PoolId pool;
  uint64_t bank_size;
  uint32_t num_banks;
};

struct CostModel {
  std::vector<ReusePenalty> reuse_penalties;
  std::vector<BankGeometry> banks;
};

struct DsaProblem {
  std::vector<Buffer> buffers;
  std::vector<std::pair<BufferId, BufferId>> colocations;
  std::vector<std::pair<BufferId, BufferId>> separations;
  std::vector<PinnedBuffer> pinned;
  std::map<PoolId, uint64_t> reserved_base, pool_caps;
  std::optional<CostModel> cost_model;
};

enum class SolveStatus { kFeasible, kInfeasibleProven, kBestEffortNoFit, kTimeout, kUnsupported };

struct ObjectiveValue {
  uint64_t peak = 0;
  uint64_t sync = 0;  // the penalties of pairs that share bytes
  std::map<PoolId, uint64_t> peak_by_pool;
};

struct DsaSolution {
  SolveStatus status = SolveStatus::kFeasible;
  std::map<BufferId, uint64_t> offsets;
  ObjectiveValue value;
  bool is_optimal = true;  // no plan has a lower peak, in any pool
};

// Each pool by itself, by its peak; reuse penalties are counted, and paid where the capacity allows it. What colocations
// join in different pools, and banks, are not supported.
DsaSolution solve(const DsaProblem &problem, double timeout_s);

}  // namespace dsa
