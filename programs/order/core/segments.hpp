// Segments: macros that may run at once without a choice, because no order is worse for it.
//
// A segment is a macro that is ready, then only macros that become ready through it, each of which leaves no more bytes
// alive than before it, or begins a segment of its own that ends so. It ends when no more bytes are alive than before
// the segment. docs/order.md proves that whatever order exists within a budget, one exists that begins with the
// segment.
#pragma once
#include "moves.hpp"

namespace memplan::order {

// How far a segment is followed.
struct SegmentLimits {
  i64 depth;    // segments that begin inside each other
  i64 longest;  // macros of a segment
  i64 allowed;  // macros that are tried
};

// Segments grown within a budget, and the least peak that it refused.
class Segments {
 public:
  // No segment begins more than `depth` deep inside others.
  Segments(Arena &arena, const Moves &moves, i64 budget, i64 depth)
      : moves_(moves), budget_(budget), open_(arena.array<Open>(depth + 2)) {}

  // Run the segment that begins with a macro, if it is one: it ends at `base` bytes or less within the budget.
  //
  // Otherwise return false, with all taken back. Its peak and the last bytes alive are left in `hill` and `valley`
  // either way.
  bool grow(Prefix &prefix, i64 macro, i64 base, const SegmentLimits &limits);

  i64 refused = i64{1} << 62;
  i64 hill = 0, valley = 0;

 private:
  // A segment that is open: its first row of the log; the bytes alive at which it ends; the row and the arc that are
  // looked at; whether it has grown since the first row was; its peak.
  struct Open {
    i64 start, base, row, arc;
    bool has_grown;
    i64 top;
  };
  enum class Outcome { growing, done, failed };

  // Find the next macro that became ready through a segment; return -1 where the segment has failed.
  i64 next_macro(const Prefix &prefix, Open &segment, const SegmentLimits &limits) const;

  const Moves &moves_;
  i64 budget_, allowed_ = 0;
  Array<Open> open_;
};

inline i64 Segments::next_macro(const Prefix &prefix, Open &segment, const SegmentLimits &limits) const {
  const i64 ran = prefix.log.size;
  while (segment.row < ran && allowed_ > 0 && ran - segment.start < limits.longest) {
    const i64 end = moves_.next_first[prefix.log[segment.row] + 1];
    i64 arc = segment.arc;
    while (arc < end && prefix.spot[moves_.next[arc]] < 0) ++arc;
    segment.arc = arc + 1;
    if (arc < end) return moves_.next[arc];
    segment.row = segment.has_grown ? segment.start : segment.row + 1;
    segment.has_grown = false;
    if (segment.row < ran) segment.arc = moves_.next_first[prefix.log[segment.row]];
  }
  return -1;
}

inline bool Segments::grow(Prefix &prefix, i64 macro, i64 base, const SegmentLimits &limits) {
  i64 level = 0, head = macro;
  allowed_ = limits.allowed;
  open_[0].base = base;
  while (true) {
    // 1. Run the head of a segment.
    Open &segment = open_[level];
    Outcome outcome = Outcome::growing;
    if (head >= 0) {
      const i64 ran = prefix.log.size;
      --allowed_;
      segment = {ran, segment.base, ran, moves_.next_first[head], false, prefix.run(head)};
      head = -1;
      if (segment.top > budget_) {
        refused = std::min(refused, segment.top);
        outcome = Outcome::failed;
      }
    }
    if (outcome == Outcome::growing && prefix.live <= segment.base)
      outcome = Outcome::done;
    else if (level > limits.depth)
      outcome = Outcome::failed;

    // 2. Look for the next macro that became ready through the segment.
    if (outcome == Outcome::growing) head = next_macro(prefix, segment, limits);
    if (head >= 0) {
      open_[++level].base = prefix.live;
      continue;
    }
    if (outcome == Outcome::growing) outcome = Outcome::failed;

    // 3. A segment ends: it is part of the one around it, or it is taken back.
    if (level == 0) {
      hill = segment.top;
      valley = prefix.live;
    }
    if (outcome == Outcome::failed)
      while (prefix.log.size > segment.start) prefix.take_back();
    if (level == 0) return outcome == Outcome::done;
    --level;
    if (outcome == Outcome::done) {
      open_[level].top = std::max(open_[level].top, segment.top);
      open_[level].has_grown = true;
    }
  }
}

}  // namespace memplan::order
