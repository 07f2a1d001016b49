// A search for better plans of several memories: a window, which is a few buffers, is placed anew between all others.
//
// A beam search processes the window in the order of time and keeps the cheapest partial placements, in which a buffer
// is at the lowest or the highest offset of a gap. Windows are drawn where buffers cost more than in the goal, the
// cheapest choice without offsets. In every second window, no buffer is rewarded for a better memory than the goal
// gives it, because other buffers need that space in the cheapest choice. Before that, unplaced buffers are placed
// window after window: the earlier half of each window is kept, and the later half is placed again. Half of the steps
// go to exact packings of one memory: a wider window of buffers that belong there is packed between all others.
#pragma once
#include <bit>

#include "arena.hpp"
#include "memplan.h"
#include "random.hpp"

namespace memplan {

// Plan as memplan_plan does, with offset[i] % alignment == residue[i] for each buffer, and without a check of the plan.
memplan_result plan_with_residues(const memplan_problem &problem, const memplan_options &options, const i64 *residue, i64 *offsets);

}  // namespace memplan

namespace memplan::windows {

inline constexpr i64 kLargest = 40, kLeast = 6;  // most and fewest buffers in a window
inline constexpr i64 kWidth = 60;                 // partial placements that the beam keeps
inline constexpr i64 kGaps = 6;                   // gaps of a memory that are tried: the narrowest ones
inline constexpr i64 kPacked = 40;  // most buffers packed at once
inline constexpr i64 kPackWork = 500;             // nodes of one packing of the choice, the least of a packing anew
inline constexpr i64 kRepackShare = 2;  // steps of which one goes to packing one memory anew
inline constexpr i64 kLeastRepacked = 20, kMostRepacked = 160;  // fewest and most buffers that are packed anew
inline constexpr i64 kRepackDoublings = 9;  // limits of such a packing: kPackWork nodes, twice as many, and so on
inline constexpr i64 kRises = 4;  // windows of which one may raise the cost
inline constexpr i64 kPackCost = 100, kNodeWork = 12, kRowWork = 5;  // steps of a packing, its nodes, and its buffers
inline constexpr i64 kPages = 64, kMostCuts = 1'000;  // pages tried for an offset, and borders of pages within gaps
inline constexpr i64 kMostPairs = 8'000'000;      // most pairs of conflicting buffers

// See the tables of the same names in windows.py.
struct Spaces {
  Array<i64> size;
  Rows<i64> homes, alignment, lowest, highest, page, page_shift, price;
  Array<i64> lifetime_buffer, start, end, conflict_first, conflict, share_first, share, bank_first, bank_with, bank_price;
  Array<i64> together, lead, distance, capacity, bank, bank_shift, reserved_first;
  Rows<i64> reserved;
};
struct WindowSearch {
  Array<i64> goal, home, pool, offset;
  i64 work;
  Array<i64> held;  // not 0 for the buffers that keep their places; or empty
  Array<i64> random, flag, answer;
};

// Whether the search is over, which is asked once per step; one type for all callers, as each would compile it anew.
struct IsOver {
  int (*ask)(void *context);
  void *context;
  bool operator()() const { return ask(context) != 0; }
};

class Search {
 public:
  // After a failure of the arena, read nothing. A search that only fills has no beam, which needs the most memory.
  Search(Allocator &allocator, Arena &arena, const Spaces &spaces, const WindowSearch &run, IsOver is_over, bool only_fills = false)
      : allocator_(allocator),
        spaces_(spaces),
        run_(run),
        is_over_(is_over),
        largest_(only_fills ? 0 : std::min(kLargest, spaces.size.size)),
        width_(only_fills ? 0 : kWidth),
        by_start_(arena.array<i64>(n())),
        by_end_(arena.array<i64>(n())),
        start_rank_(arena.array<i64>(n())),
        end_rank_(arena.array<i64>(n())),
        place_(arena.array<i64>(n())),
        lost_(arena.array<double>(n())),
        best_pool_(arena.array<i64>(only_fills ? 0 : n())),
        best_offset_(arena.array<i64>(only_fills ? 0 : n())),
        lives_first_(arena.array<i64>(n() + 2)),
        lives_(arena.array<i64>(spaces.start.size)),
        near_first_(arena.array<i64>(n() + 2)),
        mates_first_(arena.array<i64>(n() + 2)),
        mates_(arena.array<i64>(n())),
        window_(arena.array<i64>(only_fills ? 0 : std::min(kMostRepacked, spaces.size.size))),
        mask_(arena.array<u64>(largest_)),
        mate_(arena.array<i64>(largest_)),
        last_(arena.array<i64>(largest_)),
        rest_(arena.array<i64>(largest_ + 1)),
        states_(arena.array<State>(width_)),
        next_(arena.array<State>(width_)),
        seen_(arena.array<u64>(kSlots)),
        children_(arena.array<Child>(width_ * children_of_state())),
        loose_walls_(arena.rows<Range>(p(), 2 * kLeast * largest_)),
        loose_count_(arena.array<i64>(p())),
        wall_first_(arena.array<i64>(p() + 1)),
        price_sum_(arena.array<double>(p())) {
    for (Array<Place> *each : {&places_, &next_places_}) *each = arena.array<Place>(width_ * largest_);
    if (arena.has_failed) return;
    order(arena);
    list_mates();
    list_near(arena);
    if (!has_too_many_ && !arena.has_failed) walls_ = arena.uncleared<Range>(p() * most_near_ + kLeast * spaces.reserved.size), gaps_ = arena.uncleared<Range>(most_near_ + kLeast * (spaces.reserved.size + 2 * largest_) + kMostCuts), cut_ = arena.uncleared<Range>(gaps_.size);
  }

  bool has_too_many() const { return has_too_many_; }
  i64 work() const { return work_; }

  // Place the unplaced buffers, and search windows until the work is spent. Returns false if a buffer fits nowhere. When
  // the search is over before all are placed, the rest is placed at once.
  bool run() {
    if (!place_pins()) return false;
    if (run_.home.size > 0) pack_goal();
    if (run_.home.size > 0 && is_over_()) fill();
    if (!place_rest()) return false;
    return improve(run_.work);
  }

  // Search windows until `work` is spent in total, or until no buffer costs more than in the goal. Returns true. All
  // buffers must be placed.
  //
  // One window in kRises may raise the cost, by less than its middle buffer costs above its goal (record-to-record travel,
  // Dueck, Journal of Computational Physics 104, 1993). In the end, the cheapest placement is restored.
  bool improve(i64 work) {
    risen_ = 0;
    while (work_ < work && !is_over_()) {
      const i64 spent = work_;
      if (!draw_window()) return true;
      const i64 q = draw_goal_memory(middle_);
      if (kRepackShare * repacked_ < work_ && q != kAbsent && !is_free(q) && is_packable(q, middle_)) {
        repack(q);
        work_ = std::max(work_, spent + 1), repacked_ += work_ - spent;
        continue;
      }
      const bool has_goal = draw(run_.random[0]) % 2 == 0;
      i64 most = 0;
      if (draw(run_.random[0]) % kRises == 0) {
        most = std::max<i64>(0, draw(run_.random[0]) % (price(middle_) - run_.goal[middle_] + 1) - risen_);
        if (most > 0 && risen_ == 0) keep_best();
      }
      place_window(has_goal, most);
      if (work_ == spent) ++work_;
    }
    if (risen_ > 0) {
      std::copy(best_pool_.begin(), best_pool_.end(), run_.pool.data);
      std::copy(best_offset_.begin(), best_offset_.end(), run_.offset.data);
    }
    return true;
  }

