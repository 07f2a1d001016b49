// Exact search by branching on sections: is there a placement whose largest end is at most a given capacity?
//
// Push any placement down in the order of offsets. Then each buffer is at the lowest offset that it can have, or at the
// lowest one above the end of some neighbour. Consider any section with floor f. Either a buffer starts at f, and then
// its low is f. Or none does, and then each buffer whose low is f is above f, on the end of a neighbour that is not
// placed yet. These are the branches. A buffer that starts at f lifts all its unplaced neighbours above it. This is
// right if no neighbour can be below it: all its sections have the floor f, and no buffer in explicit conflict with it
// has space below f. The argument only requires that `lifted` is monotone and keeps earlier lifts, so alignments and
// obstacles are also searched completely.
//
// A failure is stored for its component, which is between two walls that no unplaced buffer crosses. Whether a
// component fits depends only on its unplaced buffers and their lows, so an entry (key, key, need) holds in every node,
// restart and order. A key is the sum of c + a * low over the unplaced buffers, modulo 2^64, with random a and c for
// each: a multilinear hash. Two different states agree in one key with probability 2^(z - 64), where 2^z divides all
// their differences. They agree in both keys, which are compared completely, with the square of that probability.
#pragma once
#include <bit>
#include <limits>

#include "sections.hpp"

namespace memplan::exact {

inline constexpr i64 kNowhere = i64{1} << 61;  // the low of a buffer that has no legal offset left
// The inferences of the exact search, each of which can be left out without making an answer wrong. See `Inference` in
// exact.py for what they do.
enum Inference : i64 {
  kNogoods = 1,
  kBackjumps = 2,
  kFailureWeights = 4,
  kStacksWithGaps = 8,
  kTwins = 16,
  kLevelEnds = 32,
  kGuides = 64,
  kDives = 128,
  kDummies = 256,
  kCores = 512,
  kEjections = 1024,
  kAllInferences = 2047
};
inline constexpr i64 kSkip = -1;               // the option that no buffer of the section starts at its floor

// A change that cannot be recomputed: the low of buffer `at`, or floor (`low`), ready count and slack of section ~at.
struct Change {
  i64 at, low, ready, slack;
};

// The facts that a node of the search tree keeps.
struct Frame {
  i64 section, floor, next, end, need, left, right;
  u64 key_a, key_b;
  i64 move, mark, touched_left, touched_right;
};

// For each buffer, the least offset it may still have, FAR once placed. For each section, the least low of its rest,
// the number of buffers with that low, the total size of the rest, and the slack above; also scratch space.
struct State {
  Array<i64> low, floor, ready, left, slack, crossing;
  Rows<u64> key;
  Array<u32> member, member_end;
  Array<i64> member_slot, seat, queue;
  Array<bool> is_queued;
  Array<i64> logged;
  Array<Change> log;
  Array<Frame> frame;
  Array<i64> option, raised, change;
};

struct ExactRun {
  Rows<u64> nogoods;
  Array<i64> rank;
  Array<i64> guide;
  Array<double> weight;
  i64 capacity;
  double skip_weight;
  bool from_right;
  i64 node_limit;
  bool is_thorough;
  i64 inferences;
  Array<i64> offset;
};

// FOUND: `offset` holds a placement. EXHAUSTED: no placement exists, nor one at any capacity below `need`.
// STOPPED: the limit is reached or the search is over. FULL: the state has too little space.
struct RunResult {
  i64 outcome = kStopped;
  i64 need = 0;
  const i64 *offset = nullptr;
  i64 nodes = 0;
  i64 unplaced = 0;
};

inline i64 slot_of(const Rows<u64> &nogoods, u64 key) {
  // If all lows are even, only the upper bits of a key are random, so mix them into the lower ones.
  return static_cast<i64>((key ^ (key >> 32)) & static_cast<u64>(nogoods.size - 1));
}

// A plain search reads less: each buffer has one lifetime and no named conflict, and there are no obstacles or blocks.
template <bool kIsPlain>
class Search {
 public:
  Search(const Sections &sections, const State &state, const ExactRun &run)
      : sections_(sections), state_(state), run_(run), n_(sections.size.size), k_(sections.spare.size) {
    if (has(kStacksWithGaps))
      for (const i64 step : sections.step) has_gaps_ = has_gaps_ || step > sections.granule;
  }

