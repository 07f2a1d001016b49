// The data of a component, arranged as the exact search reads them.
#pragma once
#include <numeric>

#include "components.hpp"
#include "exact.hpp"
#include "stack.hpp"

namespace memplan {

// The measures by which orders compare buffers: width in time, width in sections, area, and largest load of a section.
enum Measure : int { kWidth, kSections, kArea, kTotal, kMeasures };

struct LaidOut {
  exact::Sections sections;
  Array<i64> measure[kMeasures];
  bool is_over = false;
};

// A dummy buffer of `size` granules, alive in the sections [start, end) of a component; see dummies.hpp.
struct Dummy {
  i64 start, end, size;
};

class Layout {
 public:
  // The buffers of the component come first, followed by the dummy buffers.
  Layout(Arena &arena, const OnePool &instance, const Lives &lives, const Component &component, Rows<u64> code,
         i64 ceiling, Array<Dummy> dummies = {nullptr, 0})
      : arena_(arena),
        instance_(instance),
        lives_(lives),
        component_(component),
        code_(code),
        ceiling_(ceiling),
        dummies_(dummies),
        n_(component.n + dummies.size) {}

  template <class IsOver>
  LaidOut laid_out(IsOver &&is_over) {
    LaidOut made{};
    exact::Sections &sections = made.sections;
    const i64 n = n_;
    i64 m = dummies_.size, last = 0, slots = 0;
    base_ = lives_.n_sections;
    for (i64 x = 0; x < component_.n; ++x) {
      const i64 i = component_.buffers[x];
      base_ = std::min(base_, lives_.leftmost[i]), last = std::max(last, lives_.rightmost[i]);
      m += lives_.first[i + 1] - lives_.first[i];
    }
    const i64 k = last - base_;
    for (Array<i64> *column : {&sections.size, &sections.extent, &sections.step, &sections.residue, &sections.leftmost,
                               &sections.rightmost, &sections.twin})
      *column = arena_.array<i64>(n);
    for (Array<i64> *column : {&sections.first, &sections.neighbour_first, &sections.link_first,
                               &sections.obstacle_first})
      *column = arena_.array<i64>(n + 1);
    sections.start = arena_.array<i64>(m), sections.end = arena_.array<i64>(m);
    sections.slot_first = arena_.array<i64>(m);
    sections.member_first = arena_.array<u32>(k + 1), sections.block_first = arena_.array<i64>(k + 1);
    sections.spare = arena_.array<i64>(k);
    exact::SectionFacts facts{arena_.array<i64>(m), arena_.array<i64>(n), arena_.array<i64>(n),
                              arena_.array<i64>(k), arena_.array<i64>(n)};
    position_ = arena_.uncleared<i64>(instance_.n);
    if (arena_.has_failed) return made;
    position_.fill(kAbsent);
    i64 granule = 0, r = 0;
    for (i64 x = 0; x < component_.n; ++x) {
      const i64 i = component_.buffers[x];
      position_[i] = x;
      sections.size[x] = instance_.size[i];
      sections.step[x] = instance_.step[i], sections.residue[x] = instance_.residue[i];
      granule = std::gcd(std::gcd(granule, instance_.step[i]), instance_.residue[i] - sections.residue[0]);
      sections.first[x] = r;
      for (i64 q = lives_.first[i]; q < lives_.first[i + 1]; ++q, ++r) {
        facts.lifetime_buffer[r] = x;
        sections.start[r] = lives_.start[q] - base_, sections.end[r] = lives_.end[q] - base_;
        slots += sections.end[r] - sections.start[r];
      }
    }
    // dummy buffers are on the common grid, because they could not fill the slack otherwise
    for (i64 x = component_.n; x < n; ++x, ++r) {
      const Dummy &row = dummies_[x - component_.n];
      sections.size[x] = granule * row.size;
      sections.step[x] = granule, sections.residue[x] = sections.residue[0] % granule;
      facts.lifetime_buffer[r] = x;
      sections.first[x] = r, sections.start[r] = row.start, sections.end[r] = row.end;
      slots += row.end - row.start;
    }
    sections.first[n] = m, sections.granule = granule, sections.code = code_;
    for (i64 x = 0; x < n; ++x) sections.extent[x] = sections.size[x] + floor_mod(-sections.size[x], granule);
    list_links(sections);
    sections.is_plain = m == n && sections.link.size == 0;
    list_obstacles(sections);
    list_blocks(sections);
    sections.member = arena_.uncleared<u32>(slots), sections.member_slot = arena_.uncleared<i64>(slots);
    sections.neighbour = arena_.uncleared<u32>(most_neighbours(sections, facts));
    if (arena_.has_failed) return made;
    is_over();
    made.is_over = exact::lay_out(sections, facts, is_over) < 0 || is_over();
    if (instance_.clearance.size > 0) list_clearances(sections, facts.seen);
    if (arena_.has_failed) return made;
    for (i64 x = 0; x < n; ++x)
      if (sections.twin[x] >= 0 && !are_twins(sections, x, sections.twin[x])) sections.twin[x] = kAbsent;
    measure(made, facts);
    return made;
  }

