// memplan_check, which shares no code with the search, and the texts of statuses and rules.
#include "check.hpp"

#include <algorithm>

#include "door.hpp"

using memplan::i64;

namespace {

class Check {
 public:
  // Without an allocator, the check takes no memory, but time that grows with the square of the buffers.
  Check(const memplan_problem &problem, const i64 *offsets, memplan::Allocator *allocator = nullptr)
      : problem_(problem), offsets_(offsets), allocator_(allocator) {
    found_.status = MEMPLAN_INVALID, found_.order = -1, found_.other = MEMPLAN_NONE;
    found_.peak = found_.cost = found_.moved = -1;
  }

  memplan_result result() {
    found_.rule = memplan::Door(problem_).fault(found_.buffer);
    if (found_.rule == MEMPLAN_FINE && offsets_ == nullptr && problem_.count > 0) found_.rule = MEMPLAN_NULL_POINTER;
    return found_.rule == MEMPLAN_FINE ? result_of_offsets() : found_;
  }

  memplan_result result_of_offsets() {
    for (std::size_t i = 0; i < problem_.count; ++i)
      if ((found_.rule = fault_of(i)) != MEMPLAN_FINE) return found_.buffer = i, found_;
    if ((found_.rule = fault_of_two()) != MEMPLAN_FINE) return found_;
    found_.peak = problem_.same_offset == nullptr ? peak() : peak_of_any();
    if (found_.rule != MEMPLAN_FINE) return found_.peak = -1, found_;
    found_.status = MEMPLAN_FEASIBLE, found_.cost = cost(), found_.moved = 0;
    for (std::size_t row = 0; row < problem_.place_count; ++row)
      if (!is_at(problem_.places[row])) found_.moved += problem_.places[row].weight, found_.missed += problem_.places[row].weight == 0;
    return found_;
  }

 private:
  const memplan_problem &problem_;
  const i64 *offsets_;
  memplan::Allocator *allocator_;
  memplan_result found_{};
  struct Lifetime {
    i64 begin, end, rank;
  };

  // Return the sum of the highest ends of all memories; each memory is handled at its first buffer.
  i64 peak() const {
    i64 sum = 0;
    for (std::size_t i = 0; i < problem_.count; ++i) {
      std::size_t first = 0;
      while (!memplan::is_in_one(problem_, first, i)) ++first;
      if (first < i) continue;
      i64 end = 0;
      for (std::size_t j = i; j < problem_.count; ++j)
        if (memplan::is_in_one(problem_, i, j) && problem_.buffers[j].size > 0)
          end = std::max(end, offsets_[j] + problem_.buffers[j].size);
      sum += end;
    }
    return sum;
  }

  // Return the largest end in any memory, which all memories of equal use must be able to hold.
  i64 peak_of_any() {
    i64 end = 0, capacity = MEMPLAN_UNLIMITED;
    for (std::size_t q = 0; q < problem_.memory_count; ++q) capacity = std::min(capacity, problem_.memories[q].capacity);
    for (std::size_t i = 0; i < problem_.count && found_.rule == MEMPLAN_FINE; ++i) {
      if (problem_.buffers[i].size > 0) end = std::max(end, offsets_[i] + problem_.buffers[i].size);
      if (end > capacity) found_.rule = MEMPLAN_ABOVE_CAPACITY, found_.buffer = i;
    }
    return end;
  }

  // Return the cost of the pairs that share bytes; pairs alive together are already known to be disjoint.
  i64 cost() const {
    i64 sum = 0;
    for (std::size_t row = 0; row < problem_.price_count; ++row)
      if (overlap(problem_.prices[row].first, problem_.prices[row].second)) sum += problem_.prices[row].price;
    return sum;
  }

  bool is_at(const memplan_place &place) const {
    const i64 offset = offsets_[place.buffer];
    if (problem_.buffers[place.buffer].size == 0) return true;
    return offset == place.offset && (problem_.memory_count == 0 || problem_.memory_of[place.buffer] == place.memory);
  }

