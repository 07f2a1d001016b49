// Certificates of drawn problems: `certificates COUNT SEED` prints each problem as JSON, the words of the certificate, and
// a line `----` after it. Ends with 1 where a certificate is cut off at another length than the one that was told.
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>

#include "drawn.hpp"

namespace {

using std::to_string;

std::string lifetimes_of(const Case &c, std::size_t i) {
  std::string rows;
  std::int64_t begin = c.buffers[i].begin;
  const auto add = [&](std::int64_t end) { rows += (rows.empty() ? "[" : ", [") + to_string(begin) + ", " + to_string(end) + "]"; };
  for (const memplan_gap &gap : c.gaps)
    if (gap.buffer == i) add(gap.begin), begin = gap.end;
  add(c.buffers[i].end);
  return "[" + rows + "]";
}

// What is said of lowest offsets and limits is left out, as certificates do.
std::string in_json(const Case &c) {
  std::string text = "{\"buffers\": [";
  for (std::size_t i = 0; i < c.buffers.size(); ++i) {
    const memplan_buffer &b = c.buffers[i];
    text += (i > 0 ? ", {\"id\": " : "{\"id\": ") + to_string(i) + ", \"size\": " + to_string(b.size) +
            (c.problem.only_pairs ? "" : ", \"lifetimes\": " + lifetimes_of(c, i));
    if (b.alignment > 1) text += ", \"alignment\": " + to_string(b.alignment);
    if (b.pin != MEMPLAN_FREE) text += ", \"offset\": " + to_string(b.pin);
    if (b.no_cross > 0) text += ", \"no_cross\": " + to_string(b.no_cross);
    for (const memplan_join &join : c.joins)
      if (join.upper == i) text += ", \"relative\": {\"to\": " + to_string(join.lower) + ", \"offset\": " + to_string(join.distance) + "}";
    text += "}";
  }
  text += "], \"pools\": [{\"name\": \"memory\", \"base_address\": " + to_string(c.problem.base);
  if (c.problem.capacity != MEMPLAN_UNLIMITED) text += ", \"size\": " + to_string(c.problem.capacity);
  text += ", \"reserved\": [";
  for (const memplan_range &range : c.reserved) text += "[" + to_string(range.begin) + ", " + to_string(range.end - range.begin) + "]";
  text += "]}], \"conflicts\": [";
  for (std::size_t k = 0; k < c.pairs.size(); ++k)
    text += (k > 0 ? ", [" : "[") + to_string(c.pairs[k].first) + ", " + to_string(c.pairs[k].second) + "]";
  return text + "]}";
}

// Buffers that are many enough for their live sets to say too little.
void draw_tight(Draw &d, Case &c) {
  c = Case{};
  for (std::int64_t k = 10 + d.below(10); k > 0; --k) {
    memplan_buffer b{};
    b.size = 1 + d.below(16), b.begin = d.below(14), b.end = b.begin + 1 + d.below(10), b.pin = MEMPLAN_FREE;
    b.alignment = d.one_in(4) ? 4 : 0;
    c.buffers.push_back(b);
  }
  if (d.one_in(2)) c.buffers[0].pin = 4 * d.below(8);
  if (d.one_in(2)) c.reserved.push_back({20, 24});
  c.problem.buffers = c.buffers.data(), c.problem.count = c.buffers.size(), c.problem.capacity = MEMPLAN_UNLIMITED;
  c.problem.reserved = c.reserved.data(), c.problem.reserved_count = c.reserved.size();
}

}  // namespace

int main(int count, char **words) {
  if (count < 3) return 2;
  const std::uint64_t cases = std::strtoull(words[1], nullptr, 10), first = std::strtoull(words[2], nullptr, 10);
  for (std::uint64_t seed = first; seed < first + cases; ++seed) {
    Draw d{seed};
    Case c;
    d.one_in(3) ? draw_tight(d, c) : draw(d, c);
    c.problem.memory_count = 0;
    memplan_options options{};
    options.work = 20'000, options.seed = seed;
    std::vector<std::int64_t> offsets(c.buffers.size() + 1);
    const memplan_result plan = memplan_plan(&c.problem, &options, offsets.data());
    if (plan.status != MEMPLAN_OPTIMAL && plan.status != MEMPLAN_INFEASIBLE) continue;
    std::vector<char> text(1 << 20), cut(1 << 6);
    std::size_t length = 0, again = 0;
    const memplan_result found = memplan_certify(&c.problem, &options, plan.peak, text.data(), text.size(), &length);
    if (found.status == MEMPLAN_UNKNOWN) {
      std::fprintf(stderr, "seed %" PRIu64 ": no certificate\n", seed);
      continue;
    }
    memplan_certify(&c.problem, &options, plan.peak, cut.data(), cut.size(), &again);
    const bool is_same = length == again && std::strncmp(text.data(), cut.data(), cut.size() - 1) == 0;
    if (found.status != plan.status || std::strlen(text.data()) != length || !is_same)
      return std::printf("seed %" PRIu64 ": %d\n", seed, found.status), 1;
    std::printf("%s\n%s----\n", in_json(c).c_str(), text.data());
  }
  return 0;
}
