// Compilation of a problem to an instance, in units and live sets.
#pragma once
#include <numeric>

#include "arena.hpp"
#include "door.hpp"
#include "instance.hpp"

namespace memplan {

// The greatest common divisor of all added numbers; 1 if there is none.
class Unit {
 public:
  void add(i64 value) { unit_ = std::gcd(unit_, value); }
  i64 value() const { return std::max<i64>(unit_, 1); }

 private:
  i64 unit_ = 0;
};

class Compiler {
 public:
  // If given, `residue` has offset[i] % alignment of each buffer, besides the base; the problem must not be plain.
  Compiler(Arena &arena, const memplan_problem &problem, const i64 *residue = nullptr) : arena_(arena), problem_(problem), residue_(residue) {}

  // If the arena has failed, do not read the result. `is_over` ends nothing here, because the bound needs all of it.
  template <class IsOver>
  OnePool instance(IsOver &&is_over) {
    OnePool made{};
    const i64 count = static_cast<i64>(problem_.count);
    for (i64 i = 0; i < count; ++i) made.n += problem_.buffers[i].size > 0;
    made.has_joins = problem_.join_count + problem_.bank_count + problem_.share_count > 0;
    made.is_plain = is_plain();
    position_ = made.is_plain ? Array<i64>{nullptr, 0} : arena_.uncleared<i64>(count);
    for (Array<i64> *column : {&made.source, &made.size, &made.step, &made.residue, &made.lowest, &made.limit,
                               &made.page, &made.page_shift, &made.pin, &made.lead, &made.distance})
      *column = arena_.array<i64>(made.n);
    made.first = arena_.array<i64>(made.n + 1);
    made.pair_first = arena_.array<i64>(made.n + 1);
    made.reserved = arena_.rows<i64>(static_cast<i64>(problem_.reserved_count), 2);
    if (arena_.has_failed) return made;
    made.unit = made.is_plain ? plain_unit() : common_unit();
    fill_columns(made);
    is_over();
    list_lifetimes(made, is_over);
    is_over();
    list_pairs(made);
    return made;
  }

 private:
  Arena &arena_;
  const memplan_problem &problem_;
  const i64 *const residue_;
  Array<i64> position_{nullptr, 0};

  bool is_plain() const {
    if (problem_.only_pairs || problem_.pair_count + problem_.gap_count + problem_.join_count > 0) return false;
    if (problem_.reserved_count + problem_.bank_count + problem_.share_count > 0 || problem_.base > 0) return false;
    return std::all_of(problem_.buffers, problem_.buffers + problem_.count, [](const memplan_buffer &buffer) {
      return buffer.pin == MEMPLAN_FREE && buffer.lowest == 0 && buffer.limit == 0 && buffer.no_cross == 0;
    });
  }

  // Return the greatest common divisor of all sizes, refined until each alignment divides it or is a multiple of it.
  i64 plain_unit() const {
    Unit sizes;
    for (std::size_t i = 0; i < problem_.count; ++i) sizes.add(problem_.buffers[i].size);
    i64 unit = sizes.value();
    for (bool is_done = false; !is_done;) {
      is_done = true;
      for (std::size_t i = 0; i < problem_.count; ++i) {
        const i64 step = std::max<i64>(1, problem_.buffers[i].alignment);
        if (problem_.buffers[i].size == 0 || unit % step == 0 || step % unit == 0) continue;
        unit = std::gcd(unit, step), is_done = false;
      }
    }
    return unit;
  }

  // Return the greatest common divisor of all numbers that restrict offsets.
  i64 common_unit() const {
    Unit unit;
    unit.add(problem_.base), unit.add(problem_.bank);
    for (std::size_t i = 0; i < problem_.count; ++i) {
      const memplan_buffer &buffer = problem_.buffers[i];
      if (buffer.size == 0) continue;
      for (const i64 value : {buffer.size, buffer.alignment, buffer.lowest, buffer.limit, buffer.no_cross})
        if (value > 0) unit.add(value);
      if (buffer.pin != MEMPLAN_FREE) unit.add(buffer.pin);
      if (residue_ != nullptr) unit.add(residue_[i]);
    }
    for (std::size_t row = 0; row < problem_.join_count; ++row) unit.add(problem_.joins[row].distance);
    for (std::size_t row = 0; row < problem_.reserved_count; ++row)
      unit.add(problem_.reserved[row].begin), unit.add(problem_.reserved[row].end);
    return unit.value();
  }

