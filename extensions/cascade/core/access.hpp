// A graph with access maps: what operations read of tensors, and which ranges of rows or columns are made step by step.
#pragma once
#include "stack.hpp"

namespace memplan::cascade {

// See `Access` in kernels.py.
struct Access {
  Array<i64> role;
  Array<i64> out;
  Array<i64> macs;
  Array<i64> weights;
  Array<i64> sums;
  Array<i64> edge_first;
  Array<i64> source;
  Array<i64> reader;
  Rows<i64> window;
  Rows<i64> size;
  Array<i64> pixel;
  Array<i64> whole;
  Array<i64> maker;
  Array<i64> last;
  Array<i64> is_streamed;
  Array<i64> reader_first;
  Array<i64> reading;
  Array<i64> live;
  i64 alignment;
};

enum Role : i64 { kStriped, kSum, kBarrier };
enum Mode : i64 { kRoll, kRecompute, kFull };

inline constexpr i64 kNever = i64{1} << 60;
// As far as ranges are followed beyond borders; further ones are cut, so that no product overflows.
inline constexpr i64 kFarthest = i64{1} << 40;

// What an output reads along an axis, as a row of `Access::window` has it for rows, then for columns.
struct Window {
  i64 scale, divisor, low, high;
  i64 used_first, used_end;  // of the output; the rest reads nothing
};

inline Window window_of(const Access &access, i64 edge, i64 axis) {
  const i64 *row = access.window[edge] + 6 * axis;
  return {row[0], row[1], row[2], row[3], row[4], row[5]};
}

inline i64 rounded(i64 bytes, i64 alignment) { return (bytes + alignment - 1) / alignment * alignment; }

// The reads of one edge along one axis.
class Reads {
 public:
  Reads(const Access &access, i64 edge, i64 axis)
      : window(window_of(access, edge, axis)), is_sum(access.role[access.reader[edge]] == kSum),
        size_in_(access.size[access.source[edge]][axis]), size_out_(access.size[access.out[access.reader[edge]]][axis]) {}

  // Where the range begins that an output from `at` reads, cut to the input.
  i64 first(i64 at) const {
    at = std::max(at, window.used_first);
    return cut(floor_div(at * window.scale + window.low, window.divisor), size_in_);
  }

  // Where the range ends that an output up to `at` reads, cut to the input.
  i64 end(i64 at) const {
    at = std::min(at, window.used_end);
    return cut(floor_div((at - 1) * window.scale + window.high, window.divisor) + 1, size_in_);
  }

  // The most rows of an output that read no more than the first `read` rows of the input.
  i64 made(i64 read) const {
    if (window.scale == 0 || read >= size_in_) return size_out_;
    return cut(floor_div(read * window.divisor - 1 - window.high, window.scale) + 1, size_out_);
  }

  Window window;
  bool is_sum;

 private:
  static i64 cut(i64 at, i64 size) { return std::min(std::max<i64>(at, 0), size); }

  i64 size_in_, size_out_;
};

// Ranges in every step, a slot for each; an empty range where nothing is made. Slot k is of operation j - 1 - k.
class Ranges {
 public:
  struct Range {
    i64 first, end;
    i64 reach;  // how far the end would be without borders, in parts of a row
  };
  struct Slot {
    i64 total;  // of the lengths
    i64 runs;   // the steps in which something is made
  };

  Ranges(Arena &arena, const Access &access, i64 j, i64 axis, i64 n_slots, i64 steps)
      : slots(arena.array<Slot>(n_slots)), access_(&access), j_(j), axis_(axis), steps_(steps),
        ranges_(arena.array<Range>(n_slots * steps)), need_(arena.array<Need>(steps)) {}

  Range *operator[](i64 slot) const { return &ranges_[slot * steps_]; }
  i64 steps() const { return steps_; }

  // Write the ranges of what drives a region: `stride` more in each step, none in the steps of the warm-up.
  //
  // A stride of -n is a part of n of one row.
  void cut_in_steps(i64 size, i64 stride, i64 warm_up);

  // Write what the operations [first, j) read of a tensor in each step; return the last of them, -1 for none.
  i64 read_by(i64 tensor, i64 first);

  // Write the ranges of a tensor that is needed as was read; return its capacity in rows.
  //
  // The capacity is negative for a buffer that keeps something from one step to the next.
  i64 make(i64 slot, Mode mode, i64 size);

  // Write the range of a tensor that is made in one step; return its capacity.
  i64 make_all(i64 slot, i64 size);

  // Write the ranges of a recomputed tensor that is read outside of the region as well, so that all of it is made.
  void make_whole_again(i64 slot, i64 size);

  // Write the ranges of what nothing in the region reads; return the most rows that are made in a step.
  //
  // Each step makes all that others have read the rows for; where nothing else reads them, as much as of the last one.
  i64 make_beside(i64 v);

  // The rows or columns that the reads of one edge add up to.
  i64 read(i64 edge, i64 slot);

  // Where the output of a region from operation `first` grows into the rows of an input that nothing needs any more.
  struct Slide {
    i64 saved;  // bytes
    i64 tensor;
    i64 down;  // how many bytes below the input the output begins
  };
  Slide best_slide(i64 first);

  Array<Slot> slots;

 private:
  // The hull of what is read of a tensor in a step.
  struct Need {
    i64 low, high, up;
    bool is_some() const { return high > low; }
  };

  void count_made(i64 slot);
  void add_need(i64 edge, i64 slot);

  // Call with each step and how many rows must have been made of what is needed after it.
  void for_each_top(const auto &use) const {
    i64 most = 0, top = 0;
    for (const Need &need : need_) most = std::max(most, need.high);
    for (i64 y = 0; y < steps_; ++y) {
      const i64 reach = std::min(std::max<i64>(floor_div(need_[y].up, parts_), 0), most);
      top = std::max({top, need_[y].high, reach});
      use(y, top);
    }
  }

  const Access *access_;
  i64 j_, axis_, steps_;
  i64 parts_ = 1;  // of a row, in which reaches are counted
  Array<Range> ranges_;
  Array<Need> need_;
};

}  // namespace memplan::cascade
