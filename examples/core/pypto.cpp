#include "pypto.h"

#include <algorithm>
#include <numeric>

#include "memplan.h"

namespace dsa {
namespace {

// The buffers of one pool, those that must have the same offset as one.
class Pool {
 public:
  Pool(const DsaProblem &problem, PoolId id) {
    for (const Buffer &buffer : problem.buffers)
      if (buffer.pool == id) {
        place_[buffer.id] = root_.size();
        root_.push_back(root_.size());
        members_.push_back(&buffer);
      }
    for (const auto &[a, b] : problem.colocations)
      if (place_.count(a) && place_.count(b)) root_[find(place_[a])] = find(place_[b]);
    add_buffers();
    for (const PinnedBuffer &pin : problem.pinned)
      if (place_.count(pin.id)) rows_[row_of(pin.id)].pin = static_cast<int64_t>(pin.offset);
    for (const auto &[a, b] : problem.separations) add_pair(a, b);
    const auto base = problem.reserved_base.find(id), capacity = problem.pool_caps.find(id);
    if (base != problem.reserved_base.end() && base->second > 0)
      reserved_.push_back({0, static_cast<int64_t>(base->second)});
    if (capacity != problem.pool_caps.end()) capacity_ = static_cast<int64_t>(capacity->second);
  }

  // Buffers that must not share bytes, though their lifetimes allow it.
  void add_pair(BufferId a, BufferId b) {
    if (place_.count(a) && place_.count(b) && row_of(a) != row_of(b)) pairs_.push_back({row_of(a), row_of(b)});
  }
  void drop_pairs(size_t count) { pairs_.resize(pairs_.size() - count); }
  size_t pairs() const { return pairs_.size(); }

  memplan_result plan(double timeout_s) {
    memplan_problem problem = {};
    problem.buffers = rows_.data(), problem.count = rows_.size(), problem.capacity = capacity_;
    problem.pairs = pairs_.data(), problem.pair_count = pairs_.size();
    problem.gaps = gaps_.data(), problem.gap_count = gaps_.size();
    problem.reserved = reserved_.data(), problem.reserved_count = reserved_.size();
    memplan_options options = {};
    options.work = 1'000'000, options.seconds = timeout_s;
    offsets_.resize(rows_.size());
    return memplan_plan(&problem, &options, offsets_.data());
  }

  void write(DsaSolution &solution) const {
    for (const auto &[id, place] : place_) solution.offsets[id] = offsets_[row_.at(place)];
  }

 private:
  size_t find(size_t k) const { return root_[k] == k ? k : find(root_[k]); }
  size_t row_of(BufferId id) const { return row_.at(place_.at(id)); }

  // One row for all that lie together: the largest of them, alive whenever one of them is.
  void add_buffers() {
    std::map<size_t, std::vector<const Buffer *>> together;
    for (size_t k = 0; k < members_.size(); ++k) together[find(k)].push_back(members_[k]);
    std::map<size_t, size_t> row_of_root;
    for (const auto &[root, buffers] : together) {
      memplan_buffer row = {};
      row.pin = MEMPLAN_FREE, row.alignment = 1;
      std::vector<Interval> alive;
      for (const Buffer *buffer : buffers) {
        row.size = std::max(row.size, static_cast<int64_t>(buffer->size));
        row.alignment = std::lcm(row.alignment, std::max<int64_t>(1, static_cast<int64_t>(buffer->align)));
        alive.insert(alive.end(), buffer->intervals.begin(), buffer->intervals.end());
      }
      std::sort(alive.begin(), alive.end(), [](const Interval &a, const Interval &b) { return a.begin < b.begin; });
      if (!alive.empty()) row.begin = alive.front().begin, row.end = alive.front().end;
      for (const Interval &interval : alive) {
        if (interval.begin > row.end) gaps_.push_back({rows_.size(), row.end, interval.begin});
        row.end = std::max(row.end, interval.end);
      }
      row_of_root[root] = rows_.size();
      rows_.push_back(row);
    }
    for (size_t k = 0; k < members_.size(); ++k) row_[k] = row_of_root[find(k)];
  }

  std::map<BufferId, size_t> place_;
  std::map<size_t, size_t> row_;
  std::vector<const Buffer *> members_;
  std::vector<size_t> root_;
  std::vector<memplan_buffer> rows_;
  std::vector<memplan_pair> pairs_;
  std::vector<memplan_gap> gaps_;
  std::vector<memplan_range> reserved_;
  std::vector<int64_t> offsets_;
  int64_t capacity_ = MEMPLAN_UNLIMITED;
};

SolveStatus status_of(const memplan_result &result) {
  switch (result.status) {
    case MEMPLAN_OPTIMAL:
    case MEMPLAN_FEASIBLE: return SolveStatus::kFeasible;
    case MEMPLAN_INFEASIBLE: return SolveStatus::kInfeasibleProven;
    case MEMPLAN_UNKNOWN: return SolveStatus::kBestEffortNoFit;
    default: return SolveStatus::kUnsupported;
  }
}

}  // namespace

DsaSolution solve(const DsaProblem &problem, double timeout_s) {
  DsaSolution solution;
  std::map<PoolId, bool> pools;
  std::map<BufferId, PoolId> pool_of;
  for (const Buffer &buffer : problem.buffers) pools[buffer.pool] = true, pool_of[buffer.id] = buffer.pool;
  bool is_supported = !problem.cost_model || problem.cost_model->banks.empty();
  for (const auto &[a, b] : problem.colocations) is_supported = is_supported && pool_of[a] == pool_of[b];
  if (!is_supported) solution.status = SolveStatus::kUnsupported;
  for (const auto &[id, is_there] : pools) {
    if (solution.status != SolveStatus::kFeasible) return solution;
    Pool pool(problem, id);
    // Reuse that costs something is forbidden first; where nothing fits then, all of it is allowed.
    const size_t required = pool.pairs();
    if (problem.cost_model)
      for (const ReusePenalty &row : problem.cost_model->reuse_penalties) pool.add_pair(row.a, row.b);
    const size_t wished = pool.pairs() - required;
    memplan_result result = pool.plan(timeout_s);
    if (wished > 0 && status_of(result) != SolveStatus::kFeasible) {
      pool.drop_pairs(wished);
      result = pool.plan(timeout_s);
      if (problem.cost_model)
        for (const ReusePenalty &row : problem.cost_model->reuse_penalties)
          if (pool_of[row.a] == id && pool_of[row.b] == id) solution.value.sync += row.penalty;
    }
    solution.status = status_of(result);
    solution.is_optimal = solution.is_optimal && result.status == MEMPLAN_OPTIMAL;
    if (solution.status != SolveStatus::kFeasible) return solution;
    pool.write(solution);
    solution.value.peak_by_pool[id] = static_cast<uint64_t>(result.peak);
    solution.value.peak = std::max(solution.value.peak, static_cast<uint64_t>(result.peak));
  }
  return solution;
}

}  // namespace dsa
