// A problem in units and live sets, and the bounds that follow from these alone.
#pragma once
#include <numeric>

#include "arena.hpp"
#include "door.hpp"

namespace memplan {

// The largest common divisor of all that is added, and what divides it.
class Unit {
 public:
  void add(i64 value) { unit_ = std::gcd(unit_, value); }
  i64 value() const { return std::max<i64>(unit_, 1); }

 private:
  i64 unit_ = 0;
};

// The n buffers with a size. Offsets o of buffer i have o % step[i] == residue[i]; all of it in units.
struct Instance {
  i64 n = 0;
  i64 unit = 1;
  i64 capacity = 0;
  i64 ceiling = 0;  // an end that nothing need pass
  i64 n_sets = 0;   // live sets
  i64 base = 0;
  bool is_plain = false;    // one lifetime each, and no rule but capacity and alignment
  bool has_joins = false;
  Array<i64> source;        // (n,): rows of the problem
  Array<i64> size;
  Array<i64> step;
  Array<i64> residue;
  Array<i64> lowest;
  Array<i64> limit;         // kMost: none
  Array<i64> page;          // 0: none
  Array<i64> pin;           // ABSENT: none
  Array<i64> lead;          // the lowest buffer of its group, or itself, and how far above it lies
  Array<i64> distance;
  Array<i64> first;         // (n + 1,): lifetimes, in live sets
  Array<i64> start;
  Array<i64> end;
  Array<i64> time;          // (n_sets,): a time in each
  Array<i64> pair_first;    // (n + 1,): conflicts by name, symmetric
  Array<i64> pair;
  Rows<i64> reserved;

  // Whether two buffers must not share a byte.
  bool conflict(i64 i, i64 j) const {
    for (i64 a = first[i]; a < first[i + 1]; ++a)
      for (i64 b = first[j]; b < first[j + 1]; ++b)
        if (start[a] < end[b] && start[b] < end[a]) return true;
    return std::binary_search(pair.data + pair_first[i], pair.data + pair_first[i + 1], j);
  }
};

class Compiler {
 public:
  Compiler(Arena &arena, const memplan_problem &problem) : arena_(arena), problem_(problem) {}

  // Nothing is to be read where the arena has failed.
  Instance instance() {
    Instance made;
    const i64 count = static_cast<i64>(problem_.count);
    for (i64 i = 0; i < count; ++i) made.n += problem_.buffers[i].size > 0;
    made.has_joins = problem_.join_count > 0;
    made.is_plain = is_plain();
    position_ = made.is_plain ? Array<i64>{nullptr, 0} : arena_.uncleared<i64>(count);
    for (Array<i64> *column : {&made.source, &made.size, &made.step, &made.residue, &made.lowest, &made.limit,
                               &made.page, &made.pin, &made.lead, &made.distance})
      *column = arena_.array<i64>(made.n);
    made.first = arena_.array<i64>(made.n + 1);
    made.pair_first = arena_.array<i64>(made.n + 1);
    made.reserved = arena_.rows<i64>(static_cast<i64>(problem_.reserved_count), 2);
    if (arena_.has_failed) return made;
    made.unit = made.is_plain ? plain_unit() : common_unit();
    fill_columns(made);
    list_lifetimes(made);
    list_pairs(made);
    if (!arena_.has_failed) made.ceiling = ceiling_of(made);
    return made;
  }

 private:
  Arena &arena_;
  const memplan_problem &problem_;
  Array<i64> position_{nullptr, 0};

  bool is_plain() const {
    if (problem_.only_pairs || problem_.pair_count + problem_.gap_count + problem_.join_count > 0) return false;
    if (problem_.reserved_count > 0 || problem_.base > 0) return false;
    return std::all_of(problem_.buffers, problem_.buffers + problem_.count, [](const memplan_buffer &buffer) {
      return buffer.pin == MEMPLAN_FREE && buffer.lowest == 0 && buffer.limit == 0 && buffer.no_cross == 0;
    });
  }

  // What divides all sizes, made finer until each alignment divides it, or is a multiple of it.
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

  // What divides all that is said of places.
  i64 common_unit() const {
    Unit unit;
    unit.add(problem_.base);
    for (std::size_t i = 0; i < problem_.count; ++i) {
      const memplan_buffer &buffer = problem_.buffers[i];
      if (buffer.size == 0) continue;
      for (const i64 value : {buffer.size, buffer.alignment, buffer.lowest, buffer.limit, buffer.no_cross})
        if (value > 0) unit.add(value);
      if (buffer.pin != MEMPLAN_FREE) unit.add(buffer.pin);
    }
    for (std::size_t row = 0; row < problem_.join_count; ++row) unit.add(problem_.joins[row].distance);
    for (std::size_t row = 0; row < problem_.reserved_count; ++row)
      unit.add(problem_.reserved[row].begin), unit.add(problem_.reserved[row].end);
    return unit.value();
  }