  // Each node takes O(sections + lifetimes and sections of the buffers that move) time.
  template <class IsOver>
  RunResult search(IsOver &&is_over) {
    // Between two looks at the clock, at most a tenth of a millisecond of work is done.
    const i64 poll_every = std::clamp<i64>(kPollWork / (n_ + k_ + 1), 1, 256);
    const i64 capacity = run_.capacity;
    i64 depth = 0, nodes = 0, until_poll = poll_every;
    const auto ended = [&](i64 outcome, i64 need = 0) {
      return RunResult{outcome, need, run_.offset.data, nodes, unplaced_};
    };
    begin();

    // 1. The root: a buffer or section that does not fit before any move never fits.
    i64 need = update_sections();
    for (i64 i = 0; i < n_; ++i)
      if (state_.low[i] + sections_.size[i] > capacity) need = std::max(need, state_.low[i] + sections_.size[i]);
    if (need > 0) return ended(kExhausted, need);
    bool is_new = true;
    Span touched{0, k_};

    while (true) {
      // 2. A new node: look up what the move has touched, then open a frame with the options of one section.
      Span failed{0, 0};
      need = 0;
      if (is_new) {
        is_new = false;
        ++nodes;
        if (unplaced_ == 0) return ended(kFound);
        if (nodes >= run_.node_limit) return ended(kStopped);
        if (--until_poll == 0) {
          until_poll = poll_every;
          if (is_over()) return ended(kStopped);
        }
        need = known_failure(touched, failed);
        if (need == 0) {
          const i64 first = depth > 0 ? state_.frame[depth - 1].end : 0;
          if (depth == state_.frame.size || first + n_ + 1 > state_.option.size) return ended(kFull);
          open_frame(state_.frame[depth], first);
        }
      }

      // 3. No option is left, so the component has no placement: store that as a no-good.
      if (need == 0 && state_.frame[depth].next == state_.frame[depth].end) {
        const Frame &last = state_.frame[depth];
        failed = {last.left, last.right}, need = last.need;
        remember(last);
      }

      // 4. Step back over all moves that did not touch the component, because no other option of theirs can help it.
      if (need > 0) {
        while (true) {
          if (--depth < 0) return ended(kExhausted, need);
          const Frame &last = state_.frame[depth];
          take_back(last);
          if (failed.left < last.touched_right && failed.right > last.touched_left) break;
          if (!has(kBackjumps)) {
            look_between(state_.frame[depth], 0, k_);
            break;
          }
        }
        state_.frame[depth].need = std::min(state_.frame[depth].need, need);
        continue;
      }

      // 5. Try the next option.
      if (n_logged_ + n_ + k_ > state_.log.size) return ended(kFull);
      Frame &now = state_.frame[depth];
      const i64 move = state_.option[now.next++];
      now.move = move, now.mark = n_logged_;
      ++moves_;
      if (move == kSkip) {
        need = skip(now.section, now.floor, touched);
      } else {
        run_.offset[move] = now.floor;
        touched = place(move);
        if (now.floor + sections_.size[move] > capacity) need = now.floor + sections_.size[move];
      }
      now.touched_left = touched.left, now.touched_right = touched.right;
      const i64 enough = update_sections();
      if (n_lost_ > 0) need = kNowhere, n_lost_ = 0;

      // 6. Sections that overflow gain weight, unless the overflow was certain before the move.
      if (need > 0 || enough > 0) {
        now.need = std::min(now.need, std::max(need, enough));
        take_back(now);
        if (has(kFailureWeights) && (move != kSkip || state_.slack[now.section] >= sections_.granule)) {
          if (need > 0)
            run_.weight[now.section] += 1.0;
          else  // add all of them, so that the one found first depends only on the order of the buffers
            for (i64 x = 0; x < n_overfull_; ++x) run_.weight[state_.queue[x]] += 1.0;
        }
        continue;
      }
      ++depth;
      is_new = true;
    }
  }

