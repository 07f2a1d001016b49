// The time of a sequence in which some stays are away, by the queues of both directions of the link.
#pragma once
#include <algorithm>

#include "stack.hpp"

namespace memplan::order {

// See `Sequence` in kernels.py.
struct Sequence {
  Array<i64> before;
  Array<i64> bytes;
  Array<i64> tensor;
  Array<i64> size;
  Array<i64> made;
  Array<i64> begin;
  Array<i64> end;
  Array<i64> transfer;
};

// See `AwayChoice` in kernels.py.
struct AwayChoice {
  i64 limit;
  i64 goal;
  i64 seed;
  i64 work;
  Array<i64> first;
  Array<i64> last;
  Array<i64> send;
  Array<i64> fetch;
  Array<i64> late;
  Array<i64> flag;
  Array<i64> answer;
};

constexpr i64 kWorkPerTransfer = 40;

// One direction of the link: one transfer at a time, of those that wait the one that is due first.
struct Direction {
  // The stay that waits, the run that it is due at, and its place.
  struct Waiting {
    i64 due, place, stay;
    bool operator<(const Waiting &other) const {  // for a heap, the first one on top
      if (due != other.due) return due > other.due;
      return place != other.place ? place > other.place : stay > other.stay;
    }
  };

  Stack<Waiting> waiting;
  Array<i64> ended;  // by runs: when the last of what is due there has ended
  i64 free = 0, now = 0;

  // Let transfers begin until the link is taken up to the time, or nothing waits.
  void pass(i64 time, const Array<i64> &transfer, const Array<i64> *start) {
    while (waiting.size > 0 && std::max(free, now) < time) begin(transfer, start);
    now = time;
  }
  void release(const Waiting &row) {
    waiting.push(row);
    std::push_heap(waiting.begin(), waiting.end());
  }
  // Begin all that is due at a run, and return when the last of what is due there has ended.
  i64 end_due(i64 place, const Array<i64> &transfer, const Array<i64> *start) {
    while (waiting.size > 0 && waiting[0].due <= place) begin(transfer, start);
    return ended[place];
  }

 private:
  void begin(const Array<i64> &transfer, const Array<i64> *start) {
    const Waiting row = waiting[0];
    std::pop_heap(waiting.begin(), waiting.end());
    --waiting.size;
    const i64 at = std::max(free, now);
    if (start != nullptr) (*start)[row.stay] = at;
    free = at + transfer[row.stay];
    ended[row.due] = std::max(ended[row.due], free);
  }
};

class AwayTime {
 protected:
  AwayTime(const Sequence &sequence, const AwayChoice &query, Arena &arena)
      : sequence_(sequence), query_(query), n_(sequence.bytes.size - 1), m_(sequence.tensor.size),
        position_(arena.array<i64>(m_)), chosen_{arena.array<i64>(m_)},
        sender_(arena.array<i64>(highest(sequence.tensor) + 1)), events_{arena.array<u64>(4 * m_)},
        sends_{{arena.array<Direction::Waiting>(m_)}, arena.array<i64>(n_ + 1)},
        fetches_{{arena.array<Direction::Waiting>(m_)}, arena.array<i64>(n_ + 1)} {}

  bool is_away(i64 s) const { return position_[s] >= 0; }
  Range span_of(i64 s) const { return {query_.first[s], query_.last[s]}; }

  // By how much the transfers of a stay are too long for the runs beside which they may be.
  i64 late(i64 s, const Range &span) const {
    const Array<i64> &before = sequence_.before;
    const i64 send = sequence_.transfer[s] - before[span.low] + before[sequence_.made[s] + 1];
    const i64 fetch = sequence_.transfer[s] - before[sequence_.end[s]] + before[span.high + 1];
    return std::max<i64>(0, send) + std::max<i64>(0, fetch);
  }

