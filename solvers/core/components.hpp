// The independent components of an instance, laid out for the exact search; as components.py and sections.py do.
#pragma once
#include "exact.hpp"
#include "instance.hpp"
#include "random.hpp"

namespace memplan {

// The lifetimes of the free buffers, in sections: live sets, then cliques of those that have no lifetime.
struct Lives {
  Array<i64> first;  // (n + 1,)
  Array<i64> start;
  Array<i64> end;
  Array<i64> leftmost;  // (n,)
  Array<i64> rightmost;
  i64 n_sections = 0;
};

// Buffers that neither a section nor a conflict by name ties to any other; their best offsets, if any.
struct Component {
  i64 n;
  i64 peak;
  i64 *buffers;
  i64 *offset;
  bool has_offset;
};

struct Components {
  Lives lives;
  Array<Component> rows;
};

// Cover the free buffers without a lifetime by cliques of the conflicts by name among them, the largest first; writes
// the section of each, and returns the number of sections.
inline i64 list_cliques(Arena &arena, const Instance &instance, Array<i64> &section) {
  Array<u32> order = arena.uncleared<u32>(instance.n);
  Array<i64> common = arena.array<i64>(instance.n);  // how many of the clique a buffer conflicts with, in all
  if (arena.has_failed) return 0;
  i64 n = 0, sections = instance.n_sets;
  for (i64 i = 0; i < instance.n; ++i) {
    section[i] = kAbsent;
    if (instance.pin[i] == kAbsent && instance.first[i] == instance.first[i + 1]) order[n++] = static_cast<u32>(i);
  }
  std::sort(order.data, order.data + n, [&](u32 a, u32 b) {
    return instance.size.data[a] > instance.size.data[b] || (instance.size.data[a] == instance.size.data[b] && a < b);
  });
  const auto mark = [&](i64 i, i64 change) {
    for (i64 x = instance.pair_first[i]; x < instance.pair_first[i + 1]; ++x) common[instance.pair[x]] += change;
  };
  for (i64 a = 0; a < n; ++a) {
    if (section[order[a]] != kAbsent) continue;
    i64 members = 1;
    section[order[a]] = sections;
    mark(order[a], 1);
    for (i64 b = a + 1; b < n; ++b) {
      if (section[order[b]] != kAbsent || common[order[b]] < members) continue;
      section[order[b]] = sections;
      mark(order[b], 1);
      ++members;
    }
    for (i64 b = a; b < n; ++b)
      if (section[order[b]] == sections) mark(order[b], -1);
    ++sections;
  }
  return sections;
}

inline Lives lives_of(Arena &arena, const Instance &instance) {
  Lives lives{instance.first, instance.start, instance.end, {}, {}, instance.n_sets};
  const i64 n = instance.n;
  lives.leftmost = arena.array<i64>(n), lives.rightmost = arena.array<i64>(n);
  if (arena.has_failed) return lives;
  if (!instance.is_plain) {
    Array<i64> section = arena.uncleared<i64>(n);
    lives.first = arena.array<i64>(n + 1);
    lives.start = arena.array<i64>(instance.start.size + n), lives.end = arena.array<i64>(instance.start.size + n);
    if (arena.has_failed) return lives;
    lives.n_sections = list_cliques(arena, instance, section);
    if (arena.has_failed) return lives;
    i64 m = 0;
    for (i64 i = 0; i < n; ++i) {
      lives.first[i] = m;
      if (instance.pin[i] != kAbsent) continue;
      for (i64 r = instance.first[i]; r < instance.first[i + 1]; ++r)
        lives.start[m] = instance.start[r], lives.end[m++] = instance.end[r];
      if (section[i] != kAbsent) lives.start[m] = section[i], lives.end[m++] = section[i] + 1;
    }
    lives.first[n] = m;
  }
  for (i64 i = 0; i < n; ++i)
    if (lives.first[i] < lives.first[i + 1])
      lives.leftmost[i] = lives.start[lives.first[i]], lives.rightmost[i] = lives.end[lives.first[i + 1] - 1];
  return lives;
}

inline Components split(Arena &arena, const Instance &instance) {
  Components made{lives_of(arena, instance), {nullptr, 0}};
  const Lives &lives = made.lives;
  Array<i64> part = arena.array<i64>(lives.n_sections + 2), filed = arena.uncleared<i64>(instance.n);
  Array<i64> offset = arena.array<i64>(instance.n);
  if (arena.has_failed) return made;
  for (i64 i = 0; i < instance.n; ++i) {
    if (instance.pin[i] != kAbsent) continue;
    i64 left = lives.leftmost[i], right = lives.rightmost[i];
    for (i64 x = instance.pair_first[i]; x < instance.pair_first[i + 1]; ++x) {
      const i64 j = instance.pair[x];
      if (instance.pin[j] != kAbsent) continue;
      left = std::min(left, lives.leftmost[j]), right = std::max(right, lives.rightmost[j]);
    }
    ++part[left + 1], --part[right];
  }
  i64 crossing = 0, count = 0;
  for (i64 s = 0; s < lives.n_sections; ++s) {
    crossing += part[s];
    count += crossing == 0;  // a wall before a section that nothing crosses into
    part[s] = count - 1;
  }
  made.rows = arena.array<Component>(count);
  if (arena.has_failed) return made;
  for (i64 i = 0; i < instance.n; ++i)
    if (instance.pin[i] == kAbsent) ++made.rows[part[lives.leftmost[i]]].n;
  i64 at = 0, kept = 0;
  for (Component &row : made.rows) {
    row.buffers = filed.data + at, row.offset = offset.data + at;
    at += row.n, row.n = 0;
  }
  for (i64 i = 0; i < instance.n; ++i) {
    if (instance.pin[i] != kAbsent) continue;
    Component &row = made.rows[part[lives.leftmost[i]]];
    row.buffers[row.n++] = i;
  }
  for (const Component &row : made.rows)  // sections of pinned buffers alone have none
    if (row.n > 0) made.rows[kept++] = row;
  made.rows.size = kept;
  return made;
}

// The measures that orders compare: width in time, in sections, area, the largest total of a section.
enum Measure : int { kWidth, kSections, kArea, kTotal, kMeasures };

struct LaidOut {
  exact::Sections sections;
  Array<i64> measure[kMeasures];
  bool is_over = false;
};

class Layout {
 public:
  Layout(Arena &arena, const Instance &instance, const Lives &lives, const Component &component, Rows<u64> code)
      : arena_(arena), instance_(instance), lives_(lives), component_(component), code_(code) {}

