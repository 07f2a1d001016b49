// The set of partial choices that a search through live sets continues from one live set to the next.
#pragma once
#include <bit>
#include <optional>

#include "random.hpp"
#include "stack.hpp"
#include "timeline.hpp"

namespace memplan::choice {

inline constexpr i64 kPartialsAUnit = 32;
inline constexpr i64 kMostStored = 16'000'000;  // entries, at 6 bytes each, after which those no longer needed are forgotten

// The result of a search: no choice costs less than `bound`, and `work` counts what the search has done.
struct Cheapest {
  bool is_found = false;
  i64 cost = 0, bound = 0, work = 0;
};

// The partial choices as rows: cost in parts of a step, origin, key, and the load of each measure.
class PartialChoices {
 public:
  PartialChoices(Arena &arena, const ChoiceItems &knapsack, const Multipliers &multipliers, const Timeline &timeline,
                 const Rows<i64> &price, i64 value, i64 at_most, i64 widest, bool relaxes = false)
      : arena_(arena),
        knapsack_(knapsack),
        multipliers_(multipliers),
        timeline_(timeline),
        price_(price),
        top_(at_most > kMost / multipliers.scale ? kMost : at_most * multipliers.scale),
        widest_(widest),
        relaxes_(relaxes),
        load_(2 + timeline.words),
        columns_(load_ + multipliers.worth.size),
        now_(arena.rows<i64>(widest * price.size, columns_, false)),
        next_(arena.rows<i64>(widest * price.size, columns_, false)),
        order_(arena.uncleared<i64>(widest * price.size)),
        amount_(arena.array<i64>(multipliers.worth.size)),
        refund_(arena.array<i64>(multipliers.worth.size)),
        below_(arena.rows<i64>(multipliers.worth.size, knapsack.rows + 1)),
        seen_(arena.array<i64>(timeline.members.size)),
        alive_(arena.array<i64>(knapsack.price.columns)),
        slots_(arena.array<Slot>(static_cast<i64>(std::bit_ceil(static_cast<u64>(2 * widest * price.size))))),
        steps_(arena) {
    entries_[0].emplace(arena.allocator());
    if (arena.has_failed) return;
    std::fill(now_[0], now_[0] + columns_, 0);
    for (i64 r = 0; r < below_.size; ++r) std::partial_sum(multipliers.worth[r], multipliers.worth[r] + knapsack.rows, below_[r] + 1);
    // every partial choice begins at the bound, so its cost is a bound on all choices that continue it
    now_[0][0] = value, count_ = 1;
  }

  // Pass through all live sets, and return the cheapest choice within the cost, unless it was dropped.
  template <class IsOver>
  Cheapest run(const Array<i64> &home, IsOver &&is_over) {
    for (i64 t = 0; t < knapsack_.rows && !arena_.has_failed; ++t) {
      for (const auto *each = timeline_.ending.begin(t); each < timeline_.ending.end(t); ++each) lift(*each, -1);
      forget(t);
      for (const auto *each = timeline_.starting.begin(t); each < timeline_.starting.end(t); ++each) lift(*each, 1);
      const Timeline::Event *arriving = timeline_.arriving.begin(t), *end = timeline_.arriving.end(t);
      for (const auto *each = arriving; each < end; ++each) {
        // An item arrives with all of its buffers when the first of them does, so branch only once.
        const auto is_same = [each](const Timeline::Event &other) { return other.item == each->item; };
        if (std::none_of(arriving, each, is_same)) branch(t, each->item);
        if (is_over()) return {false, 0, 0, work()};
      }
      pass(t);
      if (count_ == 0) return {false, 0, in_steps(std::min(dropped_, above_)), work()};
    }
    return arena_.has_failed ? Cheapest{} : found(home);
  }

 private:
  struct Step {
    i64 item, count;
    std::int32_t *origin;
    std::int16_t *home;
  };
  Arena &arena_;
  const ChoiceItems &knapsack_;
  const Multipliers &multipliers_;
  const Timeline &timeline_;
  const Rows<i64> &price_;
  const i64 top_;
  i64 widest_;
  const bool relaxes_;
  const i64 load_, columns_;
  i64 count_ = 0, alive_count_ = 0, dropped_ = kNever, above_ = kNever, handled_ = 0;
  Rows<i64> now_, next_;
  Array<i64> order_, amount_, refund_;
  Rows<i64> below_;  // the prices of all live sets before each live set
  Array<i64> seen_;
  Array<i64> alive_;  // the items with a choice that have arrived, in the order in which they leave
  struct Slot {
    u32 merge, row;
  };
  Array<Slot> slots_;  // the partial choices of the last merge, by the hash of their keys
  u32 merges_ = 0;
  Growing<Step> steps_;
  std::optional<Arena> entries_[2];  // one of them has the entries of all steps
  i64 at_ = 0, stored_ = 0;

