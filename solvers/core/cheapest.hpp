// The cheapest choice by dynamic programming over live sets, with bounds from multipliers.
//
// A partial choice has memories for the items that have arrived so far. Of two that reach a live set with everything
// alive in the same memories, the cheaper one is kept: their futures are the same. One that cannot become cheap enough
// any more is dropped. Its cost is counted with multipliers: each item at its reduced price, each live set passed at the
// worth of what was left free in it. That never falls, so it bounds the cost of the whole; at the end it is that cost, as
// what was charged for and what was left free are all the capacity there is. Where there are too many partial choices,
// live sets are gone through backwards, too; where there are still too many, the most promising go on, and the least
// that was dropped is the bound.
#pragma once
#include <optional>

#include "multipliers.hpp"

namespace memplan::choice {

inline constexpr double kFirstSpan = 0.02;  // of the first search above the bound, as a part of it; each later one has twice it
inline constexpr i64 kNarrowest = 4096;     // and at least this part of what a choice may cost
inline constexpr i64 kRowWork = 50, kPartialsAUnit = 4;
inline constexpr i64 kWordBits = 62;

// Items that do not fit into a memory together: those of no-good g are item[first[g]:first[g + 1]], ascending.
struct NoGoods {
  Array<i64> pool;
  Array<i64> first;
  Array<i64> item;
};

// No choice costs less than `bound`; `work` counts what the search has done.
struct Cheapest {
  bool is_found = false;
  i64 cost = 0, bound = 0, work = 0;
};

// The items with a choice, live set by live set; what fixed items take is subtracted from the capacities.
class Timeline {
 public:
  // Where the bits are that hold a number.
  struct Field {
    i64 word, shift, mask;
    i64 of(const i64 *key) const { return key[word] >> shift & mask; }
    void clear(i64 *key) const { key[word] &= ~(mask << shift); }
  };
  // What changes before a live set, list by list: an item, and a buffer of it.
  struct Event {
    i64 item, buffer;
  };
  struct Events {
    Array<i64> first{nullptr, 0};
    Array<Event> event{nullptr, 0};
    Event *begin(i64 t) const { return event.data + first[t]; }
    Event *end(i64 t) const { return event.data + first[t + 1]; }
  };

  // Nothing is to be read where the arena has failed.
  Timeline(Arena &arena, const ChoiceItems &knapsack, const Multipliers &multipliers, const Rows<i64> &limit,
           const NoGoods &nogoods)
      : arena_(arena), knapsack_(knapsack), nogoods_(nogoods) {
    const i64 items = knapsack.price.columns, rows = knapsack.rows;
    home = arena.array<i64>(items), has_choice = arena.array<bool>(items);
    first_ = arena.array<i64>(items), last_ = arena.array<i64>(items);
    capacity = limits_of(arena, multipliers.measures, limit);
    if (arena.has_failed) return;
    for (i64 j = 0; j < items; ++j) {
      i64 count = 0;
      for (i64 q = knapsack.homes.size - 1; q >= 0; --q)
        if (knapsack.homes[q][j]) home[j] = q, ++count;
      has_choice[j] = count > 1, choices += count > 1, first_[j] = rows;
    }
    for (i64 m = 0; m < knapsack.start.size; ++m) {
      const i64 j = knapsack.item_of(m);
      first_[j] = std::min(first_[j], knapsack.start[m]), last_[j] = std::max(last_[j], knapsack.end[m]);
    }
    subtract_fixed(multipliers.measures);
    list_nogoods();
    lay_out_keys();
    list_events();
  }

  i64 pool_of(i64 nogood) const { return nogoods_.pool[nogood]; }

  Array<i64> home{nullptr, 0};  // of each item, the right one for those that have no choice
  Array<bool> has_choice{nullptr, 0};
  Rows<i64> capacity{nullptr, 0, 0};
  bool is_refuted = false;  // by a no-good of items without a choice
  i64 words = 1, choices = 0;
  Array<Field> item_field{nullptr, 0}, nogood_field{nullptr, 0};
  Array<i64> members{nullptr, 0};                                // those with a choice of each no-good
  Array<i64> nogoods_first{nullptr, 0}, nogoods_of{nullptr, 0};  // the no-goods that an item is in
  Events ending, leaving, starting, arriving;

 private:
  Arena &arena_;
  const ChoiceItems &knapsack_;
  const NoGoods &nogoods_;
  Array<i64> first_{nullptr, 0}, last_{nullptr, 0};