 private:
  static constexpr i64 kPollWork = 16'384;
  static constexpr i64 kMostStacked = 12, kStackNodes = 200;
  struct Span {
    i64 left, right;
  };
  const Sections &sections_;
  const State &state_;
  const ExactRun &run_;
  const i64 n_, k_;
  i64 unplaced_ = 0, n_logged_ = 0, n_queued_ = 0, moves_ = 0, n_overfull_ = 0, n_lost_ = 0, stack_nodes_ = 0;
  bool has_gaps_ = false;  // true if an alignment may leave a whole granule or more free

  bool has(Inference each) const { return (run_.inferences & each) != 0; }
  i64 first_life(i64 i) const { return kIsPlain ? i : sections_.first[i]; }
  i64 last_life(i64 i) const { return kIsPlain ? i + 1 : sections_.first[i + 1]; }
  i64 leftmost(i64 i) const { return kIsPlain ? sections_.start[i] : sections_.leftmost[i]; }
  i64 rightmost(i64 i) const { return kIsPlain ? sections_.end[i] : sections_.rightmost[i]; }

  // Return how far above a buffer its neighbour `x` must start at least, if it is above.
  i64 reach_of(i64 buffer, i64 x) const {
    const i64 extent = sections_.extent[buffer];
    if (kIsPlain || sections_.neighbour_clearance.size == 0) return extent;
    return std::max(extent, sections_.size[buffer] + sections_.neighbour_clearance[x]);
  }

  // Return the least aligned offset from `at` on that avoids the buffer's obstacles.
  i64 lifted(i64 buffer, i64 at) const {
    const i64 stride = sections_.step[buffer], residue = sections_.residue[buffer];
    if (stride > 1) at += floor_mod(residue - at, stride);
    if constexpr (!kIsPlain) {
      const Range *end = sections_.obstacle.data + sections_.obstacle_first[buffer + 1];
      const Range *range = sections_.obstacle.data + sections_.obstacle_first[buffer];
      range = std::partition_point(range, end, [at](const Range &other) { return other.high <= at; });
      for (; range != end && range->low <= at; ++range)
        if (at < range->high) at = range->high + floor_mod(residue - range->high, stride);
    }
    return at;
  }

  // ---- The changes of a move are written to a log, which `undo` reads backwards.
  void enqueue(i64 section) {
    if (state_.is_queued[section]) return;
    state_.is_queued[section] = true;
    state_.queue[n_queued_++] = section;
  }

  void log_section(i64 section) {
    if (state_.logged[section] == moves_) return;
    state_.logged[section] = moves_;
    state_.log[n_logged_++] = {~section, state_.floor[section], state_.ready[section], state_.slack[section]};
  }

  // Add times * code + change * another code to both keys of the buffer's first section, modulo 2^64.
  void rekey(i64 buffer, u64 times, i64 change) {
    u64 *key = state_.key[leftmost(buffer)];
    const u64 *code = sections_.code[buffer], by = static_cast<u64>(change);
    key[0] += times * code[0] + by * code[1];
    key[1] += times * code[2] + by * code[3];
  }

  // ---- Moves
  // Reset the state: no buffer is placed, all lows are as low as possible, and all sections are queued.
  void begin() {
    unplaced_ = n_logged_ = n_queued_ = moves_ = n_overfull_ = n_lost_ = 0;
    for (i64 s = 0; s < k_; ++s) {
      state_.left[s] = state_.ready[s] = state_.logged[s] = 0, state_.is_queued[s] = false;
      state_.key[s][0] = state_.key[s][1] = 0;
      state_.member_end[s] = sections_.member_first[s];
    }
    state_.crossing.fill(0);
    state_.change.fill(0);
    state_.low.fill(kFar);
    for (i64 i = 0; i < n_; ++i) unplace(i, lifted(i, 0));
    for (i64 s = 0; s < k_; ++s)
      if (state_.left[s] > 0) enqueue(s);
  }

  void take_back(const Frame &last) {
    undo(last.mark);
    if (last.move != kSkip) unplace(last.move, last.floor);
  }

  // Raise the low of an unplaced buffer. Outside left:right, queue the sections whose last ready buffer it was;
  // the caller recounts the sections inside left:right.
  void lift(i64 buffer, i64 offset, i64 left, i64 right) {
    const i64 old = state_.low[buffer];
    Change &change = state_.log[n_logged_++];
    change.at = buffer, change.low = old;
    state_.low[buffer] = offset;
    if (offset >= kNowhere) ++n_lost_;
    rekey(buffer, 0, offset - old);
    for (i64 r = first_life(buffer); r < last_life(buffer); ++r) {
      leave_floor(sections_.start[r], std::min(sections_.end[r], left), old);
      leave_floor(std::max(sections_.start[r], right), sections_.end[r], old);
    }
  }