  // When all has ended; if it is recorded, by how much each run is late, and how transfers begin, as well.
  i64 time(bool is_recorded = false) {
    work_ += kWorkPerTransfer * chosen_.size;
    const Array<i64> *send_start = is_recorded ? &query_.send : nullptr;
    const Array<i64> *fetch_start = is_recorded ? &query_.fetch : nullptr;
    // A copy that was sent once stays at the other end.
    for (const i64 s : chosen_) sender_[sequence_.tensor[s]] = -1;
    for (const i64 s : chosen_) {
      i64 &sender = sender_[sequence_.tensor[s]];
      if (sender < 0 || sequence_.begin[s] < sequence_.begin[sender]) sender = s;
    }
    events_.size = 0;
    for (const i64 s : chosen_) {
      if (sender_[sequence_.tensor[s]] == s) {
        push_event(sequence_.made[s] + 1, kSendable, s);
        push_event(query_.first[s], kSent, s);
      }
      push_event(query_.last[s] + 1, kFetchable, s);
      push_event(sequence_.end[s], kFetched, s);
    }
    std::sort(events_.begin(), events_.end(), ascends);
    for (const u64 event : events_) {
      const i64 place = static_cast<i64>(event >> kPlaceShift), kind = static_cast<i64>(event >> kKindShift) & kKindMask;
      (kind <= kSent ? sends_ : fetches_).ended[place] = 0;
    }
    sends_.free = sends_.now = fetches_.free = fetches_.now = 0;
    const Array<i64> &before = sequence_.before, &transfer = sequence_.transfer;
    i64 delay = 0, freed = 0, filled = 0;
    // In front of other runs, nothing begins and nothing is waited for.
    for (i64 k = 0; k < events_.size;) {
      const i64 place = static_cast<i64>(events_[k] >> kPlaceShift), now = before[place] + delay;
      i64 until = now;
      bool has_sends = false, has_fetches = false;
      if (is_recorded)
        for (; filled < place; ++filled) query_.late[filled] = delay;
      for (; k < events_.size && static_cast<i64>(events_[k] >> kPlaceShift) == place; ++k) {
        const i64 kind = static_cast<i64>(events_[k] >> kKindShift) & kKindMask;
        const i64 s = static_cast<i64>(events_[k] & ((u64{1} << kKindShift) - 1));
        if (kind == kSendable) {
          if (!has_sends) sends_.pass(now, transfer, send_start);
          has_sends = true;
          sends_.release({query_.first[s], place, s});
        } else if (kind == kSent) {
          freed = std::max(freed, sends_.end_due(place, transfer, send_start));
        } else if (kind == kFetchable) {
          if (!has_fetches) fetches_.pass(std::max(now, freed), transfer, fetch_start);
          has_fetches = true;
          fetches_.release({sequence_.end[s], place, s});
        } else {
          until = std::max(until, fetches_.end_due(place, transfer, fetch_start));
        }
      }
      delay = std::max({now, freed, until}) - before[place];
    }
    if (is_recorded)
      for (; filled <= n_; ++filled) query_.late[filled] = delay;
    return before[n_] + delay;
  }

  const Sequence &sequence_;
  const AwayChoice &query_;
  i64 n_, m_;
  Array<i64> position_;  // of a stay among those that are away, or -1
  Stack<i64> chosen_;
  i64 work_ = 0;

 private:
  static i64 highest(const Array<i64> &values) {
    return values.size == 0 ? 0 : *std::max_element(values.begin(), values.end());
  }

  // What begins and ends at a run, in this order.
  enum Event : i64 { kSendable, kSent, kFetchable, kFetched };
  static constexpr i64 kKindShift = 30, kPlaceShift = 32, kKindMask = 3;
  void push_event(i64 place, Event kind, i64 s) {
    events_.push(static_cast<u64>(place) << kPlaceShift | static_cast<u64>(kind) << kKindShift | static_cast<u64>(s));
  }

  Array<i64> sender_;  // by tensors: the stay for which it is sent
  Stack<u64> events_;
  Direction sends_, fetches_;
};

}  // namespace memplan::order