  template <class IsOver>
  LaidOut laid_out(IsOver &&is_over) {
    LaidOut made{};
    exact::Sections &sections = made.sections;
    const i64 n = component_.n;
    i64 m = 0, last = 0, slots = 0;
    base_ = lives_.n_sections;
    for (i64 x = 0; x < n; ++x) {
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
                              arena_.array<i64>(k), arena_.array<i64>(n),  0};
    position_ = arena_.uncleared<i64>(instance_.n);
    if (arena_.has_failed) return made;
    position_.fill(kAbsent);
    i64 granule = 0;
    for (i64 x = 0, r = 0; x < n; ++x) {
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
    sections.first[n] = m, sections.granule = granule, sections.code = code_;
    for (i64 x = 0; x < n; ++x) sections.extent[x] = sections.size[x] + floor_mod(-sections.size[x], granule);
    list_links(sections);
    sections.is_plain = m == n && sections.link.size == 0, facts.finds_twins = sections.is_plain;
    list_obstacles(sections);
    list_blocks(sections);
    sections.member = arena_.uncleared<u32>(slots), sections.member_slot = arena_.uncleared<i64>(slots);
    sections.neighbour = arena_.uncleared<u32>(most_neighbours(sections, facts));
    if (arena_.has_failed) return made;
    made.is_over = exact::lay_out(sections, facts, is_over) < 0;
    for (i64 x = 0; x < n; ++x)
      if (sections.twin[x] >= 0 && !has_equal_obstacles(sections, x, sections.twin[x])) sections.twin[x] = kAbsent;
    measure(made, facts);
    return made;
  }

 private:
  Arena &arena_;
  const Instance &instance_;
  const Lives &lives_;
  const Component &component_;
  const Rows<u64> code_;
  i64 base_ = 0;
  Array<i64> position_{nullptr, 0};

  struct Range {
    i64 low, high;
  };

  void list_links(exact::Sections &sections) {
    i64 count = 0;
    for (int pass = 0; pass < 2; ++pass) {
      if (pass == 1) sections.link = arena_.array<i64>(count);
      if (arena_.has_failed) return;
      count = 0;
      for (i64 x = 0; x < component_.n; ++x) {
        const i64 i = component_.buffers[x];
        for (i64 y = instance_.pair_first[i]; y < instance_.pair_first[i + 1]; ++y) {
          const i64 other = position_[instance_.pair[y]];
          if (other == kAbsent) continue;
          if (pass == 1) sections.link[count] = other;
          ++count;
        }
        sections.link_first[x + 1] = count;
      }
    }
  }

  // Meetings of lifetimes, and links; more than that are no neighbours.
  i64 most_neighbours(const exact::Sections &sections, const exact::SectionFacts &facts) {
    const i64 k = sections.spare.size;
    Array<i64> begun = arena_.array<i64>(k + 1), over = arena_.array<i64>(k + 1);
    if (arena_.has_failed) return 0;
    for (i64 r = 0; r < sections.start.size; ++r) ++begun[sections.start[r] + 1], ++over[sections.end[r]];
    for (i64 s = 1; s <= k; ++s) begun[s] += begun[s - 1], over[s] += over[s - 1];
    i64 most = sections.link.size;
    for (i64 r = 0; r < facts.lifetime_buffer.size; ++r) most += begun[sections.end[r]] - over[sections.start[r]] - 1;
    return std::min(most, component_.n * (component_.n - 1));
  }

  // Sort ranges, and make one of those that overlap; returns how many are left. Borders of pages, (at, at), stay where
  // nothing else holds them.
  static i64 merge(Range *ranges, i64 count) {
    std::sort(ranges, ranges + count,
              [](const Range &a, const Range &b) { return a.low < b.low || (a.low == b.low && a.high < b.high); });
    i64 kept = 0;
    for (i64 x = 0; x < count; ++x) {
      const bool overlaps = kept > 0 && ranges[x].low < ranges[kept - 1].high;
      if (overlaps)
        ranges[kept - 1].high = std::max(ranges[kept - 1].high, ranges[x].high);
      else
        ranges[kept++] = ranges[x];
    }
    return kept;
  }

  // Where each buffer may not lie: reserved ranges, pinned buffers that conflict with it, what is below its lowest
  // offset and above its limit, and the borders of its pages, that it must not cross.
  void list_obstacles(exact::Sections &sections) {
    i64 total = 0;
    for (int pass = 0; pass < 2; ++pass) {
      if (pass == 1) sections.obstacle = arena_.rows<i64>(total, 2);
      Array<Range> ranges = arena_.uncleared<Range>(pass == 0 ? 0 : total);
      if (arena_.has_failed) return;
      total = 0;
      for (i64 x = 0; x < component_.n; ++x) {
        const i64 i = component_.buffers[x];
        i64 count = 0;
        const auto add = [&](i64 low, i64 high) {
          if (pass == 1) ranges[count] = {low, high};
          ++count;
        };
        for (i64 row = 0; row < instance_.reserved.size; ++row)
          add(instance_.reserved[row][0], instance_.reserved[row][1]);
        if (!instance_.is_plain)
          for (i64 j = 0; j < instance_.n; ++j)
            if (instance_.pin[j] != kAbsent && instance_.conflict(i, j))
              add(instance_.pin[j], instance_.pin[j] + instance_.size[j]);
        if (instance_.lowest[i] > 0) add(0, instance_.lowest[i]);
        if (instance_.limit[i] != kMost) add(instance_.limit[i], exact::kNowhere);
        if (instance_.page[i] > 0)
          for (i64 at = floor_mod(-instance_.base, instance_.page[i]); at <= instance_.ceiling; at += instance_.page[i])
            add(at, at);
        if (pass == 1) {
          count = merge(ranges.data, count);
          for (i64 row = 0; row < count; ++row) {
            sections.obstacle[total + row][0] = ranges[row].low;
            sections.obstacle[total + row][1] = ranges[row].high;
          }
        }
        total += count;
        sections.obstacle_first[x + 1] = total;
      }
    }
    sections.obstacle.size = total;
  }

  // For each section, the cells of the reserved ranges and of the pinned buffers alive in it. Below `low` a buffer may
  // end inside its last cell, but none can start inside the cell that `high` is in.
  void list_blocks(exact::Sections &sections) {
    const i64 k = sections.spare.size, granule = sections.granule, shift = floor_mod(sections.residue[0], granule);
    const auto up = [=](i64 at) { return at + floor_mod(shift - at, granule); };
    i64 total = 0;
    if (instance_.is_plain) return;
    for (int pass = 0; pass < 2; ++pass) {
      if (pass == 1) sections.block = arena_.rows<i64>(total, 2);
      Array<Range> ranges = arena_.uncleared<Range>(pass == 0 ? 0 : total);
      if (arena_.has_failed) return;
      total = 0;
      for (i64 s = 0; s < k; ++s) {
        i64 count = 0;
        const auto add = [&](i64 low, i64 high) {
          if (pass == 1) ranges[count] = {up(low), up(high)};
          ++count;
        };
        for (i64 row = 0; row < instance_.reserved.size; ++row)
          add(instance_.reserved[row][0], instance_.reserved[row][1]);
        for (i64 j = 0; j < instance_.n; ++j)
          if (instance_.pin[j] != kAbsent && is_alive(j, base_ + s))
            add(instance_.pin[j], instance_.pin[j] + instance_.size[j]);
        if (pass == 1) {
          count = merge(ranges.data, count);
          for (i64 row = 0; row < count; ++row)
            sections.block[total + row][0] = ranges[row].low, sections.block[total + row][1] = ranges[row].high;
        }
        total += count;
        sections.block_first[s + 1] = total;
      }
    }
    sections.block.size = total;
  }

  bool is_alive(i64 i, i64 set) const {
    for (i64 r = instance_.first[i]; r < instance_.first[i + 1]; ++r)
      if (instance_.start[r] <= set && set < instance_.end[r]) return true;
    return false;
  }

  static bool has_equal_obstacles(const exact::Sections &sections, i64 x, i64 y) {
    const i64 first = sections.obstacle_first[x], count = sections.obstacle_first[x + 1] - first;
    const i64 other = sections.obstacle_first[y];
    if (count != sections.obstacle_first[y + 1] - other) return false;
    return count == 0 || std::equal(sections.obstacle[first], sections.obstacle[first] + 2 * count, sections.obstacle[other]);
  }

  // About when a section begins, at half the way from one live set to the next; cliques take no time.
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
    made.measure[kWidth] = arena_.array<i64>(component_.n), made.measure[kArea] = arena_.array<i64>(component_.n);
    if (arena_.has_failed) return;
    for (i64 x = 0; x < component_.n; ++x) {
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