  void leave_floor(i64 first, i64 end, i64 old) {
    for (i64 s = first; s < end; ++s) {
      if (state_.floor[s] != old || state_.is_queued[s]) continue;
      log_section(s);
      if (--state_.ready[s] == 0) enqueue(s);
    }
  }

  // Add `change` to the borders that a buffer, and its named conflicts with unplaced buffers, cross.
  void cross(i64 buffer, i64 change) {
    const i64 left = leftmost(buffer), right = rightmost(buffer);
    for (i64 s = left + 1; s < right; ++s) state_.crossing[s] += change;
    if constexpr (!kIsPlain) {
      for (i64 x = sections_.link_first[buffer]; x < sections_.link_first[buffer + 1]; ++x) {
        const i64 other = sections_.link[x];
        if (state_.low[other] == kFar) continue;
        const i64 end = std::max(right, sections_.rightmost[other]);
        for (i64 s = std::min(left, sections_.leftmost[other]) + 1; s < end; ++s) state_.crossing[s] += change;
      }
    }
  }

  // Undo a placement: the buffer gets its low back.
  void unplace(i64 buffer, i64 offset) {
    cross(buffer, 1);
    state_.low[buffer] = offset;
    rekey(buffer, 1, offset);
    const i64 extent = sections_.extent[buffer];
    for (i64 r = first_life(buffer); r < last_life(buffer); ++r)
      for (i64 s = sections_.start[r]; s < sections_.end[r]; ++s) state_.left[s] += extent, ++state_.member_end[s];
    ++unplaced_;
  }

  // Move a section's member behind the unplaced ones, where it is the next one to come back.
  void leave(i64 section, i64 slot) {
    const i64 here = state_.seat[slot], last = --state_.member_end[section];
    std::swap(state_.member[here], state_.member[last]);
    state_.member_slot[here] = state_.member_slot[last], state_.member_slot[last] = slot;
    state_.seat[state_.member_slot[here]] = here, state_.seat[slot] = last;
  }

  // Place a buffer at its low, and lift its neighbours above it. Return a range of sections with all changed buffers.
  Span place(i64 buffer) {
    const i64 offset = state_.low[buffer], extent = sections_.extent[buffer], top = offset + extent;
    state_.low[buffer] = kFar;
    rekey(buffer, ~u64{0}, -offset);
    cross(buffer, -1);
    --unplaced_;
    for (i64 r = first_life(buffer); r < last_life(buffer); ++r)
      for (i64 s = sections_.start[r]; s < sections_.end[r]; ++s) {
        leave(s, sections_.slot_first[r] + s - sections_.start[r]);
        state_.left[s] -= extent;
        if (state_.left[s] == 0) continue;
        log_section(s);
        state_.ready[s] = 0;
        enqueue(s);
      }
    const i64 inner_left = leftmost(buffer);
    Span touched{inner_left, rightmost(buffer)};
    // A buffer with holes may have touched scattered sections, so update these one by one.
    const i64 inner_right = last_life(buffer) - first_life(buffer) == 1 ? touched.right : inner_left;
    for (i64 x = sections_.neighbour_first[buffer]; x < sections_.neighbour_first[buffer + 1]; ++x) {
      const i64 other = sections_.neighbour[x], past = offset + reach_of(buffer, x);
      i64 low = state_.low[other];
      if (low > past) continue;
      if (low < past) {
        low = lifted(other, past);
        lift(other, low, inner_left, inner_right);
        touched.left = std::min(touched.left, leftmost(other));
        touched.right = std::max(touched.right, rightmost(other));
      }
      if (low == top)
        for (i64 r = first_life(other); r < last_life(other); ++r) {
          const i64 first = std::max(inner_left, sections_.start[r]), end = std::min(inner_right, sections_.end[r]);
          if (first < end) ++state_.change[first], --state_.change[end];
        }
    }
    i64 ready = 0;
    for (i64 s = inner_left; s < inner_right; ++s) {
      ready += state_.change[s];
      state_.change[s] = 0;
      // no buffer in the section is lower, so its floor is `top`
      if (ready > 0) state_.floor[s] = top, state_.ready[s] = ready;
    }
    state_.change[inner_right] = 0;
    return touched;
  }