  // Place each buffer once, at its lowest free offset. Memories are filled in ascending order of cost, first with the
  // buffers that save most per byte and unit of time. Members of groups and buffers that fit nowhere are left out.
  // Of a given choice, buffers come first in the memories that it has for them. The end of the search does not stop this.
  void fill() {
    const bool has_choice = run_.home.size > 0;
    const Array<i64> &memory = wall_first_, &order = place_;  // Both are rewritten before they are read.
    sort_memories(memory);
    for (i64 rank = 0; rank < p(); ++rank) {
      const i64 q = memory[rank];
      i64 count = 0;
      for (i64 i = 0; i < n(); ++i) {
        if (run_.pool[i] != kAbsent || !spaces_.homes[q][i] || !is_alone(i)) continue;
        i64 next = kMost;
        for (i64 later = rank + 1; later < p(); ++later)
          if (spaces_.homes[memory[later]][i]) next = std::min(next, spaces_.price[memory[later]][i]);
        if (next < spaces_.price[q][i]) continue;
        const bool is_bound = next == kMost || spaces_.lowest[q][i] == spaces_.highest[q][i];
        const double saved = static_cast<double>(next - spaces_.price[q][i]) / bytes_in_time(i);
        lost_[i] = is_bound ? 1e300 : has_choice && run_.home[i] == q ? saved * 1e100 : saved;
        order[count++] = i;
      }
      std::sort(order.data, order.data + count, [this](i64 a, i64 b) { return lost_[a] != lost_[b] ? lost_[a] > lost_[b] : a < b; });
      for (i64 k = 0; k < count; ++k)
        if (const i64 at = lowest_free(q, order[k]); at != kAbsent) run_.pool[order[k]] = q, run_.offset[order[k]] = at;
    }
  }

 private:
  static constexpr i64 kSlots = 1024;
  struct Place {
    i64 pool, at;
  };
  struct State {
    i64 f, g, waste;
    u64 hash;
  };
  struct Child {
    i64 f, g, waste;
    u64 hash;
    i64 at;
    std::int32_t parent, pool;
    bool operator<(const Child &other) const { return f != other.f ? f < other.f : waste < other.waste; }
  };
  Allocator &allocator_;
  const Spaces &spaces_;
  const WindowSearch &run_;
  const IsOver is_over_;
  const i64 largest_, width_;
  Array<i64> by_start_, by_end_, start_rank_, end_rank_;
  Array<i64> place_;  // position of each buffer in the window, from 1 on; 0 if it is not in the window
  Array<double> lost_;
  Array<i64> best_pool_, best_offset_;  // the cheapest placement, while the current one costs `risen_` more
  i64 middle_ = 0, risen_ = 0;
  Array<i64> lives_first_, lives_;
  Array<i64> near_first_, mates_first_, mates_;
  Array<i64> near_{nullptr, 0};
  Array<i64> window_;  // buffers of the window, in order
  Array<u64> mask_;    // for each position, the earlier buffers of the window that conflict with this one
  Array<i64> mate_;    // an earlier buffer that must be in the same memory, or kAbsent
  Array<i64> last_;    // the last position that this buffer affects
  Array<i64> rest_;    // the least cost of the buffers from this position on
  Array<State> states_, next_;
  Array<Place> places_{nullptr, 0}, next_places_{nullptr, 0};  // `largest_` placements per state
  Array<u64> seen_;
  Array<Child> children_;
  Array<Range> gaps_{nullptr, 0}, cut_{nullptr, 0}, walls_{nullptr, 0};
  Rows<Range> loose_walls_;
  Array<i64> loose_count_, wall_first_;
  Array<double> price_sum_;
  i64 count_ = 0, child_count_ = 0, gap_count_ = 0, work_ = 0, repacked_ = 0, most_near_ = 0;
  i64 fullest_ = kAbsent;  // the step with most bytes in use, if a packing with groups or pages failed; else kAbsent
  bool has_too_many_ = false, is_backwards_ = false, brings_more_ = false;

  i64 n() const { return spaces_.size.size; }
  i64 p() const { return spaces_.capacity.size; }
  bool is_free(i64 q) const { return spaces_.capacity[q] == kAbsent; }
  // Return the most placements of one buffer that a partial placement is continued with: one in an unlimited memory.
  i64 children_of_state() const {
    i64 count = 0;
    for (i64 q = 0; q < p(); ++q) count += is_free(q) ? 1 : 2 * kGaps;
    i64 partners = 0;
    for (i64 i = 0; i < n(); ++i) partners = std::max(partners, spaces_.share_first[i + 1] - spaces_.share_first[i]);
    return count + partners;
  }
  i64 price(i64 i) const { return spaces_.price[run_.pool[i]][i]; }
  bool is_held(i64 i) const { return run_.held.size > 0 && run_.held[i] != 0; }
  bool is_fixed(i64 i) const { return mates_first_[spaces_.together[i] + 1] - mates_first_[spaces_.together[i]] > kLeast; }

  // Return a buffer and those at fixed distances from it; `list_mates` sorts these one behind another.
  Array<i64> tied(i64 i) const {
    i64 first = mates_first_[spaces_.together[i]], last = mates_first_[spaces_.together[i] + 1];
    while (spaces_.lead[mates_[first]] != spaces_.lead[i]) ++first;
    while (spaces_.lead[mates_[last - 1]] != spaces_.lead[i]) --last;
    return {mates_.data + first, last - first};
  }

  bool is_tied(i64 i) const { return tied(i).size > 1; }

  // Return whether the fullest step, if it is known, is between the start of a buffer, or of one at a fixed distance from
  // it, and the end of the last of them.
  bool lives_when_fullest(i64 i) const {
    if (fullest_ == kAbsent) return true;
    i64 start = kMost, end = kAbsent;
    for (const i64 j : tied(i))
      for (i64 y = lives_first_[j]; y < lives_first_[j + 1]; ++y)
        start = std::min(start, spaces_.start[lives_[y]]), end = std::max(end, spaces_.end[lives_[y]]);
    return start <= fullest_ && fullest_ < end;
  }

  // Return whether an exact packing may place a buffer and all that must share its memory. Groups at fixed distances are
  // packed as boxes, which do not tell the pages of their buffers apart.
  bool is_packable(i64 q, i64 i) const {
    const i64 lead = spaces_.together[i];
    return !is_fixed(i) && std::all_of(mates_.data + mates_first_[lead], mates_.data + mates_first_[lead + 1], [this, q](i64 j) { return spaces_.page[q][j] == 0 || !is_tied(j); });
  }

  bool is_alone(i64 i) const { return mates_first_[spaces_.together[i] + 1] - mates_first_[spaces_.together[i]] == 1; }

  // Sort the memories by the total cost of all buffers there, cheapest first; unlimited memories come last.
  void sort_memories(const Array<i64> &memory) const {
    for (i64 q = 0; q < p(); ++q) {
      memory[q] = q, price_sum_[q] = is_free(q) ? 1e300 : 0;
      for (i64 i = 0; i < n(); ++i) price_sum_[q] += spaces_.homes[q][i] ? static_cast<double>(spaces_.price[q][i]) : 0;
    }
    std::sort(memory.data, memory.data + p(), [this](i64 a, i64 b) {
      return price_sum_[a] != price_sum_[b] ? price_sum_[a] < price_sum_[b] : a < b;
    });
  }

  double bytes_in_time(i64 i) const {
    i64 units = lives_first_[i + 1] == lives_first_[i];
    for (i64 k = lives_first_[i]; k < lives_first_[i + 1]; ++k) units += spaces_.end[lives_[k]] - spaces_.start[lives_[k]];
    return static_cast<double>(spaces_.size[i]) * static_cast<double>(units) + 1e-9;
  }