 private:
  Arena &arena_;
  const OnePool &instance_;
  const Lives &lives_;
  const Component &component_;
  const Rows<u64> code_;
  const i64 ceiling_;
  const Array<Dummy> dummies_;
  const i64 n_;
  i64 base_ = 0;
  Array<i64> position_{nullptr, 0};

  void list_links(exact::Sections &sections) {
    Growing<i64> links(arena_), clearances(arena_);
    for (i64 x = 0; x < n_; ++x) {
      if (x < component_.n) {
        const i64 i = component_.buffers[x];
        for (i64 y = instance_.pair_first[i]; y < instance_.pair_first[i + 1]; ++y)
          if (const i64 other = position_[instance_.pair[y]]; other != kAbsent) {
            links.push(other);
            if (instance_.clearance.size > 0) clearances.push(instance_.clearance[y]);
          }
      }
      sections.link_first[x + 1] = links.size;
    }
    sections.link = links.array(), sections.link_clearance = clearances.array();
  }

  void list_clearances(exact::Sections &sections, const Array<i64> &free) {
    sections.neighbour_clearance = arena_.uncleared<i64>(sections.neighbour_first[n_]);
    if (arena_.has_failed) return;
    free.fill(0);
    for (i64 x = 0; x < n_; ++x) {
      const i64 from = sections.link_first[x], end = sections.link_first[x + 1];
      for (i64 y = from; y < end; ++y) free[sections.link[y]] = sections.link_clearance[y];
      for (i64 y = sections.neighbour_first[x]; y < sections.neighbour_first[x + 1]; ++y)
        sections.neighbour_clearance[y] = free[sections.neighbour[y]];
      for (i64 y = from; y < end; ++y) free[sections.link[y]] = 0;
    }
  }

  // Return an upper bound on the number of neighbours: pairs of overlapping lifetimes, and named conflicts.
  i64 most_neighbours(const exact::Sections &sections, const exact::SectionFacts &facts) {
    const i64 k = sections.spare.size;
    Array<i64> begun = arena_.array<i64>(k + 1), over = arena_.array<i64>(k + 1);
    if (arena_.has_failed) return 0;
    for (i64 r = 0; r < sections.start.size; ++r) ++begun[sections.start[r] + 1], ++over[sections.end[r]];
    for (i64 s = 1; s <= k; ++s) begun[s] += begun[s - 1], over[s] += over[s - 1];
    i64 most = sections.link.size;
    for (i64 r = 0; r < facts.lifetime_buffer.size; ++r) most += begun[sections.end[r]] - over[sections.start[r]] - 1;
    return std::min(most, n_ * (n_ - 1));
  }

  // List the obstacles of each buffer: ranges that its offset must avoid, because it would overlap reserved
  // ranges or conflicting pinned buffers, end above its limit, cross a border of its pages, start below its
  // lowest offset, or start in a barred range.
  void list_obstacles(exact::Sections &sections) {
    Growing<Range> obstacles(arena_);
    for (i64 x = 0; x < n_; ++x) {
      const i64 i = x < component_.n ? component_.buffers[x] : kAbsent, from = obstacles.size;
      add_in_the_way(obstacles, [&](i64 j) {
        return i != kAbsent ? instance_.kept_free(i, j) : meets(dummies_[x - component_.n], j) ? 0 : kAbsent;
      });
      if (i != kAbsent) add_rules(i, obstacles);
      for (i64 row = from; row < obstacles.size; ++row) obstacles[row].low -= sections.size[x] - 1;
      if (i != kAbsent) add_ranges(i, obstacles);
      merge(obstacles, from);
      sections.obstacle_first[x + 1] = obstacles.size;
    }
    sections.obstacle = obstacles.array();
  }

  // List for each section the cells of reserved ranges and of pinned buffers alive in it. A buffer may end inside its
  // last cell below `low`, but no buffer can start inside the cell of `high`.
  void list_blocks(exact::Sections &sections) {
    const i64 k = sections.spare.size, granule = sections.granule, shift = floor_mod(sections.residue[0], granule);
    const auto up = [=](i64 at) { return at + floor_mod(shift - at, granule); };
    if (instance_.is_plain) return;
    Growing<Range> blocks(arena_);
    for (i64 s = 0; s < k; ++s) {
      const i64 from = blocks.size;
      add_in_the_way(blocks, [&](i64 j) { return is_alive(j, base_ + s) ? 0 : kAbsent; });
      for (Range *block = blocks.begin() + from; block != blocks.end(); ++block) *block = {up(block->low), up(block->high)};
      merge(blocks, from);
      sections.block_first[s + 1] = blocks.size;
    }
    sections.block = blocks.array();
  }