  // Recompute the queued sections; floors and ready counts only where no buffer is known to be ready. Return 0 or, if a
  // section overflows, the least capacity that all sections need; the queue then begins with the overflowing sections.
  i64 update_sections() {
    i64 need = 0, overfull = 0;
    for (i64 x = 0; x < n_queued_; ++x) {
      const i64 s = state_.queue[x];
      state_.is_queued[s] = false;
      log_section(s);
      if (state_.ready[s] == 0) {
        i64 floor = kFar, ready = 0;
        for (i64 y = sections_.member_first[s]; y < state_.member_end[s]; ++y) {
          const i64 low = state_.low[state_.member[y]];
          if (low < floor)
            floor = low, ready = 1;
          else if (low == floor)
            ++ready;
        }
        state_.floor[s] = floor, state_.ready[s] = ready;
      }
      // The topmost buffer need not use its padding, so its extent may exceed the capacity by that much.
      const i64 top = run_.capacity + sections_.spare[s];
      i64 slack = top - state_.floor[s] - state_.left[s];
      if constexpr (!kIsPlain)
        for (i64 r = sections_.block_first[s]; r < sections_.block_first[s + 1]; ++r) {
          const Range &block = sections_.block[r];
          slack -= std::max<i64>(0, std::min(top, block.high) - std::max(state_.floor[s], block.low));
        }
      state_.slack[s] = slack;
      const i64 short_by = slack < 0 ? -slack : has_gaps_ ? missing_for_stack(s, top) : 0;
      if (short_by > 0) {
        need = std::max(need, run_.capacity + short_by);
        state_.queue[overfull++] = s;
      }
    }
    n_queued_ = 0, n_overfull_ = overfull;
    return need;
  }

  // Return by how much a section's rest exceeds its top in every order, stacked from its floor; 0 if some order fits or
  // the answer is unknown. Such stacks include the gaps of alignments, which sums of sizes miss.
  i64 missing_for_stack(i64 section, i64 top) {
    const u32 *members = state_.member.data + sections_.member_first[section];
    const i64 count = state_.member_end[section] - sections_.member_first[section];
    i64 gaps = 0;
    for (i64 y = 0; y < count; ++y) gaps += sections_.step[members[y]] - sections_.granule;
    if (count > kMostStacked || state_.slack[section] >= gaps) return 0;
    i64 least = kFar;
    stack_nodes_ = 0;
    const u32 all = (u32{1} << count) - 1;
    return can_stack(members, all, state_.floor[section], state_.left[section], top, least) ? 0 : least - top;
  }

  // Return whether the members in a mask, of total size `rest`, may fit between `at` and `top`.
  // If not, `least` is a lower bound on the top that they need.
  bool can_stack(const u32 *members, u32 mask, i64 at, i64 rest, i64 top, i64 &least) {
    if (mask == 0 || ++stack_nodes_ > kStackNodes) return true;
    for (u32 others = mask; others != 0; others &= others - 1) {
      const int y = std::countr_zero(others);
      const i64 i = members[y], start = lifted(i, std::max(at, state_.low[i])), extent = sections_.extent[i];
      if (start + rest > top)
        least = std::min(least, start + rest);
      else if (can_stack(members, mask & ~(u32{1} << y), start + extent, rest - extent, top, least))
        return true;
    }
    return false;
  }

  void undo(i64 mark) {
    while (n_logged_ > mark) {
      const auto &[at, low, ready, slack] = state_.log[--n_logged_];
      if (at >= 0) {
        rekey(at, 0, low - state_.low[at]);
        state_.low[at] = low;
      } else {
        state_.floor[~at] = low, state_.ready[~at] = ready, state_.slack[~at] = slack;
      }
    }
  }

