// The exact search of one thread, which finds and proves the least peak of one pool.
//
// An instance is divided into independent components. The search works on the component with the highest peak, which
// alone determines the peak, until no component is above the bound. A run that exhausts the search proves a new bound.
// In turn, easier problems are searched: nearly full components with their slack filled, which finds placements, and
// cores of components, which proves bounds. With mixed alignments, placements are also repaired.
#pragma once
#include "cores.hpp"
#include "dummies.hpp"
#include "ejection_rounds.hpp"

namespace memplan {

// Why a turn ends: nodes spent or flag set; a pause between two runs; a better plan; a higher bound; no component above
// the bound; nothing fits; another thread builds what this one needs next; no memory.
enum class TurnOutcome : i64 { kSpent, kPaused, kBetter, kRaised, kProved, kInfeasible, kWaits, kFailed };

class ExactSearch {
 public:
  // The first of several threads begins with unchanged orders, see Rounds.
  ExactSearch(Allocator &allocator, Parts &parts, u64 seed, bool is_first, i64 inferences = exact::kAllInferences)
      : allocator_(allocator), parts_(parts), seed_(seed), is_first_(is_first), inferences_(inferences), arena_(allocator) {}
  ExactSearch(const ExactSearch &) = delete;
  ExactSearch &operator=(const ExactSearch &) = delete;
  ~ExactSearch() {
    for (i64 c = 0; c < works_.size; ++c)
      if (standings_[c].is_begun) works_[c].~Work();
  }

  // Begin; if this returns false, memory has run out, and nothing else may be called.
  bool begin() {
    standings_ = arena_.array<Standing>(parts_.size());
    works_ = arena_.uncleared_objects<Work>(parts_.size());
    Array<i64> offset = arena_.array<i64>(parts_.instance().n);
    if (arena_.has_failed) return false;
    for (i64 c = 0, at = 0; c < parts_.size(); at += parts_[c++].n) {
      standings_[c] = {parts_.ceiling() + 1, offset.data + at, false, false};
    }
    return true;
  }

  // Take over the components in which a plan of all buffers is better.
  void look(const i64 *whole) {
    for (i64 c = 0; c < parts_.size(); ++c) {
      const Component &part = parts_[c];
      i64 peak = 0;
      for (i64 x = 0; x < part.n; ++x)
        peak = std::max(peak, whole[part.buffers[x]] + parts_.instance().size[part.buffers[x]]);
      if (peak >= standings_[c].peak) continue;
      for (i64 x = 0; x < part.n; ++x) standings_[c].offset[x] = whole[part.buffers[x]];
      standings_[c].peak = peak, standings_[c].has_offset = true;
    }
  }

  // Search until there is a result to share, up to `end` nodes in all; pause between two runs after `pause` more nodes.
  template <class IsOver>
  TurnOutcome turn(i64 end, i64 pause, IsOver &&is_over);

  // Write the offsets of all components if each has some; return the peak, or ABSENT.
  i64 collect(i64 *whole) const {
    const OnePool &instance = parts_.instance();
    i64 peak = 0;
    for (const Standing &each : standings_) {
      if (!each.has_offset) return kAbsent;
      peak = std::max(peak, each.peak);
    }
    for (i64 i = 0; i < instance.n; ++i) {
      whole[i] = instance.pin[i];
      if (whole[i] != kAbsent) peak = std::max(peak, whole[i] + instance.size[i]);
    }
    for (i64 c = 0; c < parts_.size(); ++c)
      for (i64 x = 0; x < parts_[c].n; ++x) whole[parts_[c].buffers[x]] = standings_[c].offset[x];
    return peak;
  }

  i64 nodes = 0;
  i64 bound = 0;            // the least peak that is not refuted
  // true once a run was exhausted after many nodes, because the peak is then probably close to the minimum
  bool is_proving = false;

 private:
  // The best peak and offsets of a component so far, if any.
  struct Standing {
    i64 peak;
    i64 *offset;
    bool has_offset;
    bool is_begun;
  };
  struct Work {
    Random random;
    Rounds rounds;
    DummyRounds dummies;
    CoreRounds cores;
    EjectionRounds ejections;
    bool is_in_round = false;
    Kind kind = kAtBound;
    int order = 0;
    i64 limit = 0;

    Work(Allocator &allocator, Parts &parts, i64 c, u64 seed, bool is_first, i64 inferences)
        : random(seed),
          rounds(allocator, random, inferences, is_first),
          dummies(allocator, parts, c, rounds, random),
          cores(allocator, parts, c, rounds, random),
          ejections(allocator, rounds, random) {}
  };
  Allocator &allocator_;
  Parts &parts_;
  const u64 seed_;
  const bool is_first_;
  const i64 inferences_;
  Arena arena_;
  Array<Standing> standings_{nullptr, 0};
  Array<Work> works_{nullptr, 0};

  i64 hardest() const {
    i64 worst = standings_.size > 0 ? 0 : kAbsent;
    for (i64 c = 1; c < standings_.size; ++c)
      if (standings_[c].peak > standings_[worst].peak) worst = c;
    return worst;
  }

