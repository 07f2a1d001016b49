// Packing of one pool in a given order, by first fit or best fit, without listing the pairs that conflict.
//
// Time, counted in live sets, is divided into blocks. A placed buffer is stored as an item in each block that it covers
// partly, sorted by offset. Where it covers whole blocks, its addresses are merged into a segment tree over the blocks.
// Each node has one list of runs for buffers that cover its whole span, and one for buffers that touch the span. So a
// few sorted lists contain everything that a new buffer must avoid. They are scanned side by side, only upwards, until
// none of them raises the offset any more. Buffers at fixed distances from each other form a body, for which the lists
// of all its buffers are scanned.
#pragma once
#include "offsets.hpp"
#include "stack.hpp"

namespace memplan::packing {

// See `PackRules` and `PackOrder` in pack.py.
struct PackRules {
  Array<i64> distance, size, first, start, end, lowest, highest, step, page, page_shift;
  Array<i64> pair_first, pair, clearance, grid, share_first, share, border_first, border;
  Rows<i64> reserved;
  Array<i64> barred_first;
  Rows<i64> barred;
  i64 capacity;
  i64 bank;
  i64 bank_shift;
  i64 width;
  i64 is_flat;
};

struct PackOrder {
  Array<i64> order;
  Array<i64> body_first;
  i64 best_fit;
  Array<i64> flag;
  Array<i64> offsets;
};

class Packer {
 public:
  // The rules must outlive the packer, and only their capacity may change. After a failure of the arena, call nothing.
  Packer(Arena &arena, const PackRules &rules)
      : arena_(arena),
        rules_(rules),
        runs_(arena),
        files_(arena),
        covers_(arena),
        above_(arena),
        walks_(arena),
        alive_(arena),
        pages_(arena),
        lows_(arena),
        highs_(arena) {
    const i64 n = rules.size.size, m = rules.start.size, width = rules.width;
    i64 n_blocks = 1;
    for (i64 r = 0; r < m; ++r) n_blocks = std::max(n_blocks, (rules.end[r] - 1) / width + 1);
    while (!rules.is_flat && leaves_ < n_blocks) leaves_ *= 2;
    blocks_ = arena.array<List>(n_blocks), nodes_ = arena.array<List>(4 * leaves_);
    stamp_ = arena.array<i64>(2 * leaves_), levels_ = arena.rows<i64>(64, 3);
    placed_at_ = arena.array<i64>(rules.pair.size + rules.share.size > 0 ? n : 0);
    if (arena.has_failed) return;
    for (i64 r = 0; r < m; ++r) ++blocks_[rules.start[r] / width].count, ++blocks_[(rules.end[r] - 1) / width].space;
    i64 items = 0, alive = 0;
    for (List &block : blocks_) {  // Give each block space for all items that it may get.
      alive += block.count;
      const i64 closed = block.space, most = rules.is_flat ? alive : block.count + closed;
      block = {items, 0, most};
      alive -= closed, items += most;
    }
    items_ = arena.rows<i64>(items, 4, false);
  }

  // Remove all placed buffers, to pack another order; `wanted` must stay valid during the packing.
  void begin(const PackOrder &wanted) {
    wanted_ = &wanted;
    for (List &block : blocks_) block.count = 0;
    nodes_.fill({0, 0, 0});
    placed_at_.fill(kAbsent);
    runs_.size = 0;
    for (const Rows<i64> &rows : {rules_.reserved, rules_.barred})
      for (i64 row = 0; row < rows.size; ++row) runs_.push({rows[row][0], rows[row][1]});
  }

  // Place a body of the order; return false if no offset is free.
  bool place(i64 body) {
    const i64 at = find(body);
    if (at != kAbsent) file(at, wanted_->body_first[body]);
    return at != kAbsent;
  }

  // Return the offset that a body gets; kAbsent if none is free.
  i64 find(i64 body) {
    const i64 placed = wanted_->body_first[body];
    members_ = wanted_->order.data + placed, members_end_ = wanted_->order.data + wanted_->body_first[body + 1];
    const Grid grid = grid_of_body();
    const i64 top = runs_.size;
    list_places();
    const i64 n_items = list_walks();
    const Rows<i64> runs{reinterpret_cast<i64 *>(runs_.begin()), runs_.size, 2};
    const Lists lists{items_, runs, walks_.begin(), alive_.begin(), n_items, walks_.size};
    i64 at = legal(grid.lowest, grid);
    at = wanted_->best_fit ? tightest(at, grid, lists) : lifted(at, grid, lists);
    if (rules_.share.size > 0) {
      const i64 below = wanted_->best_fit ? grid.limit + 1 : std::min(at, grid.limit + 1);
      const i64 shared = lowest_shared(grid, below, placed);
      if (shared < below) at = shared;
    }
    runs_.size = top, has_given_up = grid.has_given_up;
    return at > grid.limit || arena_.has_failed ? kAbsent : at;
  }

