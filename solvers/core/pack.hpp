// Pack one pool in a given order, first fit or best fit, without listing the pairs that conflict.
//
// Time, counted in live sets, is cut into blocks. A placed buffer is filed as an item in each block that it covers
// partly, sorted by offset. Where it covers whole blocks, its addresses are merged into a segment tree over the blocks:
// one list of runs for what covers a node's whole span, one for whatever touches that span. What a buffer must keep
// clear of then stands in a few sorted lists, which are walked side by side, upwards only, until none of them lifts the
// offset any more. Buffers at fixed distances from each other are a body, which walks the lists of all of them.
#pragma once
#include "offsets.hpp"

namespace memplan::packing {

// See `PackRules`, `PackWorkspace` and `PackOrder` in pack.py.
struct PackRules {
  Array<i64> distance;
  Array<i64> size;
  Array<i64> first;
  Array<i64> start;
  Array<i64> end;
  Array<i64> lowest;
  Array<i64> highest;
  Array<i64> step;
  Array<i64> page;
  Array<i64> page_shift;
  Array<i64> pair_first;
  Array<i64> pair;
  Array<i64> clearance;
  Array<i64> grid;
  Array<i64> share_first;
  Array<i64> share;
  Array<i64> border_first;
  Array<i64> border;
  Rows<i64> reserved;
  i64 capacity;
  i64 bank;
  i64 bank_shift;
  i64 width;
  i64 is_flat;
};

struct PackWorkspace {
  Rows<i64> block_lists;
  Rows<i64> node_lists;
  Rows<i64> items;
  Rows<i64> runs;
  Array<i64> placed_at;
  Array<i64> stamp;
  Array<i64> lows;
  Array<i64> highs;
  Rows<i64> files;
  Rows<i64> covers;
  Rows<i64> above;
  Rows<i64> walks;
  Rows<i64> alive;
  Rows<i64> pages;
  Rows<i64> levels;
  Array<i64> stands;
};

struct PackOrder {
  Array<i64> order;
  Array<i64> body_first;
  i64 best_fit;
  Array<i64> flag;
  Array<i64> offsets;
};

enum Stand : i64 { kBody, kTop, kNeeded, kNow };
enum Packed : i64 { kDone = 1, kFull = 0 };

// A row of `files`: the block that a lifetime of a buffer is filed in. Of `covers` and `above`: a node of the tree.
struct File {
  i64 block, start, end, buffer;
};
struct Node {
  i64 node, buffer;
};

class Packer {
 public:
  Packer(const PackRules &rules, const PackWorkspace &workspace, const PackOrder &wanted)
      : rules_(rules),
        work_(workspace),
        wanted_(wanted),
        leaves_(workspace.stamp.size / 2),
        files_(reinterpret_cast<File *>(workspace.files.data)),
        covers_(reinterpret_cast<Node *>(workspace.covers.data)),
        above_(reinterpret_cast<Node *>(workspace.above.data)),
        walks_(reinterpret_cast<Walk *>(workspace.walks.data)),
        alive_(reinterpret_cast<Range *>(workspace.alive.data)),
        pages_(reinterpret_cast<Page *>(workspace.pages.data)) {}

  // Place the buffers of the order, each once; DONE, or FULL: to be called again with more rows for runs.
  template <class IsOver>
  i64 pack(IsOver &&is_over) {
    for (i64 b = work_.stands[kBody]; b + 1 < wanted_.body_first.size && !is_over(); ++b) {
      members_ = wanted_.order.data + wanted_.body_first[b];
      members_end_ = wanted_.order.data + wanted_.body_first[b + 1];
      const Grid grid = grid_of_body();
      list_places();
      const i64 n_items = list_walks();
      const Lists lists{work_.items, work_.runs, walks_, alive_, n_items, n_walks_};
      i64 at = legal(grid.lowest, grid);
      at = wanted_.best_fit ? tightest(at, grid, lists) : lifted(at, grid, lists);
      if (rules_.share.size > 0) {
        const i64 below = wanted_.best_fit ? grid.limit + 1 : std::min(at, grid.limit + 1);
        const i64 shared = lowest_shared(grid, below, wanted_.body_first[b]);
        if (shared < below) at = shared;
      }
      if (at > grid.limit) continue;
      // The lists of nodes where it is filed: all of them might have to move.
      i64 needed = work_.stands[kTop];
      for (i64 c = 0; c < 2 * n_covers_ + n_above_; ++c) needed += space_to_move(touched(c).node);
      if (needed > work_.runs.size) {
        work_.stands[kBody] = b, work_.stands[kNeeded] = needed;
        return kFull;
      }
      file(at, wanted_.body_first[b]);
    }
    return kDone;
  }

