// Memories of AI engine tiles: `designs COUNT SEED`. As mlir-aie's property suite describes them, layouts of a core's 64 KiB
// in four banks behind a stack, or of a memory tile's 512 KiB in eight, of which only some addresses and banks are told:
// each can be placed. And tight ones, some of which cannot. Ends with 1, and says which, where one is neither placed nor,
// if it is a tight one, proved not to fit.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "drawn.hpp"

namespace {

struct Counts {
  int placed = 0, infeasible = 0;
};

struct Tile {
  std::int64_t bank, memory, bus, stack;
};
constexpr Tile kCore{16 << 10, 64 << 10, 32, 1 << 10}, kMemoryTile{64 << 10, 512 << 10, 4, 0};

memplan_buffer buffer(std::int64_t size, std::int64_t alignment) { return {size, 0, 1, alignment, MEMPLAN_FREE, 0, 0, 0}; }

// A layout, from low addresses to high ones, of which a part is told.
void draw_layout(Draw &d, const Tile &tile, std::vector<memplan_buffer> &buffers) {
  std::int64_t at = tile.stack;
  for (std::int64_t left = 1 + d.below(14); left > 0; --left) {
    if (d.below(100) < 30) at += 1 + d.below(tile.bank / 2);
    const bool is_aligned = d.below(100) >= 15;
    if (is_aligned) at = (at + tile.bus - 1) / tile.bus * tile.bus;
    const std::int64_t kind = d.below(100);
    const std::int64_t size = kind < 10   ? 0
                              : kind < 60 ? tile.bus * (1 + d.below(8))
                              : kind < 88 ? tile.bus * (1 + d.below(tile.bank / (2 * tile.bus)))
                                          : tile.bank + 1 + d.below(std::min(3 * tile.bank, tile.memory - tile.stack) - tile.bank);
    if (at + size > tile.memory) break;
    memplan_buffer b = buffer(size, is_aligned ? tile.bus : 1);
    const std::int64_t told = d.below(100), bank = at / tile.bank * tile.bank;
    if (told < 30)
      b.pin = at;
    else if (told < 45 && is_aligned && at + size <= bank + tile.bank)
      b.lowest = bank, b.limit = bank + tile.bank;
    buffers.push_back(b);
    at += size;
  }
}

void draw_tight(Draw &d, const Tile &tile, std::int64_t stack, std::vector<memplan_buffer> &buffers) {
  for (std::int64_t left = tile.memory * (70 + d.below(34)) / 100 - stack; left > 0; left -= buffers.back().size) {
    memplan_buffer b = buffer(32 * (1 + d.below(d.one_in(8) ? 700 : 200)), 32);
    const std::int64_t bank = tile.bank * d.below(4), highest = bank + tile.bank - b.size;
    if (buffers.empty() && d.one_in(2)) b.pin = std::max(highest, stack);
    else if (b.size <= tile.bank / 2 && d.one_in(4)) b.lowest = bank, b.limit = bank + tile.bank;
    else if (b.size <= tile.bank) b.no_cross = tile.bank;
    buffers.push_back(b);
  }
}

bool is_settled(std::uint64_t seed, bool is_tight, Counts &counts) {
  Draw d{seed};
  std::vector<memplan_buffer> buffers;
  const Tile &tile = is_tight || d.one_in(2) ? kCore : kMemoryTile;
  const memplan_range stack[] = {{0, is_tight ? 1024 * (1 + d.below(d.one_in(6) ? 20 : 4)) : tile.stack}};
  is_tight ? draw_tight(d, tile, stack[0].end, buffers) : draw_layout(d, tile, buffers);
  memplan_problem problem{};
  problem.buffers = buffers.data(), problem.count = buffers.size(), problem.capacity = tile.memory;
  problem.reserved = stack, problem.reserved_count = stack[0].end > 0;
  memplan_options options{};
  options.work = 1'000'000, options.seed = seed;
  std::vector<std::int64_t> offsets(buffers.size() + 1);
  const memplan_result result = memplan_plan(&problem, &options, offsets.data());
  const bool is_placed = result.peak >= 0 && memplan_check(&problem, offsets.data()).status == MEMPLAN_FEASIBLE;
  counts.placed += is_placed, counts.infeasible += result.status == MEMPLAN_INFEASIBLE;
  if (is_placed || (is_tight && result.status == MEMPLAN_INFEASIBLE)) return true;
  return std::printf("seed %" PRIu64 ": %s\n", seed, memplan_status_text(result.status)), false;
}

}  // namespace

int main(int count, char **words) {
  if (count < 3) return 2;
  const std::uint64_t cases = std::strtoull(words[1], nullptr, 10), first = std::strtoull(words[2], nullptr, 10);
  int open = 0;
  for (const bool is_tight : {false, true}) {
    Counts counts;
    for (std::uint64_t k = first; k < first + cases; ++k) open += !is_settled(k, is_tight, counts);
    std::printf("%s: %d placed, %d proved not to fit\n", is_tight ? "tight" : "layouts", counts.placed, counts.infeasible);
  }
  return open > 0;
}