  bool has_given_up = false;  // true if the search for the last body's offset was given up as too long

 private:
  // A lifetime of a buffer in a block in which the buffer is stored.
  struct File {
    i64 block, start, end, buffer;
  };
  struct Node {
    i64 node, buffer;
  };
  // A list in `items_` or `runs_`: its start, its length, and the space reserved for it.
  struct List {
    i64 first, count, space;
  };
  Arena &arena_;
  const PackRules &rules_;
  const PackOrder *wanted_ = nullptr;
  // The leaves of the tree, whose nodes are numbered from 1 as in a heap. List v of `nodes_` has the buffers that cover
  // the span of node v, and list 2 * leaves + v the buffers that touch it.
  i64 leaves_ = 1, now_ = 0;
  Array<List> blocks_{nullptr, 0}, nodes_{nullptr, 0};
  Array<i64> stamp_{nullptr, 0}, placed_at_{nullptr, 0};  // empty if no rule concerns pairs
  Rows<i64> levels_{nullptr, 0, 3}, items_{nullptr, 0, 4};  // (low, high, start, end)
  Growing<Range> runs_;  // reserved and barred ranges, lists of nodes, then ranges excluded by pair rules
  Growing<File> files_;
  Growing<Node> covers_, above_;
  Growing<Walk> walks_;
  Growing<Range> alive_;
  Growing<Page> pages_;
  Growing<i64> lows_, highs_;
  const i64 *members_ = nullptr, *members_end_ = nullptr;

  // Return the offsets that are legal for the body if nothing else is placed.
  Grid grid_of_body() {
    const i64 lead = members_[0];
    i64 limit = rules_.highest[lead];
    pages_.size = 0;
    for (const i64 *member = members_; member < members_end_; ++member) {
      const i64 i = *member, distance = rules_.distance[i];
      limit = std::min(limit, rules_.capacity - rules_.size[i] - distance);
      if (rules_.page[i] > 0) pages_.push({rules_.page[i], rules_.page_shift[i], distance, rules_.size[i]});
      for (i64 x = rules_.border_first[i]; x < rules_.border_first[i + 1]; ++x)
        pages_.push({rules_.bank, rules_.bank_shift, distance, rules_.border[x]});
    }
    return {rules_.lowest[lead], rules_.step[lead], limit, pages_.array(), levels_};
  }

  // List the blocks and nodes that the body's lifetimes touch.
  void list_places() {
    files_.size = covers_.size = above_.size = 0;
    for (const i64 *member = members_; member < members_end_; ++member) {
      ++now_;
      for (i64 r = rules_.first[*member]; r < rules_.first[*member + 1]; ++r) {
        list_blocks(*member, rules_.start[r], rules_.end[r]);
        if (!rules_.is_flat) list_nodes(*member, rules_.start[r], rules_.end[r]);
      }
    }
  }

  // List the blocks that a lifetime covers partly or, in a flat pack, all blocks that it touches.
  void list_blocks(i64 i, i64 start, i64 end) {
    const i64 width = rules_.width, high = (end - 1) / width;
    for (i64 block = start / width; block <= high; block = rules_.is_flat ? block + 1 : std::max(block + 1, high))
      if (rules_.is_flat || start > block * width || end < (block + 1) * width)
        files_.push({block, start, end, i});
  }

  // List the tree's nodes for a lifetime: the fewest nodes whose spans make up the blocks that it covers, and all other
  // nodes on the paths from the root to the first and the last block that it touches, each once per buffer.
  void list_nodes(i64 i, i64 start, i64 end) {
    const i64 width = rules_.width;
    const i64 from = (start + width - 1) / width + leaves_, to = end / width + leaves_;
    for (i64 left = from, right = to; left < right; left >>= 1, right >>= 1) {
      if (left & 1) covers_.push({left++, i});
      if (right & 1) covers_.push({--right, i});
    }
    i64 first = start / width + leaves_, last = (end - 1) / width + leaves_;
    for (int height = 0; first > 0; first >>= 1, last >>= 1, ++height)
      for (const i64 v : {first, last}) {
        const bool is_covered = from <= v << height && (v + 1) << height <= to;
        if (is_covered || stamp_[v] == now_) continue;
        stamp_[v] = now_;
        above_.push({v, i});
      }
  }

