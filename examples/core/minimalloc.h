// MiniMalloc's types and its solver, as far as callers use them, on memplan: a drop-in for "minimalloc.h" and "solver.h".
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace minimalloc {

using BufferIdx = int64_t;
using Capacity = int64_t;
using Offset = int64_t;
using TimeValue = int64_t;

template <typename T>
struct Interval {
  T lower_ = 0;
  T upper_ = 0;
  T lower() const { return lower_; }
  T upper() const { return upper_; }
};
using Lifespan = Interval<TimeValue>;

struct Gap {
  Lifespan lifespan;
};

struct Buffer {
  std::string id;
  Lifespan lifespan;
  int64_t size = 0;
  int64_t alignment = 1;
  std::vector<Gap> gaps;
  std::optional<Offset> offset;
};

struct Problem {
  std::vector<Buffer> buffers;
  Capacity capacity = 0;
};

struct Solution {
  std::vector<Offset> offsets;
};

// What MiniMalloc has as absl::StatusOr<Solution>: why there is none says whether that is proved.
class SolutionOr {
 public:
  SolutionOr(Solution solution) : solution_(std::move(solution)) {}
  SolutionOr(std::string why) : why_(std::move(why)) {}
  bool ok() const { return why_.empty(); }
  const std::string &why() const { return why_; }
  const Solution &operator*() const { return solution_; }
  const Solution *operator->() const { return &solution_; }

 private:
  Solution solution_;
  std::string why_;
};

struct SolverParams {
  double timeout_s = 0;            // 0: none
  bool minimize_capacity = false;  // the least peak, not any plan within the capacity
};

class Solver {
 public:
  Solver() = default;
  explicit Solver(const SolverParams &params) : params_(params) {}
  SolutionOr Solve(const Problem &problem);

  // The nodes of the last search.
  int64_t get_backtracks() const { return nodes_; }

 private:
  SolverParams params_;
  int64_t nodes_ = 0;
};

}  // namespace minimalloc
