// Draws problems, legal and broken ones, plans them in several threads, and holds the answers against what must be true
// of any: `fuzz FIRST COUNT THREADS`. Small ones are held against all offsets tried. Ends with 1 at the first fault.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "memplan.h"

namespace {

// What memory is left, and how much is taken, of a caller's allocator.
struct Memory {
  long left = -1;  // blocks; -1: no end
  long taken = 0;
};
void *take(void *memory, size_t bytes) {
  Memory &of = *static_cast<Memory *>(memory);
  if (of.left == 0) return nullptr;
  if (of.left > 0) --of.left;
  ++of.taken;
  return std::malloc(bytes);
}
void give(void *memory, void *block, size_t) {
  --static_cast<Memory *>(memory)->taken;
  std::free(block);
}

struct Drawn {
  std::vector<memplan_buffer> buffers;
  std::vector<memplan_pair> pairs;
  std::vector<memplan_gap> gaps;
  std::vector<memplan_join> joins;
  std::vector<memplan_range> reserved;
  memplan_problem problem{};
};

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  bool one_in(int64_t n) { return below(n) == 0; }

  // A number that is likely to be at an end of what numbers there are.
  int64_t wild() {
    static constexpr int64_t kEnds[] = {0, 1, -1, 2, INT64_MAX, INT64_MIN, int64_t{1} << 62, int64_t{1} << 60, 1 << 30};
    const int64_t end = kEnds[below(std::size(kEnds))];
    return one_in(2) ? below(100) : end + (end > INT64_MIN + 4 && end < INT64_MAX - 4 ? below(5) - 2 : 0);
  }

  Drawn small() {
    Drawn d;
    const int64_t n = 1 + below(5), kind = below(8);
    for (int64_t i = 0; i < n; ++i) {
      memplan_buffer row = {};
      row.begin = below(5), row.end = row.begin + 1 + below(4), row.size = 1 + below(4) - one_in(9);
      row.pin = MEMPLAN_FREE;
      if (kind & 1) row.alignment = int64_t{1} << below(3);
      if (kind == 2 && one_in(3)) row.pin = below(6);
      if (kind == 4) row.lowest = below(3), row.limit = one_in(2) ? row.lowest + row.size + below(6) : 0;
      if (kind == 5 && one_in(2)) row.no_cross = 4;
      if (kind == 6 && row.end - row.begin > 2) d.gaps.push_back({static_cast<size_t>(i), row.begin + 1, row.begin + 2});
      d.buffers.push_back(row);
    }
    if (kind == 2 || kind == 7)
      for (int64_t k = below(4); k > 0 && n > 1; --k) {
        const size_t a = below(n), b = below(n);
        if (a != b) d.pairs.push_back({a, b});
      }
    if (kind == 3 && one_in(2)) d.reserved.push_back({below(4), 4 + below(3)});
    if (kind == 4 && n > 1 && one_in(2)) d.joins.push_back({1, 0, below(5)});
    d.problem.only_pairs = kind == 7;
    d.problem.capacity = one_in(3) ? 3 + below(12) : MEMPLAN_UNLIMITED;
    d.problem.base = kind == 1 || kind == 5 ? below(8) : 0;
    return d;
  }

  Drawn broken() {
    Drawn d;
    const int64_t n = below(9);
    const auto at = [&] { return one_in(8) ? static_cast<size_t>(wild()) : static_cast<size_t>(below(n + 1)); };
    for (int64_t i = 0; i < n; ++i) {
      memplan_buffer row = {below(50), below(9), 9 + below(9), 0, MEMPLAN_FREE, 0, 0, 0};
      int64_t *fields[] = {&row.size, &row.begin, &row.end, &row.alignment, &row.pin, &row.lowest, &row.limit, &row.no_cross};
      for (int64_t *field : fields)
        if (one_in(10)) *field = wild();
      d.buffers.push_back(row);
    }
    for (int64_t k = one_in(3) ? below(4) : 0; k > 0; --k) d.pairs.push_back({at(), at()});
    for (int64_t k = one_in(3) ? below(3) : 0; k > 0; --k) d.gaps.push_back({at(), wild(), wild()});
    for (int64_t k = one_in(3) ? below(3) : 0; k > 0; --k) d.joins.push_back({at(), at(), wild()});
    for (int64_t k = one_in(3) ? below(3) : 0; k > 0; --k) d.reserved.push_back({wild(), wild()});
    d.problem.capacity = one_in(2) ? wild() : MEMPLAN_UNLIMITED;
    d.problem.base = one_in(4) ? wild() : 0, d.problem.only_pairs = one_in(5);
    return d;
  }

  Drawn large() {
    Drawn d;
    const int64_t n = 10 + below(60), unit = one_in(3) ? int64_t{1} << below(50) : 1;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t begin = below(40);
      d.buffers.push_back({(1 + below(60)) * unit, begin, begin + 1 + below(12), one_in(3) ? 16 : 0, MEMPLAN_FREE, 0, 0, 0});
    }
    for (int64_t k = one_in(3) ? below(9) : 0; k > 0; --k) {
      const size_t a = below(n), b = below(n);
      if (a != b) d.pairs.push_back({a, b});
    }
    d.problem.capacity = MEMPLAN_UNLIMITED;
    return d;
  }

 private:
  std::mt19937_64 random_;
};