  void subtract_fixed(const Measures &measures) {
    const Array<i64> load = arena_.array<i64>(knapsack_.rows + 1);
    for (i64 r = 0; r < measures.pool.size && !arena_.has_failed; ++r) {
      load.fill(0);
      for (i64 m = 0; m < knapsack_.start.size; ++m) {
        const i64 j = knapsack_.item_of(m), size = measures.size[r][knapsack_.lifetime_buffer[m]];
        if (!has_choice[j] && home[j] == measures.pool[r]) load[knapsack_.start[m]] += size, load[knapsack_.end[m]] -= size;
      }
      for (i64 t = 0, sum = 0; t < knapsack_.rows; ++t) capacity[r][t] -= sum += load[t];
    }
  }

  // Without those that name a fixed item of another memory. One of fixed items alone rules everything out.
  void list_nogoods() {
    const i64 count = nogoods_.pool.size, items = home.size;
    members = arena_.array<i64>(count), nogoods_first = arena_.array<i64>(items + 2);
    nogoods_of = arena_.array<i64>(nogoods_.item.size);
    if (arena_.has_failed) return;
    for (const bool is_filling : {false, true}) {
      for (i64 g = 0; g < count; ++g) {
        const i64 *begin = nogoods_.item.data + nogoods_.first[g], *end = nogoods_.item.data + nogoods_.first[g + 1];
        const auto is_open = [&](i64 j) { return has_choice[j] || home[j] == nogoods_.pool[g]; };
        members[g] = kAbsent;
        if (!std::all_of(begin, end, is_open)) continue;
        members[g] = std::count_if(begin, end, [&](i64 j) { return has_choice[j]; });
        is_refuted |= members[g] == 0;
        for (const i64 *j = begin; j < end; ++j) {
          if (!has_choice[*j]) continue;
          if (is_filling)
            nogoods_of[nogoods_first[*j + 1]++] = g;
          else
            ++nogoods_first[*j + 2];
        }
      }
      for (i64 j = 2; j < items + 2 && !is_filling; ++j) nogoods_first[j] += nogoods_first[j - 1];
    }
  }

  // Give bits to each item with a choice while it is alive, and to each no-good from the first of its items that
  // arrives to the last.
  void lay_out_keys() {
    struct Span {
      i64 start, end, name;  // -1 - g: of no-good g
    };
    const i64 items = home.size, count = nogoods_.pool.size;
    const Array<Span> spans = arena_.array<Span>(items + count);
    const Array<Range> busy = arena_.array<Range>(items + count);  // until when, and which slot
    const Array<i64> spare = arena_.array<i64>(items + count);
    item_field = arena_.array<Field>(items), nogood_field = arena_.array<Field>(count);
    if (arena_.has_failed) return;
    i64 bits = 1, used = 0, is_busy = 0, is_spare = 0;
    while ((knapsack_.size.size - 1) >> bits > 0) ++bits;
    for (i64 j = 0; j < items; ++j)
      if (has_choice[j]) spans[used++] = {first_[j], last_[j], j};
    for (i64 g = 0; g < count; ++g) {
      if (members[g] == kAbsent) continue;
      i64 least = kMost, most = 0;
      for (i64 x = nogoods_.first[g]; x < nogoods_.first[g + 1]; ++x)
        if (const i64 j = nogoods_.item[x]; has_choice[j]) least = std::min(least, first_[j]), most = std::max(most, first_[j]);
      spans[used++] = {members[g] > 0 ? least : 0, most + 1, -1 - g};
    }
    std::sort(spans.data, spans.data + used, [](const Span &a, const Span &b) {
      return a.start != b.start ? a.start < b.start : a.end != b.end ? a.end < b.end : a.name < b.name;
    });
    const auto is_later = [](const Range &a, const Range &b) { return a.low != b.low ? a.low > b.low : a.high > b.high; };
    const auto is_above = [](i64 a, i64 b) { return a > b; };
    for (i64 x = 0; x < used; ++x) {
      while (is_busy > 0 && busy[0].low <= spans[x].start) {
        std::pop_heap(busy.data, busy.data + is_busy--, is_later);
        spare[is_spare++] = busy[is_busy].high;
        std::push_heap(spare.data, spare.data + is_spare, is_above);
      }
      // Bits are used again when an item has left, so keys are as wide as what is alive.
      i64 slot = is_busy;
      if (is_spare > 0) std::pop_heap(spare.data, spare.data + is_spare--, is_above), slot = spare[is_spare];
      busy[is_busy++] = {spans[x].end, slot};
      std::push_heap(busy.data, busy.data + is_busy, is_later);
      const i64 in_word = kWordBits / bits, name = spans[x].name;
      const Field field{slot / in_word, slot % in_word * bits, (i64{1} << bits) - 1};
      if (name < 0)
        nogood_field[-1 - name] = field;
      else
        item_field[name] = field;
      words = std::max(words, slot / in_word + 1);
    }
  }