  // Return the lowest offset of a memory where a buffer meets no conflicting buffer; kAbsent if there is none.
  i64 lowest_free(i64 q, i64 i) {
    if (is_free(q)) return 0;
    const i64 size = spaces_.size[i], highest = std::min(spaces_.highest[q][i], spaces_.capacity[q] - size);
    const i64 count = list_walls(q, i, 0, false);
    i64 at = lowest_legal(q, i, 0);
    work_ += count + 1;
    for (i64 k = 0; k < count && walls_[k].low < at + size; ++k)
      if (walls_[k].high > at) at = lowest_legal(q, i, walls_[k].high);
    return at <= highest ? at : kAbsent;
  }

  // Return the lowest offset from `at` on that a buffer may have by its own rules; kMost if it crosses too many pages.
  i64 lowest_legal(i64 q, i64 i, i64 at) const {
    const i64 lowest = spaces_.lowest[q][i], step = spaces_.alignment[q][i];
    for (i64 tries = 0; tries < kPages; ++tries) {
      at = lowest - floor_div(lowest - std::max(at, lowest), step) * step;
      const i64 next = next_page(q, i, at);
      if (next >= at + spaces_.size[i]) return at;
      at = next;
    }
    return kMost / 2;
  }

  // Return the offset above `at` where the next page of a buffer begins.
  i64 next_page(i64 q, i64 i, i64 at) const {
    const i64 page = spaces_.page[q][i], shift = spaces_.page_shift[q][i];
    return page == 0 ? kMost : (floor_div(at + shift, page) + 1) * page - shift;
  }

  static u64 name(i64 x, i64 pool, i64 at) {
    return mixed(mixed(static_cast<u64>(x + 1) * 64 + static_cast<u64>(pool)) + static_cast<u64>(at));
  }

  void order(Arena &arena) {
    const Array<i64> first = arena.array<i64>(n()), last = arena.array<i64>(n());
    if (arena.has_failed) return;
    first.fill(kMost), last.fill(kMost);
    for (i64 m = 0; m < spaces_.start.size; ++m) {
      const i64 i = spaces_.lifetime_buffer[m];
      first[i] = std::min(first[i], spaces_.start[m]);
      last[i] = last[i] == kMost ? spaces_.end[m] : std::max(last[i], spaces_.end[m]);
    }
    for (i64 i = 0; i < n(); ++i) by_start_[i] = by_end_[i] = i;
    const auto larger = [this](i64 a, i64 b) { return spaces_.size[a] != spaces_.size[b] ? spaces_.size[a] > spaces_.size[b] : a < b; };
    std::sort(by_start_.begin(), by_start_.end(), [&](i64 a, i64 b) { return first[a] != first[b] ? first[a] < first[b] : larger(a, b); });
    std::sort(by_end_.begin(), by_end_.end(), [&](i64 a, i64 b) { return last[a] != last[b] ? last[a] > last[b] : larger(a, b); });
    for (i64 k = 0; k < n(); ++k) start_rank_[by_start_[k]] = k, end_rank_[by_end_[k]] = k;
  }

  void list_mates() {
    for (i64 i = 0; i < n(); ++i) ++mates_first_[spaces_.together[i] + 2];
    for (i64 k = 2; k < n() + 2; ++k) mates_first_[k] += mates_first_[k - 1];
    for (i64 i = 0; i < n(); ++i) mates_[mates_first_[spaces_.together[i] + 1]++] = i;
    for (i64 t = 0; t < n(); ++t)
      std::sort(mates_.data + mates_first_[t], mates_.data + mates_first_[t + 1], [this](i64 a, i64 b) { return spaces_.lead[a] != spaces_.lead[b] ? spaces_.lead[a] < spaces_.lead[b] : a < b; });
  }

  // List the buffers in conflict with each buffer.
  void list_near(Arena &arena) {
    for (i64 m = 0; m < lives_.size; ++m) ++lives_first_[spaces_.lifetime_buffer[m] + 2];
    for (i64 k = 2; k < n() + 2; ++k) lives_first_[k] += lives_first_[k - 1];
    for (i64 m = 0; m < lives_.size; ++m) lives_[lives_first_[spaces_.lifetime_buffer[m] + 1]++] = m;
    const i64 lives = spaces_.start.size;
    const Array<i64> sorted = arena.array<i64>(lives), alive = arena.array<i64>(lives);
    if (arena.has_failed) return;
    for (i64 m = 0; m < lives; ++m) sorted[m] = m;
    std::sort(sorted.begin(), sorted.end(), [this](i64 a, i64 b) { return spaces_.start[a] != spaces_.start[b] ? spaces_.start[a] < spaces_.start[b] : a < b; });
    for (const bool is_filling : {false, true}) {
      const auto note = [&](i64 i, i64 j) {
        if (is_filling)
          near_[near_first_[i + 1]++] = j;
        else
          ++near_first_[i + 2];
      };
      i64 count = 0, pairs = 0;
      for (const i64 m : sorted) {
        i64 to = 0;
        for (i64 k = 0; k < count; ++k) {
          if (spaces_.end[alive[k]] <= spaces_.start[m]) continue;
          alive[to++] = alive[k];
          const i64 i = spaces_.lifetime_buffer[m], j = spaces_.lifetime_buffer[alive[k]];
          if (i != j) note(i, j), note(j, i);
        }
        pairs += to, alive[to] = m, count = to + 1;
        if (pairs > kMostPairs) {
          has_too_many_ = true;
          return;
        }
      }
      for (i64 i = 0; i < n(); ++i)
        for (i64 k = spaces_.conflict_first[i]; k < spaces_.conflict_first[i + 1]; ++k) note(i, spaces_.conflict[k]);
      if (is_filling) break;
      for (i64 i = 0; i < n(); ++i) {
        i64 walls = 0;  // Large groups are in no window, so only the buffer itself has walls there.
        for (const i64 j : is_fixed(i) ? Array<i64>{&i, 1} : tied(i)) walls += near_first_[j + 2] + banked(j).size;
        most_near_ = std::max(most_near_, walls);
      }
      for (i64 i = 0; i < n(); ++i) near_first_[i + 2] += near_first_[i + 1];
      near_ = arena.uncleared<i64>(near_first_[n() + 1]);
      if (arena.has_failed) return;
    }
  }

  // Add a buffer to the window, together with all that must share its memory, if the window has at most `most` then.
  void add(i64 i, i64 most) {
    if (place_[i] != 0 || is_fixed(i) || is_held(i)) return;
    const i64 lead = spaces_.together[i], first = mates_first_[lead], last = mates_first_[lead + 1];
    if (count_ + last - first > most) return;
    for (i64 k = first; k < last; ++k) window_[count_++] = mates_[k], place_[mates_[k]] = 1;
  }

  // Draw a number below `count`; with more `times`, small ones are more frequent. Small windows gain most per step.
  i64 draw_small(i64 count, i64 times) {
    for (; times > 0; --times) count = draw(run_.random[0]) % count + 1;
    return draw(run_.random[0]) % count;
  }

  // Draw a window around a random buffer that costs more than its goal; return false if none does.
  bool draw_window() {
    double sum = 0;
    for (i64 i = 0; i < n(); ++i) {
      if (!is_held(i)) sum += static_cast<double>(std::max<i64>(0, price(i) - run_.goal[i]) + clashes(i));
      lost_[i] = sum;
    }
    if (sum <= 0) return false;
    const double drawn = sum * (static_cast<double>(draw(run_.random[0])) / 2147483648.0);
    const i64 middle = std::min(n() - 1, static_cast<i64>(std::upper_bound(lost_.begin(), lost_.end(), drawn) - lost_.begin()));
    is_backwards_ = draw(run_.random[0]) % 2 != 0;
    const i64 wanted = std::min(largest_, kLeast + draw_small(kLargest - kLeast + 1, 1));
    place_.fill(0), count_ = 0, middle_ = middle;
    add(middle, largest_);
    if (draw(run_.random[0]) % 3 == 0)
      grow(wanted);
    else
      take_stretch(middle, wanted);
    return true;
  }

