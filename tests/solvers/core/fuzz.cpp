// Fields that nobody would write, through memplan.h: `fuzz COUNT SEED`. Ends with 1 where a refusal names no rule, or a
// plan does not pass memplan_check; what else is wrong ends the process.
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "memplan.h"
#include "random.hpp"

namespace {

memplan::Random numbers(0);

std::uint64_t next() { return numbers.next(); }

std::int64_t number() {
  static constexpr std::int64_t odd[] = {0,         1,         -1,        2,         INT64_MAX, INT64_MIN, 1LL << 60,
                                         1LL << 62, INT32_MAX, INT32_MIN, 1LL << 59, 7,         64,        INT64_MAX - 1};
  if (next() % 3 != 0) return static_cast<std::int64_t>(next() % 40);
  return next() % 4 == 0 ? static_cast<std::int64_t>(next()) : odd[next() % (sizeof odd / sizeof *odd)];
}

std::size_t row(std::size_t count) { return next() % 9 == 0 ? static_cast<std::size_t>(next()) : next() % (count + 1); }
bool one_in(unsigned count) { return next() % count == 0; }

int is_cancelled(void *) { return one_in(200); }

bool is_sound(const memplan_problem &problem) {
  static std::int64_t offsets[16];
  memplan_options options{};
  options.work = one_in(20) ? number() : static_cast<std::int64_t>(next() % 300);
  if (options.work > 100'000) options.work = -1;
  options.seconds = one_in(20) ? std::numeric_limits<double>::quiet_NaN() : one_in(20) ? -1.0 : one_in(9) ? 1e-4 : 0.0;
  options.seed = next();
  options.accept = one_in(3) ? 0.5 : one_in(9) ? std::numeric_limits<double>::infinity() : one_in(20) ? -1.0 : 0.0;
  options.cancel = one_in(3) ? is_cancelled : nullptr;
  if (one_in(50)) options.allocate = [](void *, std::size_t) -> void * { return nullptr; };
  if (options.allocate && !one_in(3)) options.release = [](void *, void *, std::size_t) {};
  const memplan_result result = memplan_plan(one_in(99) ? nullptr : &problem, one_in(9) ? nullptr : &options,
                                             one_in(99) ? nullptr : offsets);
  if ((result.status == MEMPLAN_INVALID) != (result.rule != MEMPLAN_FINE)) return false;
  if (result.rule >= MEMPLAN_SIZE_NEGATIVE && result.rule <= MEMPLAN_PRICE_WRONG && result.buffer == MEMPLAN_NONE)
    return false;
  if (result.peak >= 0 && memplan_check(&problem, offsets).status != MEMPLAN_FEASIBLE) return false;
  static char text[512];
  std::size_t length = 0;
  const memplan_result proof = memplan_certify(one_in(99) ? nullptr : &problem, one_in(9) ? nullptr : &options, number(),
                                               one_in(99) ? nullptr : text, row(sizeof text - 1) % sizeof text, &length);
  if ((proof.status == MEMPLAN_INVALID) != (proof.rule != MEMPLAN_FINE)) return false;
  static std::size_t alive[4];
  const memplan_moment most = memplan_fullest(one_in(99) ? nullptr : &problem, next() % 6,
                                              one_in(99) ? nullptr : alive, next() % 5);
  if (most.bytes < -1 || most.count > problem.count) return false;
  for (std::int64_t &offset : offsets) offset = number();
  const memplan_result check = memplan_check(one_in(99) ? nullptr : &problem, one_in(99) ? nullptr : offsets);
  return (check.status == MEMPLAN_INVALID) == (check.rule != MEMPLAN_FINE) && *memplan_rule_text(check.rule) != '\0';
}

}  // namespace

int main(int count, char **words) {
  if (count < 3) return 2;
  const std::uint64_t cases = std::strtoull(words[1], nullptr, 10), first = std::strtoull(words[2], nullptr, 10);
  for (std::uint64_t k = 0; k < cases; ++k) {
    numbers = memplan::Random(first + k);
    // One array for all rows, so that they overlap.
    static std::int64_t words_of[16 * sizeof(memplan_buffer) / sizeof(std::int64_t)];
    for (std::int64_t &word : words_of) word = number();
    memplan_problem problem{};
    auto *buffers = reinterpret_cast<memplan_buffer *>(words_of);
    static memplan_pair pairs[8];
    static memplan_gap gaps[8];
    static memplan_join joins[8];
    static memplan_range ranges[8];
    static memplan_memory memories[4];
    static std::size_t memory_of[16];
    static memplan_price prices[8];
    static std::size_t same_offset[16];
    static memplan_place places[4];
    problem.count = next() % 12;
    const bool is_mild = !one_in(4);
    for (std::size_t i = 0; i < problem.count && is_mild; ++i) {
      buffers[i] = {static_cast<std::int64_t>(next() % 9), static_cast<std::int64_t>(next() % 9), 0, 0, MEMPLAN_FREE, 0, 0, 0};
      buffers[i].end = buffers[i].begin + 1 + static_cast<std::int64_t>(next() % 9);
      std::int64_t *field = &buffers[i].size + next() % 8;
      if (one_in(4)) *field = number();
    }
    for (memplan_pair &pair : pairs) pair = {row(problem.count), row(problem.count)};
    for (memplan_gap &gap : gaps) gap = {row(problem.count), number(), number()};
    for (memplan_join &join : joins) join = {row(problem.count), row(problem.count), number()};
    for (memplan_range &range : ranges) range = {number(), number()};
    for (memplan_price &price : prices) price = {row(problem.count), row(problem.count), number()};
    for (memplan_memory &memory : memories)
      memory = {one_in(3) ? MEMPLAN_UNLIMITED : number(), one_in(4) ? number() : 0, one_in(9) ? nullptr : ranges,
                one_in(4) ? next() % 8 : 0, one_in(3) ? number() : 0};
    const bool is_odd = one_in(4);
    problem.memory_count = one_in(3) ? next() % 5 : 0;
    for (std::size_t &memory : memory_of) memory = is_odd ? row(problem.memory_count) : next() % (problem.memory_count + 1) / 2;
    problem.memories = one_in(30) ? nullptr : memories, problem.memory_of = one_in(30) ? nullptr : memory_of;
    problem.buffers = one_in(30) ? nullptr : buffers;
    problem.capacity = one_in(2) ? MEMPLAN_UNLIMITED : number();
    problem.base = one_in(4) ? number() : 0, problem.only_pairs = one_in(5);
    problem.pairs = pairs, problem.pair_count = one_in(3) ? next() % 8 : 0;
    problem.gaps = one_in(2) ? reinterpret_cast<memplan_gap *>(words_of) : gaps;
    problem.gap_count = one_in(4) ? next() % 8 : 0;
    problem.joins = joins, problem.join_count = one_in(4) ? next() % 8 : 0;
    problem.reserved = one_in(9) ? nullptr : ranges, problem.reserved_count = one_in(4) ? next() % 8 : 0;
    if (one_in(99)) problem.pairs = nullptr, problem.pair_count = SIZE_MAX;
    if (one_in(99)) problem.count = SIZE_MAX;
    problem.prices = one_in(30) ? nullptr : prices, problem.price_count = one_in(3) ? next() % 8 : 0;
    if (is_mild && one_in(2)) {  // such that prices are searched for
      problem.memory_count = problem.join_count = 0;
      for (std::size_t i = 0; i < problem.count && i < 12; ++i) buffers[i].no_cross = 0;
      for (memplan_price &price : prices) price = {0, 1 + next() % 3, static_cast<std::int64_t>(next() % 9)};
    }
    if (one_in(99)) problem.memories = nullptr, problem.memory_count = SIZE_MAX;
    for (std::size_t &first : same_offset) first = one_in(3) ? MEMPLAN_NONE : one_in(2) ? 0 : row(11);
    problem.same_offset = one_in(3) ? same_offset : nullptr;
    problem.bank = one_in(3) ? number() : 0;
    problem.banks = one_in(30) ? nullptr : pairs + 4, problem.bank_count = one_in(3) ? next() % 4 : 0;
    problem.shares = one_in(30) ? nullptr : pairs + 2, problem.share_count = one_in(4) ? next() % 5 : 0;
    for (memplan_place &place : places) place = {row(11), one_in(9) ? row(4) : 0, number(), number()};
    if (is_mild)
      for (std::size_t k = 0; k < 4; ++k) places[k].buffer = 2 * k + next() % 2;
    problem.places = one_in(30) ? nullptr : places, problem.place_count = one_in(3) ? next() % 5 : 0;
    if (!is_sound(problem)) return std::printf("seed %" PRIu64 "\n", first + k), 1;
  }
  return 0;
}