  // Check the rules of one buffer; a buffer of size 0 occupies no bytes and breaks no rule.
  memplan_rule fault_of(std::size_t i) {
    const memplan_buffer &buffer = problem_.buffers[i];
    const memplan_memory memory = memplan::memory_of(problem_, i);
    const i64 at = offsets_[i];
    if (at < 0) return MEMPLAN_OFFSET_NEGATIVE;
    if (buffer.size == 0) return MEMPLAN_FINE;
    if (buffer.size > memory.capacity || at > memory.capacity - buffer.size) return MEMPLAN_ABOVE_CAPACITY;
    if (at > memplan::kLargest * 2) return MEMPLAN_ABOVE_CAPACITY;
    const i64 end = at + buffer.size, address = at + memory.base;
    if (buffer.alignment > 1 && address % buffer.alignment != 0) return MEMPLAN_MISALIGNED;
    if (buffer.pin != MEMPLAN_FREE && buffer.pin != at) return MEMPLAN_OFF_PIN;
    if (at < buffer.lowest || (buffer.limit > 0 && end > buffer.limit)) return MEMPLAN_OUT_OF_RANGE;
    if (buffer.no_cross > 0 && address / buffer.no_cross != (address + buffer.size - 1) / buffer.no_cross)
      return MEMPLAN_CROSSING;
    for (std::size_t row = 0; row < memory.reserved_count; ++row)
      if (memory.reserved[row].begin < end && at < memory.reserved[row].end) {
        found_.other = row;
        return MEMPLAN_IN_RESERVED;
      }
    return MEMPLAN_FINE;
  }

  memplan_rule fault_of_two() {
    for (std::size_t row = 0; row < problem_.join_count; ++row) {
      const memplan_join &join = problem_.joins[row];
      found_.buffer = join.upper, found_.other = join.lower;
      if (offsets_[join.upper] - offsets_[join.lower] != join.distance) return MEMPLAN_OFF_DISTANCE;
    }
    for (std::size_t i = 0; i < problem_.count; ++i)
      if (memplan::has_same_offset(problem_, i) && problem_.buffers[i].size > 0 &&
          offsets_[i] != offsets_[problem_.same_offset[i]])
        return found_.buffer = i, found_.other = problem_.same_offset[i], MEMPLAN_OFFSETS_DIFFER;
    for (std::size_t row = 0; row < problem_.pair_count; ++row) {
      found_.buffer = problem_.pairs[row].first, found_.other = problem_.pairs[row].second;
      if (overlap(found_.buffer, found_.other)) return MEMPLAN_OVERLAP;
    }
    if (!problem_.only_pairs && has_overlap()) return MEMPLAN_OVERLAP;
    for (std::size_t row = 0; row < problem_.bank_count; ++row) {
      found_.buffer = problem_.banks[row].first, found_.other = problem_.banks[row].second;
      if (are_in_one_bank(found_.buffer, found_.other)) return MEMPLAN_IN_ONE_BANK;
    }
    found_.buffer = found_.other = MEMPLAN_NONE;
    return MEMPLAN_FINE;
  }

  // Return whether two buffers that are alive together share bytes, and name them.
  bool has_overlap() {
    if (allocator_ != nullptr && problem_.share_count == 0) {
      memplan::Arena arena(*allocator_);
      const bool has_found = sweep(arena);
      if (!arena.has_failed) return has_found;
    }
    for (std::size_t i = 0; i < problem_.count; ++i)
      for (std::size_t j = i + 1; j < problem_.count; ++j)
        if (overlap(i, j) && meet(i, j) && !(offsets_[i] == offsets_[j] && may_share(i, j)))
          return found_.buffer = i, found_.other = j, true;
    return false;
  }