 private:
  const PackRules &rules_;
  const PackWorkspace &work_;
  const PackOrder &wanted_;
  const i64 leaves_;
  File *files_;
  Node *covers_, *above_;
  Walk *walks_;
  Range *alive_;
  Page *pages_;
  const i64 *members_ = nullptr, *members_end_ = nullptr;
  i64 n_files_ = 0, n_covers_ = 0, n_above_ = 0, n_walks_ = 0;

  // Where the body may lie if nothing else is placed.
  Grid grid_of_body() {
    const i64 lead = members_[0];
    i64 limit = rules_.highest[lead], n_pages = 0;
    for (const i64 *member = members_; member < members_end_; ++member) {
      const i64 i = *member, distance = rules_.distance[i];
      limit = std::min(limit, rules_.capacity - rules_.size[i] - distance);
      if (rules_.page[i] > 0) pages_[n_pages++] = {rules_.page[i], rules_.page_shift[i], distance, rules_.size[i]};
      for (i64 x = rules_.border_first[i]; x < rules_.border_first[i + 1]; ++x)
        pages_[n_pages++] = {rules_.bank, rules_.bank_shift, distance, rules_.border[x]};
    }
    return {rules_.lowest[lead], rules_.step[lead], limit, pages_, n_pages, work_.levels};
  }

  // The blocks and nodes that the body's lifetimes touch.
  void list_places() {
    n_files_ = n_covers_ = n_above_ = 0;
    for (const i64 *member = members_; member < members_end_; ++member) {
      ++work_.stands[kNow];
      for (i64 r = rules_.first[*member]; r < rules_.first[*member + 1]; ++r) {
        list_blocks(*member, rules_.start[r], rules_.end[r]);
        if (!rules_.is_flat) list_nodes(*member, rules_.start[r], rules_.end[r]);
      }
    }
  }

  // The blocks that a lifetime covers partly, or all that it touches, if flat.
  void list_blocks(i64 i, i64 start, i64 end) {
    const i64 width = rules_.width, high = (end - 1) / width;
    for (i64 block = start / width; block <= high; block = rules_.is_flat ? block + 1 : std::max(block + 1, high))
      if (rules_.is_flat || start > block * width || end < (block + 1) * width)
        files_[n_files_++] = {block, start, end, i};
  }

  // The nodes of the tree for a lifetime: the fewest whose spans make up the blocks that it covers, and the others on
  // the ways from the root to the first and the last block that it touches, each once for a buffer.
  void list_nodes(i64 i, i64 start, i64 end) {
    const i64 width = rules_.width, now = work_.stands[kNow];
    const i64 from = (start + width - 1) / width + leaves_, to = end / width + leaves_;
    for (i64 left = from, right = to; left < right; left >>= 1, right >>= 1) {
      if (left & 1) covers_[n_covers_++] = {left++, i};
      if (right & 1) covers_[n_covers_++] = {--right, i};
    }
    i64 first = start / width + leaves_, last = (end - 1) / width + leaves_;
    for (int height = 0; first > 0; first >>= 1, last >>= 1, ++height)
      for (const i64 v : {first, last}) {
        const bool is_covered = from <= v << height && (v + 1) << height <= to;
        if (is_covered || work_.stamp[v] == now) continue;
        work_.stamp[v] = now;
        above_[n_above_++] = {v, i};
      }
  }

  // The lists of what the body must keep clear of; returns how many are of items.
  i64 list_walks() {
    n_walks_ = 0;
    for (i64 f = 0; f < n_files_; ++f) {
      const File &where = files_[f];
      alive_[n_walks_] = {where.start, where.end};
      add(work_.block_lists[where.block][0], work_.block_lists[where.block][1], where.buffer);
    }
    const i64 n_items = n_walks_, reserved = rules_.reserved.size;
    for (i64 c = n_covers_ - 1; c >= 0; --c) add_node(2 * leaves_ + covers_[c].node, covers_[c].buffer);
    for (i64 c = n_above_ - 1; c >= 0; --c) add_node(above_[c].node, above_[c].buffer);
    i64 row = reserved;
    for (const i64 *member = members_; member < members_end_; ++member) {
      add(0, reserved, *member);
      if (work_.lows.size == 0) continue;
      const i64 count = gather(*member, row);
      add(row, count, *member);
      row += count;
    }
    return n_items;
  }