  void list_events() {
    const i64 lives = knapsack_.start.size, rows = knapsack_.rows;
    const Array<bool> has_arrived = arena_.array<bool>(home.size);
    for (Events *each : {&ending, &leaving, &starting, &arriving})
      each->first = arena_.array<i64>(rows + 3), each->event = arena_.array<Event>(lives);
    if (arena_.has_failed) return;
    for (const bool is_filling : {false, true}) {
      const auto note = [is_filling](const Events &events, i64 t, Event event) {
        if (is_filling)
          events.event[events.first[t + 1]++] = event;
        else
          ++events.first[t + 2];
      };
      has_arrived.fill(false);
      for (i64 m = 0; m < lives; ++m) {
        const i64 j = knapsack_.item_of(m);
        const Event event{j, knapsack_.lifetime_buffer[m]};
        if (!has_choice[j]) continue;
        note(ending, knapsack_.end[m], event);
        note(knapsack_.start[m] > first_[j] ? starting : arriving, knapsack_.start[m], event);
        if (!has_arrived[j]) note(leaving, last_[j], event);
        has_arrived[j] = true;
      }
      for (const Events *each : {&ending, &leaving, &starting, &arriving})
        for (i64 t = 2; t < rows + 3 && !is_filling; ++t) each->first[t] += each->first[t - 1];
    }
  }
};

// The partial choices as rows: the cost in parts of a step, where it came from, the key, and the loads by each measure.
class PartialChoices {
 public:
  PartialChoices(Arena &arena, const ChoiceItems &knapsack, const Multipliers &multipliers, const Timeline &timeline,
                 const Rows<i64> &price, i64 value, i64 at_most, i64 widest)
      : arena_(arena),
        knapsack_(knapsack),
        multipliers_(multipliers),
        timeline_(timeline),
        price_(price),
        top_(at_most > kMost / multipliers.scale ? kMost : at_most * multipliers.scale),
        widest_(widest),
        load_(2 + timeline.words),
        columns_(load_ + multipliers.worth.size),
        now_(arena.rows<i64>(widest * price.size, columns_, false)),
        next_(arena.rows<i64>(widest * price.size, columns_, false)),
        order_(arena.uncleared<i64>(widest * price.size)),
        amount_(arena.array<i64>(multipliers.worth.size)),
        seen_(arena.array<i64>(timeline.members.size)),
        steps_(arena) {
    if (arena.has_failed) return;
    std::fill(now_[0], now_[0] + columns_, 0);
    now_[0][0] = value, count_ = 1;  // all begin at the bound, so that a cost is a bound of what it leads to
  }

