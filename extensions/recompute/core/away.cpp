// What is away in a sequence of runs, so that it comes within a limit in the least time: a first choice, then others by
// chance, which are taken as long as they are no worse than one of the last.
#include "away_time.hpp"
#include "random.hpp"

namespace memplan::order {
namespace {

enum Outcome : i64 { kChosen = 1, kNone = 0, kStopped = -1 };
enum Answer : i64 { kTime, kWork, kRounds };

constexpr i64 kLookedAt = 4;        // stays that may be away, of which one is chosen for a run above the limit
constexpr i64 kTimedWork = 4'000'000;  // the work of a first choice from which on none of them are timed
constexpr i64 kRemoved = 4;         // at most so many stays come back at once before others are chosen
constexpr double kNear = 0.7;       // the part of rounds in which these lie around one run
constexpr i64 kHistory = 40;        // a choice is taken that is no worse than the one so many rounds ago
constexpr i64 kWorkPerRound = 100;
constexpr i64 kIdle = 20'000;       // rounds that find nothing better, behind which the search ends

class AwaySearch : AwayTime {
 public:
  AwaySearch(const Sequence &sequence, const AwayChoice &query, Arena &arena)
      : AwayTime(sequence, query, arena), bytes_(arena.array<i64>(n_ + 1)), saved_{arena.array<Saved>(m_)},
        saved_bytes_(arena.array<i64>(n_ + 1)), best_{arena.array<Saved>(m_)}, later_{arena.array<Late>(m_)},
        near_{arena.array<i64>(m_)}, random_(static_cast<u64>(query.seed)) {}

  i64 run() {
    position_.fill(-1);
    std::copy(sequence_.bytes.begin(), sequence_.bytes.end(), bytes_.begin());
    for (i64 s = 0; s < m_; ++s) {
      const Range span{query_.first[s], query_.last[s]};
      query_.first[s] = query_.last[s] = -1;
      if (span.low >= 0) put(s, span);
    }
    const bool is_within = cover(false);
    if (!is_within) return is_set(query_.flag) ? kStopped : kNone;
    shorten();
    i64 least = time();
    save(best_);
    improve(least);
    restore(best_);
    query_.answer[kTime] = time(true);
    query_.answer[kWork] = work_;
    return kChosen;
  }

 private:
  struct Saved {
    i64 stay;
    Range span;
  };
  struct Late {
    i64 late, stay;
    bool operator<(const Late &other) const { return late != other.late ? late > other.late : stay < other.stay; }
  };
  // A stay that may also be away during more runs, with its rating `worth`: lower is better.
  struct Candidate {
    double worth;
    i64 size, stay;
    Range span;
    bool operator<(const Candidate &other) const {
      if (worth != other.worth) return worth < other.worth;
      return size != other.size ? size > other.size : stay < other.stay;
    }
  };

  void add(const Range &span, i64 bytes) {
    for (i64 k = span.low; k <= span.high; ++k) bytes_[k] += bytes;
  }

  // Let a stay be away during these runs.
  void put(i64 s, const Range &span) {
    if (is_away(s))
      add(span_of(s), sequence_.size[s]);
    else
      position_[s] = chosen_.size, chosen_.push(s);
    query_.first[s] = span.low, query_.last[s] = span.high;
    add(span, -sequence_.size[s]);
  }
  void let_back(i64 s) {
    add(span_of(s), sequence_.size[s]);
    forget(s);
  }
  void forget(i64 s) {
    const i64 other = chosen_.pop();
    chosen_.room[position_[s]] = other, position_[other] = position_[s];
    position_[s] = query_.first[s] = query_.last[s] = -1;
  }

  void save(Stack<Saved> &rows) const {
    rows.size = 0;
    for (const i64 s : chosen_) rows.push({s, span_of(s)});
  }
  // The bytes are those of the caller.
  void restore(const Stack<Saved> &rows) {
    while (chosen_.size > 0) forget(chosen_.back());
    for (const auto &[s, span] : rows) {
      position_[s] = chosen_.size, chosen_.push(s);
      query_.first[s] = span.low, query_.last[s] = span.high;
    }
  }

  // Let more be away until all runs are within the limit; false where nothing is left for one, or the time is over.
  bool cover(bool is_drawn) {
    while (true) {
      const i64 k = std::max_element(bytes_.begin(), bytes_.end()) - bytes_.begin();
      const i64 over = bytes_[k] - query_.limit;
      if (over <= 0) return true;
      if (is_set(query_.flag)) return false;
      // All runs around this one that are above the limit, as long as they are, are taken together.
      Range around{k, k};
      while (around.low > 0 && bytes_[around.low - 1] > query_.limit) --around.low;
      while (around.high < n_ && bytes_[around.high + 1] > query_.limit) ++around.high;
      const i64 count = list_candidates(k, over, around);
      work_ += n_ + m_;
      if (count == 0) return false;
      const Candidate &row = candidates_[is_drawn ? drawn(count) : soonest(count, over)];
      put(row.stay, row.span);
    }
  }