  void add_node(i64 list, i64 buffer) { add(work_.node_lists[list][0], work_.node_lists[list][1], buffer); }
  void add(i64 at, i64 count, i64 buffer) {
    if (count > 0) walks_[n_walks_++] = {at, at + count, rules_.distance[buffer], rules_.size[buffer]};
  }

  // List `c` of those that the body is filed in at the nodes of the tree. A covered node has two: of what covers it,
  // and of what touches it.
  Node touched(i64 c) const {
    if (c < n_covers_) return covers_[c];
    const Node &touched = c < 2 * n_covers_ ? covers_[c - n_covers_] : above_[c - 2 * n_covers_];
    return {2 * leaves_ + touched.node, touched.buffer};
  }

  // ---- Rules of pairs
  // The addresses that row `k` of pairs keeps a buffer out of, where the other one lies at low:high.
  Range kept_out(i64 low, i64 high, i64 k) const {
    const i64 clearance = rules_.clearance[k], length = rules_.grid[k], shift = rules_.bank_shift;
    low -= clearance, high += std::min(clearance, kMost - high);
    if (length == 1) return {low, high};
    const i64 before = floor_mod(low, length) - (length - shift), last = floor_mod(high - 1, length) - (length - shift);
    const i64 left = last < 0 ? -last : length - last;  // from the last byte to the end of its bank
    return {low - (before >= 0 ? before : before + length), high - 1 + std::min(left, kMost - (high - 1))};
  }

  // Write what the rules of pairs keep buffer `i` out of into `runs`, sorted; return how many. Others that are not
  // placed yet keep nobody out.
  i64 gather(i64 i, i64 at) {
    i64 count = 0;
    for (i64 k = rules_.pair_first[i]; k < rules_.pair_first[i + 1]; ++k) {
      const i64 j = rules_.pair[k], low = work_.placed_at[j];
      if (low == kAbsent) continue;
      const Range kept = kept_out(low, low + rules_.size[j], k);
      work_.lows[count] = kept.low, work_.highs[count] = kept.high;
      ++count;
    }
    // Starts and ends, each sorted for itself, cover the same addresses: the k-th start is never above the k-th end,
    // and below every address there are as many of either as before.
    const auto is_less = [](i64 a, i64 b) { return a < b; };
    std::sort(work_.lows.data, work_.lows.data + count, is_less);
    std::sort(work_.highs.data, work_.highs.data + count, is_less);
    for (i64 k = 0; k < count; ++k) work_.runs[at + k][0] = work_.lows[k], work_.runs[at + k][1] = work_.highs[k];
    return count;
  }

  // The lowest offset under `below` where the body is free and shares a buffer's offset; `below` if none is. `placed`
  // buffers of the order have theirs. O(placed buffers) for each pair that may share.
  i64 lowest_shared(const Grid &grid, i64 below, i64 placed) const {
    i64 best = below;
    for (const i64 *member = members_; member < members_end_; ++member)
      for (i64 x = rules_.share_first[*member]; x < rules_.share_first[*member + 1]; ++x) {
        const i64 other = work_.placed_at[rules_.share[x]], at = other - rules_.distance[*member];
        if (other == kAbsent || at < grid.lowest || at >= best || at > grid.limit || legal(at, grid) != at) continue;
        if (is_free(at, placed)) best = at;
      }
    return best;
  }

  // Whether the body at `at` is clear of all that is placed, but for what its members share an offset with.
  bool is_free(i64 at, i64 placed) const {
    for (const i64 *member = members_; member < members_end_; ++member) {
      const i64 i = *member, low = at + rules_.distance[i], high = low + rules_.size[i];
      for (i64 row = 0; row < rules_.reserved.size; ++row)
        if (rules_.reserved[row][0] < high && low < rules_.reserved[row][1]) return false;
      for (i64 k = 0; k < placed; ++k) {
        const i64 j = wanted_.order[k], other = wanted_.offsets[k];
        if (other == kAbsent || other >= high || low >= other + rules_.size[j]) continue;
        if (!(other == low && may_share(i, j)) && meet(i, j)) return false;
      }
      for (i64 k = rules_.pair_first[i]; k < rules_.pair_first[i + 1]; ++k) {
        const i64 j = rules_.pair[k], other = work_.placed_at[j];
        if (other == kAbsent) continue;
        const Range kept = kept_out(other, other + rules_.size[j], k);
        if (kept.low < high && low < kept.high) return false;
      }
    }
    return true;
  }