  // Go through all live sets: the cheapest choice within the cost, unless it was dropped.
  template <class IsOver>
  Cheapest run(const Array<i64> &home, IsOver &&is_over) {
    for (i64 t = 0; t < knapsack_.rows && !arena_.has_failed; ++t) {
      for (const auto *each = timeline_.ending.begin(t); each < timeline_.ending.end(t); ++each) lift(*each, -1);
      forget(t);
      for (const auto *each = timeline_.starting.begin(t); each < timeline_.starting.end(t); ++each) lift(*each, 1);
      const Timeline::Event *arriving = timeline_.arriving.begin(t), *end = timeline_.arriving.end(t);
      for (const auto *each = arriving; each < end; ++each) {
        // An item arrives with all of its buffers at once, when the first of them does.
        const auto is_same = [each](const Timeline::Event &other) { return other.item == each->item; };
        if (std::none_of(arriving, each, is_same)) branch(t, each->item);
      }
      pass(t);
      if (count_ == 0) return {false, 0, in_steps(std::min(dropped_, above_)), work()};
      if (is_over()) return {false, 0, 0, work()};
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
  const i64 top_, widest_, load_, columns_;
  i64 count_ = 0, dropped_ = kNever, above_ = kNever, recorded_ = 0;
  Rows<i64> now_, next_;
  Array<i64> order_, amount_, seen_;
  Growing<Step> steps_;

  i64 *key(i64 *row) const { return row + 2; }
  i64 home(i64 j, i64 *row) const { return timeline_.item_field[j].of(key(row)); }

  void add(i64 *row, i64 pool, const i64 *amount) const {
    for (i64 r = 0; r < amount_.size; ++r)
      if (multipliers_.measures.pool[r] == pool) row[load_ + r] += amount[r];
  }

  // What a buffer takes by each measure.
  void measure(i64 buffer, i64 sign) const {
    for (i64 r = 0; r < amount_.size; ++r) amount_[r] += sign * multipliers_.measures.size[r][buffer];
  }

  void lift(const Timeline::Event &event, i64 sign) const {
    amount_.fill(0);
    measure(event.buffer, sign);
    for (i64 k = 0; k < count_; ++k) add(now_[k], home(event.item, now_[k]), amount_.data);
  }

  // Keep those that a rule keeps, in their order.
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

  // Forget the memories of what leaves; of equal partial choices, keep the cheapest.
  void forget(i64 t) {
    const auto *begin = timeline_.leaving.begin(t), *end = timeline_.leaving.end(t);
    for (i64 k = 0; k < count_; ++k)
      for (const auto *each = begin; each < end; ++each) timeline_.item_field[each->item].clear(key(now_[k]));
    if (begin == end || count_ < 2) return;
    std::iota(order_.data, order_.data + count_, i64{0});
    const auto compared = [this](i64 a, i64 b) {
      for (i64 word = timeline_.words - 1; word >= 0; --word)
        if (const i64 x = key(now_[a])[word], y = key(now_[b])[word]; x != y) return x < y ? -1 : 1;
      return 0;
    };
    std::sort(order_.data, order_.data + count_, [&](i64 a, i64 b) {
      const int by_key = compared(a, b);
      return by_key != 0 ? by_key < 0 : now_[a][0] != now_[b][0] ? now_[a][0] < now_[b][0] : a < b;
    });
    i64 to = 0;
    for (i64 x = 0; x < count_; ++x)
      if (x == 0 || compared(order_[x - 1], order_[x]) != 0)
        std::copy(now_[order_[x]], now_[order_[x]] + columns_, next_[to++]);
    std::swap(now_, next_), count_ = to;
  }

  // Put an item that arrives into each memory with enough capacity.
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
    narrow();
    record(j);
  }

  // Update each no-good with item `j`; drop what completes one.
  void note_nogoods(i64 j) {
    for (i64 x = timeline_.nogoods_first[j]; x < timeline_.nogoods_first[j + 1]; ++x) {
      const i64 g = timeline_.nogoods_of[x], pool = timeline_.pool_of(g);
      const Timeline::Field &field = timeline_.nogood_field[g];
      // From the second member on, the bits say whether all before it are there.
      const bool is_first = seen_[g]++ == 0, is_last = seen_[g] == timeline_.members[g];
      keep([&](i64 *row) {
        const bool is_there = home(j, row) == pool && (is_first || field.of(key(row)) != 0);
        field.clear(key(row));
        if (is_there && !is_last) key(row)[field.word] |= i64{1} << field.shift;
        return !is_last || !is_there;
      });
    }
  }

  // Keep the cheapest. The least that is dropped is what the bound may still claim.
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

  void record(i64 j) {
    const Array<std::int32_t> origin = arena_.uncleared<std::int32_t>(count_);
    const Array<std::int16_t> homes = arena_.uncleared<std::int16_t>(count_);
    if (arena_.has_failed) return;
    for (i64 k = 0; k < count_; ++k) {
      origin[k] = static_cast<std::int32_t>(now_[k][1]), homes[k] = static_cast<std::int16_t>(home(j, now_[k]));
      now_[k][1] = k;
    }
    steps_.push({j, count_, origin.data, homes.data});
    recorded_ += count_;
  }

  // Charge for the capacity left free; drop what does not fit or costs too much.
  void pass(i64 t) {
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
    std::copy(timeline_.home.begin(), timeline_.home.end(), chosen.data);
    i64 at = now_[best][1];
    for (i64 x = steps_.size - 1; x >= 0; --x) chosen[steps_[x].item] = steps_[x].home[at], at = steps_[x].origin[at];
    return {true, cost, std::min(cost, in_steps(dropped_)), work()};
  }

  i64 in_steps(i64 cost) const { return cost == kNever ? kNever : rounded_up(cost, multipliers_.scale); }
  i64 work() const { return (knapsack_.rows + 1) * kRowWork + recorded_ / kPartialsAUnit; }
};

// How many partial choices each live set may carry on, and how many may be kept in all, at 6 bytes each.
struct Effort {
  i64 partials, kept;
};

// The cheapest choice within limits and a cost in steps, or a bound above that cost. `home` gets that of each item.
template <class IsOver>
Cheapest cheapest(Arena &arena, const ChoiceItems &forwards, const Multipliers &multipliers, const Rows<i64> &limit,
                  const NoGoods &nogoods, i64 at_most, const Effort &effort, const Array<i64> &home, Allocator &allocator,
                  IsOver &&is_over) {
  const i64 rows = forwards.rows, lives = forwards.start.size, items = forwards.price.columns;
  const i64 value = value_of(arena, forwards, multipliers, limit);
  const Rows<i64> price = prices_of(arena, forwards, multipliers);
  const Timeline first(arena, forwards, multipliers, limit, nogoods);
  const Array<i64> chosen = arena.array<i64>(items);
  ChoiceItems backwards = forwards;
  backwards.start = arena.array<i64>(lives), backwards.end = arena.array<i64>(lives);
  Multipliers reversed = multipliers;
  const auto mirrored = [&](const Rows<i64> &table) {
    const Rows<i64> made = arena.rows<i64>(table.size, rows);
    for (i64 r = 0; r < made.size; ++r) std::reverse_copy(table[r], table[r] + rows, made[r]);
    return made;
  };
  reversed.worth = mirrored(multipliers.worth);
  const Rows<i64> reversed_limit = mirrored(limit);
  if (arena.has_failed) return {};
  const i64 cells = first.capacity.size * rows;
  const bool has_room = std::none_of(first.capacity.data, first.capacity.data + cells, [](i64 free) { return free < 0; });
  if (first.is_refuted || !has_room) return {false, 0, kNever, 0};
  for (i64 m = 0; m < lives; ++m) backwards.start[m] = rows - forwards.end[m], backwards.end[m] = rows - forwards.start[m];
  std::optional<Timeline> second;
  // What each item costs at least is in the first value already; only the rest branches.
  for (i64 j = 0; j < items; ++j) {
    const i64 least = cheapest_home(forwards, price, j, kNever);
    for (i64 q = 0; q < price.size; ++q) price[q][j] -= least;
  }
  i64 floor = std::max<i64>(0, rounded_up(value, multipliers.scale)), most = at_most;
  const i64 widest = std::max<i64>(1, std::min(effort.partials, effort.kept / std::max<i64>(1, first.choices)));
  // A narrow range of costs keeps few partial choices; most choices are near the bound.
  i64 span = std::max<i64>({1, static_cast<i64>(static_cast<double>(floor) * kFirstSpan), floor_div(at_most, kNarrowest)});
  bool is_swapped = false, is_crowded = false;
  Cheapest best{false, 0, floor, 0};
  while (floor <= most && !is_over() && !arena.has_failed) {
    const i64 wanted = std::min(most, floor + span);
    i64 bounds[2] = {}, count = 0;
    while (count < (second ? 2 : 1)) {
      const bool is_forwards = (count == 0) != is_swapped;
      Arena inner(allocator);
      PartialChoices partials(inner, is_forwards ? forwards : backwards, is_forwards ? multipliers : reversed,
                              is_forwards ? first : *second, price, value, wanted, widest);
      const Cheapest made = inner.has_failed ? Cheapest{} : partials.run(chosen, is_over);
      arena.has_failed = arena.has_failed || inner.has_failed;
      floor = std::max(floor, made.bound), best.work += made.work;
      if (made.is_found && made.cost <= most) {
        best.is_found = true, best.cost = made.cost, most = made.cost - 1;
        std::copy(chosen.begin(), chosen.end(), home.data);
      }
      bounds[count++] = made.bound;
      if (made.bound > wanted || floor > most || is_crowded) break;
      // Where many begin together and few end together, there are fewer partial choices from the end on.
      if (!second) second.emplace(arena, backwards, reversed, reversed_limit, nogoods);
      if (arena.has_failed) return {};
    }
    span = std::min(kNever, 2 * span);
    if (bounds[count - 1] > bounds[0]) is_swapped = !is_swapped;
    // Where partial choices were dropped, the rest is searched once, as far as it goes.
    if (*std::max_element(bounds, bounds + count) <= wanted && floor <= most) {
      if (is_crowded) break;
      is_crowded = true, span = most;
    }
  }
  best.bound = best.is_found ? std::min(floor, best.cost) : floor;
  return best;
}

}  // namespace memplan::choice