  // Add the buffers just before and after the middle one, in the order of starts or ends.
  void take_stretch(i64 middle, i64 wanted) {
    const Array<i64> &order = is_backwards_ ? by_end_ : by_start_;
    const i64 at = (is_backwards_ ? end_rank_ : start_rank_)[middle];
    const i64 first = std::clamp<i64>(at - draw(run_.random[0]) % wanted, 0, std::max<i64>(0, n() - wanted));
    for (i64 k = first; k < n() && count_ < wanted; ++k) add(order[k], largest_);
  }

  // Add the buffers in conflict with those of the window, and so on.
  void grow(i64 wanted) {
    for (i64 x = 0; x < count_ && count_ < wanted; ++x) {
      const i64 i = window_[x], size = near_first_[i + 1] - near_first_[i];
      const i64 begin = size > 0 ? draw(run_.random[0]) % size : 0;
      for (i64 k = 0; k < size && count_ < wanted; ++k) add(near_[near_first_[i] + (begin + k) % size], largest_);
    }
  }

  // Pack the goal's buffers of each limited memory by the exact search, window by window. Placed buffers are pinned,
  // and half of each window is kept. If a window does not fit, the buffer that pays least moves to another memory.
  void pack_goal() {
    Arena arena(allocator_);
    const Array<i64> home = arena.array<i64>(n()), memories = arena.array<i64>(p()), offset = arena.array<i64>(n());
    if (arena.has_failed) return;
    std::copy(run_.home.begin(), run_.home.end(), home.data);
    sort_memories(memories);
    for (const i64 q : memories) {
      if (!is_free(q))
        pack_memory(q, home, offset);
      else
        for (i64 i = 0; i < n(); ++i)
          if (home[i] == q && run_.pool[i] == kAbsent) run_.pool[i] = q, run_.offset[i] = 0;
    }
  }

  void pack_memory(i64 q, const Array<i64> &home, const Array<i64> &offset) {
    const auto waits = [&](i64 i) { return home[i] == q && run_.pool[i] == kAbsent; };
    for (i64 next = 0; next < n() && !is_over_();) {
      if (!waits(by_start_[next])) {
        ++next;
        continue;
      }
      place_.fill(0), count_ = 0;
      i64 until = next;
      for (; until < n() && count_ < kPacked; ++until)
        if (waits(by_start_[until]) && !is_beside_partner(by_start_[until])) add(by_start_[until], largest_);
      if (count_ == 0) {
        ++next;
        continue;
      }
      std::sort(window_.data, window_.data + count_, [this](i64 a, i64 b) { return start_rank_[a] < start_rank_[b]; });
      for (; count_ > 0 && !pack_window(q, offset); give_up(q, home))
        if (is_over_()) return;
      for (i64 x = 0; x < count_; ++x) place_[window_[x]] = until == n() || x < (count_ + 1) / 2;
      for (i64 x = 0; x < count_; ++x) {
        const i64 i = window_[x], lead = spaces_.together[i];
        bool is_kept = false;
        for (i64 k = mates_first_[lead]; k < mates_first_[lead + 1]; ++k) is_kept = is_kept || place_[mates_[k]] != 0;
        if (is_kept) run_.pool[i] = q, run_.offset[i] = offset[i];
      }
    }
  }

  // Move one buffer, with all that must share its memory, to another memory where that costs least; if the fullest step is
  // known, one that lives then.
  void give_up(i64 q, const Array<i64> &home) {
    i64 chosen = kAbsent, least = kMost, to = kAbsent;
    for (i64 x = 0; x < count_; ++x) {
      const i64 lead = spaces_.together[window_[x]];
      for (i64 r = 0; r < p(); ++r) {
        i64 more = 0;
        bool may = r != q && lives_when_fullest(window_[x]);
        for (i64 k = mates_first_[lead]; k < mates_first_[lead + 1]; ++k) {
          may = may && spaces_.homes[r][mates_[k]];
          more += spaces_.price[r][mates_[k]] - spaces_.price[q][mates_[k]];
        }
        if (may && more >= 0 && more < least) least = more, chosen = lead, to = r;
      }
    }
    if (chosen == kAbsent) chosen = spaces_.together[window_[count_ - 1]];
    i64 kept = 0;
    for (i64 x = 0; x < count_; ++x)
      if (spaces_.together[window_[x]] == chosen)
        home[window_[x]] = to, place_[window_[x]] = 0;
      else
        window_[kept++] = window_[x];
    count_ = kept;
  }

  // Store the step in which most bytes are in use.
  void note_fullest(const Array<memplan_buffer> &rows) {
    i64 most = 0;
    for (const memplan_buffer &first : rows) {
      i64 bytes = 0;
      for (const memplan_buffer &row : rows) bytes += row.begin <= first.begin && first.begin < row.end ? row.size : 0;
      if (bytes > most) most = bytes, fullest_ = first.begin;
    }
  }