  void fill_columns(Instance &made) {
    const i64 unit = made.unit, count = static_cast<i64>(problem_.count);
    made.capacity = problem_.capacity / unit, made.base = problem_.base / unit;
    for (i64 row = 0, i = 0; row < count; ++row) {
      const memplan_buffer &buffer = problem_.buffers[row];
      if (position_.size > 0) position_[row] = buffer.size > 0 ? i : kAbsent;
      if (buffer.size == 0) continue;
      made.source[i] = row, made.lead[i] = i;
      made.size[i] = buffer.size / unit;
      made.step[i] = buffer.alignment <= 1 || unit % buffer.alignment == 0 ? 1 : buffer.alignment / unit;
      made.residue[i] = floor_mod(-made.base, made.step[i]);
      made.lowest[i] = buffer.lowest / unit;
      made.limit[i] = buffer.limit > 0 ? buffer.limit / unit : kMost;
      made.page[i] = buffer.no_cross / unit;
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

  // Cut time into maximal live sets. Going through all starts and ends in time order, ends first, a set is a run of
  // starts that an end follows.
  void list_lifetimes(Instance &made) {
    const i64 gaps = static_cast<i64>(problem_.gap_count);
    const i64 most = problem_.only_pairs ? 0 : made.n + gaps;
    made.start = arena_.array<i64>(most), made.end = arena_.array<i64>(most), made.time = arena_.array<i64>(most);
    Array<i64> begins = arena_.uncleared<i64>(most), ends = arena_.uncleared<i64>(most);
    Array<u32> events = arena_.uncleared<u32>(2 * most);
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
    std::iota(events.data, events.data + 2 * m, 0U);  // those below m are ends
    const auto time_of = [&](u32 event) { return event < m ? ends.data[event] : begins.data[event - m]; };
    std::sort(events.data, events.data + 2 * m, [&](u32 a, u32 b) {
      const i64 one = time_of(a), other = time_of(b);
      return one < other || (one == other && a < b);
    });
    for (i64 x = 0; x < 2 * m; ++x) {
      const bool is_start = events[x] >= m;
      if (x > 0 && !is_start && events[x - 1] >= m) made.time[made.n_sets++] = time_of(events[x - 1]);
      if (is_start)
        made.start[events[x] - m] = made.n_sets;
      else
        made.end[events[x]] = made.n_sets;
    }
    made.time.size = made.n_sets;
  }

  void list_pairs(Instance &made) {
    const i64 count = static_cast<i64>(problem_.pair_count);
    made.pair = arena_.array<i64>(2 * count);
    if (arena_.has_failed) return;
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
    for (i64 row = 0; row < count; ++row)  // moves each first to its end, that is to the next one's first
      if (ends_of(row, i, j)) made.pair[made.pair_first[i]++] = j, made.pair[made.pair_first[j]++] = i;
    i64 kept = 0, first = 0;
    for (i64 at = 0; at < made.n; ++at) {  // each once, whatever the rows repeat
      i64 *begin = made.pair.data + first, *end = made.pair.data + made.pair_first[at];
      first = made.pair_first[at];
      std::sort(begin, end, [](i64 a, i64 b) { return a < b; });
      made.pair_first[at] = kept;
      kept += std::unique(begin, end) - begin;
      std::copy(begin, begin + (kept - made.pair_first[at]), made.pair.data + made.pair_first[at]);
    }
    made.pair_first[made.n] = made.pair.size = kept;
  }

  // The capacity, or what stacking all on everything fixed takes; kLargest where that is more, and proves nothing.
  i64 ceiling_of(const Instance &made) const {
    i64 sum = made.reserved.size > 0 ? made.reserved[made.reserved.size - 1][1] : 0, fixed = 0;
    for (i64 i = 0; i < made.n; ++i) {
      fixed = std::max({fixed, made.lowest[i], made.pin[i] == kAbsent ? 0 : made.pin[i] + made.size[i]});
      const i64 step = made.step[i], page = made.page[i];
      // Where pages do not begin on the alignment, a place on both may be as far as both are long.
      const bool is_odd = page > 0 && (page % step != 0 || made.base % step != 0);
      const i64 waste = !is_odd ? step + page : page > kLargest / step ? kLargest : step * page;
      sum = std::min(kLargest, sum + made.size[i] + made.distance[i] + waste);
    }
    return std::min({made.capacity, kLargest, fixed + sum});
  }
};

// What no plan has less than: in units.
struct LiveBound {
  i64 end = 0;
  bool fits = true;  // whether it does not show that nothing fits
};

// The largest load, rounded up to the grids that alignments make, and the largest end that one buffer has by itself.
class Bounds {
 public:
  Bounds(Arena &arena, const Instance &instance) : instance_(instance) {
    load_ = arena.array<i64>(instance.n_sets + 1);
    sorted_ = arena.uncleared<i64>(instance.n);
  }

  LiveBound bound() {
    LiveBound found;
    fill(1);
    for (const i64 load : load_) found.end = std::max(found.end, load);
    for (i64 i = 0; i < instance_.n; ++i) {
      const i64 lowest = instance_.pin[i] == kAbsent ? instance_.lowest[i] : instance_.pin[i];
      found.end = std::max(found.end, lowest + instance_.size[i]);
    }
    if (instance_.is_plain) round_up(found);
    found.fits = found.fits && found.end <= instance_.capacity;
    return found;
  }

 private:
  static constexpr int kGrids = 4, kPeaks = 8;
  const Instance &instance_;
  Array<i64> load_, sorted_;

  static i64 rounded(i64 size, i64 step) { return size + floor_mod(-size, step); }

  // The load of each live set, of what lies on a grid, in cells of that.
  void fill(i64 step) {
    load_.fill(0);
    for (i64 i = 0; i < instance_.n; ++i) {
      if (instance_.step[i] % step != 0) continue;
      const i64 size = rounded(instance_.size[i], step);
      for (i64 r = instance_.first[i]; r < instance_.first[i + 1]; ++r)
        load_[instance_.start[r]] += size, load_[instance_.end[r]] -= size;
    }
    for (i64 t = 1; t < load_.size; ++t) load_[t] += load_[t - 1];
  }

  // The grids: what divides all alignments, and the commonest ones.
  void round_up(LiveBound &found) {
    const auto is_more = [](const Grid &a, const Grid &b) { return a.count > b.count; };
    Grid grids[kGrids + 2] = {};
    int n_grids = 0;
    i64 common = 0;
    std::copy(instance_.step.begin(), instance_.step.end(), sorted_.data);
    std::sort(sorted_.data, sorted_.data + sorted_.size, [](i64 a, i64 b) { return a < b; });
    for (i64 i = 0, j; i < sorted_.size; i = j) {
      for (j = i; j < sorted_.size && sorted_[j] == sorted_[i]; ++j) {
      }
      common = std::gcd(common, sorted_[i]);
      grids[n_grids] = {sorted_[i], j - i};
      for (int at = n_grids; at > 0 && is_more(grids[at], grids[at - 1]); --at) std::swap(grids[at], grids[at - 1]);
      n_grids = std::min(n_grids + 1, kGrids);
    }
    grids[n_grids++] = {common, 0};
    for (int x = 0; x < n_grids; ++x) {
      bool is_new = grids[x].step > 1;
      for (int y = 0; y < x; ++y) is_new = is_new && grids[y].step != grids[x].step;
      if (is_new) round_up_to(grids[x].step, found);
    }
  }

  struct Grid {
    i64 step, count;
  };

  void round_up_to(i64 step, LiveBound &found) {
    fill(step);
    i64 top[kPeaks + 1];
    int n_top = 0;
    for (i64 t = 0; t < instance_.n_sets; ++t) {
      top[n_top] = t;
      for (int at = n_top; at > 0 && load_[top[at]] > load_[top[at - 1]]; --at) std::swap(top[at], top[at - 1]);
      n_top = std::min(n_top + 1, kPeaks);
    }
    if (n_top == 0 || load_[top[0]] == 0) return;
    const i64 cells = instance_.capacity / step + (instance_.capacity % step != 0);
    found.fits = found.fits && (load_[top[0]] - 1) / step + 1 <= cells;
    for (int x = 0; x < n_top; ++x) {
      i64 waste = 0;  // the topmost buffer wastes nothing above itself; the most wasteful one counts
      for (i64 i = 0; i < instance_.n; ++i)
        if (instance_.start[i] <= top[x] && top[x] < instance_.end[i] && instance_.step[i] % step == 0)
          waste = std::max(waste, rounded(instance_.size[i], step) - instance_.size[i]);
      found.end = std::max(found.end, load_[top[x]] - waste);
    }
  }
};

}  // namespace memplan
