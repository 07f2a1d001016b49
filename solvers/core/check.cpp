// The check of memplan_check and of all plans that leave, without code of the search; the texts of statuses and rules.
#include "check.hpp"

#include <algorithm>
#include <bit>

#include "door.hpp"

using memplan::i64;
using memplan::u64;

namespace {

struct Key {
  u64 value;
  i64 row;
};

// A set of numbers below a limit. Each bit of a level says whether a word of the level below is not 0.
class Ranks {
 public:
  // If the arena has failed, no member may be called.
  Ranks(memplan::Arena &arena, i64 limit) {
    do level_[levels_++] = arena.array<u64>(limit = (limit + 63) / 64);
    while (limit > 1);
  }

  void add(i64 rank) {
    for (int k = 0; k < levels_; ++k, rank >>= 6) level_[k][rank >> 6] |= bit(rank);
  }

  void drop(i64 rank) {
    for (int k = 0; k < levels_; ++k, rank >>= 6)
      if ((level_[k][rank >> 6] &= ~bit(rank)) != 0) return;
  }

  // Return the next lower number in the set, or ABSENT.
  i64 below(i64 rank) const {
    for (int k = 0; k < levels_; ++k, rank >>= 6)
      if (const u64 word = level_[k][rank >> 6] & (bit(rank) - 1); word != 0) {
        rank = rank >> 6 << 6 | (63 - std::countl_zero(word));
        while (k-- > 0) rank = rank << 6 | (63 - std::countl_zero(level_[k][rank]));
        return rank;
      }
    return memplan::kAbsent;
  }

  // Return the next higher number in the set, or ABSENT.
  i64 above(i64 rank) const {
    for (int k = 0; k < levels_; ++k, rank >>= 6)
      if (const u64 word = level_[k][rank >> 6] & ~(bit(rank) | (bit(rank) - 1)); word != 0) {
        rank = rank >> 6 << 6 | std::countr_zero(word);
        while (k-- > 0) rank = rank << 6 | std::countr_zero(level_[k][rank]);
        return rank;
      }
    return memplan::kAbsent;
  }

 private:
  memplan::Array<u64> level_[6]{{nullptr, 0}, {nullptr, 0}, {nullptr, 0}, {nullptr, 0}, {nullptr, 0}, {nullptr, 0}};
  int levels_ = 0;

  static u64 bit(i64 rank) { return u64{1} << (rank & 63); }
};

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
    if (found_.rule != MEMPLAN_FINE) return found_;
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
  memplan::Array<memplan_pair> shares_{nullptr, 0};  // sorted, while the buffers are swept
  static constexpr std::size_t kFew = 40;  // up to this many buffers, comparing all pairs is faster than a sweep

  std::size_t memory_of(std::size_t i) const { return problem_.memory_count > 0 ? problem_.memory_of[i] : 0; }