  // Pack the window between the placed buffers of memory `q`, with at most `nodes` nodes, or kPackWork.
  // The exact search places no groups at fixed distances, so with `nodes`, a group is packed as one box around it; else
  // only orders are tried. Returns false without a packing.
  bool pack_window(i64 q, const Array<i64> &offset, i64 nodes = 0) {
    const bool has_boxes = nodes > 0;
    bool has_pages = false;
    Arena arena(allocator_);
    const Array<i64> chosen = arena.array<i64>(n()), row_of = arena.array<i64>(n());
    if (arena.has_failed) return false;
    fullest_ = kAbsent;
    i64 rows = 0, links = 0, joins = 0, gaps = 0, latest = 0, banks = 0;
    i64 loose = n();
    const auto of_row = [&](i64 k) { return has_boxes && k < loose ? tied(chosen[k]) : Array<i64>{chosen.data + k, 1}; };
    for (i64 x = 0; x < count_; ++x) {
      const i64 i = window_[x];
      if (row_of[i] != 0) continue;
      chosen[rows++] = has_boxes ? spaces_.lead[i] : i;
      for (const i64 j : of_row(rows - 1)) row_of[j] = rows;
    }
    loose = rows;
    const auto is_loose = [&](i64 j) { return row_of[j] > 0 && row_of[j] <= loose; };
    for (i64 x = 0; x < count_; ++x)
      for (i64 k = near_first_[window_[x]]; k < near_first_[window_[x] + 1]; ++k)
        if (const i64 j = near_[k]; row_of[j] == 0 && run_.pool[j] == q) chosen[rows++] = j, row_of[j] = rows;
    for (i64 k = 0; k < rows; ++k)
      for (const i64 i : of_row(k)) {
        links += spaces_.conflict_first[i + 1] - spaces_.conflict_first[i];
        gaps += lives_first_[i + 1] - lives_first_[i];
        for (i64 y = lives_first_[i]; y < lives_first_[i + 1]; ++y) latest = std::max(latest, spaces_.end[lives_[y]]);
      }
    for (i64 x = 0; x < count_; ++x) banks += banked(window_[x]).size;
    const Array<memplan_buffer> buffers = arena.array<memplan_buffer>(rows + banks + 1);
    const Array<memplan_gap> holes = arena.array<memplan_gap>(gaps);
    const Array<i64> lived = arena.array<i64>(gaps);
    const Array<memplan_pair> pairs = arena.array<memplan_pair>(links + banks);
    const Array<memplan_join> joined = arena.array<memplan_join>(rows);
    const Array<memplan_range> reserved = arena.array<memplan_range>(spaces_.reserved.size);
    const Array<i64> found = arena.array<i64>(buffers.size), residue = arena.array<i64>(buffers.size);
    if (arena.has_failed) return false;
    gaps = links = 0;
    for (i64 k = 0; k < rows; ++k) {
      const i64 i = chosen[k];
      const bool is_placed = k >= loose;
      // A buffer without lifetimes is given a separate time step.
      memplan_buffer row{spaces_.size[i], latest + k, latest + k + 1, 0, MEMPLAN_FREE, 0, 0, 0};
      i64 count = 0;
      for (const i64 member : of_row(k)) {
        for (i64 y = lives_first_[member]; y < lives_first_[member + 1]; ++y) lived[count++] = lives_[y];
        if (has_boxes && !is_placed) row.size = std::max(row.size, spaces_.distance[member] + spaces_.size[member]);
      }
      std::sort(lived.data, lived.data + count, [this](i64 a, i64 b) { return spaces_.start[a] < spaces_.start[b]; });
      for (i64 y = 0; y < count; ++y) {
        const i64 start = spaces_.start[lived[y]], end = spaces_.end[lived[y]];
        if (y == 0)
          row.begin = start, row.end = end;
        else if (start > row.end)
          holes[gaps++] = {static_cast<std::size_t>(k), row.end, start};
        row.end = std::max(row.end, end);
      }
      // Where a placed buffer lies in a partner at its offset, only the partner occupies bytes.
      for (i64 y = spaces_.share_first[i]; is_placed && y < spaces_.share_first[i + 1]; ++y) {
        const i64 j = spaces_.share[y], other = row_of[j] - 1;
        if (other < loose || run_.offset[j] != run_.offset[i] || other > k) continue;
        const memplan_buffer &partner = buffers[other];
        if (partner.begin >= row.end || row.begin >= partner.end) continue;
        if (row.size > partner.size || lives_first_[i + 1] - lives_first_[i] != 1 || lives_first_[j + 1] - lives_first_[j] != 1) return false;
        (row.begin < partner.begin ? row.end : row.begin) = row.begin < partner.begin ? partner.begin : partner.end;
        if (row.begin >= row.end) return false;
      }
      if (!is_placed) {
        row.alignment = spaces_.alignment[q][i], row.lowest = spaces_.lowest[q][i];
        row.limit = spaces_.capacity[q];
        if (spaces_.highest[q][i] < row.limit - row.size) row.limit = spaces_.highest[q][i] + row.size;
        if (spaces_.highest[q][i] == row.lowest) row.pin = row.lowest;
        if (spaces_.page[q][i] != 0 && spaces_.page_shift[q][i] % spaces_.page[q][i] != 0) return false;
        row.no_cross = spaces_.page[q][i], has_pages = has_pages || row.no_cross > 0;
        const i64 lead = row_of[spaces_.lead[i]] - 1;
        if (!has_boxes && spaces_.lead[i] != i) joined[joins++] = {static_cast<std::size_t>(k), static_cast<std::size_t>(lead), spaces_.distance[i]};
        residue[k] = row.pin == MEMPLAN_FREE ? row.lowest % row.alignment : 0;
      } else {
        row.pin = run_.offset[i];
      }
      buffers[k] = row;
      for (const i64 member : of_row(k))
        for (i64 y = spaces_.conflict_first[member]; y < spaces_.conflict_first[member + 1]; ++y)
          if (const i64 j = row_of[spaces_.conflict[y]] - 1; j > k) pairs[links++] = {static_cast<std::size_t>(k), static_cast<std::size_t>(j)};
    }
    // A buffer pinned above all others makes every plan that fits optimal, so the search stops at the first one.
    const i64 top = spaces_.capacity[q];
    // Whole banks of a placed partner are a pinned buffer, which conflicts with the other partner by name.
    for (i64 x = 0; x < count_; ++x)
      for (const i64 j : banked(window_[x])) {
        if (run_.pool[j] != q || is_loose(j)) continue;
        const Range range = banks_of(q, j, run_.offset[j]);
        const i64 low = std::max<i64>(0, range.low), size = std::min(top, range.high) - low;
        if (size <= 0) continue;
        pairs[links++] = {static_cast<std::size_t>(row_of[window_[x]] - 1), static_cast<std::size_t>(rows)};
        buffers[rows] = {size, latest + rows, latest + rows + 1, 0, low, 0, 0, 0}, ++rows;
      }
    buffers[rows] = {1, latest + rows, latest + rows + 1, 0, top, 0, 0, 0};
    memplan_problem problem = MEMPLAN_PROBLEM_INIT;
    problem.buffers = buffers.data, problem.count = static_cast<std::size_t>(rows + 1), problem.capacity = top + 1;
    problem.pairs = pairs.data, problem.pair_count = static_cast<std::size_t>(links);
    problem.gaps = holes.data, problem.gap_count = static_cast<std::size_t>(gaps);
    problem.joins = joined.data, problem.join_count = static_cast<std::size_t>(joins);
    i64 ranges = 0;
    for (i64 r = spaces_.reserved_first[q]; r < spaces_.reserved_first[q + 1]; ++r)
      if (spaces_.reserved[r][0] < top) reserved[ranges++] = {spaces_.reserved[r][0], std::min(spaces_.reserved[r][1], top)};
    problem.reserved = reserved.data, problem.reserved_count = static_cast<std::size_t>(ranges);
    memplan_options options{};
    options.work = nodes > 0 ? nodes : kPackWork, options.seed = 1;
    options.cancel = is_over_.ask, options.context = is_over_.context;
    options.allocate = allocator_.allocate, options.release = allocator_.release, options.arena = allocator_.context;
    const memplan_result made = plan_with_residues(problem, options, residue.data, found.data);
    allocator_.most = std::max(allocator_.most, allocator_.taken + made.memory);
    work_ += kPackCost + rows * kRowWork + made.nodes * kNodeWork;
    if (made.status > MEMPLAN_FEASIBLE && (joins > 0 || has_pages)) note_fullest({buffers.data, rows});
    if (made.status > MEMPLAN_FEASIBLE) return false;
    for (i64 x = 0; x < count_; ++x) offset[window_[x]] = found[row_of[window_[x]] - 1] + (has_boxes ? spaces_.distance[window_[x]] : 0);
    for (i64 x = 0; x < count_; ++x)
      for (const i64 i = window_[x]; const i64 j : banked(i))
        if (const Range range = banks_of(q, j, offset[j]); is_loose(j) && offset[i] < range.high && range.low < offset[i] + spaces_.size[i]) return false;
    return true;
  }

  // Place the pinned buffers that may be in one memory only, before others take their bytes; return false if two of them
  // collide.
  bool place_pins() {
    for (i64 i = 0; i < n(); ++i) {
      i64 homes = 0, home = 0;
      for (i64 q = 0; q < p(); ++q)
        if (spaces_.homes[q][i]) ++homes, home = q;
      if (homes != 1 || run_.pool[i] != kAbsent || spaces_.lowest[home][i] != spaces_.highest[home][i] || spaces_.lead[i] != i) continue;
      if (!is_free(home) && lowest_free(home, i) != spaces_.lowest[home][i]) return false;
      run_.pool[i] = home, run_.offset[i] = spaces_.lowest[home][i];
    }
    return true;
  }

