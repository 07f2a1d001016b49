// The independent components of an instance, which the exact search solves one after another.
#pragma once
#include "arena.hpp"
#include "instance.hpp"

namespace memplan {

// The lifetimes of the free buffers, in sections: live sets, then cliques of buffers without lifetimes.
struct Lives {
  Array<i64> first;  // (n + 1,)
  Array<i64> start;
  Array<i64> end;
  Array<i64> leftmost;  // (n,)
  Array<i64> rightmost;
  i64 n_sections = 0;
};

// A component: buffers that no section and no named conflict connects to other buffers.
struct Component {
  i64 n;
  i64 *buffers;
};

// Cover the free buffers without a lifetime by cliques of their named conflicts, the largest cliques first;
// write the section of each buffer, and return the number of sections.
inline i64 list_cliques(Arena &arena, const OnePool &instance, Array<i64> &section) {
  Array<u32> order = arena.uncleared<u32>(instance.n);
  Array<i64> common = arena.array<i64>(instance.n);  // for each buffer, the number of its conflicts with the clique
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

inline Lives lives_of(Arena &arena, const OnePool &instance) {
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

// Return the components in order of time; they contain no pinned buffers.
inline Array<Component> split(Arena &arena, const OnePool &instance, const Lives &lives) {
  Array<Component> rows{nullptr, 0};
  Array<i64> part = arena.array<i64>(lives.n_sections + 2), filed = arena.uncleared<i64>(instance.n);
  if (arena.has_failed) return rows;
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
    count += crossing == 0;  // no lifetime crosses into this section, so a new component begins
    part[s] = count - 1;
  }
  rows = arena.array<Component>(count);
  if (arena.has_failed) return rows;
  for (i64 i = 0; i < instance.n; ++i)
    if (instance.pin[i] == kAbsent) ++rows[part[lives.leftmost[i]]].n;
  i64 at = 0, kept = 0;
  for (Component &row : rows) {
    row.buffers = filed.data + at;
    at += row.n, row.n = 0;
  }
  for (i64 i = 0; i < instance.n; ++i) {
    if (instance.pin[i] != kAbsent) continue;
    Component &row = rows[part[lives.leftmost[i]]];
    row.buffers[row.n++] = i;
  }
  for (const Component &row : rows)  // sections with pinned buffers only have no free buffers, so drop their components
    if (row.n > 0) rows[kept++] = row;
  rows.size = kept;
  return rows;
}

}  // namespace memplan
