// Drawn problems with pairs that may share an offset and with places of an older plan: `places COUNT SEED` prints for each,
// as a line of JSON, the problem, the plan of memplan.h, or of memplan_choose, what the result says of it, and the plan
// without places. Ends with 1 where memplan_check, or a second call, says something else.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "drawn.hpp"

namespace {

using std::to_string;

template <class Rows, class Text>
std::string list(const Rows &rows, Text &&text) {
  std::string made;
  for (const auto &row : rows) made += (made.empty() ? "" : ", ") + text(row);
  return "[" + made + "]";
}

std::string pair_text(const memplan_pair &pair) { return "[" + to_string(pair.first) + ", " + to_string(pair.second) + "]"; }
std::string number(std::int64_t value) { return to_string(value); }

struct Drawn : Case {
  std::vector<memplan_pair> shares, banks;
  std::vector<memplan_place> places;
  std::vector<memplan_home> homes;
  bool is_choice = false;
};

std::int64_t distance_of(const Drawn &c, std::size_t i) {
  for (const memplan_join &join : c.joins)
    if (join.upper == i) return join.distance;
  return 0;
}

bool are_joined(const Drawn &c, std::size_t a, std::size_t b) {
  const auto is_in = [&](std::size_t i) {
    for (const memplan_join &join : c.joins)
      if (join.upper == i || join.lower == i) return true;
    return false;
  };
  return a == b || (is_in(a) && is_in(b));
}

// All that Python's problems can say, of at most seven buffers.
void draw_shared(Draw &d, Drawn &c) {
  do c = Drawn{}, draw(d, c);
  while (!c.is_tiny || c.is_huge || c.problem.only_pairs);
  for (std::int64_t left = d.below(3); left > 0; --left) {
    c.buffers.push_back(c.buffers[0]);
    c.buffers.back().size += d.below(3), c.buffers.back().pin = MEMPLAN_FREE;
  }
  const std::size_t n = c.buffers.size();
  const auto any = [&] { return static_cast<std::size_t>(d.below(static_cast<std::int64_t>(n))); };
  for (memplan_buffer &buffer : c.buffers) {
    buffer.size = std::max<std::int64_t>(1, buffer.size), buffer.lowest = 0;
    buffer.limit = d.one_in(3) ? buffer.size + d.below(9) : 0;  // `end_at_most` of Python
    if (buffer.pin != MEMPLAN_FREE && d.one_in(2)) buffer.pin = MEMPLAN_FREE;
    const std::int64_t length = std::min<std::int64_t>(buffer.end - buffer.begin, 8);
    buffer.begin = d.below(8), buffer.end = buffer.begin + length;
  }
  std::erase_if(c.gaps, [&](const memplan_gap &) { return true; });
  for (std::size_t i = 0; i < n; ++i)
    if (c.buffers[i].end - c.buffers[i].begin > 4 && d.one_in(3)) c.gaps.push_back({i, c.buffers[i].begin + 1, c.buffers[i].begin + 3});
  c.prices.clear(), c.memories.clear(), c.memory_of.clear(), c.same_offset.clear();
  const std::int64_t capacity = d.one_in(3) ? MEMPLAN_UNLIMITED : 6 + d.below(14);
  c.is_choice = d.one_in(2);
  const bool has_banks = c.joins.empty() && d.one_in(4);
  const std::int64_t base = c.problem.base;
  c.problem = MEMPLAN_PROBLEM_INIT;
  if (c.is_choice || d.one_in(3))
    for (int q = 0; q < 2; ++q)
      c.memories.push_back({q == 0 || d.one_in(2) ? capacity : MEMPLAN_UNLIMITED, q == 0 ? base : 0, c.reserved.data(),
                            q == 0 ? c.reserved.size() : 0, has_banks ? 2 + d.below(5) : 0});
  for (std::size_t i = 0; i < n && !c.memories.empty(); ++i) c.memory_of.push_back(static_cast<std::size_t>(d.below(2)));
  for (const memplan_join &join : c.joins)
    if (!c.memory_of.empty()) c.memory_of[join.upper] = c.memory_of[join.lower];
  for (std::size_t i = 0; i < n && c.is_choice; ++i) {  // a pin is one of a memory
    const std::size_t one = d.one_in(6) || c.buffers[i].pin != MEMPLAN_FREE ? static_cast<std::size_t>(d.below(2)) : 2;
    for (std::size_t q = 0; q < 2; ++q)
      if (one == 2 || one == q) c.homes.push_back({i, q, d.below(6)});
  }
  for (std::int64_t left = d.below(5); left > 0 && n > 1; --left)
    if (const memplan_pair row{any(), any()}; !are_joined(c, row.first, row.second)) {
      c.shares.push_back(row);
      std::erase_if(c.pairs, [&](const memplan_pair &pair) {
        return std::min(pair.first, pair.second) == std::min(row.first, row.second) && std::max(pair.first, pair.second) == std::max(row.first, row.second);
      });
    }
  for (std::int64_t left = has_banks ? 1 + d.below(3) : 0; left > 0 && n > 1; --left)
    if (const memplan_pair row{any(), any()}; row.first != row.second) c.banks.push_back(row);
  memplan_problem &p = c.problem;
  p.capacity = capacity, p.base = base, p.buffers = c.buffers.data(), p.count = n;
  p.reserved = c.reserved.data(), p.reserved_count = c.reserved.size();
  p.bank = has_banks ? 2 + d.below(5) : 0;
  p.pairs = c.pairs.data(), p.pair_count = c.pairs.size(), p.gaps = c.gaps.data(), p.gap_count = c.gaps.size();
  p.joins = c.joins.data(), p.join_count = c.joins.size(), p.banks = c.banks.data(), p.bank_count = c.banks.size();
  p.shares = c.shares.data(), p.share_count = c.shares.size();
  p.memories = c.memories.data(), p.memory_count = c.memories.size();
  p.memory_of = c.is_choice || c.memory_of.empty() ? nullptr : c.memory_of.data();
}

memplan_result plan(const Drawn &c, const memplan_problem &problem, const memplan_options &options, std::vector<std::size_t> &memory_of,
                    std::vector<std::int64_t> &offsets) {
  memory_of = c.memory_of;
  memory_of.resize(problem.count), offsets.assign(problem.count, -7);
  if (c.is_choice) return memplan_choose(&problem, c.homes.data(), c.homes.size(), &options, memory_of.data(), offsets.data());
  return memplan_plan(&problem, &options, offsets.data());
}

// Where some buffers were: mostly near where a plan has them.
void draw_places(Draw &d, Drawn &c, const std::vector<std::size_t> &memory_of, const std::vector<std::int64_t> &offsets, bool has_plan) {
  for (std::size_t i = 0; i < c.buffers.size(); ++i) {
    if (d.one_in(4)) continue;
    const std::int64_t at = has_plan && !d.one_in(3) ? std::max<std::int64_t>(0, offsets[i] + d.below(3) - 1) : d.below(14);
    const std::size_t memory = c.memories.empty() ? 0 : has_plan && !d.one_in(3) ? memory_of[i] : static_cast<std::size_t>(d.below(2));
    c.places.push_back({i, memory, at, d.one_in(4) ? 0 : 1 + d.below(3)});
  }
  c.problem.places = c.places.data(), c.problem.place_count = c.places.size();
}

std::string memory_text(const memplan_memory &memory, std::size_t q) {
  std::string text = "{\"name\": \"" + to_string(q) + "\", \"base_address\": " + to_string(memory.base) + ", \"device\": \"" + to_string(q) + "\"";
  if (memory.capacity != MEMPLAN_UNLIMITED) text += ", \"size\": " + to_string(memory.capacity);
  if (memory.bank > 0) text += ", \"bank_size\": " + to_string(memory.bank);
  text += ", \"reserved\": [";
  for (std::size_t row = 0; row < memory.reserved_count; ++row)
    text += (row > 0 ? ", [" : "[") + to_string(memory.reserved[row].begin) + ", " + to_string(memory.reserved[row].end - memory.reserved[row].begin) + "]";
  return text + "]}";
}

// Joined buffers may lie over each other in Python, and here only at different times.
std::string problem_text(const Drawn &c) {
  std::vector<memplan_pair> apart = c.pairs;
  std::string text = "{\"buffers\": [";
  for (std::size_t i = 0; i < c.buffers.size(); ++i) {
    const memplan_buffer &b = c.buffers[i];
    std::string lives;
    std::int64_t begin = b.begin;
    for (const memplan_gap &gap : c.gaps)
      if (gap.buffer == i) lives = "[" + to_string(begin) + ", " + to_string(gap.begin) + "], ", begin = gap.end;
    text += (i > 0 ? ", {\"id\": " : "{\"id\": ") + to_string(i) + ", \"size\": " + to_string(b.size) + ", \"lifetimes\": [" + lives + "[" +
            to_string(begin) + ", " + to_string(b.end) + "]]";
    if (b.alignment > 1) text += ", \"alignment\": " + to_string(b.alignment);
    if (b.pin != MEMPLAN_FREE) text += ", \"offset\": " + to_string(b.pin);
    if (b.limit > 0) text += ", \"end_at_most\": " + to_string(b.limit);
    if (b.no_cross > 0) text += ", \"no_cross\": " + to_string(b.no_cross);
    std::string pools;
    if (c.is_choice && !c.homes.empty()) {
      for (const memplan_home &home : c.homes)
        if (home.buffer == i) pools += (pools.empty() ? "\"" : ", \"") + to_string(home.memory) + "\"";
      text += ", \"pools\": [" + pools + "]";
    } else if (!c.is_choice && !c.memory_of.empty()) {
      text += ", \"pools\": [\"" + to_string(c.memory_of[i]) + "\"]";
    }
    for (const memplan_join &join : c.joins)
      if (join.upper == i) text += ", \"relative\": {\"to\": " + to_string(join.lower) + ", \"offset\": " + to_string(join.distance) + "}";
    text += "}";
    for (std::size_t j = 0; j < i; ++j)
      if (are_joined(c, i, j)) {
        std::int64_t at = std::max(b.begin, c.buffers[j].begin), end = std::min(b.end, c.buffers[j].end);
        const std::int64_t a = distance_of(c, i), z = distance_of(c, j);
        const auto is_alive = [&](std::size_t k) {
          for (const memplan_gap &gap : c.gaps)
            if (gap.buffer == k && gap.begin <= at && at < gap.end) return false;
          return true;
        };
        while (at < end && !(is_alive(i) && is_alive(j))) ++at;
        if (at < end && a < z + c.buffers[j].size && z < a + b.size) apart.push_back({j, i});
      }
  }
  text += "], \"pools\": [";
  for (std::size_t q = 0; q < c.memories.size(); ++q) text += (q > 0 ? ", " : "") + memory_text(c.memories[q], q);
  if (c.memories.empty()) text += memory_text({c.problem.capacity, c.problem.base, c.problem.reserved, c.problem.reserved_count, c.problem.bank}, 0);
  return text + "], \"conflicts\": " + list(apart, pair_text) + ", \"may_share\": " + list(c.shares, pair_text) + ", \"bank\": " +
         list(c.banks, [](const memplan_pair &pair) { return "{\"buffers\": " + pair_text(pair) + "}"; }) + "}";
}

bool is_right(std::uint64_t seed) {
  Draw d{seed};
  Drawn c;
  draw_shared(d, c);
  memplan_options options{};
  options.work = 20'000, options.seed = seed;
  options.accept = d.one_in(2) ? 0 : d.one_in(3) ? 1e300 : 0.25;
  std::vector<std::size_t> memory_of, first_memory;
  std::vector<std::int64_t> offsets, first;
  const memplan_result without = plan(c, c.problem, options, first_memory, first);
  if (without.status == MEMPLAN_INVALID) return std::printf("seed %" PRIu64 ": %s\n", seed, memplan_rule_text(without.rule)), false;
  draw_places(d, c, first_memory, first, without.status <= MEMPLAN_FEASIBLE);
  const memplan_result result = plan(c, c.problem, options, memory_of, offsets);
  std::vector<std::size_t> again_memory;
  std::vector<std::int64_t> again;
  plan(c, c.problem, options, again_memory, again);
  if (again != offsets || again_memory != memory_of) return std::printf("seed %" PRIu64 ": not the same plan again\n", seed), false;
  if (result.status <= MEMPLAN_FEASIBLE) {
    memplan_problem placed = c.problem;
    if (!c.memories.empty()) placed.memory_of = memory_of.data();
    const memplan_result check = memplan_check(&placed, offsets.data());
    if (check.status != MEMPLAN_FEASIBLE || check.peak != result.peak || check.moved != result.moved || check.missed != result.missed)
      return std::printf("seed %" PRIu64 ": %s, %" PRId64 " moved, not %" PRId64 "\n", seed, memplan_rule_text(check.rule), check.moved, result.moved), false;
  }
  const auto home = [](const memplan_home &row) { return "[" + to_string(row.buffer) + ", " + to_string(row.memory) + ", " + to_string(row.cost) + "]"; };
  const auto place = [](const memplan_place &row) {
    return "[" + to_string(row.buffer) + ", " + to_string(row.memory) + ", " + to_string(row.offset) + ", " + to_string(row.weight) + "]";
  };
  const auto numbers = [](const memplan_result &r) {
    return list(std::vector<std::int64_t>{r.status, r.peak, r.bound, r.cost, r.cost_bound, r.moved, r.moved_bound, r.missed, r.least}, number);
  };
  const auto row = [](std::size_t value) { return to_string(value); };
  std::printf("{\"seed\": %" PRIu64 ", \"problem\": %s, \"is_choice\": %s, \"accept\": %g, \"homes\": %s, \"places\": %s, \"memory_of\": %s, "
              "\"offsets\": %s, \"result\": %s, \"without\": %s, \"first_memory\": %s, \"first\": %s}\n",
              seed, problem_text(c).c_str(), c.is_choice ? "true" : "false", options.accept, list(c.homes, home).c_str(),
              list(c.places, place).c_str(), list(memory_of, row).c_str(), list(offsets, number).c_str(), numbers(result).c_str(),
              numbers(without).c_str(), list(first_memory, row).c_str(), list(first, number).c_str());
  return true;
}

}  // namespace

int main(int count, char **words) {
  if (count < 3) return 2;
  const std::uint64_t cases = std::strtoull(words[1], nullptr, 10), first = std::strtoull(words[2], nullptr, 10);
  int faults = 0;
  for (std::uint64_t k = 0; k < cases; ++k) faults += !is_right(first + k);
  return faults > 0;
}