  // Do the same in the order of time: while no buffers overlap, one that begins can only meet its two neighbours, by
  // memory and offset, among those alive.
  bool sweep(memplan::Arena &arena) {
    const i64 n = static_cast<i64>(problem_.count);
    const auto by_place = arena.uncleared<std::size_t>(n);
    const auto lives = arena.uncleared<Lifetime>(n + static_cast<i64>(problem_.gap_count));
    const auto ends = arena.uncleared<Lifetime>(lives.size);
    const auto alive = arena.uncleared<i64>(n);
    if (arena.has_failed) return false;
    for (i64 i = 0; i < n; ++i) by_place[i] = static_cast<std::size_t>(i);
    std::sort(by_place.begin(), by_place.end(), [this](std::size_t a, std::size_t b) {
      const std::size_t here = problem_.memory_count > 0 ? problem_.memory_of[a] : 0;
      const std::size_t there = problem_.memory_count > 0 ? problem_.memory_of[b] : 0;
      return here != there ? here < there : offsets_[a] != offsets_[b] ? offsets_[a] < offsets_[b] : a < b;
    });
    i64 count = 0, living = 0;
    for (i64 rank = 0; rank < n; ++rank) {
      const std::size_t i = by_place[rank];
      if (problem_.buffers[i].size == 0) continue;
      i64 begin = problem_.buffers[i].begin;
      for (std::size_t gap = first_gap(i); is_gap_of(gap, i); ++gap) {
        if (problem_.gaps[gap].begin > begin) lives[count++] = {begin, problem_.gaps[gap].begin, rank};
        begin = problem_.gaps[gap].end;
      }
      if (begin < problem_.buffers[i].end) lives[count++] = {begin, problem_.buffers[i].end, rank};
    }
    std::copy(lives.data, lives.data + count, ends.data);
    std::sort(lives.data, lives.data + count, [](const Lifetime &a, const Lifetime &b) {
      return a.begin != b.begin ? a.begin < b.begin : a.rank < b.rank;
    });
    std::sort(ends.data, ends.data + count, [](const Lifetime &a, const Lifetime &b) {
      return a.end != b.end ? a.end < b.end : a.rank > b.rank;
    });
    for (i64 k = 0, ended = 0; k < count; ++k) {
      for (; ends[ended].end <= lives[k].begin; ++ended) {
        i64 *at = std::lower_bound(alive.data, alive.data + living, ends[ended].rank);
        std::copy(at + 1, alive.data + living--, at);
      }
      i64 *at = std::lower_bound(alive.data, alive.data + living, lives[k].rank);
      found_.buffer = by_place[lives[k].rank];
      if (at > alive.data && overlap(found_.other = by_place[at[-1]], found_.buffer)) return true;
      if (at < alive.data + living && overlap(found_.other = by_place[*at], found_.buffer)) return true;
      std::copy_backward(at, alive.data + living, alive.data + living + 1), ++living;
      *at = lives[k].rank;
    }
    return false;
  }

  bool may_share(std::size_t i, std::size_t j) const {
    return std::any_of(problem_.shares, problem_.shares + problem_.share_count, [=](const memplan_pair &row) {
      return (row.first == i && row.second == j) || (row.first == j && row.second == i);
    });
  }

  bool are_in_one_bank(std::size_t i, std::size_t j) const {
    const memplan_memory memory = memplan::memory_of(problem_, i);
    const i64 size = problem_.buffers[i].size, other = problem_.buffers[j].size;
    if (memory.bank == 0 || size == 0 || other == 0 || !memplan::is_in_one(problem_, i, j)) return false;
    const i64 at = offsets_[i] + memory.base, beside = offsets_[j] + memory.base;
    return at / memory.bank <= (beside + other - 1) / memory.bank && beside / memory.bank <= (at + size - 1) / memory.bank;
  }

  bool overlap(std::size_t i, std::size_t j) const {
    if (!memplan::is_in_one(problem_, i, j)) return false;
    const i64 size = problem_.buffers[i].size, other = problem_.buffers[j].size;
    return size > 0 && other > 0 && offsets_[i] < offsets_[j] + other && offsets_[j] < offsets_[i] + size;
  }

  // Return whether two buffers are ever alive together; the first such time is the later begin or the end of a gap.
  bool meet(std::size_t i, std::size_t j) const {
    const memplan_buffer &a = problem_.buffers[i], &b = problem_.buffers[j];
    i64 now = std::max(a.begin, b.begin);
    const i64 end = std::min(a.end, b.end);
    std::size_t gap = first_gap(i), other = first_gap(j);
    while (now < end) {
      const i64 before = now;
      for (; is_gap_of(gap, i) && problem_.gaps[gap].begin <= now; ++gap) now = std::max(now, problem_.gaps[gap].end);
      for (; is_gap_of(other, j) && problem_.gaps[other].begin <= now; ++other)
        now = std::max(now, problem_.gaps[other].end);
      if (now == before) return true;
    }
    return false;
  }

