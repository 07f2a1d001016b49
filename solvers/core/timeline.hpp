// The items of a choice of memories, live set by live set, and the bits of a partial choice that encode their memories.
#pragma once
#include "multipliers.hpp"

namespace memplan::choice {

inline constexpr i64 kWordBits = 62;

// No-goods: sets of items that do not fit into a memory together; set g is item[first[g]:first[g + 1]], ascending.
struct NoGoods {
  Array<i64> pool;
  Array<i64> first;
  Array<i64> item;
};

// The items with a choice, live set by live set; what fixed items use is subtracted from the capacities.
class Timeline {
 public:
  // The bits of a key that hold one number.
  struct Field {
    i64 word, shift, mask;
    i64 of(const i64 *key) const { return key[word] >> shift & mask; }
    void clear(i64 *key) const { key[word] &= ~(mask << shift); }
  };
  // A change before a live set: an item and one of its buffers, in a list for each kind of change.
  struct Event {
    i64 item, buffer;
  };
  struct Events {
    Array<i64> first{nullptr, 0};
    Array<Event> event{nullptr, 0};
    Event *begin(i64 t) const { return event.data + first[t]; }
    Event *end(i64 t) const { return event.data + first[t + 1]; }
  };

  // If the arena has failed, no member may be read.
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
    lives_first = arena.array<i64>(items + 2), lives_of = arena.array<i64>(knapsack.start.size);
    if (arena.has_failed) return;
    for (i64 m = 0; m < knapsack.start.size; ++m) ++lives_first[knapsack.item_of(m) + 2];
    for (i64 j = 2; j < items + 2; ++j) lives_first[j] += lives_first[j - 1];
    for (i64 m = 0; m < knapsack.start.size; ++m) lives_of[lives_first[knapsack.item_of(m) + 1]++] = m;
    subtract_fixed(multipliers.measures);
    list_nogoods();
    lay_out_keys();
    list_events();
  }

  i64 last(i64 j) const { return last_[j]; }
  i64 pool_of(i64 nogood) const { return nogoods_.pool[nogood]; }

  Array<i64> home{nullptr, 0};  // the memory of each item; final for items without a choice
  Array<bool> has_choice{nullptr, 0};
  Rows<i64> capacity{nullptr, 0, 0};
  bool is_refuted = false;  // true if a no-good contains only items without a choice
  i64 words = 1, choices = 0;
  Array<Field> item_field{nullptr, 0}, nogood_field{nullptr, 0};
  Array<i64> members{nullptr, 0};                                // the number of items with a choice in each no-good
  Array<i64> nogoods_first{nullptr, 0}, nogoods_of{nullptr, 0};  // the no-goods that contain each item
  Events ending, leaving, starting, arriving;
  Array<i64> lives_first{nullptr, 0}, lives_of{nullptr, 0};  // the lifetimes of each item

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

  // List the no-goods, except those with a fixed item in another memory. One with only fixed items refutes all choices.
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

  // Assign bits to each item with a choice while it is alive, and to each no-good between the arrivals of its first and
  // its last item.
  void lay_out_keys() {
    struct Span {
      i64 start, end, name;  // the item; -1 - g for no-good g
    };
    const i64 items = home.size, count = nogoods_.pool.size;
    const Array<Span> spans = arena_.array<Span>(items + count);
    const Array<Range> busy = arena_.array<Range>(items + count);  // the end of each span in use, and its slot
    const Array<i64> spare = arena_.array<i64>(items + count);
    item_field = arena_.array<Field>(items), nogood_field = arena_.array<Field>(count);
    if (arena_.has_failed) return;
    i64 bits = 1, used = 0, is_busy = 0, is_spare = 0;
    while (knapsack_.size.size >> bits > 0) ++bits;  // a field needs one more value than there are memories
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
      // Bits are reused once an item has left, so keys are only as wide as what is alive.
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

}  // namespace memplan::choice
