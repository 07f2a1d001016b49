// Answers of memplan.h to the problems of a file, `answers FILE`, and to drawn ones. Ends with 1, and says which, where a
// plan does not pass memplan_check, moves what could stay, or is missing although there are no capacities; or where the
// check of all answers, which sweeps, contradicts memplan_check, which compares all pairs.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "check.hpp"
#include "drawn.hpp"

namespace {

int faults = 0;

void expect(bool is_right, const std::string &name, const char *text) {
  if (!is_right) std::printf("%s: %s\n", name.c_str(), text), ++faults;
}

// Choose memories as a line says, with at most `asks` questions of whether to stop.
void choose(const std::string &line, std::int64_t asks) {
  std::istringstream words(line);
  const auto next = [&words] {
    std::int64_t number = 0;
    words >> number;
    return number;
  };
  const auto row = [&next] { return static_cast<std::size_t>(next()); };
  std::string name, seconds, accept;
  words >> name;
  memplan_options options{};
  options.work = next();
  words >> seconds >> accept;
  options.seconds = std::strtod(seconds.c_str(), nullptr), options.accept = std::strtod(accept.c_str(), nullptr);
  std::vector<memplan_buffer> buffers(row());
  for (memplan_buffer &b : buffers) {
    b.size = next(), b.begin = next(), b.end = next(), b.alignment = next(), b.pin = next();
    if (b.pin < 0) b.pin = MEMPLAN_FREE;
  }
  std::vector<memplan_memory> memories(row());
  std::vector<std::vector<memplan_range>> reserved(memories.size());
  for (std::size_t q = 0; q < memories.size(); ++q) {
    memories[q].capacity = next(), reserved[q].resize(row());
    for (memplan_range &range : reserved[q]) range.begin = next(), range.end = next();
    memories[q].reserved = reserved[q].data(), memories[q].reserved_count = reserved[q].size();
  }
  std::vector<memplan_home> homes(row());
  for (memplan_home &home : homes) home.buffer = row(), home.memory = row(), home.cost = next();
  std::vector<memplan_place> places(row());
  for (memplan_place &place : places) place.buffer = row(), place.memory = row(), place.offset = next(), place.weight = next();
  memplan_problem problem = MEMPLAN_PROBLEM_INIT;
  problem.buffers = buffers.data(), problem.count = buffers.size();
  problem.memories = memories.data(), problem.memory_count = memories.size();
  problem.places = places.data(), problem.place_count = places.size();
  options.context = &asks;
  const bool may_end = asks > 0;
  if (may_end) options.cancel = [](void *left) { return static_cast<int>(--*static_cast<std::int64_t *>(left) < 0); };
  std::vector<std::size_t> memory_of(buffers.size());
  std::vector<std::int64_t> offsets(buffers.size());
  const memplan_result result = memplan_choose(&problem, homes.data(), homes.size(), &options, memory_of.data(), offsets.data());
  if (result.status > MEMPLAN_FEASIBLE) return expect(may_end, name, memplan_status_text(result.status));
  problem.memory_of = memory_of.data();
  const memplan_result seen = memplan_check(&problem, offsets.data());
  expect(seen.status == MEMPLAN_FEASIBLE, name, memplan_rule_text(seen.rule));
  expect(seen.peak == result.peak && seen.moved == result.moved, name, "another peak, or other moves");
  expect(buffers.size() > 2 || result.moved == 0, name, "moves what could stay");
}

// Buffers in memories without a capacity have a plan, however soon the call ends.
void plan_at_once() {
  std::vector<memplan_buffer> buffers;
  Draw d{1};
  for (int i = 0; i < 5'000; ++i) {
    const std::int64_t begin = d.below(5'000);
    buffers.push_back({64 * (1 + d.below(1'000)), begin, begin + 1 + d.below(40), 64, MEMPLAN_FREE, 0, 0, 0});
  }
  const std::vector<std::size_t> memory_of(buffers.size(), 1);
  const memplan_memory memories[] = {{1, 0, nullptr, 0, 0}, {MEMPLAN_UNLIMITED, 0, nullptr, 0, 0}};
  for (const bool is_cancelled : {false, true})
    for (const std::size_t count : {0, 2}) {
      memplan_problem problem = MEMPLAN_PROBLEM_INIT;
      problem.buffers = buffers.data(), problem.count = buffers.size();
      problem.memories = memories, problem.memory_count = count, problem.memory_of = memory_of.data();
      memplan_options options{};
      options.work = 100'000, options.seconds = 1e-9;
      if (is_cancelled) options.cancel = [](void *) { return 1; };
      std::vector<std::int64_t> offsets(buffers.size());
      expect(memplan_plan(&problem, &options, offsets.data()).status <= MEMPLAN_FEASIBLE, "at once", "no plan");
    }
}

// Both checks say the same of plans, and of plans of which some buffers are moved.
void compare_checks(std::uint64_t seed) {
  Draw d{seed};
  const std::size_t n = 41 + static_cast<std::size_t>(d.below(200));
  const auto any = [&] { return static_cast<std::size_t>(d.below(static_cast<std::int64_t>(n))); };
  std::vector<memplan_buffer> buffers;
  std::vector<memplan_gap> gaps;
  std::vector<memplan_pair> shares;
  std::vector<std::size_t> memory_of;
  const std::int64_t early = d.one_in(2) ? INT64_MIN : d.below(600) - 300, steps = 10 + d.below(300);
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t begin = early + d.below(steps), end = begin + 1 + d.below(20);
    buffers.push_back({d.one_in(12) ? 0 : 1 + d.below(300), begin, end, 0, MEMPLAN_FREE, 0, 0, 0});
    if (end > begin + 3 && d.one_in(3)) gaps.push_back({i, begin + 1, begin + 2});
    if (i > 0 && d.one_in(4)) shares.push_back(d.one_in(2) ? memplan_pair{i, i - 1} : memplan_pair{i - 1, i});
    memory_of.push_back(any() % 3);
  }
  const memplan_memory memories[3] = {{MEMPLAN_UNLIMITED, 0, nullptr, 0, 0}, {MEMPLAN_UNLIMITED, 0, nullptr, 0, 0}, {MEMPLAN_UNLIMITED, 0, nullptr, 0, 0}};
  memplan_problem problem = MEMPLAN_PROBLEM_INIT;
  problem.buffers = buffers.data(), problem.count = n, problem.gaps = gaps.data(), problem.gap_count = gaps.size();
  problem.shares = shares.data(), problem.share_count = shares.size();
  if (d.one_in(2)) problem.memories = memories, problem.memory_count = 3, problem.memory_of = memory_of.data();
  memplan_options options{};
  std::vector<std::int64_t> offsets(n);
  const memplan_result result = memplan_plan(&problem, &options, offsets.data());
  const memplan_result right = memplan_check(&problem, offsets.data());
  expect(result.status <= MEMPLAN_FEASIBLE && result.peak == right.peak, "plan", memplan_rule_text(right.rule));
  for (std::int64_t left = d.below(3); left > 0; --left) offsets[any()] = d.one_in(2) ? offsets[any()] : d.below(2'000);
  memplan::Allocator allocator;
  const memplan_result swept = memplan::check_plan(problem, problem.memory_of, offsets.data(), allocator);
  const memplan_result seen = memplan_check(&problem, offsets.data());
  expect(swept.rule == seen.rule && swept.peak == seen.peak, "checks", memplan_rule_text(seen.rule));
  if (swept.rule != MEMPLAN_OVERLAP) return;
  for (std::size_t i = 0; i < n; ++i)  // the two buffers that it names clash even if there are no others
    if (i != swept.buffer && i != swept.other) buffers[i].size = 0;
  expect(memplan_check(&problem, offsets.data()).rule == MEMPLAN_OVERLAP, "checks", "names two buffers that do not overlap");
}

}  // namespace

int main(int, char **words) {
  std::ifstream file(words[1]);
  for (std::string line; std::getline(file, line);)
    for (const std::int64_t asks : {0, 20, 100, 500}) choose(line, asks);
  plan_at_once();
  for (std::uint64_t seed = 0; seed < std::strtoull(words[2], nullptr, 10); ++seed) compare_checks(seed);
  std::printf("%d faults\n", faults);
  return faults > 0;
}