  i64 *key(i64 *row) const { return row + 2; }
  i64 home(i64 j, i64 *row) const { return timeline_.item_field[j].of(key(row)); }

  void add(i64 *row, i64 pool, const i64 *amount) const {
    for (i64 r = 0; r < amount_.size; ++r)
      if (multipliers_.measures.pool[r] == pool) row[load_ + r] += amount[r];
  }

  // Add, or subtract if `sign` is -1, what a buffer uses of each measure.
  void measure(i64 buffer, i64 sign) const {
    for (i64 r = 0; r < amount_.size; ++r) amount_[r] += sign * multipliers_.measures.size[r][buffer];
  }

  void lift(const Timeline::Event &event, i64 sign) const {
    amount_.fill(0);
    measure(event.buffer, sign);
    for (i64 k = 0; k < count_; ++k) add(now_[k], home(event.item, now_[k]), amount_.data);
  }

  // Keep the partial choices that a rule keeps, in their order.
  template <class Kept>
  void keep(Kept &&is_kept) {
    i64 to = 0;
    for (i64 k = 0; k < count_; ++k) {
      if (!is_kept(now_[k])) continue;
      if (to < k) std::copy(now_[k], now_[k] + columns_, now_[to]);
      ++to;
    }
    count_ = to;
  }

  // Forget the memories of leaving items; of partial choices that become equal, keep the cheapest.
  void forget(i64 t) {
    const auto *begin = timeline_.leaving.begin(t), *end = timeline_.leaving.end(t);
    for (i64 k = 0; k < count_; ++k)
      for (const auto *each = begin; each < end; ++each) timeline_.item_field[each->item].clear(key(now_[k]));
    for (const auto *each = begin; each < end; ++each)
      alive_count_ = std::remove(alive_.data, alive_.data + alive_count_, each->item) - alive_.data;
    if (begin != end) merge(0);
  }

  // Of equal partial choices from `first` on, keep the cheapest, at the place of the first one.
  void merge(i64 first) {
    if (count_ < first + 2) return;
    const u64 mask = std::bit_ceil(static_cast<u64>(2 * (count_ - first))) - 1;
    ++merges_;
    i64 to = first;
    for (i64 k = first; k < count_; ++k) {
      i64 *row = now_[k];
      u64 hash = 0;
      for (i64 word = 0; word < timeline_.words; ++word) hash = mixed(hash ^ static_cast<u64>(key(row)[word]));
      const auto slot = [&] { return slots_.data + (hash & mask); };
      while (slot()->merge == merges_ && !std::equal(key(row), key(row) + timeline_.words, key(now_[slot()->row]))) ++hash;
      const bool is_new = slot()->merge != merges_;
      i64 *const kept = now_[is_new ? to++ : slot()->row];
      if (is_new) *slot() = {merges_, static_cast<u32>(to - 1)};
      if (kept != row && (is_new || row[0] < kept[0])) std::copy(row, row + columns_, kept);
    }
    count_ = to;
  }

  // Branch on an arriving item: it may be put into each memory with enough capacity.
  void branch(i64 t, i64 j) {
    amount_.fill(0);
    for (const auto *each = timeline_.arriving.begin(t); each < timeline_.arriving.end(t); ++each)
      if (each->item == j) measure(each->buffer, 1);
    const Timeline::Field &field = timeline_.item_field[j];
    i64 to = 0;
    for (i64 q = 0; q < price_.size; ++q) {
      if (!knapsack_.homes[q][j]) continue;
      for (i64 k = 0; k < count_; ++k) {
        const i64 cost = now_[k][0] + price_[q][j];
        if (now_[k][load_ + q] + amount_[q] > timeline_.capacity[q][t]) continue;
        if (cost > top_) {
          above_ = std::min(above_, cost);
          continue;
        }
        i64 *row = next_[to++];
        std::copy(now_[k], now_[k] + columns_, row);
        row[0] = cost, key(row)[field.word] |= q << field.shift;
        add(row, q, amount_.data);
      }
    }
    std::swap(now_, next_), count_ = to;
    note_nogoods(j);
    const auto is_later = [this](i64 a, i64 b) { return timeline_.last(a) < timeline_.last(b); };
    i64 *const at = std::upper_bound(alive_.data, alive_.data + alive_count_, j, is_later);
    std::copy_backward(at, alive_.data + alive_count_, alive_.data + alive_count_ + 1);
    *at = j, ++alive_count_;
    if (relaxes_) return relax(t);
    narrow();
    record(j);
  }

