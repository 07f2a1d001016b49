// Memories of AI engine tiles, as mlir-aie's property tests draw them: 64 KiB in four banks, a stack, buffers that live
// all along, some of them at an address or in a bank: `designs COUNT SEED`. Ends with 1, and says which, where one is
// neither placed nor proved not to fit.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "drawn.hpp"

namespace {

constexpr std::int64_t kBank = 16 << 10, kMemory = 4 * kBank;

struct Counts {
  int placed = 0, infeasible = 0;
};

bool is_settled(std::uint64_t seed, Counts &counts) {
  Draw d{seed};
  std::vector<memplan_buffer> buffers;
  const memplan_range stack[] = {{0, 1024 * (1 + d.below(d.one_in(6) ? 20 : 4))}};
  std::int64_t left = kMemory * (70 + d.below(34)) / 100 - stack[0].end;
  while (left > 0) {
    memplan_buffer b{};
    b.size = 32 * (1 + d.below(d.one_in(8) ? 700 : 200)), b.end = 1, b.alignment = 32, b.pin = MEMPLAN_FREE;
    const std::int64_t bank = kBank * d.below(4);
    if (buffers.empty() && d.one_in(2)) b.pin = bank + kBank - b.size > stack[0].end ? bank + kBank - b.size : stack[0].end;
    else if (b.size <= kBank / 2 && d.one_in(4)) b.lowest = bank, b.limit = bank + kBank;
    else if (b.size <= kBank) b.no_cross = kBank;
    left -= b.size;
    buffers.push_back(b);
  }
  memplan_problem problem{};
  problem.buffers = buffers.data(), problem.count = buffers.size(), problem.capacity = kMemory;
  problem.reserved = stack, problem.reserved_count = 1;
  memplan_options options{};
  options.work = 1'000'000, options.seed = seed;
  std::vector<std::int64_t> offsets(buffers.size());
  const memplan_result result = memplan_plan(&problem, &options, offsets.data());
  const bool is_placed = result.peak >= 0 && memplan_check(&problem, offsets.data()).status == MEMPLAN_FEASIBLE;
  counts.placed += is_placed, counts.infeasible += result.status == MEMPLAN_INFEASIBLE;
  if (is_placed || result.status == MEMPLAN_INFEASIBLE) return true;
  return std::printf("seed %" PRIu64 ": %s\n", seed, memplan_status_text(result.status)), false;
}

}  // namespace

int main(int count, char **words) {
  if (count < 3) return 2;
  const std::uint64_t cases = std::strtoull(words[1], nullptr, 10), first = std::strtoull(words[2], nullptr, 10);
  Counts counts;
  int open = 0;
  for (std::uint64_t k = first; k < first + cases; ++k) open += !is_settled(k, counts);
  std::printf("%d placed, %d proved not to fit, %d open\n", counts.placed, counts.infeasible, open);
  return open > 0;
}