// The least peak of all offsets up to a limit, INT64_MAX for none.
int64_t least(const memplan_problem &problem, std::vector<int64_t> &offsets, size_t i, int64_t limit) {
  if (i == problem.count) {
    const memplan_result result = memplan_check(&problem, offsets.data());
    return result.status == MEMPLAN_FEASIBLE ? result.peak : INT64_MAX;
  }
  int64_t best = INT64_MAX;
  const memplan_buffer &row = problem.buffers[i];
  const bool is_fixed = row.pin != MEMPLAN_FREE;
  for (int64_t at = is_fixed ? row.pin : 0; at <= (is_fixed ? row.pin : row.size == 0 ? 0 : limit); ++at) {
    offsets[i] = at;
    const int64_t peak = least(problem, offsets, i + 1, limit);
    if (peak < best) best = peak;
  }
  return best;
}

bool fails(unsigned seed, const char *what) {
  std::fprintf(stderr, "seed %u: %s\n", seed, what);
  return false;
}

bool holds(unsigned seed) {
  Draw draw(seed);
  const unsigned kind = seed % 4;
  Drawn d = kind < 2 ? draw.small() : kind == 2 ? draw.broken() : draw.large();
  memplan_problem &p = d.problem;
  p.buffers = d.buffers.data(), p.count = d.buffers.size(), p.pairs = d.pairs.data(), p.pair_count = d.pairs.size();
  p.gaps = d.gaps.data(), p.gap_count = d.gaps.size(), p.joins = d.joins.data(), p.join_count = d.joins.size();
  p.reserved = d.reserved.data(), p.reserved_count = d.reserved.size();
  if (kind == 2 && draw.one_in(20)) p.pairs = nullptr, p.pair_count = static_cast<size_t>(draw.wild());

  Memory memory;
  memplan_options options = {};
  options.work = draw.one_in(5) ? 0 : 2000, options.seed = seed, options.arena = &memory;
  options.allocate = take, options.release = give;
  std::vector<int64_t> offsets(p.count, -77), again(p.count, -77);
  const memplan_result first = memplan_plan(&p, &options, offsets.data());
  const memplan_result second = memplan_plan(&p, &options, again.data());
  if (memory.taken != 0) return fails(seed, "memory is not given back");
  if (first.status != second.status || first.nodes != second.nodes || offsets != again)
    return fails(seed, "two calls differ");
  const bool has_plan = first.status == MEMPLAN_OPTIMAL || first.status == MEMPLAN_FEASIBLE;
  const memplan_result checked = memplan_check(&p, offsets.data());
  if (has_plan && (checked.status != MEMPLAN_FEASIBLE || checked.peak != first.peak)) return fails(seed, "a wrong plan");
  if (has_plan && first.bound > first.peak) return fails(seed, "a bound above a peak");
  if ((first.status == MEMPLAN_OPTIMAL) != (has_plan && first.bound == first.peak)) return fails(seed, "a wrong status");
  if (first.status == MEMPLAN_INVALID && (first.rule == MEMPLAN_FINE || *memplan_rule_text(first.rule) == '\0'))
    return fails(seed, "a refusal without a rule");
  if (kind == 2 && first.status == MEMPLAN_INVALID && checked.status != MEMPLAN_INVALID)
    return fails(seed, "refused by one and not by the other");
  if (kind < 2 && first.status != MEMPLAN_INVALID) {
    const int64_t best = least(p, again, 0, p.count > 4 ? 9 : 14);
    if (first.status == MEMPLAN_INFEASIBLE && best != INT64_MAX) return fails(seed, "infeasible, and something fits");
    if (has_plan && best < first.bound) return fails(seed, "a bound above the least peak");
    if (first.status == MEMPLAN_OPTIMAL && best < first.peak) return fails(seed, "not optimal");
  }
  // Wherever memory ends, the call ends, and gives back what it took.
  memory.left = draw.below(12);
  const memplan_result poor = memplan_plan(&p, &options, again.data());
  if (memory.taken != 0) return fails(seed, "memory is not given back where it ended");
  if (poor.status != MEMPLAN_OUT_OF_MEMORY && poor.status != first.status) return fails(seed, "another status");
  return true;
}

}  // namespace

int main(int count, char **arguments) {
  if (count != 4) return 2;
  const unsigned first = std::atoi(arguments[1]), end = first + std::atoi(arguments[2]), n = std::atoi(arguments[3]);
  std::atomic<bool> is_fine{true};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < n; ++t)
    threads.emplace_back([&, t] {
      for (unsigned seed = first + t; seed < end && is_fine; seed += n)
        if (!holds(seed)) is_fine = false;
    });
  for (std::thread &thread : threads) thread.join();
  return is_fine ? 0 : 1;
}