  // Return the sum of the highest ends of all memories.
  i64 peak() const {
    i64 sum = 0;
    for (std::size_t q = 0; q < std::max<std::size_t>(1, problem_.memory_count); ++q) {
      i64 end = 0;
      for (std::size_t i = 0; i < problem_.count; ++i)
        if (memory_of(i) == q && problem_.buffers[i].size > 0) end = std::max(end, offsets_[i] + problem_.buffers[i].size);
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
    return offset == place.offset && memory_of(place.buffer) == place.memory;
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
    const memplan_range *last = memory.reserved + memory.reserved_count;
    const memplan_range *row = std::partition_point(memory.reserved, last, [at](const memplan_range &range) { return range.end <= at; });
    if (row == last || row->begin >= end) return MEMPLAN_FINE;
    return found_.other = static_cast<std::size_t>(row - memory.reserved), MEMPLAN_IN_RESERVED;
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
    if (allocator_ != nullptr && problem_.count > kFew) {
      memplan::Arena arena(*allocator_);
      const bool has_found = sweep(arena);
      if (!arena.has_failed) return has_found;
    }
    for (std::size_t i = 0; i < problem_.count; ++i)
      for (std::size_t j = i + 1; j < problem_.count; ++j)
        if (clash(i, j) && meet(i, j)) return found_.buffer = i, found_.other = j, true;
    return false;
  }

  bool clash(std::size_t i, std::size_t j) const { return overlap(i, j) && !may_share(i, j); }

  // Do the same in the order of time, with the buffers alive in the order of memory and offset. While only pairs that share
  // an offset overlap, a buffer that begins can meet only those of its offset, and those of the next one on both sides.
  bool sweep(memplan::Arena &arena) {
    const i64 n = static_cast<i64>(problem_.count), lives = n + static_cast<i64>(problem_.gap_count);
    memplan::Array<Key> rows{}, begins{}, ends{}, spare{};  // of one size, because sorting swaps them
    for (memplan::Array<Key> *keys : {&rows, &begins, &ends, &spare}) *keys = arena.uncleared<Key>(lives);
    Ranks alive(arena, n);
    shares_ = arena.uncleared<memplan_pair>(static_cast<i64>(problem_.share_count));
    if (arena.has_failed) return shares_.size = 0, false;
    for (i64 row = 0; row < shares_.size; ++row) shares_[row] = sorted(problem_.shares[row]);
    std::sort(shares_.begin(), shares_.end(), is_before);
    rows.size = begins.size = 0;
    for (i64 i = 0; i < n; ++i)
      if (problem_.buffers[i].size > 0) rows.data[rows.size++] = {static_cast<u64>(offsets_[i]), i};
    sort(rows, spare);
    for (Key &row : rows) row.value = memory_of(static_cast<std::size_t>(row.row));
    if (problem_.memory_count > 1) sort(rows, spare);
    for (i64 rank = 0; rank < rows.size; ++rank) {
      const std::size_t i = static_cast<std::size_t>(rows[rank].row);
      i64 begin = problem_.buffers[i].begin;
      const auto add = [&](i64 end) { begins.data[begins.size] = {in_order(begin), rank}, ends.data[begins.size++] = {in_order(end), rank}; };
      for (std::size_t gap = problem_.gap_count > 0 ? first_gap(i) : 0; is_gap_of(gap, i); ++gap) add(problem_.gaps[gap].begin), begin = problem_.gaps[gap].end;
      add(problem_.buffers[i].end);
    }
    ends.size = begins.size;
    sort(begins, spare), sort(ends, spare);
    i64 ended = 0;
    for (const Key &life : begins) {
      for (; ends[ended].value <= life.value; ++ended) alive.drop(ends[ended].row);
      if (meets_neighbour(rows, alive, life.row)) return true;
      alive.add(life.row);
    }
    return false;
  }

  // Return whether a buffer clashes with one of its offset, or of the next offset on either side, and name them.
  bool meets_neighbour(const memplan::Array<Key> &rows, const Ranks &alive, i64 rank) {
    const std::size_t i = static_cast<std::size_t>(rows[rank].row);
    for (const bool is_above : {false, true}) {
      i64 next = offsets_[i];
      for (i64 at = rank; (at = is_above ? alive.above(at) : alive.below(at)) != memplan::kAbsent;) {
        const std::size_t j = static_cast<std::size_t>(rows[at].row);
        if (!memplan::is_in_one(problem_, i, j) || (next != offsets_[i] && next != offsets_[j])) break;
        if (clash(i, j)) return found_.buffer = i, found_.other = j, true;
        next = offsets_[j];
      }
    }
    return false;
  }

  // Return a time as a number without a sign, in the same order.
  static u64 in_order(i64 time) { return static_cast<u64>(time) ^ u64{1} << 63; }

  // Sort by value, byte by byte; keys of equal values keep their order.
  static void sort(memplan::Array<Key> &keys, memplan::Array<Key> &spare) {
    u64 differs = 0;
    for (const Key &key : keys) differs |= key.value ^ keys[0].value;
    for (int shift = 0; shift < 64; shift += 8) {
      if ((differs >> shift & 255) == 0) continue;
      i64 first[257] = {};
      for (const Key &key : keys) ++first[(key.value >> shift & 255) + 1];
      for (int byte = 0; byte < 256; ++byte) first[byte + 1] += first[byte];
      for (const Key &key : keys) spare.data[first[key.value >> shift & 255]++] = key;
      std::swap(keys.data, spare.data);
    }
  }

  static memplan_pair sorted(const memplan_pair &row) { return {std::min(row.first, row.second), std::max(row.first, row.second)}; }
  static bool is_before(const memplan_pair &a, const memplan_pair &b) {
    return a.first != b.first ? a.first < b.first : a.second < b.second;
  }

  bool may_share(std::size_t i, std::size_t j) const {
    if (offsets_[i] != offsets_[j]) return false;
    const memplan_pair asked = sorted({i, j});
    if (shares_.size > 0) return std::binary_search(shares_.begin(), shares_.end(), asked, is_before);
    return std::any_of(problem_.shares, problem_.shares + problem_.share_count, [&](const memplan_pair &row) {
      return !is_before(asked, sorted(row)) && !is_before(sorted(row), asked);
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

memplan_result memplan::check_plan(memplan_problem problem, const std::size_t *memory_of, const i64 *offsets, Allocator &allocator) {
  problem.memory_of = memory_of;
  return Check(problem, offsets, &allocator).result();
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
