// memplan_certify: the proof that no plan is better, as a text that an independent program can check.
#include "asked.hpp"
#include "compile.hpp"
#include "lemma_proof.hpp"

namespace memplan {
namespace {

using lemmas::Text;

class Certificate {
 public:
  // A peak of -1 claims that nothing fits.
  Certificate(const memplan_problem &problem, Asked &asked, i64 peak)
      : problem_(problem), asked_(asked), peak_(peak), end_(peak < 0 ? problem.capacity : peak - 1), stop_(asked.options) {}

  void run(char *text, std::size_t room, std::size_t *length) {
    Allocator allocator = asked_.allocator();
    {
      Arena arena(allocator);
      Text lines(arena);
      write(arena, allocator, lines);
      const Array<char> bytes = lines.bytes();
      const bool is_proved = asked_.result.status <= MEMPLAN_INFEASIBLE;
      if (length != nullptr) *length = is_proved ? static_cast<std::size_t>(bytes.size) : 0;
      if (room > 0) {
        const std::size_t count = is_proved ? std::min(room - 1, static_cast<std::size_t>(bytes.size)) : 0;
        std::copy(bytes.data, bytes.data + count, text);
        text[count] = '\0';
      }
    }
    asked_.result.memory = allocator.most, asked_.result.ran_out = allocator.has_refused;
  }

 private:
  const memplan_problem &problem_;
  Asked &asked_;
  const i64 peak_, end_;
  Stop stop_;

  void write(Arena &arena, Allocator &allocator, Text &lines) {
    if (problem_.memory_count > 0 || problem_.same_offset != nullptr || problem_.share_count > 0) {
      asked_.result.status = MEMPLAN_UNKNOWN;
      return;
    }
    const OnePool made = Compiler(arena, problem_).instance(stop_);
    if (arena.has_failed) return;
    lines << "memplan-lemmas/1\nsizes ";
    if (problem_.capacity == MEMPLAN_UNLIMITED)
      lines << "-";
    else
      lines << problem_.capacity;
    if (peak_ < 0)
      lines << "\ninfeasible\n";
    else
      lines << "\nused " << peak_ << "\n";
    asked_.result.status = MEMPLAN_UNKNOWN;
    bool is_proved = peak_ == 0;
    if (!is_proved) is_proved = prove(arena, allocator, made, lines << "claim " << end_ << "\n");
    if (arena.has_failed) asked_.result.status = MEMPLAN_OUT_OF_MEMORY;
    if (arena.has_failed || !is_proved) return;
    asked_.result.status = peak_ < 0 ? MEMPLAN_INFEASIBLE : MEMPLAN_OPTIMAL;
    asked_.result.bound = std::max<i64>(0, peak_);
    asked_.result.proof = asked_.result.nodes > 0 ? MEMPLAN_PROOF_SEARCH : MEMPLAN_PROOF_LIVE_SET;
  }

  bool prove(Arena &arena, Allocator &allocator, const OnePool &made, Text &lines) {
    const i64 end = std::min(end_ / made.unit, kLargest);
    for (i64 i = 0; i < made.n; ++i)
      if (made.pin[i] != kAbsent && !has_place(made, i, end)) return lines << "end !" << made.source[i] << "\n", true;
    lemmas::LemmaInstance instance{};
    if (!take_over(arena, made, instance)) return false;
    Array<i64> capacity = arena.uncleared<i64>(1);
    if (arena.has_failed) return false;
    capacity[0] = end;
    lemmas::LemmaProof proof(allocator);
    if (!proof.begin(instance, capacity, asked_.options.seed, stop_))
      return arena.has_failed = arena.has_failed || proof.has_failed(), false;
    const i64 outcome = proof.run(std::max<i64>(1, asked_.options.work), stop_);
    bool is_proved = !proof.has_failed() && outcome == kExhausted;
    asked_.result.nodes = proof.nodes;
    if (is_proved && proof.write(lines, 0, 0, stop_) == 0) asked_.result.nodes = 0;
    is_proved = is_proved && !stop_.is_over();
    arena.has_failed = arena.has_failed || proof.has_failed();
    return is_proved;
  }

  // Return whether a buffer's pin is legal. Checkers do not read limits and lowest offsets, so ignore these rules.
  static bool has_place(const OnePool &made, i64 i, i64 end) {
    const i64 at = made.pin[i], top = at + made.size[i], page = made.page[i];
    if (top > end || floor_mod(at - made.residue[i], made.step[i]) != 0) return false;
    if (page > 0 && floor_mod(at + made.page_shift[i], page) + made.size[i] > page) return false;
    for (i64 r = 0; r < made.reserved.size; ++r)
      if (made.reserved[r][0] < top && at < made.reserved[r][1]) return false;
    for (i64 j = 0; j < made.n; ++j) {
      const bool is_above = made.pin[j] == kAbsent || made.pin[j] >= top || made.pin[j] + made.size[j] <= at;
      if (j != i && !is_above && made.lead[i] != made.lead[j] && made.conflict(i, j)) return false;
    }
    return true;
  }

  static bool take_over(Arena &arena, const OnePool &made, lemmas::LemmaInstance &instance) {
    instance.pools = 1, instance.unit = made.unit, instance.n_sets = made.n_sets, instance.has_ties = made.has_joins;
    instance.source = made.source, instance.size = made.size, instance.pin = made.pin, instance.anchor = made.lead;
    instance.step = made.step, instance.residue = instance.lowest = made.residue;
    instance.page = made.page, instance.page_shift = made.page_shift;
    instance.first = made.first, instance.start = made.start, instance.end = made.end, instance.time = made.time;
    instance.pair_first = made.pair_first, instance.pair = made.pair;
    instance.share_first = arena.array<i64>(made.n + 1), instance.reserved_first = arena.array<i64>(2);
    instance.allowed = arena.uncleared<bool>(made.n);
    if (arena.has_failed) return false;
    instance.allowed.fill(true);
    instance.reserved = made.reserved, instance.reserved_first[1] = made.reserved.size;
    return true;
  }
};

}  // namespace
}  // namespace memplan

extern "C" memplan_result memplan_certify(const memplan_problem *problem, const memplan_options *options, int64_t peak,
                                          char *text, size_t room, size_t *length) {
  memplan::Asked asked(problem, options, text == nullptr && room > 0);
  if (asked.result.rule == MEMPLAN_FINE && peak < -1)
    asked.result.rule = MEMPLAN_OPTION_WRONG, asked.result.status = MEMPLAN_INVALID;
  if (asked.result.rule == MEMPLAN_FINE) memplan::Certificate(*problem, asked, peak).run(text, room, length);
  return asked.result;
}