  // List the stays that delay least for their bytes if they are away around a run, the best first.
  i64 list_candidates(i64 k, i64 over, const Range &around) {
    i64 count = 0;
    for (i64 s = 0; s < m_ && sequence_.begin[s] < k; ++s) {
      if (sequence_.end[s] <= k) continue;
      const Range old = span_of(s);
      const bool is_old = is_away(s);
      if (is_old && old.low <= k && k <= old.high) continue;
      Range span{std::max(around.low, sequence_.begin[s] + 1), std::min(around.high, sequence_.end[s] - 1)};
      if (is_old) span = {std::min(span.low, old.low), std::max(span.high, old.high)};
      const i64 size = sequence_.size[s];
      double delay = static_cast<double>(late(s, span));
      delay += is_old ? -static_cast<double>(late(s, old)) : static_cast<double>(sequence_.transfer[s]) / 1e3;
      const Candidate row{delay / static_cast<double>(std::min(size, over)), size, s, span};
      i64 at = std::min(count, kLookedAt - 1);
      if (count == kLookedAt && !(row < candidates_[at])) continue;
      for (; at > 0 && row < candidates_[at - 1]; --at) candidates_[at] = candidates_[at - 1];
      candidates_[at] = row;
      count = std::min(count + 1, kLookedAt);
    }
    return count;
  }

  // The first half of the time, the second half of the rest, and so on.
  i64 drawn(i64 count) {
    i64 at = 0;
    while (at + 1 < count && random_.next() % 2 == 0) ++at;
    return at;
  }

  // The one that delays all least for its bytes, by the queues of transfers.
  i64 soonest(i64 count, i64 over) {
    if (count == 1 || work_ > kTimedWork) return 0;
    const i64 now = time();
    i64 best = 0;
    double least = 0;
    for (i64 at = 0; at < count; ++at) {
      const auto &[_, size, s, span] = candidates_[at];
      const bool is_old = is_away(s);
      const Range old = span_of(s);
      if (!is_old) position_[s] = chosen_.size, chosen_.push(s);
      query_.first[s] = span.low, query_.last[s] = span.high;
      const double delay = static_cast<double>(time() - now) / static_cast<double>(std::min(size, over));
      if (is_old)
        query_.first[s] = old.low, query_.last[s] = old.high;
      else
        forget(s);
      if (at == 0 || delay < least) best = at, least = delay;
    }
    return best;
  }

  // Let stays be away during no more runs than the limit needs, those first that are most late.
  void shorten() {
    later_.size = 0;
    for (const i64 s : chosen_) later_.push({late(s, span_of(s)), s});
    std::sort(later_.begin(), later_.end());
    for (const auto &[_, s] : later_) {
      const Range old = span_of(s);
      const i64 room = query_.limit - sequence_.size[s];
      Range span = old;
      while (span.low <= span.high && bytes_[span.low] <= room) ++span.low;
      while (span.low <= span.high && bytes_[span.high] <= room) --span.high;
      work_ += 8;
      if (span.low > span.high)
        let_back(s);
      else if (span.low != old.low || span.high != old.high)
        put(s, span);
    }
  }

  // Let some stays back and choose others, until the work is done, nothing better is found, or the goal is met.
  void improve(i64 least) {
    i64 now = least, idle = 0, round = 0;
    history_.fill(least);
    saved_.size = 0;
    save(saved_);
    std::copy(bytes_.begin(), bytes_.end(), saved_bytes_.begin());
    for (; idle < kIdle && least > query_.goal && chosen_.size > 0 && work_ < query_.work; ++round) {
      if (is_set(query_.flag)) break;
      remove_some();
      work_ += n_ / 4 + kWorkPerRound;
      const bool is_within = cover(true);
      i64 then = kMost;
      if (is_within) shorten(), then = time();
      i64 &earlier = history_[round % kHistory];
      ++idle;
      if (is_within && (then <= now || then <= earlier)) {
        now = then;
        save(saved_);
        std::copy(bytes_.begin(), bytes_.end(), saved_bytes_.begin());
        if (now < least) {
          least = now, idle = 0;
          save(best_);
        }
      } else {
        restore(saved_);
        std::copy(saved_bytes_.begin(), saved_bytes_.end(), bytes_.begin());
      }
      earlier = std::min(earlier, now);
    }
    query_.answer[kRounds] = round;
  }

  void remove_some() {
    i64 count = 1 + below(kRemoved);
    const i64 one = chosen_[below(chosen_.size)];
    if (random_.uniform() < kNear) {
      const Range span = span_of(one);
      const i64 k = span.low + below(span.high - span.low + 1);
      near_.size = 0;
      for (const i64 s : chosen_)
        if (s != one && query_.first[s] <= k && k <= query_.last[s]) near_.push(s);
      let_back(one);
      for (--count; count > 0 && near_.size > 0; --count) {
        std::swap(near_[below(near_.size)], near_.back());
        let_back(near_.pop());
      }
    } else {
      let_back(one);
      for (--count; count > 0 && chosen_.size > 0; --count) let_back(chosen_[below(chosen_.size)]);
    }
  }

  i64 below(i64 count) { return static_cast<i64>(random_.next() % static_cast<u64>(count)); }

  Array<i64> bytes_;     // during each run
  Stack<Saved> saved_;
  Array<i64> saved_bytes_;
  Stack<Saved> best_;
  Stack<Late> later_;
  Stack<i64> near_;
  Random random_;
  Candidate candidates_[kLookedAt];
  i64 history_room_[kHistory];
  Array<i64> history_{history_room_, kHistory};
};

}  // namespace
}  // namespace memplan::order

MEMPLAN_KERNEL memplan_choose_away(const memplan::order::Sequence *sequence, const memplan::order::AwayChoice *query) {
  return memplan::run_in_arena<memplan::order::AwaySearch>(*sequence, *query);
}