  bool may_share(i64 i, i64 j) const {
    for (i64 k = rules_.share_first[i]; k < rules_.share_first[i + 1]; ++k)
      if (rules_.share[k] == j) return true;
    return false;
  }

  // Whether two buffers are alive together.
  bool meet(i64 i, i64 j) const {
    for (i64 a = rules_.first[i]; a < rules_.first[i + 1]; ++a)
      for (i64 b = rules_.first[j]; b < rules_.first[j + 1]; ++b)
        if (rules_.start[a] < rules_.end[b] && rules_.start[b] < rules_.end[a]) return true;
    return false;
  }

  // ---- Filing. Rows of lists say where a list begins, how long it is, and how long it may grow there.
  void file(i64 at, i64 placed) {
    for (const i64 *member = members_; member < members_end_; ++member, ++placed) {
      wanted_.offsets[placed] = at + rules_.distance[*member];
      if (work_.placed_at.size > 0) work_.placed_at[*member] = wanted_.offsets[placed];
    }
    for (i64 f = 0; f < n_files_; ++f) {
      const File &where = files_[f];
      const i64 low = at + rules_.distance[where.buffer];
      file_item(work_.block_lists[where.block], {low, low + rules_.size[where.buffer]}, where);
    }
    for (i64 c = 0; c < 2 * n_covers_ + n_above_; ++c) {
      const Node where = touched(c);
      const i64 low = at + rules_.distance[where.buffer];
      merge_run(work_.node_lists[where.node], {low, low + rules_.size[where.buffer]});
    }
  }

  // Insert an item into a list, which has space and stays sorted by its lower end.
  void file_item(i64 *list, Range extent, const File &where) {
    i64 row = list[0] + list[1]++;
    for (; row > list[0] && work_.items[row - 1][0] > extent.low; --row)
      std::copy(work_.items[row - 1], work_.items[row - 1] + 4, work_.items[row]);
    i64 *item = work_.items[row];
    item[0] = extent.low, item[1] = extent.high, item[2] = where.start, item[3] = where.end;
  }

  // How many rows a list takes at the most if it has to move; for each time that something is filed there. A list with
  // space for r rows that gets k more ends with space for less than 2 (r + k), after moves that took less than twice
  // that, and 4 (r + k) is at most k times 4 (r + 1).
  i64 space_to_move(i64 list) const { return 4 * (work_.node_lists[list][2] + 1); }

  // Merge an extent into a list of runs, which stay sorted and apart. A full one moves, to twice the space.
  void merge_run(i64 *list, Range extent) {
    const Rows<i64> &runs = work_.runs;
    if (list[1] == list[2]) {
      const i64 space = std::max<i64>(2, 2 * list[1]), top = work_.stands[kTop];
      if (list[1] > 0) std::copy(runs[list[0]], runs[list[0]] + 2 * list[1], runs[top]);
      list[0] = top, list[2] = space;
      work_.stands[kTop] = top + space;
    }
    i64 first = list[0];
    const i64 last = list[0] + list[1];
    for (i64 right = last; first < right;) {
      const i64 middle = (first + right) >> 1;
      if (runs[middle][1] >= extent.low)
        right = middle;
      else
        first = middle + 1;
    }
    i64 after = first;
    while (after < last && runs[after][0] <= extent.high) ++after;
    if (after > first) {  // the runs first:after touch the new one, and all become one
      extent = {std::min(runs[first][0], extent.low), std::max(runs[after - 1][1], extent.high)};
      const i64 gone = after - first - 1;
      if (gone > 0 && after < last) std::copy(runs[after], runs[after] + 2 * (last - after), runs[after - gone]);
      list[1] -= gone;
    } else {
      if (first < last) std::copy_backward(runs[first], runs[first] + 2 * (last - first), runs[first] + 2 * (last - first + 1));
      ++list[1];
    }
    runs[first][0] = extent.low, runs[first][1] = extent.high;
  }
};

}  // namespace memplan::packing
