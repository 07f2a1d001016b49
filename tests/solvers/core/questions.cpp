// How often `cancel` is asked: `questions BUFFERS WORK [ENDS]` plans and certifies problems of each shape, and prints the
// call, shape, questions, microseconds of CPU before one at the most, after the last one, and in all, and the status. Where ENDS is given,
// that question ends each call.
#include <time.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "drawn.hpp"

namespace {

struct Asked {
  std::int64_t ends;
  std::int64_t count = 0;
  double begun, last, longest = 0;
};

double cpu() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

int is_cancelled(void *context) {
  Asked &asked = *static_cast<Asked *>(context);
  const double now = cpu();
  asked.longest = std::max(asked.longest, now - asked.last), asked.last = now;
  return ++asked.count == asked.ends;
}

enum Shape : int { kChain, kDense, kPairs, kGaps, kJoins, kPins, kPrices, kShapes };
constexpr const char *kNames[] = {"chain", "dense", "pairs", "gaps", "joins", "pins", "prices"};

void draw_shape(Draw &d, Case &c, Shape shape, std::int64_t n) {
  const std::int64_t length = shape == kDense ? n / 2 : 12;
  for (std::int64_t i = 0; i < n; ++i) {
    memplan_buffer b{};
    b.size = 64 * (1 + d.below(60)), b.pin = MEMPLAN_FREE, b.alignment = 64;
    b.begin = shape == kDense ? d.below(n) : i + d.below(8), b.end = b.begin + 3 + d.below(length);
    const std::size_t row = c.buffers.size();
    if (shape == kGaps) c.gaps.push_back({row, b.begin + 1, b.begin + 2});
    if (shape == kPairs && row > 0) c.pairs.push_back({row, static_cast<std::size_t>(d.below(i))});
    if (shape == kJoins && i % 4 == 1) c.joins.push_back({row, row - 1, c.buffers[row - 1].size});
    if (shape == kPins && i % 50 == 0) b.pin = 64 * i;
    for (std::int64_t k = 1; shape == kPrices && k < 12 && k <= i; ++k)
      c.prices.push_back({row, row - static_cast<std::size_t>(k), 1 + d.below(4)});
    c.buffers.push_back(b);
  }
  c.problem.prices = c.prices.data(), c.problem.price_count = c.prices.size();
  c.problem.buffers = c.buffers.data(), c.problem.count = c.buffers.size();
  c.problem.capacity = shape == kPrices ? 64 * 600 : MEMPLAN_UNLIMITED;
  c.problem.pairs = c.pairs.data(), c.problem.pair_count = c.pairs.size();
  c.problem.gaps = c.gaps.data(), c.problem.gap_count = c.gaps.size();
  c.problem.joins = c.joins.data(), c.problem.join_count = c.joins.size();
}

template <class Call>
void print(const char *name, std::int64_t ends, std::int64_t work, Call &&call) {
  Asked asked{ends, 0, cpu(), cpu(), 0};
  memplan_options options{};
  options.work = work, options.cancel = is_cancelled, options.context = &asked;
  const memplan_result result = call(options);
  const double done = cpu();
  std::printf("%s,%" PRId64 ",%.0f,%.0f,%.0f,%s\n", name, asked.count, asked.longest, done - asked.last,
              done - asked.begun, memplan_status_text(result.status));
}

}  // namespace

int main(int count, char **words) {
  if (count < 3) return 2;
  const std::int64_t n = std::strtoll(words[1], nullptr, 10), work = std::strtoll(words[2], nullptr, 10);
  const std::int64_t ends = count > 3 ? std::strtoll(words[3], nullptr, 10) : 0;
  for (int shape = 0; shape < kShapes; ++shape) {
    Draw d{1};
    Case c;
    draw_shape(d, c, static_cast<Shape>(shape), n);
    std::vector<std::int64_t> offsets(c.buffers.size());
    std::vector<char> text(1 << 24);
    std::size_t length = 0;
    std::int64_t peak = 0;
    for (const memplan_buffer &b : c.buffers) peak += b.size;
    std::printf("plan,");
    print(kNames[shape], ends, work, [&](const memplan_options &options) {
      const memplan_result made = memplan_plan(&c.problem, &options, offsets.data());
      if (made.peak > 0) peak = made.peak;
      return made;
    });
    std::printf("certify,");
    print(kNames[shape], ends, work, [&](const memplan_options &options) {
      return memplan_certify(&c.problem, &options, peak, text.data(), text.size(), &length);
    });
  }
  return 0;
}