  bool is_gap_of(std::size_t row, std::size_t i) const {
    return row < problem_.gap_count && problem_.gaps[row].buffer == i;
  }

  std::size_t first_gap(std::size_t i) const {
    const memplan_gap *first = problem_.gaps, *end = first + problem_.gap_count;
    const auto below = [](const memplan_gap &gap, std::size_t buffer) { return gap.buffer < buffer; };
    return static_cast<std::size_t>(std::lower_bound(first, end, i, below) - first);
  }
};

// Finds the time at which the buffers that `Counts` selects, by row, have the most live bytes.
template <class Counts>
class Fullest {
 public:
  Fullest(const memplan_problem &problem, Counts counts) : problem_(problem), counts_(counts) {}

  // Return that time, and write the first buffers that are alive then.
  memplan_moment moment(std::size_t *buffers, std::size_t room) const {
    memplan_moment most{};
    // Live bytes grow only where a lifetime begins or a gap ends, so look only at these times.
    for (std::size_t i = 0; i < problem_.count; ++i) look(problem_.buffers[i].begin, most);
    for (std::size_t row = 0; row < problem_.gap_count; ++row) look(problem_.gaps[row].end, most);
    for (std::size_t i = 0, written = 0; i < problem_.count && written < room; ++i)
      if (is_there(i, most.time)) buffers[written++] = i;
    return most;
  }

 private:
  const memplan_problem &problem_;
  const Counts counts_;

  bool is_there(std::size_t i, i64 time) const {
    const memplan_buffer &buffer = problem_.buffers[i];
    if (buffer.size == 0 || time < buffer.begin || time >= buffer.end || !counts_(i)) return false;
    const memplan_gap *end = problem_.gaps + problem_.gap_count;
    const auto below = [](const memplan_gap &gap, std::size_t number) { return gap.buffer < number; };
    for (const memplan_gap *gap = std::lower_bound(problem_.gaps, end, i, below); gap != end && gap->buffer == i; ++gap)
      if (gap->begin <= time && time < gap->end) return false;
    return true;
  }

  void look(i64 time, memplan_moment &most) const {
    memplan_moment here{time, 0, 0};
    for (std::size_t i = 0; i < problem_.count; ++i)
      if (is_there(i, time)) here.bytes += problem_.buffers[i].size, ++here.count;
    if (here.bytes > most.bytes || (here.bytes == most.bytes && here.bytes > 0 && time < most.time)) most = here;
  }
};

constexpr const char *kStatusTexts[] = {
    "optimal", "feasible", "infeasible, proved", "unknown", "invalid", "out of memory",
};
constexpr const char *kRuleTexts[] = {
    "fine",
    "problem, offsets, and each pointer whose count is not 0 must not be NULL",
    "there must be at most 2^31 - 1 buffers and 2^40 rows",
    "sizes, alignments, no_cross, distances, prices and the highest place must add up to at most 2^60",
    "the capacity must not be negative",
    "the base must not be negative",
    "the size must not be negative",
    "the lifetime must end after it begins",
    "the alignment must not be negative; 0 and 1 allow any address",
    "the pin must not be negative; MEMPLAN_FREE pins nothing",
    "the lowest offset must not be negative",
    "the limit must not be negative",
    "no_cross must not be negative",
    "memory_of must be less than memory_count",
    "a pair must name two different rows of buffers",
    "a gap must lie inside the lifetime of its buffer, and rows must ascend by buffer and time",
    "a join needs two buffers of one memory with a size and their own offsets, a distance of 0 or more, rows by upper",
    "a reserved range must not be empty nor end above 2^60, and rows must ascend without overlap",
    "a price must name two different rows of buffers and must not be negative",
    "prices must add up to less than 2^33 of their largest common divisor",
    "prices must not be given with several memories, joins, no_cross or same_offset",
    "work, seconds and accept must not be negative, and an allocator must have both functions",
    "the offset is negative",
    "the address is not a multiple of the alignment",
    "the offset is not the pin",
    "the buffer lies below its lowest offset or above its limit",
    "the buffer crosses a multiple of no_cross",
    "the buffer ends above the capacity",
    "the buffer lies in a reserved range",
    "the buffer does not lie at its distance above the lower buffer of its join",
    "two buffers that conflict share bytes",
    "the capacity must not be 0 if a buffer has a size; MEMPLAN_UNLIMITED sets no capacity",
    "the base must be at most 2^60",
    "the pin must be at most 2^60; MEMPLAN_FREE pins nothing",
    "the lowest offset must be at most 2^60",
    "same_offset must name the first of buffers in no join that differ only in lifetime and memory",
    "memories of equal use may differ only in capacity",
    "two buffers that must have one offset have different ones",
    "the bank must not be negative",
    "a pair of banks must name two buffers",
    "banks must be without joins, prices and same_offset",
    "two buffers of a pair of banks touch a common bank",
    "a home must name a buffer and a memory, with a cost that is not negative, rows ascending",
    "the costs of homes must add up to at most 2^58",
    "a choice needs `memories`, and must be without prices and same_offset",
    "a pair of shares must name two buffers that are not joined",
    "shares must be without prices and same_offset",
    "a place must name a buffer and a memory, with an offset and a weight that are not negative, rows ascending",
    "places must be without prices and same_offset",
    "the weights of places must add up to at most 2^58",
};

}  // namespace