  // ---- Branches
  void open_frame(Frame &now, i64 first) {
    const i64 section = chosen_section();
    now.section = section, now.floor = state_.floor[section];
    now.next = first, now.need = kFar;
    now.end = list_options(section, first);
    if (state_.slack[section] >= sections_.granule || run_.is_thorough)
      state_.option[now.end++] = kSkip;
    else
      now.need = run_.capacity - state_.slack[section] + sections_.granule;
    i64 left = section, right = section + 1;
    while (left > 0 && state_.crossing[left] > 0) --left;
    while (right < k_ && state_.crossing[right] > 0) ++right;
    look_between(now, left, right);
  }

  // Let a frame's failure be that of the sections left:right, in their present state.
  void look_between(Frame &now, i64 left, i64 right) const {
    now.left = left, now.right = right, now.key_a = now.key_b = 0;
    for (i64 s = left; s < right; ++s) now.key_a += state_.key[s][0], now.key_b += state_.key[s][1];
  }

  bool is_wall(i64 border, i64 beyond) const {
    return beyond < 0 || beyond == k_ || state_.left[beyond] == 0 || state_.crossing[border] == 0;
  }

  // Return whether a plateau ends at a border: there is a wall, or the section beyond has a higher floor.
  bool ends_plateau(i64 border, i64 beyond, i64 floor) const {
    return is_wall(border, beyond) || state_.floor[beyond] > floor;
  }

  // Return the section with the fewest options per failure; of equals, one with the lowest floor, first from the left
  // or right. Only plateaus count: runs of sections with one floor, between walls or higher floors. A buffer that
  // starts at the floor of a plateau has no buffer below it and leaves no hole there. The section with the lowest floor
  // is always on a plateau, so a section can always be chosen.
  i64 chosen_section() const {
    i64 best = kAbsent, best_floor = kFar, left = 0;
    double best_cost = std::numeric_limits<double>::infinity();
    while (left < k_) {
      if (state_.left[left] == 0) {
        ++left;
        continue;
      }
      const i64 floor = state_.floor[left];
      i64 right = left + 1;
      while (right < k_ && state_.left[right] > 0 && state_.floor[right] == floor && state_.crossing[right] > 0)
        ++right;
      if (ends_plateau(left, left - 1, floor) && ends_plateau(right, right, floor))
        for (i64 s = left; s < right; ++s) {
          const double skips = state_.slack[s] >= sections_.granule ? run_.skip_weight : 0.0;
          const double cost = (static_cast<double>(state_.ready[s]) + skips) / run_.weight[s];
          const bool is_less = cost < best_cost || (cost == best_cost && floor < best_floor);
          const bool is_last = run_.from_right && cost == best_cost && floor == best_floor;
          if ((is_less || is_last) && (kIsPlain || nothing_lies_below(s)))
            best = s, best_cost = cost, best_floor = floor;
        }
      left = right;
    }
    return best;
  }

  // Return whether no unplaced neighbour of a buffer ready at this floor can be below it; true on plain plateaus.
  bool nothing_lies_below(i64 section) const {
    if (sections_.is_plain) return true;
    const i64 floor = state_.floor[section];
    for (i64 x = sections_.member_first[section]; x < state_.member_end[section]; ++x) {
      const i64 i = state_.member[x];
      if (state_.low[i] != floor) continue;
      for (i64 r = sections_.first[i]; r < sections_.first[i + 1]; ++r)
        for (i64 s = sections_.start[r]; s < sections_.end[r]; ++s)
          if (state_.floor[s] < floor) return false;
      for (i64 y = sections_.link_first[i]; y < sections_.link_first[i + 1]; ++y)
        if (state_.low[sections_.link[y]] + sections_.size[sections_.link[y]] <= floor) return false;
    }
    return true;
  }