  // List the lists of all ranges that the body must avoid; return the number of lists of items.
  i64 list_walks() {
    walks_.size = alive_.size = 0;
    for (const File &where : files_) {
      const List &block = blocks_[where.block];
      if (block.count > 0) alive_.push({where.start, where.end});
      add(block.first, block.count, where.buffer);
    }
    const i64 n_items = walks_.size;
    for (i64 c = covers_.size - 1; c >= 0; --c) add_node(2 * leaves_ + covers_[c].node, covers_[c].buffer);
    for (i64 c = above_.size - 1; c >= 0; --c) add_node(above_[c].node, above_[c].buffer);
    for (const i64 *member = members_; member < members_end_; ++member) {
      add(0, rules_.reserved.size, *member);
      if (rules_.barred.size > 0) add_barred(*member);
      if (placed_at_.size == 0) continue;
      const i64 row = runs_.size;
      gather(*member);
      add(row, runs_.size - row, *member);
    }
    return n_items;
  }

  void add_node(i64 list, i64 buffer) { add(nodes_[list].first, nodes_[list].count, buffer); }
  void add(i64 at, i64 count, i64 buffer) {
    if (count > 0) walks_.push({at, at + count, rules_.distance[buffer], rules_.size[buffer]});
  }

  // Treat the offset of a buffer as one byte that must avoid the ranges barred to the buffer.
  void add_barred(i64 i) {
    const i64 first = rules_.barred_first[i], end = rules_.barred_first[i + 1], from = rules_.reserved.size;
    if (first < end) walks_.push({from + first, from + end, rules_.distance[i], 1});
  }

  // Return list `c` of the body's nodes. A covered node has two lists: of buffers that cover it, and that touch it.
  Node touched(i64 c) const {
    if (c < covers_.size) return covers_[c];
    const Node &touched = c < 2 * covers_.size ? covers_[c - covers_.size] : above_[c - 2 * covers_.size];
    return {2 * leaves_ + touched.node, touched.buffer};
  }

  // ---- Rules of pairs
  // Return the addresses that pair rule `k` excludes for a buffer if the other buffer is at low:high.
  Range kept_out(i64 low, i64 high, i64 k) const {
    const i64 clearance = rules_.clearance[k], length = rules_.grid[k], shift = rules_.bank_shift;
    low -= clearance, high += std::min(clearance, kMost - high);
    if (length == 1) return {low, high};
    const i64 before = floor_mod(low, length) - (length - shift), last = floor_mod(high - 1, length) - (length - shift);
    const i64 left = last < 0 ? -last : length - last;  // units from the last byte to the end of its bank
    return {low - (before >= 0 ? before : before + length), high - 1 + std::min(left, kMost - (high - 1))};
  }

  // Add the ranges that pair rules exclude for buffer `i` to `runs_`, sorted. Unplaced partners exclude nothing.
  void gather(i64 i) {
    lows_.size = highs_.size = 0;
    for (i64 k = rules_.pair_first[i]; k < rules_.pair_first[i + 1]; ++k) {
      const i64 j = rules_.pair[k], low = placed_at_[j];
      if (low == kAbsent) continue;
      const Range kept = kept_out(low, low + rules_.size[j], k);
      lows_.push(kept.low), highs_.push(kept.high);
    }
    // Sorting starts and ends separately keeps the covered addresses: the k-th start is never above the k-th end, and
    // the numbers of starts and ends below every address are unchanged.
    std::sort(lows_.begin(), lows_.end(), ascends);
    std::sort(highs_.begin(), highs_.end(), ascends);
    for (i64 k = 0; k < std::min(lows_.size, highs_.size); ++k) runs_.push({lows_[k], highs_[k]});
  }