memplan_result memplan::check_offsets(const memplan_problem &problem, const i64 *offsets, Allocator &allocator) {
  return Check(problem, offsets, &allocator).result_of_offsets();
}

extern "C" memplan_result memplan_check(const memplan_problem *problem, const int64_t *offsets) {
  if (problem != nullptr) return Check(*problem, offsets).result();
  memplan_result result{};
  result.status = MEMPLAN_INVALID, result.rule = MEMPLAN_NULL_POINTER, result.order = -1, result.peak = result.cost = result.moved = -1;
  result.buffer = result.other = MEMPLAN_NONE;
  return result;
}

extern "C" memplan_moment memplan_fullest(const memplan_problem *problem, size_t memory, size_t *buffers, size_t room) {
  std::size_t row = 0;
  const bool is_right = problem != nullptr && memplan::Door(*problem).fault(row) == MEMPLAN_FINE &&
                        !problem->only_pairs && (buffers != nullptr || room == 0) &&
                        (problem->memory_count == 0 || memory < problem->memory_count);
  if (!is_right) return {0, -1, 0};
  const auto counts = [&](std::size_t i) { return problem->memory_count == 0 || problem->memory_of[i] == memory; };
  return Fullest(*problem, counts).moment(buffers, room);
}

extern "C" memplan_moment memplan_crowded(const memplan_problem *problem, const memplan_home *homes, size_t home_count,
                                          size_t buffer, size_t *buffers, size_t room) {
  std::size_t row = 0;
  const bool is_right = problem != nullptr && (buffers != nullptr || room == 0) && !problem->only_pairs &&
                        memplan::fault_of_choice(*problem, homes, home_count, row) == MEMPLAN_FINE && buffer < problem->count;
  if (!is_right) return {0, -1, 0};
  const auto counts = [&](std::size_t i) { return memplan::is_within(homes, home_count, i, buffer); };
  return Fullest(*problem, counts).moment(buffers, room);
}

extern "C" const char *memplan_status_text(memplan_status status) {
  const int at = status;
  return at >= 0 && at <= MEMPLAN_OUT_OF_MEMORY ? kStatusTexts[at] : "no status";
}

extern "C" const char *memplan_rule_text(memplan_rule rule) {
  static_assert(sizeof kRuleTexts / sizeof *kRuleTexts == MEMPLAN_PLACES_TOO_LARGE + 1);
  const int at = rule;
  return at >= 0 && at <= MEMPLAN_PLACES_TOO_LARGE ? kRuleTexts[at] : "no rule";
}
