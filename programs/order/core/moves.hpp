// Macros as the searches of orders run them, and the state that running and taking back a macro changes.
#pragma once
#include <array>

#include "stack.hpp"

namespace memplan::order {

// See `Moves` in kernels.py.
struct Moves {
  Array<i64> step_first;
  Array<i64> hill;
  Array<i64> net;
  Array<i64> free_first;
  Array<i64> free;
  Array<i64> size;
  Array<i64> reader_first;
  Array<i64> reader;
  Array<i64> over_first;
  Array<i64> input_first;
  Array<i64> over;
  Array<i64> gain_first;
  Array<i64> gain;
  Array<i64> next_first;
  Array<i64> next;
  Array<i64> before_first;
  Array<i64> before;
  Array<i64> group;
  Rows<i64> code;
  i64 is_forward;

  i64 count() const { return group.size; }
};

// The macros that have run so far, and the bytes that are alive after them.
class Prefix {
 public:
  // The macros must outlive the prefix.
  Prefix(Arena &arena, const Moves &moves)
      : left(arena.array<i64>(moves.size.size)), waits(arena.array<i64>(moves.count())),
        ready{arena.array<i64>(moves.count())}, spot(arena.array<i64>(moves.count())),
        log{arena.array<i64>(moves.count())}, moves_(moves),
        group_key_(arena.array<std::array<u64, 2>>(moves.count())) {}

  // Begin with nothing run and so many bytes alive.
  void start(i64 bytes);

  // Run a macro that is ready; return the most bytes alive meanwhile.
  i64 run(i64 macro);

  // Take the last macro of the log back. The list of ready macros is what it was before, in the same order.
  void take_back();

  // Change the key of the state by a macro that has run (`times` is 1), or that was taken back (-1).
  //
  // The key is a sum over groups, so that it is the same when two groups with equal codes change places, and a
  // group's own key is a sum over its macros, so that macros with equal codes may do so too.
  void turn(i64 macro, i64 times);

  bool has_run(i64 macro) const { return spot[macro] <= -2; }

  i64 live = 0;       // bytes
  Array<i64> left;    // the readers of each tensor that have not run, from the start
  Array<i64> waits;   // the macros that each macro waits for
  Stack<i64> ready;   // the macros that can run
  Array<i64> spot;    // where each stands in `ready`; -1: it waits; -2 - k: it has run, and stood at k
  Stack<i64> log;     // the order so far
  std::array<u64, 2> key{1, 1};  // of the set of macros that have run

 private:
  // The bytes of outputs that a step writes over inputs, just before its tensors are freed or taken back.
  i64 saved(i64 step) const;

  void make_ready(i64 macro) {
    spot[macro] = ready.size;
    ready.push(macro);
  }

  const Moves &moves_;
  Array<std::array<u64, 2>> group_key_;
};

inline void Prefix::start(i64 bytes) {
  live = bytes;
  for (i64 v = 0; v < moves_.count(); ++v) {
    waits[v] = moves_.before_first[v + 1] - moves_.before_first[v];
    spot[v] = -1;
    if (waits[v] == 0) make_ready(v);
  }
  for (i64 t = 0; moves_.is_forward && t < left.size; ++t)
    left[t] = moves_.reader_first[t + 1] - moves_.reader_first[t];
}

inline i64 Prefix::saved(i64 step) const {
  const Moves &m = moves_;
  i64 total = 0;
  const i64 last_one = m.is_forward ? 1 : 0;
  for (i64 choice = m.over_first[step]; choice < m.over_first[step + 1]; ++choice) {
    i64 bits = 0, bit = 1;
    for (i64 i = m.input_first[choice]; i < m.input_first[choice + 1]; ++i, bit += bit)
      if (left[m.over[i]] == last_one) bits += bit;
    total += m.gain[m.gain_first[choice] + bits];
  }
  return total;
}

inline i64 Prefix::run(i64 macro) {
  const Moves &m = moves_;
  i64 top = live;
  const i64 first = m.step_first[macro], end = m.step_first[macro + 1];
  if (m.is_forward) {
    for (i64 j = first; j < end; ++j) {
      top = std::max(top, live + m.hill[j] - saved(j));
      live += m.net[j];
      for (i64 k = m.free_first[j]; k < m.free_first[j + 1]; ++k)
        if (--left[m.free[k]] == 0) live -= m.size[m.free[k]];
    }
  } else {
    for (i64 j = end - 1; j >= first; --j) {
      const i64 less = saved(j);
      for (i64 k = m.free_first[j]; k < m.free_first[j + 1]; ++k)
        if (left[m.free[k]]++ == 0) live += m.size[m.free[k]];
      live -= m.net[j];
      top = std::max(top, live + m.hill[j] - less);
    }
  }
  const i64 at = spot[macro], last = ready.pop();
  if (at < ready.size) ready[at] = last;
  spot[last] = at;
  spot[macro] = -2 - at;
  for (i64 k = m.next_first[macro]; k < m.next_first[macro + 1]; ++k) {
    const i64 following = m.next[k];
    if (--waits[following] == 0) make_ready(following);
  }
  log.push(macro);
  return top;
}

inline void Prefix::take_back() {
  const Moves &m = moves_;
  const i64 macro = log.pop();
  for (i64 k = m.next_first[macro + 1] - 1; k >= m.next_first[macro]; --k) {
    const i64 following = m.next[k];
    if (waits[following]++ == 0) {
      --ready.size;
      spot[following] = -1;
    }
  }
  const i64 at = -2 - spot[macro];
  if (at < ready.size) {
    make_ready(ready[at]);
    ready[at] = macro;
  } else {
    ready.push(macro);
  }
  spot[macro] = at;
  for (i64 j = m.step_first[macro]; j < m.step_first[macro + 1]; ++j) {
    live += m.is_forward ? -m.net[j] : m.net[j];
    for (i64 k = m.free_first[j]; k < m.free_first[j + 1]; ++k) {
      const i64 tensor = m.free[k];
      if (m.is_forward) {
        if (left[tensor]++ == 0) live += m.size[tensor];
      } else if (--left[tensor] == 0) {
        live -= m.size[tensor];
      }
    }
  }
}

// A number that has nothing visible in common with the given one (the finalizer of splitmix64).
inline u64 mixed(u64 value) {
  value += 0x9E3779B97F4A7C15u;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

inline void Prefix::turn(i64 macro, i64 times) {
  for (std::size_t k = 0; k < 2; ++k) {
    u64 &sum = group_key_[moves_.group[macro]][k];
    key[k] -= mixed(sum);
    sum += static_cast<u64>(times) * static_cast<u64>(moves_.code[macro][k]);
    key[k] += mixed(sum);
  }
}

}  // namespace memplan::order