  void fill_columns(OnePool &made) {
    const i64 unit = made.unit, count = static_cast<i64>(problem_.count);
    made.capacity = problem_.capacity / unit;
    const i64 base = problem_.base / unit;
    for (i64 row = 0, i = 0; row < count; ++row) {
      const memplan_buffer &buffer = problem_.buffers[row];
      if (position_.size > 0) position_[row] = buffer.size > 0 ? i : kAbsent;
      if (buffer.size == 0) continue;
      made.source[i] = row, made.lead[i] = i;
      made.size[i] = buffer.size / unit;
      made.step[i] = buffer.alignment <= 1 || unit % buffer.alignment == 0 ? 1 : buffer.alignment / unit;
      made.residue[i] = floor_mod((residue_ == nullptr ? 0 : residue_[row] / unit) - base, made.step[i]);
      made.lowest[i] = buffer.lowest / unit;
      made.limit[i] = buffer.limit > 0 ? buffer.limit / unit : kMost;
      made.page[i] = buffer.no_cross / unit, made.page_shift[i] = made.page[i] > 0 ? base % made.page[i] : 0;
      made.pin[i] = buffer.pin == MEMPLAN_FREE ? kAbsent : buffer.pin / unit;
      ++i;
    }
    for (std::size_t row = 0; row < problem_.join_count; ++row) {
      const memplan_join &join = problem_.joins[row];
      const i64 upper = position_[static_cast<i64>(join.upper)];
      made.lead[upper] = position_[static_cast<i64>(join.lower)], made.distance[upper] = join.distance / unit;
    }
    for (i64 row = 0; row < made.reserved.size; ++row) {
      made.reserved[row][0] = problem_.reserved[row].begin / unit;
      made.reserved[row][1] = problem_.reserved[row].end / unit;
    }
  }

  // Cut time into maximal live sets: in order of time, with ends before starts, each run of starts followed by an end
  // is one live set.
  template <class IsOver>
  void list_lifetimes(OnePool &made, IsOver &&is_over) {
    const i64 gaps = static_cast<i64>(problem_.gap_count);
    const i64 most = problem_.only_pairs ? 0 : made.n + gaps;
    made.start = arena_.array<i64>(most), made.end = arena_.array<i64>(most), made.time = arena_.array<i64>(most);
    Array<i64> begins = arena_.uncleared<i64>(most), ends = arena_.uncleared<i64>(most);
    Array<u32> starts = arena_.uncleared<u32>(most), stops = arena_.uncleared<u32>(most);
    if (arena_.has_failed) return;
    i64 m = 0, gap = 0;
    for (i64 i = 0; i < made.n; ++i) {
      const std::size_t row = static_cast<std::size_t>(made.source[i]);
      made.first[i] = m;
      if (problem_.only_pairs) continue;
      i64 begin = problem_.buffers[row].begin;
      for (; gap < gaps && problem_.gaps[gap].buffer <= row; ++gap) {
        if (problem_.gaps[gap].buffer < row) continue;
        begins[m] = begin, ends[m++] = problem_.gaps[gap].begin;
        begin = problem_.gaps[gap].end;
      }
      begins[m] = begin, ends[m++] = problem_.buffers[row].end;
    }
    made.first[made.n] = m;
    made.start.size = made.end.size = m;
    const auto sort_by = [m](const Array<u32> &rows, const Array<i64> &times) {
      std::iota(rows.data, rows.data + m, 0U);
      const auto is_before = [&](u32 a, u32 b) { return times.data[a] < times.data[b]; };
      if (!std::is_sorted(rows.data, rows.data + m, is_before)) std::sort(rows.data, rows.data + m, is_before);
    };
    sort_by(starts, begins);
    is_over();
    sort_by(stops, ends);
    is_over();
    for (i64 at = 0, next = 0, last = 0; at < m;) {
      if (next < m && begins[starts[next]] < ends[stops[at]]) {
        last = begins[starts[next]];
        made.start[starts[next++]] = made.n_sets;
        continue;
      }
      if (next > 0 && made.start[starts[next - 1]] == made.n_sets) made.time[made.n_sets++] = last;
      made.end[stops[at++]] = made.n_sets;
    }
    made.time.size = made.n_sets;
  }

  void list_pairs(OnePool &made) {
    const i64 count = static_cast<i64>(problem_.pair_count);
    made.pair = arena_.array<i64>(2 * count);
    if (arena_.has_failed || count == 0) return;
    const auto ends_of = [&](i64 row, i64 &i, i64 &j) {
      i = position_[static_cast<i64>(problem_.pairs[row].first)], j = position_[static_cast<i64>(problem_.pairs[row].second)];
      return i != kAbsent && j != kAbsent;
    };
    i64 i, j;
    for (i64 row = 0; row < count; ++row)
      if (ends_of(row, i, j)) ++made.pair_first[i], ++made.pair_first[j];
    for (i64 at = 0, sum = 0; at <= made.n; ++at) {
      const i64 mine = made.pair_first[at];
      made.pair_first[at] = sum;
      sum += mine;
    }
    // afterwards, each `first` is the end of its list, which is the start of the next one
    for (i64 row = 0; row < count; ++row)
      if (ends_of(row, i, j)) made.pair[made.pair_first[i]++] = j, made.pair[made.pair_first[j]++] = i;
    i64 kept = 0, first = 0;
    for (i64 at = 0; at < made.n; ++at) {  // keep each entry once, even if rows repeat it
      i64 *begin = made.pair.data + first, *end = made.pair.data + made.pair_first[at];
      first = made.pair_first[at];
      std::sort(begin, end, [](i64 a, i64 b) { return a < b; });
      made.pair_first[at] = kept;
      kept += std::unique(begin, end) - begin;
      std::copy(begin, begin + (kept - made.pair_first[at]), made.pair.data + made.pair_first[at]);
    }
    made.pair_first[made.n] = made.pair.size = kept;
  }
};

}  // namespace memplan
