// The buffers of one pool as the exact search reads them: sections, neighbours, obstacles, interchangeable buffers.
#pragma once
#include "pace.hpp"

namespace memplan::exact {

// The arrays that the exact search reads: n free buffers in k sections; all lengths and offsets in units.
//
// A section is a set of buffers that all conflict: a maximal live set, or a clique of conflicts by name. Pinned buffers
// and reserved ranges are not searched for: they are obstacles.
//
// Lifetime r of buffer i, for r in first[i]:first[i + 1], spans the sections start[r]:end[r]; all of them lie in
// leftmost[i]:rightmost[i]. All offsets are congruent modulo `granule`, so a buffer takes `extent` from those above it
// though it ends after `size`. `twin[i]` is an earlier buffer that differs from i in nothing, or -1.
struct Sections {
  Array<i64> size;
  Array<i64> extent;           // size rounded up to the granule
  Array<i64> step;             // offsets are o with o % step == residue
  Array<i64> residue;
  Array<i64> first;            // (n + 1,)
  Array<i64> start;
  Array<i64> end;
  Array<i64> leftmost;
  Array<i64> rightmost;
  Array<i64> neighbour_first;  // (n + 1,): the buffers that conflict with it, for whatever reason
  Array<u32> neighbour;
  Array<i64> link_first;       // (n + 1,): the conflicts by name among them
  Array<i64> link;
  Array<i64> link_clearance;       // what these, and neighbours, keep free; of no size where nothing does
  Array<i64> neighbour_clearance;
  Array<i64> obstacle_first;   // (n + 1,): disjoint ascending ranges that a buffer's offset is not in
  Array<Range> obstacle;
  Array<u32> member_first;     // (k + 1,)
  Array<u32> member;
  Array<i64> member_slot;      // the slot of each member: slots count sections of lifetimes, lifetime by lifetime
  Array<i64> slot_first;       // the first slot of each lifetime
  Array<i64> block_first;      // (k + 1,): disjoint ascending ranges that no buffer of a section may use
  Array<Range> block;
  Array<i64> spare;            // (k,): the most that a buffer's extent exceeds its size
  Array<i64> twin;
  Rows<u64> code;              // (n, 4): random numbers, for the keys of nogoods
  i64 granule;
  bool is_plain;               // whether every buffer has one lifetime and no conflict by name
};

// What else is found on the way; all 0 before, but the first.
struct SectionFacts {
  Array<i64> lifetime_buffer;  // (m,): the buffer of each lifetime, ascending
  Array<i64> span;             // (n,): the sections of its lifetimes
  Array<i64> total;            // (n,): the largest load of a section that it is in
  Array<i64> load;             // (k,): the sum of the extents in each section
  Array<i64> seen;             // (n,): scratch
};

// Whether two buffers are equal in all columns, obstacles aside.
inline bool are_equal(const Sections &sections, i64 i, i64 j) {
  if (sections.size[i] != sections.size[j] || sections.step[i] != sections.step[j]) return false;
  const i64 first = sections.first[i], other = sections.first[j], m = sections.first[i + 1] - first;
  const i64 link = sections.link_first[i], links = sections.link_first[i + 1] - link;
  if (sections.residue[i] != sections.residue[j] || sections.first[j + 1] - other != m) return false;
  for (i64 r = 0; r < m; ++r)
    if (sections.start[first + r] != sections.start[other + r] || sections.end[first + r] != sections.end[other + r])
      return false;
  const i64 other_link = sections.link_first[j];
  if (sections.link_first[j + 1] - other_link != links) return false;
  return std::equal(sections.link.data + link, sections.link.data + link + links, sections.link.data + other_link);
}

// Append the buffers that conflict with buffer `i` to the list of neighbours, ascending; return its new length.
inline i64 list_neighbours(const Sections &sections, const SectionFacts &facts, i64 i, i64 count) {
  const i64 n = sections.size.size;
  const Array<i64> &start = sections.start, &end = sections.end;
  if (sections.is_plain) {
    const i64 mine = start[i], until = end[i];
    for (i64 j = 0; j < n; ++j)
      if (start[j] < until && mine < end[j] && j != i) sections.neighbour[count++] = static_cast<u32>(j);
    return count;
  }
  for (i64 r = sections.first[i]; r < sections.first[i + 1]; ++r)
    for (i64 q = 0; q < start.size; ++q)
      if (start[q] < end[r] && start[r] < end[q]) facts.seen[facts.lifetime_buffer[q]] = i + 1;
  for (i64 x = sections.link_first[i]; x < sections.link_first[i + 1]; ++x) facts.seen[sections.link[x]] = i + 1;
  for (i64 j = 0; j < n; ++j)
    if (facts.seen[j] == i + 1 && j != i) sections.neighbour[count++] = static_cast<u32>(j);
  return count;
}

// Fill in the columns from `leftmost` on, but for links, obstacles and blocks, which must be there. All of them are 0
// before, `member_first` included. Returns the number of neighbours in all lists; ABSENT where it was over before.
template <class IsOver>
i64 lay_out(const Sections &sections, const SectionFacts &facts, IsOver &&is_over) {
  // 1. Where buffers begin and end, and how many are in each section.
  const i64 n = sections.size.size, k = sections.spare.size, m = sections.start.size;
  const Array<u32> &member_first = sections.member_first;
  for (i64 i = 0; i < n; ++i) sections.leftmost[i] = k, sections.twin[i] = kAbsent;
  i64 slot = 0;
  for (i64 r = 0; r < m; ++r) {
    const i64 i = facts.lifetime_buffer[r], low = sections.start[r], high = sections.end[r];
    sections.leftmost[i] = std::min(sections.leftmost[i], low);
    sections.rightmost[i] = std::max(sections.rightmost[i], high);
    facts.span[i] += high - low;
    sections.slot_first[r] = slot;
    slot += high - low;
    for (i64 s = low; s < high; ++s) ++member_first[s + 1];
  }
  for (i64 s = 0; s < k; ++s) {
    member_first[s + 1] += member_first[s];
    facts.load[s] = member_first[s];  // where the next member goes
  }

  // 2. The members of each section, in the order of their slots.
  slot = 0;
  for (i64 r = 0; r < m; ++r)
    for (i64 s = sections.start[r]; s < sections.end[r]; ++s) {
      const i64 at = facts.load[s]++;
      sections.member[at] = static_cast<u32>(facts.lifetime_buffer[r]), sections.member_slot[at] = slot++;
    }

  // 3. The load of each section, and what its buffers waste at the most.
  for (i64 s = 0; s < k; ++s) {
    i64 load = 0;
    for (i64 at = member_first[s]; at < member_first[s + 1]; ++at) {
      const i64 i = sections.member[at];
      load += sections.extent[i];
      sections.spare[s] = std::max(sections.spare[s], sections.extent[i] - sections.size[i]);
    }
    facts.load[s] = load;
    for (i64 at = member_first[s]; at < member_first[s + 1]; ++at)
      facts.total[sections.member[at]] = std::max(facts.total[sections.member[at]], load);
  }

  // 4. Neighbours, and twins among them.
  i64 count = 0;
  Pace pace(is_over);
  for (i64 i = 0; i < n; ++i) {
    if (pace(m)) return kAbsent;
    count = list_neighbours(sections, facts, i, count);
    sections.neighbour_first[i + 1] = count;
    for (i64 at = sections.neighbour_first[i]; at < count && sections.neighbour[at] < i; ++at)
      if (are_equal(sections, i, sections.neighbour[at])) sections.twin[i] = sections.neighbour[at];
  }
  return count;
}

}  // namespace memplan::exact