  // Update each no-good with item `j`, and drop the partial choices that complete one.
  void note_nogoods(i64 j) {
    for (i64 x = timeline_.nogoods_first[j]; x < timeline_.nogoods_first[j + 1]; ++x) {
      const i64 g = timeline_.nogoods_of[x], pool = timeline_.pool_of(g);
      const Timeline::Field &field = timeline_.nogood_field[g];
      // From the second member on, the bits record whether all earlier members are in the memory.
      const bool is_first = seen_[g]++ == 0, is_last = seen_[g] == timeline_.members[g];
      keep([&](i64 *row) {
        const bool is_there = home(j, row) == pool && (is_first || field.of(key(row)) != 0);
        field.clear(key(row));
        if (is_there && !is_last) key(row)[field.word] |= i64{1} << field.shift;
        return !is_last || !is_there;
      });
    }
  }

  // Keep the cheapest partial choices; the least dropped cost limits what the bound may claim.
  void narrow() {
    if (count_ <= widest_) return;
    std::iota(order_.data, order_.data + count_, i64{0});
    std::nth_element(order_.data, order_.data + widest_, order_.data + count_, [this](i64 a, i64 b) {
      return now_[a][0] != now_[b][0] ? now_[a][0] < now_[b][0] : a < b;
    });
    const i64 last = order_[widest_], cost = now_[last][0];
    dropped_ = std::min(dropped_, cost);
    keep([&](const i64 *row) { return row[0] < cost || (row[0] == cost && row < now_[last]); });
  }

  // Relax the most expensive partial choices: free what their items use, those that leave first, until few differ.
  // Each relaxed one keeps its continuations and what it has paid, so the cheapest of all is still a bound.
  void relax(i64 t) {
    if (count_ <= widest_) return;
    const i64 exact = widest_ / 2;
    std::iota(order_.data, order_.data + count_, i64{0});
    std::nth_element(order_.data, order_.data + exact, order_.data + count_, [this](i64 a, i64 b) {
      return now_[a][0] != now_[b][0] ? now_[a][0] < now_[b][0] : a < b;
    });
    for (i64 k = 0; k < count_; ++k) std::copy(now_[order_[k]], now_[order_[k]] + columns_, next_[k]);
    std::swap(now_, next_);
    for (i64 x = 0; x < alive_count_ && count_ > widest_; ++x) {
      const Timeline::Field &field = timeline_.item_field[alive_[x]];
      amount_.fill(0);
      const Array<i64> &refund = refund_;
      refund.fill(0);
      for (i64 y = timeline_.lives_first[alive_[x]]; y < timeline_.lives_first[alive_[x] + 1]; ++y) {
        const i64 m = timeline_.lives_of[y], buffer = knapsack_.lifetime_buffer[m];
        if (knapsack_.end[m] <= t) continue;
        if (knapsack_.start[m] <= t) measure(buffer, -1);
        for (i64 r = 0; r < amount_.size; ++r)
          refund[r] += multipliers_.measures.size[r][buffer] *
                       (below_[r][knapsack_.end[m]] - below_[r][std::max(t, knapsack_.start[m])]);
      }
      for (i64 k = exact; k < count_; ++k) {
        const i64 q = field.of(key(now_[k]));
        if (q == price_.size) continue;
        add(now_[k], q, amount_.data);
        for (i64 r = 0; r < refund.size; ++r)
          if (multipliers_.measures.pool[r] == q) now_[k][0] -= refund[r];
        field.clear(key(now_[k]));
        key(now_[k])[field.word] |= price_.size << field.shift;
      }
      merge(exact);
    }
    narrow();
  }

