// Regions in tiles and in stripes of rows: rows recomputed or rolled, columns whole, recomputed or rolled.
//
// The axes are independent of each other, so each height and each width is followed once; then all pairs are put
// together.
#include <cstdlib>
#include <iterator>

#include "access.hpp"

namespace memplan::cascade {
namespace {

// See `TileSearch` in kernels.py.
struct TileSearch {
  i64 j;
  i64 longest;
  i64 kind;
  i64 slides;
  i64 warm_up;
  double worst;
  Array<i64> heights;
  Array<i64> widths;
  Rows<i64> found;
  Array<i64> answer;
};

// See `RegionTrace` in kernels.py.
struct RegionTrace {
  Rows<i64> row_first;
  Rows<i64> row_end;
  Rows<i64> column_first;
  Rows<i64> column_end;
  Rows<i64> capacity;
  Rows<i64> piece;
  Array<i64> widens;
  Array<i64> slide;
  Array<i64> answer;
};

enum Kind : i64 { kWhole, kRows, kTiles, kPanels, kChannels, kThin, kPieces, kAgain };
enum Answer : i64 { kCount, kLost, kEvaluated };

// One last operation `j - 1` in one kind of tiles. Operations and edges are numbered backwards from it.
class Tiles {
 public:
  Tiles(Arena &arena, const Access &access, const TileSearch &search)
      : arena_(arena), access_(access), search_(search), j_(search.j),
        last_edge_(access.edge_first[search.j] - 1),
        inside_{arena.array<Operation>(std::min(search.longest, search.j))} {
    if (!arena.has_failed) find_longest();
  }

  // Write the regions that end with operation j - 1; return their number.
  i64 grow();

  // Write what each step makes and holds in the longest region, in tiles of the first size; return its operations.
  i64 follow_region(const RegionTrace &followed) const;

 private:
  struct Operation {
    i64 latest;   // the last operation of the region that reads what it makes
    bool widens;  // it makes wider pixels of single ones
  };
  // What an operation makes along an axis: rows or columns made, in how many steps, and held; negative for what is kept
  // from step to step.
  struct Made {
    i64 total, runs, capacity, saved;
  };
  // Along an edge: rows or columns read, and those held of a streamed input.
  struct Read {
    i64 total, piece;
  };
  // One height or width, followed through a region.
  struct Line {
    i64 stride;
    Ranges ranges;
    Array<Made> made;
    Array<Read> reads;
    Ranges::Slide slide{};  // of the longest region
  };

  void find_longest();
  bool has_whole_rows() const { return search_.kind == kRows || search_.kind == kAgain; }
  bool widens_pixels(i64 v) const;
  Line follow(i64 axis, i64 stride) const;
  i64 make(Line &line, i64 axis, i64 k, bool is_all) const;
  void follow_edge(Line &line, i64 axis, i64 edge, bool is_all, i64 &spare) const;
  Stack<Line> follow_all(i64 axis, const Array<i64> &strides) const;
  void put_together(const Line &rows, const Line &columns, const Array<i64> &profile) const;

  // Whether tensors roll along an axis.
  bool rolls_along(i64 axis) const {
    if (has_whole_rows()) return axis == 0;
    return search_.kind == kPieces || (axis == 1 && search_.kind != kTiles);
  }

  // The bytes of a buffer; negative for what is kept from step to step, as capacities are.
  //
  // What is kept from one row to the next has all columns.
  i64 bytes_held(i64 tensor, i64 rows, i64 columns) const {
    const i64 area = rows * (rows < 0 ? access_.size[tensor][1] : columns);
    const i64 bytes = rounded(std::abs(area) * access_.pixel[tensor], access_.alignment);
    return area < 0 ? -bytes : bytes;
  }

  // Whether a region multiplies more often than is worth looking at; `base` is how often it would layer by layer.
  bool is_too_much(i64 macs, i64 base) const {
    const double most = search_.worst * static_cast<double>(base);
    return most < 0x1p62 && macs > static_cast<i64>(most) + 1;
  }