  // Place the unplaced buffers, window by window in the order of starts.
  bool place_rest() {
    is_backwards_ = false;
    for (i64 next = 0; next < n();) {
      if (run_.pool[by_start_[next]] != kAbsent) {
        ++next;
        continue;
      }
      place_.fill(0), count_ = 0;
      i64 until = next;
      for (; until < n() && count_ < largest_; ++until)
        if (run_.pool[by_start_[until]] == kAbsent) add(by_start_[until], largest_);
      if (count_ == 0 || !place_window(true)) return false;
      if (until == n()) return std::find(run_.pool.begin(), run_.pool.end(), kAbsent) == run_.pool.end();
      // The later half is unplaced again, to be placed with later buffers, unless bound to the earlier half.
      for (i64 x = 0; x < count_; ++x) {
        const bool is_kept = x < (count_ + 1) / 2 || (mate_[x] != kAbsent && place_[window_[mate_[x]]] != 0);
        place_[window_[x]] = is_kept;
        if (!is_kept) run_.pool[window_[x]] = kAbsent;
      }
    }
    return true;
  }

  // Pack buffers that live at nearly the same time as the middle one by the exact search, in the limited memory `q` that
  // the goal has for the middle one: those that are there, the middle one, and in every second case others that cost more
  // than in the goal and belong there, as far as there are bytes for them. Buffers that are there only because the goal
  // did not get space may move to other memories. Nothing changes if that does not cost less.
  void repack(i64 q) {
    const i64 wanted = std::min(window_.size, kLeastRepacked + draw_small(kMostRepacked - kLeastRepacked + 1, 2));
    const i64 most = kPackWork << draw_small(kRepackDoublings, 2);
    place_.fill(0), count_ = 0;
    i64 gain = take(q, middle_), kept = 0;
    const i64 rank = start_rank_[middle_];
    for (i64 step = 1; step < n() && count_ < wanted; ++step)
      for (const i64 at : {rank - step, rank + step})
        if (at >= 0 && at < n())
          if (const i64 i = by_start_[at]; !is_tied(i) && (run_.pool[i] == q || (brings_more_ && price(i) > run_.goal[i] && belongs(i, q) && !overfills(q, i))))
            gain += take(q, i);
    Arena arena(allocator_);
    const Array<i64> offset = arena.array<i64>(n()), window = arena.array<i64>(count_);
    const Array<Place> before = arena.array<Place>(count_);
    if (arena.has_failed) return;
    std::copy(window_.data, window_.data + count_, window.data);
    for (i64 x = 0; x < window.size; ++x) before[x] = {run_.pool[window[x]], run_.offset[window[x]]};
    for (const i64 i : window)
      if (!(run_.pool[i] == q && run_.goal[i] > price(i) && is_alone(i) && move_out(q, i, gain))) window_[kept++] = i;
    count_ = kept;
    std::sort(window_.data, window_.data + count_, [this](i64 a, i64 b) { return start_rank_[a] < start_rank_[b]; });
    brings_more_ = !brings_more_;
    if (gain > 0 && pack_window(q, offset, most)) {
      for (i64 x = 0; x < count_; ++x) run_.pool[window_[x]] = q, run_.offset[window_[x]] = offset[window_[x]];
      risen_ = std::max<i64>(0, risen_ - gain);
    } else {
      for (i64 x = 0; x < window.size; ++x) run_.pool[window[x]] = before[x].pool, run_.offset[window[x]] = before[x].at;
    }
  }

  // Return whether the bytes of memory `q` do not suffice for a buffer beside those that are there, or are in the
  // window, when one of its lifetimes starts.
  bool overfills(i64 q, i64 i) {
    i64 usable = spaces_.capacity[q];
    for (i64 r = spaces_.reserved_first[q]; r < spaces_.reserved_first[q + 1]; ++r) usable -= spaces_.reserved[r][1] - spaces_.reserved[r][0];
    for (i64 m = lives_first_[i]; m < lives_first_[i + 1] && spaces_.share.size == 0; ++m) {
      const auto is_alive = [&, now = spaces_.start[lives_[m]]](i64 k) { return spaces_.start[lives_[k]] <= now && now < spaces_.end[lives_[k]]; };
      i64 bytes = spaces_.size[i];
      for (i64 k = near_first_[i]; k < near_first_[i + 1] && bytes <= usable; ++k)
        if (const i64 j = near_[k]; run_.pool[j] == q || place_[j] != 0)
          for (i64 y = lives_first_[j]; y < lives_first_[j + 1]; ++y) bytes += is_alive(y) ? spaces_.size[j] : 0;
      work_ += 1 + (near_first_[i + 1] - near_first_[i]) / 4;
      if (bytes > usable) return true;
    }
    return false;
  }

  // Move a buffer from memory `q` to the cheapest other one with a free offset, if that costs less than `gain`, and take
  // it from there. Return whether it is moved.
  bool move_out(i64 q, i64 i, i64 &gain) {
    i64 to = kAbsent, at = 0;
    for (i64 r = 0; r < p(); ++r) {
      if (r == q || !spaces_.homes[r][i] || spaces_.price[r][i] - price(i) >= gain || (to != kAbsent && spaces_.price[r][i] >= spaces_.price[to][i])) continue;
      if (const i64 free = lowest_free(r, i); free != kAbsent) to = r, at = free;
    }
    if (to == kAbsent) return false;
    gain -= spaces_.price[to][i] - price(i);
    run_.pool[i] = to, run_.offset[i] = at, place_[i] = 0;
    return true;
  }

  // Add a buffer and all that must share its memory to a window in memory `q`; return what that saves.
  i64 take(i64 q, i64 i) {
    const i64 lead = spaces_.together[i], from = count_;
    // The exact search knows no banks, so partners stay.
    if (is_beside_partner(i) || !is_packable(q, i)) return 0;
    for (i64 k = mates_first_[lead]; k < mates_first_[lead + 1]; ++k)
      if (!spaces_.homes[q][mates_[k]]) return 0;
    add(i, window_.size);
    i64 gain = 0;
    for (i64 x = from; x < count_; ++x) gain += price(window_[x]) + clashes(window_[x]) - spaces_.price[q][window_[x]];
    return gain;
  }

  // Return whether a buffer costs as much in a memory as in the goal.
  bool belongs(i64 i, i64 q) const { return spaces_.homes[q][i] && spaces_.price[q][i] == run_.goal[i]; }

  // Draw a memory in which a buffer costs as much as in the goal; return kAbsent if there is none.
  i64 draw_goal_memory(i64 i) {
    i64 count = 0, drawn = kAbsent;
    for (i64 q = 0; q < p(); ++q)
      if (belongs(i, q) && (++count == 1 || draw(run_.random[0]) % count == 0)) drawn = q;
    return drawn;
  }

  // Store the current placement as the cheapest one.
  void keep_best() {
    std::copy(run_.pool.begin(), run_.pool.end(), best_pool_.data);
    std::copy(run_.offset.begin(), run_.offset.end(), best_offset_.data);
  }

  // Search the window, and keep the cheapest result if it costs no more than before. Where `more` is positive, keep a
  // random one that costs at most `more` above that instead, if none is cheaper. Return false if none is kept.
  bool place_window(bool has_goal, i64 more = 0) {
    prepare();
    i64 before = 0;
    for (i64 x = 0; x < count_ && before < kMost; ++x)
      before = run_.pool[window_[x]] == kAbsent ? kMost : before + price(window_[x]) + clashes(window_[x], x);
    states_[0] = {0, 0, 0, 0};
    i64 states = 1;
    for (i64 x = 0; x < count_; ++x) {
      if (is_over_()) return false;
      list_walls(x);
      child_count_ = 0;
      for (i64 s = 0; s < states; ++s) branch(x, s, before + more, has_goal);
      states = narrow(x);
      if (states == 0) return false;
    }
    const auto costs_less = [](const State &a, const State &b) { return a.g < b.g; };
    i64 best = std::min_element(states_.data, states_.data + states, costs_less) - states_.data;
    if (more > 0 && states_[best].g >= before) best = draw(run_.random[0]) % states;
    if (states_[best].g > before + more) return false;
    if (before < kMost) risen_ = std::max<i64>(0, risen_ + states_[best].g - before);
    for (i64 x = 0; x < count_; ++x) {
      const Place &place = places_[best * largest_ + x];
      run_.pool[window_[x]] = place.pool, run_.offset[window_[x]] = place.at;
    }
    return true;
  }