  template <class IsOver>
  Ready begin_component(i64 c, IsOver &&is_over) {
    const Ready ready = parts_.lay_out(c, is_over);
    if (ready != Ready::kReady) return ready;
    Work *work = new (works_.data + c) Work(allocator_, parts_, c, seed_ + 977 * static_cast<u64>(c), is_first_, inferences_);
    Standing &mine = standings_[c];
    mine.is_begun = true;
    if (!work->rounds.begin(parts_.laid_out(c), is_over) || !work->dummies.begin() || !work->cores.begin() ||
        !work->ejections.begin())
      return is_over() ? Ready::kOver : Ready::kFailed;
    work->rounds.start_descent(mine.has_offset ? mine.offset : nullptr, mine.peak);
    return Ready::kReady;
  }

  // Do one run on a component, or a round with dummy buffers or on a core.
  template <class IsOver>
  TurnOutcome step(i64 c, i64 end, IsOver &&is_over) {
    Work &work = works_[c];
    Rounds &rounds = work.rounds;
    if (!work.is_in_round) {
      choose_descent(standings_[c], rounds);
      i64 spent = 0;
      if (work.dummies.is_due(bound, is_over)) {
        const RunResult found = work.dummies.round(end - nodes, spent, is_over);
        nodes += spent;
        if (work.dummies.has_failed()) return TurnOutcome::kFailed;
        return found.outcome == kFound ? take(c, found.offset) : TurnOutcome::kPaused;
      }
      if (work.cores.is_due()) {
        const RunResult found = work.cores.round(standings_[c].peak - 1, end - nodes, spent, is_over);
        nodes += spent;
        if (work.cores.has_failed()) return TurnOutcome::kFailed;
        if (found.outcome == kExhausted) return rule_out(found.need);
        return found.outcome == kFound ? take(c, found.offset) : TurnOutcome::kPaused;
      }
      if (const Standing &mine = standings_[c]; mine.has_offset && work.ejections.is_due()) {
        const RunResult found = work.ejections.round(mine.offset, mine.peak, bound, end - nodes, spent, is_over);
        nodes += spent;
        return found.outcome == kFound ? take(c, found.offset) : TurnOutcome::kPaused;
      }
      work.kind = rounds.next_kind(), work.limit = rounds.begin_round(work.kind);
      work.order = 0, work.is_in_round = true;
    }
    const i64 before = rounds.nodes(), capacity = rounds.capacity(work.kind, bound, parts_.ceiling());
    const RunResult found = rounds.run(work.kind, work.order, capacity, std::min(work.limit, end - nodes), is_over);
    nodes += rounds.nodes() - before;
    if (rounds.has_failed()) return TurnOutcome::kFailed;
    TurnOutcome outcome = TurnOutcome::kPaused;
    if (found.outcome == kExhausted) {
      // A refutation by more nodes than buffers is no accident of one order, so from now on, prefer proofs.
      is_proving = is_proving || rounds.nodes() - before > rounds.size();
      outcome = rule_out(found.need);
    } else if (found.outcome == kFound) {
      outcome = take(c, found.offset);
      rounds.follow(work.kind, found.offset, peak_of(c, found.offset));
    }
    if (found.outcome == kFound || ++work.order == kOrders || standings_[c].peak <= bound) {
      work.is_in_round = false;
      rounds.end_round(work.kind);
    }
    return outcome;
  }

  // End a stalled descent: continue from the best placement of all, or from nothing if that was already the start.
  // For proofs, take the best placement at once, and start no other descents.
  void choose_descent(const Standing &mine, Rounds &rounds) const {
    const bool is_behind = mine.has_offset && (!rounds.has_guide() || mine.peak < rounds.peak());
    rounds.is_proving = is_proving;
    if (is_behind && (is_proving || rounds.is_stalled()))
      rounds.start_descent(mine.offset, mine.peak);
    else if (rounds.is_stalled())
      rounds.start_descent(nullptr, parts_.ceiling() + 1);
  }

  TurnOutcome rule_out(i64 need) {
    // every plan that is moved down fits below the ceiling, so a higher need proves infeasibility
    if (need > parts_.ceiling()) return TurnOutcome::kInfeasible;
    if (need <= bound) return TurnOutcome::kPaused;
    bound = need;
    return TurnOutcome::kRaised;
  }

  i64 peak_of(i64 c, const i64 *offset) const {
    i64 peak = 0;
    for (i64 x = 0; x < parts_[c].n; ++x) peak = std::max(peak, offset[x] + parts_.instance().size[parts_[c].buffers[x]]);
    return peak;
  }

  TurnOutcome take(i64 c, const i64 *offset) {
    const i64 peak = peak_of(c, offset);
    if (peak >= standings_[c].peak) return TurnOutcome::kPaused;
    std::copy(offset, offset + parts_[c].n, standings_[c].offset);
    standings_[c].peak = peak, standings_[c].has_offset = true;
    return TurnOutcome::kBetter;
  }
};

template <class IsOver>
TurnOutcome ExactSearch::turn(i64 end, i64 pause, IsOver &&is_over) {
  for (const i64 pause_at = nodes + pause; nodes < end && !is_over();) {
    const i64 c = hardest();
    if (c == kAbsent || standings_[c].peak <= bound) return TurnOutcome::kProved;
    if (!standings_[c].is_begun) {
      const Ready ready = begin_component(c, is_over);
      if (ready == Ready::kWaits) return TurnOutcome::kWaits;
      if (ready != Ready::kReady) return ready == Ready::kOver ? TurnOutcome::kSpent : TurnOutcome::kFailed;
    }
    if (const TurnOutcome outcome = step(c, end, is_over); outcome != TurnOutcome::kPaused) return outcome;
    if (nodes >= pause_at) return TurnOutcome::kPaused;
  }
  return TurnOutcome::kSpent;
}

}  // namespace memplan