  // Whether an edge is the first to read an input in pieces, which nothing behind operation j - 1 reads.
  bool is_piece(i64 edge) const {
    const i64 tensor = access_.source[edge];
    return access_.maker[tensor] < 0 && access_.is_streamed[tensor] && access_.last[tensor] < j_ &&
           access_.reading[access_.reader_first[tensor]] == edge;
  }

  Arena &arena_;
  const Access &access_;
  const TileSearch &search_;
  i64 j_, last_edge_;
  Stack<Operation> inside_;
};

void Tiles::find_longest() {
  inside_.push({j_ - 1, widens_pixels(j_ - 1)});
  for (i64 v = j_ - 2; v > std::max<i64>(-1, j_ - 1 - search_.longest); --v) {
    const i64 tensor = access_.out[v], first = access_.reader_first[tensor], end = access_.reader_first[tensor + 1];
    if (access_.role[v] != kStriped) break;
    i64 latest = -1;
    for (i64 k = first; k < end; ++k) {
      const i64 reader = access_.reader[access_.reading[k]];
      if (reader < j_) latest = std::max(latest, reader);
    }
    // What only others read later would be whole; an output that nothing reads may be made beside the rest.
    if (latest < 0 && !(has_whole_rows() && first == end)) break;
    inside_.push({std::max(latest, v), widens_pixels(v)});
  }
}

// Whether an operation makes each pixel of the same ones, which have fewer bytes together.
bool Tiles::widens_pixels(i64 v) const {
  i64 read = 0;
  for (i64 edge = access_.edge_first[v]; edge < access_.edge_first[v + 1]; ++edge) {
    read += access_.pixel[access_.source[edge]];
    for (i64 axis = 0; axis < 2; ++axis) {
      const Window window = window_of(access_, edge, axis);
      if (window.scale != 1 || window.divisor != 1 || window.low != 0 || window.high != 0) return false;
    }
  }
  return access_.pixel[access_.out[v]] > read;
}

Tiles::Line Tiles::follow(i64 axis, i64 stride) const {
  const bool is_sum = access_.role[j_ - 1] == kSum;
  const i64 driving = is_sum ? access_.source[access_.edge_first[j_ - 1]] : access_.out[j_ - 1];
  const i64 size = access_.size[driving][axis], each = std::max<i64>(1, stride), parts = std::max<i64>(1, -stride);
  const i64 warm_up = rolls_along(axis) && each < size ? search_.warm_up * parts / each : 0;
  const i64 steps = warm_up + (size * parts + each - 1) / each, n = inside_.size;
  const bool is_all = has_whole_rows() && axis == 1;
  i64 pieces = 0;
  for (i64 edge = access_.edge_first[j_ - n]; edge <= last_edge_; ++edge) pieces += is_piece(edge);
  Line line{stride, Ranges(arena_, access_, j_, axis, n + pieces, steps), arena_.array<Made>(n),
            arena_.array<Read>(last_edge_ + 1 - access_.edge_first[j_ - n])};
  if (arena_.has_failed) return line;
  i64 spare = n + pieces;
  for (i64 k = 0; k < n; ++k) {
    const i64 v = j_ - 1 - k;
    if (k == 0) line.ranges.cut_in_steps(size, stride, warm_up);
    const i64 capacity = k == 0 ? std::min(each, size) : make(line, axis, k, is_all);
    line.made[k] = {line.ranges.slots[k].total, line.ranges.slots[k].runs, capacity, 0};
    for (i64 edge = access_.edge_first[v]; edge < access_.edge_first[v + 1]; ++edge)
      follow_edge(line, axis, edge, is_all, spare);
    if (search_.slides && has_whole_rows() && axis == 0) {
      line.slide = line.ranges.best_slide(v);
      line.made[k].saved = line.slide.saved;
    }
  }
  return line;
}

// Write the ranges of what an operation makes; return the rows or columns that its buffer holds.
i64 Tiles::make(Line &line, i64 axis, i64 k, bool is_all) const {
  const i64 v = j_ - 1 - k, tensor = access_.out[v], size = access_.size[tensor][axis];
  if (is_all) return line.ranges.make_all(k, size);
  if (line.ranges.read_by(tensor, v) < 0) return line.ranges.make_beside(v);
  const bool rolls = rolls_along(axis);
  if (access_.last[tensor] < j_) {
    const bool is_again = search_.kind == kAgain || (search_.kind == kThin && inside_[k].widens);
    return line.ranges.make(k, rolls && !is_again ? kRoll : kRecompute, size);
  }
  if (rolls) return line.ranges.make(k, kFull, size);
  line.ranges.make_whole_again(k, size);
  return 0;  // it is whole, in a buffer outside of the steps
}

// Count what an edge reads; the ranges of an input in pieces lie in the last slot that is not taken yet.
void Tiles::follow_edge(Line &line, i64 axis, i64 edge, bool is_all, i64 &spare) const {
  const i64 v = access_.reader[edge];
  Read &read = line.reads[last_edge_ - edge];
  read.total = line.ranges.read(edge, j_ - 1 - v);
  if (!is_piece(edge)) return;
  const i64 tensor = access_.source[edge], size = access_.size[tensor][axis], slot = --spare;
  if (is_all) {
    read.piece = line.ranges.make_all(slot, size);
    return;
  }
  line.ranges.read_by(tensor, v);
  read.piece = line.ranges.make(slot, has_whole_rows() || search_.kind == kPieces ? kRoll : kRecompute, size);
}

// Follow all strides along an axis; steps finer than a row or column are for what rolls.
Stack<Tiles::Line> Tiles::follow_all(i64 axis, const Array<i64> &strides) const {
  Stack<Line> lines{arena_.array<Line>(strides.size)};
  for (const i64 stride : strides)
    if (!arena_.has_failed && (stride > 0 || rolls_along(axis))) lines.push(follow(axis, stride));
  return lines;
}

// Offer the regions of all lengths in tiles of one height and one width.
void Tiles::put_together(const Line &rows, const Line &columns, const Array<i64> &profile) const {
  const Access &g = access_;
  const i64 sink = g.out[j_ - 1];
  const bool is_sum = g.role[j_ - 1] == kSum;
  const i64 after = is_sum ? g.sums[j_ - 1] + g.live[j_] + (g.last[sink] < j_ ? g.whole[sink] : 0) : 0;
  i64 inside = 0, kept = 0, lead = 0, macs = 0, traffic = 0, runs = 0, base = 0;
  const auto hold = [&](i64 bytes, i64 from, i64 to) {
    if (bytes < 0) kept -= bytes;
    for (i64 i = from; bytes > 0 && i <= to; ++i) profile[i] += bytes;
  };
  for (i64 k = 0; k < inside_.size; ++k) {
    // 1. Its work, and its reads.
    const i64 v = j_ - 1 - k, tensor = g.out[v];
    const Made &high = rows.made[k], &wide = columns.made[k];
    const i64 times = high.runs * wide.runs, area = high.total * wide.total;
    const i64 pixels = g.size[tensor][0] * g.size[tensor][1];
    const bool ends_sum = is_sum && k == 0;
    runs += times;
    macs += ends_sum ? g.macs[v] : area * g.macs[v];
    base += ends_sum ? g.macs[v] : pixels * g.macs[v];
    traffic += g.weights[v] * times + (ends_sum ? pixels : area) * g.pixel[tensor];
    for (i64 edge = g.edge_first[v]; edge < g.edge_first[v + 1]; ++edge) {
      const i64 at = last_edge_ - edge;
      traffic += rows.reads[at].total * columns.reads[at].total * g.pixel[g.source[edge]];
    }

    // 2. Its buffer.
    profile[k] = lead;
    if (ends_sum)
      inside += g.sums[v];
    else if (g.last[tensor] >= j_ || (k == 0 && !g.is_streamed[tensor]))
      inside += g.whole[tensor];
    else
      hold(bytes_held(tensor, high.capacity, wide.capacity), k == 0 ? 0 : j_ - 1 - inside_[k].latest, k);

    // 3. Inputs that come in pieces.
    for (i64 edge = g.edge_first[v]; edge < g.edge_first[v + 1]; ++edge) {
      if (!is_piece(edge)) continue;
      const i64 source = g.source[edge], at = last_edge_ - edge;
      const i64 bytes = bytes_held(source, rows.reads[at].piece, columns.reads[at].piece);
      inside -= g.whole[source];
      lead += std::max<i64>(bytes, 0);
      hold(bytes, j_ - 1 - g.last[source], k);
    }

    // 4. The region that begins here.
    ++search_.answer[kEvaluated];
    if (is_too_much(macs, base)) continue;
    i64 within = 0;
    for (i64 i = 0; i <= k; ++i) within = std::max(within, profile[i]);
    const i64 saved = high.saved, peak = std::max(g.live[v] + inside + kept + within - saved, after);
    i64 &count = search_.answer[kCount];
    if (count == search_.found.size) {
      ++search_.answer[kLost];
      continue;
    }
    const i64 region[] = {v, j_, peak, macs, traffic, runs, search_.kind, rows.stride, columns.stride, saved};
    std::copy(std::begin(region), std::end(region), search_.found[count++]);
  }
}

i64 Tiles::grow() {
  if (arena_.has_failed) return kNoMemory;
  const auto widens = [](const Operation &row) { return row.widens; };
  if (search_.kind == kThin && std::none_of(inside_.begin() + 1, inside_.end(), widens)) return search_.answer[kCount];
  const Stack<Line> heights = follow_all(0, search_.heights), widths = follow_all(1, search_.widths);
  const Array<i64> profile = arena_.array<i64>(inside_.size);
  if (arena_.has_failed) return kNoMemory;
  for (const Line &rows : heights)
    for (const Line &columns : widths) put_together(rows, columns, profile);
  return search_.answer[kCount];
}

i64 Tiles::follow_region(const RegionTrace &followed) const {
  if (arena_.has_failed) return kNoMemory;
  const Rows<i64> firsts[] = {followed.row_first, followed.column_first};
  const Rows<i64> ends[] = {followed.row_end, followed.column_end};
  for (i64 axis = 0; axis < 2; ++axis) {
    const Line line = follow(axis, axis == 0 ? search_.heights[0] : search_.widths[0]);
    if (arena_.has_failed) return kNoMemory;
    followed.answer[axis] = line.ranges.steps();
    for (i64 slot = 0; slot < line.ranges.slots.size; ++slot) {
      for (i64 y = 0; y < followed.answer[axis]; ++y) {
        firsts[axis][slot][y] = line.ranges[slot][y].first;
        ends[axis][slot][y] = line.ranges[slot][y].end;
      }
    }
    for (i64 k = 0; k < inside_.size; ++k) followed.capacity[axis][k] = line.made[k].capacity;
    for (i64 at = 0; at < line.reads.size; ++at) followed.piece[axis][at] = line.reads[at].piece;
    if (axis == 0)
      followed.slide[0] = line.slide.saved, followed.slide[1] = line.slide.tensor, followed.slide[2] = line.slide.down;
  }
  for (i64 k = 0; k < inside_.size; ++k) followed.widens[k] = inside_[k].widens;
  return inside_.size;
}

}  // namespace
}  // namespace memplan::cascade

MEMPLAN_KERNEL memplan_grow_tiles(const memplan::cascade::Access *access, const memplan::cascade::TileSearch *search) {
  memplan::Allocator allocator;
  memplan::Arena arena(allocator);
  return memplan::cascade::Tiles(arena, *access, *search).grow();
}

MEMPLAN_KERNEL memplan_follow_region(const memplan::cascade::Access *access,
                                     const memplan::cascade::TileSearch *search,
                                     const memplan::cascade::RegionTrace *followed) {
  memplan::Allocator allocator;
  memplan::Arena arena(allocator);
  return memplan::cascade::Tiles(arena, *access, *search).follow_region(*followed);
}
