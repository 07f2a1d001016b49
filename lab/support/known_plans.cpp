// Answers the call of memplan.h that known_plans.py writes to the input as numbers.
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "memplan.h"

namespace {

std::int64_t number() {
  std::int64_t value = 0;
  std::cin >> value;
  return value;
}

double real() {  // also "inf"
  std::string word;
  std::cin >> word;
  return std::strtod(word.c_str(), nullptr);
}

// Read rows after their count. All fields of a row have 8 bytes.
template <class Row>
std::vector<Row> rows() {
  std::vector<std::int64_t> fields(static_cast<std::size_t>(number()) * (sizeof(Row) / 8));
  for (std::int64_t &field : fields) field = number();
  std::vector<Row> made(fields.size() * 8 / sizeof(Row));
  if (!made.empty()) std::memcpy(made.data(), fields.data(), fields.size() * 8);
  return made;
}

int is_over(void *left) { return --*static_cast<std::int64_t *>(left) < 0; }

}  // namespace

int main() {
  const bool is_choice = number() != 0;
  memplan_options options{};
  options.work = number(), options.seconds = real(), options.accept = real();
  std::int64_t left = number();
  if (left > 0) options.cancel = is_over, options.context = &left;
  std::vector<memplan_memory> memories(static_cast<std::size_t>(number()));
  for (memplan_memory &memory : memories) memory.capacity = number(), memory.base = number();
  const auto buffers = rows<memplan_buffer>();
  const auto gaps = rows<memplan_gap>();
  const auto joins = rows<memplan_join>();
  const auto pairs = rows<memplan_pair>(), shares = rows<memplan_pair>();
  const auto places = rows<memplan_place>();
  const auto homes = rows<memplan_home>();
  auto memory_of = rows<std::size_t>();
  std::vector<std::vector<memplan_range>> reserved;
  for (memplan_memory &memory : memories) {
    reserved.push_back(rows<memplan_range>());
    memory.reserved = reserved.back().data(), memory.reserved_count = reserved.back().size();
  }
  memplan_problem p = MEMPLAN_PROBLEM_INIT;
  p.buffers = buffers.data(), p.count = buffers.size(), p.gaps = gaps.data(), p.gap_count = gaps.size();
  p.joins = joins.data(), p.join_count = joins.size(), p.pairs = pairs.data(), p.pair_count = pairs.size();
  p.shares = shares.data(), p.share_count = shares.size(), p.places = places.data(), p.place_count = places.size();
  if (is_choice || memories.size() > 1) p.memories = memories.data(), p.memory_count = memories.size();
  if (!is_choice && memories.size() > 1) p.memory_of = memory_of.data();
  p.capacity = memories[0].capacity, p.base = memories[0].base;
  p.reserved = memories[0].reserved, p.reserved_count = memories[0].reserved_count;
  std::vector<std::int64_t> offsets(p.count, -7);
  const auto r = is_choice ? memplan_choose(&p, homes.data(), homes.size(), &options, memory_of.data(), offsets.data())
                           : memplan_plan(&p, &options, offsets.data());
  for (const std::int64_t value : {std::int64_t{r.status}, r.peak, r.bound, r.cost, r.cost_bound, r.moved, r.moved_bound, r.missed, r.least, std::int64_t{r.rule}})
    std::cout << value << ' ';
  for (const std::size_t memory : memory_of) std::cout << memory << ' ';
  for (const std::int64_t offset : offsets) std::cout << offset << ' ';
  return 0;
}
