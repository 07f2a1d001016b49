// The buffers of one pool as the exact search reads them: sections, neighbours, obstacles, interchangeable buffers.
#pragma once
#include "pace.hpp"

namespace memplan::exact {

// The arrays that the exact search reads: n free buffers in k sections, with all lengths and offsets in units.
//
// A section is a set of pairwise conflicting buffers: a maximal live set, or a clique of named conflicts. Pinned
// buffers and reserved ranges are not placed by the search; they are obstacles.
//
// Lifetime r of buffer i, for r in first[i]:first[i + 1], spans the sections start[r]:end[r], which are all in
// leftmost[i]:rightmost[i]. All offsets are congruent modulo `granule`, so a buffer blocks `extent` units although it
// ends after `size`. `twin[i]` is an earlier buffer that is interchangeable with i, or -1.
struct Sections {
  Array<i64> size;
  Array<i64> extent;           // the size of each buffer, rounded up to the granule
  Array<i64> step;             // an offset o of a buffer satisfies o % step == residue
  Array<i64> residue;
  Array<i64> first;            // (n + 1,): start of each buffer's lifetimes
  Array<i64> start;
  Array<i64> end;
  Array<i64> leftmost;
  Array<i64> rightmost;
  Array<i64> neighbour_first;  // (n + 1,): start of each buffer's conflicting buffers, for any reason
  Array<u32> neighbour;
  Array<i64> link_first;       // (n + 1,): start of each buffer's named conflicts among them
  Array<i64> link;
  // the units that named conflicts keep free; like `neighbour_clearance`, empty if there are none
  Array<i64> link_clearance;
  Array<i64> neighbour_clearance;
  Array<i64> obstacle_first;   // (n + 1,): start of each buffer's disjoint ascending ranges of forbidden offsets
  Array<Range> obstacle;
  Array<u32> member_first;     // (k + 1,): start of each section's members
  Array<u32> member;
  // the slot of each member; slots number the sections of all lifetimes, lifetime by lifetime
  Array<i64> member_slot;
  Array<i64> slot_first;       // the first slot of each lifetime
  // (k + 1,): start of each section's disjoint ascending ranges that no buffer of it may use
  Array<i64> block_first;
  Array<Range> block;
  Array<i64> spare;            // (k,): the most by which a buffer's extent exceeds its size
  Array<i64> twin;
  Rows<u64> code;              // (n, 4): random numbers for the keys of no-goods
  i64 granule;
  bool is_plain;               // true if every buffer has one lifetime and no named conflict
};

// Further facts that are computed on the way; all arrays but the first must be 0 before.
struct SectionFacts {
  Array<i64> lifetime_buffer;  // (m,): the buffer of each lifetime, ascending
  Array<i64> span;             // (n,): the number of sections of its lifetimes
  Array<i64> total;            // (n,): the largest load of a section that contains it
  Array<i64> load;             // (k,): the sum of the extents in each section
  Array<i64> seen;             // (n,): scratch space
};

// Return whether two buffers are equal in all columns except obstacles.
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

// Append the buffers that conflict with buffer `i` to the list of neighbours, ascending; return the list's new length.
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

// Fill in the columns from `leftmost` on; links, obstacles and blocks must be filled in already.
// All columns must be 0 before. Return the number of neighbours in all lists; ABSENT if time is over.
template <class IsOver>
i64 lay_out(const Sections &sections, const SectionFacts &facts, IsOver &&is_over) {
  // 1. Find where buffers begin and end, and count the members of each section.
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
    facts.load[s] = member_first[s];  // the position of the next member
  }

  // 2. List the members of each section, in the order of their slots.
  slot = 0;
  for (i64 r = 0; r < m; ++r)
    for (i64 s = sections.start[r]; s < sections.end[r]; ++s) {
      const i64 at = facts.load[s]++;
      sections.member[at] = static_cast<u32>(facts.lifetime_buffer[r]), sections.member_slot[at] = slot++;
    }

  // 3. Sum up the load of each section, and find the largest padding of its buffers.
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

  // 4. List the neighbours, and find twins among them.
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