  // Write the buffers that may start at a section's floor to option[first:], and return the list's end. First come
  // those that the guide has there, then those that end level with the sections on both sides of the plateau, then
  // on one side, then the others by rank. Exchanging twins changes nothing, so only the first of them is an option.
  i64 list_options(i64 section, i64 first) const {
    const i64 floor = state_.floor[section];
    i64 end = first, left = section, right = section + 1;
    while (!ends_plateau(left, left - 1, floor)) --left;
    while (!ends_plateau(right, right, floor)) ++right;
    const i64 above_left = is_wall(left, left - 1) ? kAbsent : state_.floor[left - 1];
    const i64 above_right = is_wall(right, right) ? kAbsent : state_.floor[right];
    const bool has_twins = has(kTwins), has_levels = has(kLevelEnds);
    for (i64 x = sections_.member_first[section]; x < state_.member_end[section]; ++x) {
      const i64 i = state_.member[x], twin = has_twins ? sections_.twin[i] : kAbsent;
      if (state_.low[i] != floor || (twin >= 0 && state_.low[twin] != kFar)) continue;
      const i64 top = floor + sections_.extent[i];
      i64 level = (top == above_left && leftmost(i) == left) + (top == above_right && rightmost(i) == right);
      if (!has_levels) level = 0;
      const i64 key = (4 * (run_.guide[i] == floor) + level) * n_ - run_.rank[i];
      state_.raised[i] = key;
      i64 at = end++;
      for (; at > first && state_.raised[state_.option[at - 1]] < key; --at) state_.option[at] = state_.option[at - 1];
      state_.option[at] = i;
    }
    return end;
  }

  // Decide that no buffer starts at the section's floor; each that could rests on the end of an unplaced neighbour.
  // Return what such a buffer needs if it then ends above the capacity, FAR if it has no such neighbour,
  // because the branch then loses nothing, and else 0.
  i64 skip(i64 section, i64 floor, Span &touched) {
    touched = {section, section + 1};
    const i64 first = sections_.member_first[section];
    for (i64 x = first; x < state_.member_end[section]; ++x) {
      const i64 i = state_.member[x];
      if (state_.low[i] != floor) continue;
      i64 least = kFar;
      for (i64 y = sections_.neighbour_first[i]; y < sections_.neighbour_first[i + 1]; ++y) {
        const i64 other = sections_.neighbour[y];
        if (state_.low[other] != kFar) least = std::min(least, state_.low[other] + reach_of(other, y));
      }
      if (least == kFar) return kFar;
      state_.raised[i] = lifted(i, std::max(least, floor + 1));
      if (state_.raised[i] + sections_.size[i] > run_.capacity) return state_.raised[i] + sections_.size[i];
    }
    // Raise the lows only now, so that twins see each other's old lows and stay equal.
    for (i64 x = first; x < state_.member_end[section]; ++x) {
      const i64 i = state_.member[x];
      if (state_.low[i] != floor) continue;
      lift(i, state_.raised[i], 0, 0);
      touched = {std::min(touched.left, leftmost(i)), std::max(touched.right, rightmost(i))};
    }
    return 0;
  }

  // ---- Nogoods
  void remember(const Frame &last) const {
    if (run_.nogoods.size == 0 || !has(kNogoods)) return;
    u64 *row = run_.nogoods[slot_of(run_.nogoods, last.key_a)];
    row[0] = last.key_a, row[1] = last.key_b, row[2] = static_cast<u64>(last.need);
  }

  // Return what a component among the touched sections is known to need, if above the capacity; else 0.
  i64 known_failure(Span touched, Span &failed) const {
    if (run_.nogoods.size == 0 || !has(kNogoods)) return 0;
    i64 left = touched.left;
    while (left > 0 && state_.crossing[left] > 0) --left;
    while (left < touched.right) {
      u64 key_a = state_.key[left][0], key_b = state_.key[left][1];
      i64 right = left + 1;
      for (; right < k_ && state_.crossing[right] > 0; ++right)
        key_a += state_.key[right][0], key_b += state_.key[right][1];
      const u64 *row = run_.nogoods[slot_of(run_.nogoods, key_a)];
      if (row[0] == key_a && row[1] == key_b && static_cast<i64>(row[2]) > run_.capacity) {
        failed = {left, right};
        return static_cast<i64>(row[2]);
      }
      left = right;
    }
    return 0;
  }
};

// Return whether only lifetimes, sizes and alignments must be read.
inline bool is_bare(const Sections &sections) {
  return sections.is_plain && sections.obstacle.size == 0 && sections.block.size == 0;
}

template <class IsOver>
RunResult search(const Sections &sections, const State &state, const ExactRun &run, IsOver &&is_over) {
  if (is_bare(sections)) return Search<true>(sections, state, run).search(is_over);
  return Search<false>(sections, state, run).search(is_over);
}

}  // namespace memplan::exact