  // Return the lowest free offset under `below` at which the body shares a buffer's offset; `below` if there is none.
  // The first `placed` buffers of the order are placed. Takes O(placed) time for each pair that may share.
  i64 lowest_shared(const Grid &grid, i64 below, i64 placed) const {
    i64 best = below;
    for (const i64 *member = members_; member < members_end_; ++member)
      for (i64 x = rules_.share_first[*member]; x < rules_.share_first[*member + 1]; ++x) {
        const i64 other = placed_at_[rules_.share[x]], at = other - rules_.distance[*member];
        if (other == kAbsent || at < grid.lowest || at >= best || at > grid.limit || legal(at, grid) != at) continue;
        if (is_free(at, placed)) best = at;
      }
    return best;
  }

  // Return whether the body at `at` meets no placed buffers, except partners at the same offset.
  bool is_free(i64 at, i64 placed) const {
    for (const i64 *member = members_; member < members_end_; ++member) {
      const i64 i = *member, low = at + rules_.distance[i], high = low + rules_.size[i];
      for (i64 row = 0; row < rules_.reserved.size; ++row)
        if (rules_.reserved[row][0] < high && low < rules_.reserved[row][1]) return false;
      for (i64 row = 0; rules_.barred.size > 0 && row < rules_.barred_first[i + 1]; ++row)
        if (row >= rules_.barred_first[i] && rules_.barred[row][0] <= low && low < rules_.barred[row][1]) return false;
      for (i64 k = 0; k < placed; ++k) {
        const i64 j = wanted_->order[k], other = wanted_->offsets[k];
        if (other == kAbsent || other >= high || low >= other + rules_.size[j]) continue;
        if (!(other == low && may_share(i, j)) && meet(i, j)) return false;
      }
      for (i64 k = rules_.pair_first[i]; k < rules_.pair_first[i + 1]; ++k) {
        const i64 j = rules_.pair[k], other = placed_at_[j];
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

  // Return whether two buffers are alive together.
  bool meet(i64 i, i64 j) const {
    for (i64 a = rules_.first[i]; a < rules_.first[i + 1]; ++a)
      for (i64 b = rules_.first[j]; b < rules_.first[j + 1]; ++b)
        if (rules_.start[a] < rules_.end[b] && rules_.start[b] < rules_.end[a]) return true;
    return false;
  }

  // ---- Storing of placed bodies in the lists
  void file(i64 at, i64 placed) {
    for (const i64 *member = members_; member < members_end_; ++member, ++placed) {
      wanted_->offsets[placed] = at + rules_.distance[*member];
      if (placed_at_.size > 0) placed_at_[*member] = wanted_->offsets[placed];
    }
    for (const File &where : files_) {
      const i64 low = at + rules_.distance[where.buffer];
      file_item(blocks_[where.block], {low, low + rules_.size[where.buffer]}, where);
    }
    for (i64 c = 0; c < 2 * covers_.size + above_.size; ++c) {
      const Node where = touched(c);
      const i64 low = at + rules_.distance[where.buffer];
      merge_run(nodes_[where.node], {low, low + rules_.size[where.buffer]});
    }
  }

  // Insert an item into a list that has space for it and stays sorted by lower ends.
  void file_item(List &list, Range extent, const File &where) {
    i64 row = list.first + list.count++;
    for (; row > list.first && items_[row - 1][0] > extent.low; --row)
      std::copy(items_[row - 1], items_[row - 1] + 4, items_[row]);
    i64 *item = items_[row];
    item[0] = extent.low, item[1] = extent.high, item[2] = where.start, item[3] = where.end;
  }

  // Merge an extent into a list of runs, which stay sorted and disjoint. A full list moves to twice its space.
  void merge_run(List &list, Range extent) {
    if (list.count == list.space) {
      const i64 space = std::max<i64>(2, 2 * list.count), top = runs_.size;
      runs_.extend(space);
      if (arena_.has_failed) return;
      std::copy(runs_.begin() + list.first, runs_.begin() + list.first + list.count, runs_.begin() + top);
      list = {top, list.count, space};
    }
    Range *const begin = runs_.begin() + list.first, *const end = begin + list.count;
    Range *first = std::partition_point(begin, end, [&](const Range &run) { return run.high < extent.low; });
    Range *after = first;
    while (after < end && after->low <= extent.high) ++after;
    if (after > first) {  // The runs first:after touch the new one, so all become one run.
      extent = {std::min(first->low, extent.low), std::max(after[-1].high, extent.high)};
      std::copy(after, end, first + 1);
      list.count -= after - first - 1;
    } else {
      std::copy_backward(first, end, end + 1);
      ++list.count;
    }
    *first = extent;
  }
};

}  // namespace memplan::packing