  // Sort the window, and compute the relations of each buffer to the earlier ones.
  void prepare() {
    const Array<i64> &rank = is_backwards_ ? end_rank_ : start_rank_;
    std::sort(window_.data, window_.data + count_, [&rank](i64 a, i64 b) { return rank[a] < rank[b]; });
    for (i64 x = 0; x < count_; ++x) place_[window_[x]] = x + 1;
    for (i64 x = 0; x < count_; ++x) {
      const i64 i = window_[x], lead = spaces_.together[i];
      mask_[x] = 0, mate_[x] = kAbsent, last_[x] = x;
      for (const i64 j : banked(i))
        if (const i64 y = place_[j] - 1; y >= 0 && y < x) last_[y] = x;
      for (i64 k = near_first_[i]; k < near_first_[i + 1]; ++k)
        if (const i64 y = place_[near_[k]] - 1; y >= 0 && y < x) mask_[x] |= u64{1} << y, last_[y] = x;
      for (i64 k = mates_first_[lead]; k < mates_first_[lead + 1]; ++k) {
        const i64 y = place_[mates_[k]] - 1;
        if (y < 0 || y >= x) continue;
        last_[y] = x;
        // A member of the same rigid group also fixes the offset, so prefer it.
        if (mate_[x] == kAbsent || spaces_.lead[mates_[k]] == spaces_.lead[i]) mate_[x] = y;
      }
    }
    rest_[count_] = 0;
    for (i64 x = count_ - 1; x >= 0; --x) {
      i64 least = kFar;
      for (i64 q = 0; q < p(); ++q)
        if (spaces_.homes[q][window_[x]]) least = std::min(least, spaces_.price[q][window_[x]]);
      rest_[x] = rest_[x + 1] + least;
    }
  }

  // List the ranges of reserved bytes and of placed buffers outside the window, by memory, ascending.
  void list_walls(i64 x) {
    const i64 i = window_[x];
    i64 count = 0;
    for (i64 q = 0; q < p(); ++q) {
      wall_first_[q] = count;
      if (!is_free(q) && spaces_.homes[q][i]) count = list_walls(q, i, count, true, is_first_of_group(x));
    }
    wall_first_[p()] = count;
    work_ += count + 1;
  }

  // List the ranges of a memory that a buffer must avoid, ascending, from walls_[first] on; return the end of the list.
  // With `is_group`, it must also avoid those that lie where buffers at fixed distances from it would be.
  i64 list_walls(i64 q, i64 i, i64 first, bool has_window, bool is_group = false) {
    i64 count = first;
    const auto is_there = [&](i64 j) { return run_.pool[j] == q && !(has_window && place_[j] != 0); };
    for (const i64 member : is_group ? tied(i) : Array<i64>{&i, 1}) {
      const auto avoid = [&](Range wall) { walls_[count++] = shifted(wall, i, member); };
      for (i64 r = spaces_.reserved_first[q]; r < spaces_.reserved_first[q + 1]; ++r) avoid({spaces_.reserved[r][0], spaces_.reserved[r][1]});
      for (i64 k = near_first_[member]; k < near_first_[member + 1]; ++k)
        if (const i64 j = near_[k]; is_there(j)) avoid({run_.offset[j], run_.offset[j] + spaces_.size[j]});
      for (const i64 j : banked(member))
        if (is_there(j)) avoid(banks_of(q, j, run_.offset[j]));
    }
    std::sort(walls_.data + first, walls_.data + count, [](Range a, Range b) { return a.low < b.low; });
    return count;
  }

  // Return the range that buffer `i` must avoid so that `member`, at a fixed distance from it, avoids `wall`.
  Range shifted(Range wall, i64 i, i64 member) const {
    const i64 above = spaces_.distance[member] - spaces_.distance[i];
    return {wall.low - above - spaces_.size[member] + spaces_.size[i], wall.high - above};
  }

  // Return whether the buffers at fixed distances from this one of the window all come later.
  bool is_first_of_group(i64 x) const {
    const i64 mate = mate_[x];
    return is_tied(window_[x]) && (mate == kAbsent || spaces_.lead[window_[mate]] != spaces_.lead[window_[x]]);
  }

  // Return the buffers that must not touch a bank that a buffer touches.
  Array<i64> banked(i64 i) const {
    return {spaces_.bank_with.data + spaces_.bank_first[i], spaces_.bank_first[i + 1] - spaces_.bank_first[i]};
  }

  // Return the range of the banks that a buffer touches at an offset; an empty one above all others if there are none.
  Range banks_of(i64 q, i64 i, i64 at) const {
    const i64 bank = spaces_.bank[q], low = at + spaces_.bank_shift[q];
    if (bank == 0) return {kFar, kFar};
    return {floor_div(low, bank) * bank - spaces_.bank_shift[q], (floor_div(low + spaces_.size[i] - 1, bank) + 1) * bank - spaces_.bank_shift[q]};
  }

  // Return the prices of the clashes of a buffer, without those with the first `x` buffers of the window.
  i64 clashes(i64 i, i64 x = 0) const {
    const i64 q = run_.pool[i], first = spaces_.bank_first[i];
    const Array<i64> partners = banked(i);
    i64 sum = 0;
    for (i64 k = 0; k < partners.size && !is_free(q); ++k) {
      const i64 j = partners[k];
      if (run_.pool[j] != q || (x > 0 && place_[j] > 0 && place_[j] <= x)) continue;
      const Range banks = banks_of(q, i, run_.offset[i]);
      if (run_.offset[j] < banks.high && banks.low < run_.offset[j] + spaces_.size[j]) sum += spaces_.bank_price[first + k];
    }
    return sum;
  }

  bool is_beside_partner(i64 i) const {
    const Array<i64> partners = banked(i);
    return std::any_of(partners.begin(), partners.end(), [this](i64 j) { return place_[j] != 0; });
  }