  // Add the reserved ranges, and the pinned buffers that must stay disjoint, extended by the units to keep free.
  template <class Free>
  void add_in_the_way(Growing<Range> &ranges, Free &&kept_free) const {
    for (i64 row = 0; row < instance_.reserved.size; ++row)
      ranges.push({instance_.reserved[row][0], instance_.reserved[row][1]});
    for (i64 j = 0; j < instance_.n && !instance_.is_plain; ++j)
      if (instance_.pin[j] != kAbsent)
        if (const i64 free = kept_free(j); free != kAbsent)
          ranges.push({instance_.pin[j] - free, instance_.pin[j] + instance_.size[j] + free});
  }

  void add_rules(i64 i, Growing<Range> &ranges) const {
    if (instance_.limit[i] != kMost) ranges.push({instance_.limit[i], exact::kNowhere});
    if (const i64 page = instance_.page[i]; page > 0)
      for (i64 at = floor_mod(-instance_.page_shift[i], page); at <= ceiling_; at += page) ranges.push({at, at});
  }

  void add_ranges(i64 i, Growing<Range> &ranges) const {
    if (instance_.lowest[i] > 0) ranges.push({0, instance_.lowest[i]});
    if (instance_.barred.size == 0) return;
    for (i64 row = instance_.barred_first[i]; row < instance_.barred_first[i + 1]; ++row)
      ranges.push({instance_.barred[row][0], instance_.barred[row][1]});
  }

  bool meets(const Dummy &dummy, i64 pinned) const {
    for (i64 r = instance_.first[pinned]; r < instance_.first[pinned + 1]; ++r)
      if (instance_.start[r] < base_ + dummy.end && base_ + dummy.start < instance_.end[r]) return true;
    return false;
  }

  bool is_alive(i64 i, i64 set) const {
    for (i64 r = instance_.first[i]; r < instance_.first[i + 1]; ++r)
      if (instance_.start[r] <= set && set < instance_.end[r]) return true;
    return false;
  }

  // Return whether two buffers, equal in all other columns, have equal obstacles and clearances.
  static bool are_twins(const exact::Sections &sections, i64 x, i64 y) {
    if (sections.link_clearance.size > 0) {
      const i64 *first = sections.link_clearance.data, *links = first + sections.link_first[x];
      if (!std::equal(links, first + sections.link_first[x + 1], first + sections.link_first[y])) return false;
    }
    const Range *mine = sections.obstacle.data, *first = mine + sections.obstacle_first[x];
    return std::equal(first, mine + sections.obstacle_first[x + 1], mine + sections.obstacle_first[y],
                      mine + sections.obstacle_first[y + 1],
                      [](const Range &a, const Range &b) { return a.low == b.low && a.high == b.high; });
  }

  // Return about when a section begins: half way between its live set and the one before; cliques take no time.
  double border(i64 section) const {
    const Array<i64> &time = instance_.time;
    if (time.size == 0) return 0.0;
    if (section == 0) return static_cast<double>(time[0]) - 1;
    if (section >= time.size) return static_cast<double>(time[time.size - 1]) + 1;
    return (static_cast<double>(time[section]) + static_cast<double>(time[section - 1])) / 2;
  }

  void measure(LaidOut &made, const exact::SectionFacts &facts) {
    const exact::Sections &sections = made.sections;
    made.measure[kSections] = facts.span, made.measure[kTotal] = facts.total;
    made.measure[kWidth] = arena_.array<i64>(n_), made.measure[kArea] = arena_.array<i64>(n_);
    if (arena_.has_failed) return;
    for (i64 x = 0; x < n_; ++x) {
      i64 width = 0;
      for (i64 r = sections.first[x]; r < sections.first[x + 1]; ++r) {
        const double lasting = 2 * (border(base_ + sections.end[r]) - border(base_ + sections.start[r]));
        width += static_cast<i64>(std::clamp(lasting, 1.0, 0x1p40));
      }
      made.measure[kWidth][x] = width;
      const double area = static_cast<double>(width) * static_cast<double>(sections.size[x]);
      made.measure[kArea][x] = static_cast<i64>(std::min(area, 0x1p62));
    }
  }
};

}  // namespace memplan
