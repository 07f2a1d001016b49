// The buffers of one pool as the exact search reads them: sections, neighbours, obstacles, twins.
#pragma once
#include "tables.hpp"

namespace memplan::exact {

// See `Sections` in sections.py.
struct Sections {
  Array<i64> size;
  Array<i64> extent;
  Array<i64> step;
  Array<i64> residue;
  Array<i64> first;
  Array<i64> start;
  Array<i64> end;
  Array<i64> leftmost;
  Array<i64> rightmost;
  Array<i64> neighbour_first;
  Array<u32> neighbour;
  Array<i64> link_first;
  Array<i64> link;
  Array<i64> obstacle_first;
  Rows<i64> obstacle;
  Array<u32> member_first;
  Array<u32> member;
  Array<i64> member_slot;
  Array<i64> slot_first;
  Array<i64> block_first;
  Rows<i64> block;
  Array<i64> spare;
  Array<i64> twin;
  Rows<u64> code;
  i64 granule;
  i64 is_plain;
};

struct SectionFacts {
  Array<i64> lifetime_buffer;
  Array<i64> span;
  Array<i64> total;
  Array<i64> load;
  Array<i64> seen;
  i64 finds_twins;
};

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

  // 4. Neighbours, and twins among them: buffers of one lifetime each that are equal in all columns.
  i64 count = 0;
  for (i64 i = 0, work = 0; i < n; ++i) {
    if ((work += m) > (1 << 18)) {
      work = 0;
      if (is_over()) return kAbsent;
    }
    count = list_neighbours(sections, facts, i, count);
    sections.neighbour_first[i + 1] = count;
    for (i64 at = sections.neighbour_first[i]; at < count && facts.finds_twins; ++at) {
      const i64 j = sections.neighbour[at];
      if (j < i && sections.size[i] == sections.size[j] && sections.step[i] == sections.step[j] &&
          sections.residue[i] == sections.residue[j] && sections.start[i] == sections.start[j] &&
          sections.end[i] == sections.end[j])
        sections.twin[i] = j;
    }
  }
  return count;
}

}  // namespace memplan::exact