  void branch(i64 x, i64 s, i64 before, bool has_goal) {
    const i64 i = window_[x], size = spaces_.size[i], mate = mate_[x];
    const State &state = states_[s];
    const Place *places = places_.data + s * largest_;
    loose_count_.fill(0);
    const auto avoid = [this](i64 q, Range wall) {
      if (is_free(q)) return;
      Range *row = loose_walls_[q];
      i64 at = loose_count_[q]++;
      for (; at > 0 && row[at - 1].low > wall.low; --at) row[at] = row[at - 1];
      row[at] = wall;
    };
    for (const i64 member : is_first_of_group(x) ? tied(i) : Array<i64>{window_.data + x, 1}) {
      for (u64 mask = mask_[place_[member] - 1] & ((u64{1} << x) - 1); mask != 0; mask &= mask - 1) {
        const Place &place = places[std::countr_zero(mask)];
        avoid(place.pool, shifted({place.at, place.at + spaces_.size[window_[std::countr_zero(mask)]]}, i, member));
      }
      for (const i64 j : banked(member))
        if (const i64 y = place_[j] - 1; y >= 0 && y < x) avoid(places[y].pool, shifted(banks_of(places[y].pool, j, places[y].at), i, member));
    }
    for (i64 q = 0; q < p(); ++q) {
      if (!spaces_.homes[q][i] || (mate != kAbsent && places[mate].pool != q)) continue;
      const i64 price = spaces_.price[q][i], g = state.g + price;
      if (g + rest_[x + 1] > before) continue;
      const i64 f = state.f + (has_goal ? std::max(price, run_.goal[i]) : price);
      const auto offer = [&](i64 at, i64 waste) {
        const u64 hash = last_[x] > x ? state.hash ^ name(x, q, at) : state.hash;
        const auto parent = static_cast<std::int32_t>(s), pool = static_cast<std::int32_t>(q);
        children_[child_count_++] = {f, g, state.waste + waste, hash, at, parent, pool};
      };
      if (is_free(q)) {
        offer(0, 0);
        continue;
      }
      list_gaps(q);
      if (spaces_.page[q][i] != 0) cut_gaps(q, i);
      work_ += 1 + gap_count_ / 2;
      const i64 lowest = spaces_.lowest[q][i], step = spaces_.alignment[q][i], highest = spaces_.highest[q][i];
      const bool is_tied = mate != kAbsent && spaces_.lead[window_[mate]] == spaces_.lead[i];
      i64 tried = 0;
      if (!is_tied && gap_count_ > kGaps) {
        // Keep the gaps that the buffer fills best.
        i64 to = 0;
        for (i64 k = 0; k < gap_count_; ++k)
          if (gaps_[k].high - gaps_[k].low >= size) gaps_[to++] = gaps_[k];
        gap_count_ = to;
        if (to > kGaps)
          std::nth_element(gaps_.data, gaps_.data + kGaps, gaps_.data + to,
                           [](Range a, Range b) { return a.high - a.low != b.high - b.low ? a.high - a.low < b.high - b.low : a.low < b.low; });
      }
      for (i64 k = 0; k < gap_count_ && tried < kGaps; ++k) {
        const Range gap = gaps_[k];
        if (gap.high - gap.low < size) continue;
        if (is_tied) {
          const i64 at = places[mate].at + spaces_.distance[i] - spaces_.distance[window_[mate]];
          if (at >= gap.low && at + size <= gap.high && at >= lowest && at <= highest) offer(at, 0);
          continue;
        }
        const i64 low = lowest - floor_div(lowest - std::max(gap.low, lowest), step) * step;
        const i64 top = std::min(gap.high - size, highest);
        if (low > top) continue;
        const i64 high = low + (top - low) / step * step;
        ++tried;
        offer(low, gap.high - gap.low - size);
        if (high > low) offer(high, gap.high - gap.low - size);
      }
      for (i64 k = spaces_.share_first[i]; k < spaces_.share_first[i + 1]; ++k) {
        const i64 j = spaces_.share[k], y = place_[j] - 1;
        const Place partner = y < 0 ? Place{run_.pool[j], run_.offset[j]} : y < x ? places[y] : Place{kAbsent, 0};
        if (partner.pool == q && !is_tied && may_share(i, q, partner.at, places, x)) offer(partner.at, 0);
      }
    }
  }

  // List the gaps of a memory between its occupied ranges, both fixed ones and those of the window.
  void list_gaps(i64 q) {
    const Range *wall = walls_.data + wall_first_[q], *const walls_end = walls_.data + wall_first_[q + 1];
    const Range *loose = loose_walls_[q], *const loose_end = loose + loose_count_[q];
    const i64 top = spaces_.capacity[q];
    i64 cursor = 0;
    gap_count_ = 0;
    while (cursor < top && (wall < walls_end || loose < loose_end)) {
      const bool is_loose = loose < loose_end && (wall == walls_end || loose->low < wall->low);
      const Range next = is_loose ? *loose++ : *wall++;
      if (next.low > cursor) gaps_[gap_count_++] = {cursor, std::min(next.low, top)};
      cursor = std::max(cursor, next.high);
    }
    if (top > cursor) gaps_[gap_count_++] = {cursor, top};
  }

  // Return whether a buffer may have the offset of a partner: it keeps its own rules, and overlaps only partners there.
  bool may_share(i64 i, i64 q, i64 at, const Place *places, i64 x) {
    if (lowest_legal(q, i, at) != at || at > spaces_.highest[q][i] || at + spaces_.size[i] > spaces_.capacity[q]) return false;
    const auto meets = [&](i64 low, i64 high) { return low < at + spaces_.size[i] && at < high; };
    for (i64 r = spaces_.reserved_first[q]; r < spaces_.reserved_first[q + 1]; ++r)
      if (meets(spaces_.reserved[r][0], spaces_.reserved[r][1])) return false;
    for (i64 k = near_first_[i]; k < near_first_[i + 1]; ++k) {
      const i64 j = near_[k], y = place_[j] - 1;
      if (y >= x) continue;
      const Place other = y < 0 ? Place{run_.pool[j], run_.offset[j]} : places[y];
      if (other.pool == q && meets(other.at, other.at + spaces_.size[j]) && !(other.at == at && are_partners(i, j))) return false;
    }
    for (const i64 j : banked(i)) {
      const i64 y = place_[j] - 1;
      const Place other = y < 0 ? Place{run_.pool[j], run_.offset[j]} : y < x ? places[y] : Place{kAbsent, 0};
      if (const Range banks = banks_of(q, j, other.at); other.pool == q && meets(banks.low, banks.high)) return false;
    }
    work_ += 1 + near_first_[i + 1] - near_first_[i];
    return true;
  }

  bool are_partners(i64 i, i64 j) const {
    const i64 *const first = spaces_.share.data + spaces_.share_first[i], *const last = spaces_.share.data + spaces_.share_first[i + 1];
    return std::find(first, last, j) != last;
  }

  // Cut the gaps at the borders of a buffer's pages, and keep the parts that have space for it.
  void cut_gaps(i64 q, i64 i) {
    i64 count = 0;
    for (i64 k = 0; k < gap_count_; ++k)
      for (i64 low = gaps_[k].low; low < gaps_[k].high && count < cut_.size;) {
        const i64 high = std::min(gaps_[k].high, next_page(q, i, low));
        if (high - low >= spaces_.size[i]) cut_[count++] = {low, high};
        low = high;
      }
    std::swap(gaps_, cut_), gap_count_ = count;
  }

  // Keep the best partial placements that differ in their effect on later buffers; return their number.
  i64 narrow(i64 x) {
    constexpr i64 most = 3 * kWidth;
    if (child_count_ > most) std::nth_element(children_.data, children_.data + most, children_.data + child_count_);
    std::sort(children_.data, children_.data + std::min(most, child_count_));
    seen_.fill(0);
    i64 made = 0;
    for (i64 c = 0; c < std::min(most, child_count_) && made < kWidth; ++c) {
      const Child &child = children_[c];
      u64 hash = child.hash;
      for (i64 y = 0; y < x; ++y)
        if (last_[y] == x) hash ^= name(y, places_[child.parent * largest_ + y].pool, places_[child.parent * largest_ + y].at);
      u64 slot = (hash | 1) % kSlots;
      while (seen_[static_cast<i64>(slot)] != 0 && seen_[static_cast<i64>(slot)] != (hash | 1)) slot = (slot + 1) % kSlots;
      if (seen_[static_cast<i64>(slot)] != 0) continue;
      seen_[static_cast<i64>(slot)] = hash | 1;
      Place *places = next_places_.data + made * largest_;
      std::copy(places_.data + child.parent * largest_, places_.data + child.parent * largest_ + x, places);
      places[x] = {child.pool, child.at};
      next_[made++] = {child.f, child.g, child.waste, hash};
    }
    std::swap(states_, next_), std::swap(places_, next_places_);
    return made;
  }
};

}  // namespace memplan::windows