  void record(i64 j) {
    if (stored_ + count_ > kMostStored) forget_unneeded();
    const Step step = new_step(j, count_);
    if (arena_.has_failed) return;
    for (i64 k = 0; k < count_; ++k) {
      step.origin[k] = static_cast<std::int32_t>(now_[k][1]), step.home[k] = static_cast<std::int16_t>(home(j, now_[k]));
      now_[k][1] = k;
    }
    steps_.push(step);
  }

  Step new_step(i64 item, i64 count) {
    Arena &entries = *entries_[at_];
    const Step made{item, count, entries.uncleared<std::int32_t>(count).data, entries.uncleared<std::int16_t>(count).data};
    stored_ += count, arena_.has_failed = arena_.has_failed || entries.has_failed;
    return made;
  }

  // Forget the entries from which no partial choice comes any more: few steps far back have several others. If many are
  // left, fewer partial choices are kept from now on.
  void forget_unneeded() {
    const auto mark = [](std::int16_t &home) { home = static_cast<std::int16_t>(home < 0 ? home : -1 - home); };
    for (i64 k = 0; k < count_; ++k) mark(steps_[steps_.size - 1].home[now_[k][1]]);
    i64 most = 0;
    for (i64 x = steps_.size - 1; x >= 0; --x) {
      most = std::max(most, steps_[x].count);
      for (i64 k = 0; k < steps_[x].count && x > 0; ++k)
        if (steps_[x].home[k] < 0) mark(steps_[x - 1].home[steps_[x].origin[k]]);
    }
    at_ = 1 - at_, entries_[at_].emplace(arena_.allocator());
    const Array<std::int32_t> number = entries_[at_]->array<std::int32_t>(most), before = entries_[at_]->array<std::int32_t>(most);
    stored_ = 0, arena_.has_failed = arena_.has_failed || entries_[at_]->has_failed;
    for (i64 x = 0; x < steps_.size && !arena_.has_failed; ++x) {
      const Step old = steps_[x];
      std::copy(number.begin(), number.end(), before.data);
      i64 kept = 0;
      for (i64 k = 0; k < old.count; ++k)
        if (old.home[k] < 0) number[k] = static_cast<std::int32_t>(kept++);
      const Step step = steps_[x] = new_step(old.item, kept);
      for (i64 k = 0; k < old.count && !arena_.has_failed; ++k)
        if (old.home[k] < 0) step.home[number[k]] = static_cast<std::int16_t>(-1 - old.home[k]), step.origin[number[k]] = before[old.origin[k]];
    }
    for (i64 k = 0; k < count_ && !arena_.has_failed; ++k) now_[k][1] = number[now_[k][1]];
    entries_[1 - at_].reset();
    if (stored_ > kMostStored / 2) widest_ = std::max<i64>(1, widest_ / 2);
  }

  // Charge for the capacity left free, and drop partial choices that do not fit or cost too much.
  void pass(i64 t) {
    handled_ += count_;
    keep([&](i64 *row) {
      bool fits = true;
      for (i64 r = 0; r < amount_.size; ++r) {
        const i64 free = timeline_.capacity[r][t] - row[load_ + r];
        row[0] += multipliers_.worth[r][t] * free, fits = fits && free >= 0;
      }
      if (fits && row[0] > top_) above_ = std::min(above_, row[0]);
      return fits && row[0] <= top_;
    });
  }

  Cheapest found(const Array<i64> &chosen) const {
    i64 best = 0;
    for (i64 k = 1; k < count_; ++k)
      if (now_[k][0] < now_[best][0]) best = k;
    const i64 cost = floor_div(now_[best][0], multipliers_.scale);
    if (relaxes_) return {true, cost, in_steps(std::min(now_[best][0], dropped_)), work()};
    std::copy(timeline_.home.begin(), timeline_.home.end(), chosen.data);
    i64 at = now_[best][1];
    for (i64 x = steps_.size - 1; x >= 0; --x) chosen[steps_[x].item] = steps_[x].home[at], at = steps_[x].origin[at];
    return {true, cost, std::min(cost, in_steps(dropped_)), work()};
  }

  i64 in_steps(i64 cost) const { return cost == kNever ? kNever : rounded_up(cost, multipliers_.scale); }
  i64 work() const { return 1 + handled_ / kPartialsAUnit; }
};

}  // namespace memplan::choice
