// memplan_plan: it compiles a problem, computes a bound, and plans by quick orders and exact search.
#include <optional>

#include "asked.hpp"
#include "bodies.hpp"
#include "bounds.hpp"
#include "check.hpp"
#include "compile.hpp"
#include "keep.hpp"
#include "memories.hpp"
#include "prices.hpp"
#include "quick_orders.hpp"
#include "search.hpp"
#include "windows.hpp"

namespace memplan {

extern template TurnOutcome ExactSearch::turn<Stop &>(i64, i64, Stop &);  // instantiated in search.cpp

namespace {

constexpr i64 kMostLifetimes = 10'000;  // the most lifetimes for the exact search, which lists the pairs that overlap
constexpr i64 kMostWithRules = 2'000;
// the most live sets of all lifetimes, because each run begins with a pass over them
constexpr i64 kMostSlots = 1 << 18;
constexpr i64 kMostBorders = 100'000;   // the most page borders, because each border is an obstacle
// if none of the first orders is near the bound, hardly any later one is, so try only a few
constexpr i64 kFirst = 4;
constexpr double kNear = 1.1;
constexpr i64 kRandomOrders = 200;
constexpr i64 kTurn = 500;  // the nodes of one turn, if two searches take turns

// The best offsets so far, and the proved bounds, in units.
struct Best {
  Array<i64> offset{nullptr, 0};
  i64 peak = kMost;
  i64 bound = 0;
  i64 goal = 0;  // a peak that is sufficient
  i64 cost = 0;  // the proved lower bound on the cost
  bool is_infeasible = false;
  bool is_searched = false;  // true if a search proved the bound
  bool has_failed = false;   // true if memory has run out
};

class Plan {
 public:
  // With `only_fits`, the first plan within the capacity is sufficient; with `only_first`, the first quick order.
  Plan(const memplan_problem &problem, const memplan_options &options, memplan_result &result, Allocator &allocator, Stop &stop,
       bool only_fits = false, bool only_first = false, const i64 *residue = nullptr)
      : problem_(problem),
        options_(options),
        result_(result),
        allocator_(allocator),
        stop_(stop),
        is_within_(only_fits || problem.price_count > 0),
        is_first_(only_first),
        residue_(residue) {}

  void run(i64 *offsets) {
    Arena arena(allocator_);
    search(arena, offsets);
    if ((arena.has_failed || best_.has_failed) && best_.peak == kMost) result_.status = MEMPLAN_OUT_OF_MEMORY;
  }

 private:
  const memplan_problem &problem_;
  const memplan_options &options_;
  memplan_result &result_;
  Allocator &allocator_;
  Stop &stop_;
  Best best_;
  const bool is_within_;  // true if any peak within the capacity is sufficient
  const bool is_first_;   // true if the first quick order is sufficient
  const i64 *const residue_;
  bool is_open_ = false;  // true if the exact search may ignore the capacity

  void search(Arena &arena, i64 *offsets) {
    const OnePool instance = Compiler(arena, problem_, residue_).instance(stop_);
    if (arena.has_failed) return;
    std::optional<Shares> shares;
    if (problem_.share_count > 0) shares.emplace(arena, problem_, instance);
    if (arena.has_failed) return;
    Bounds bounds(arena, instance, shares ? &*shares : nullptr);
    best_.offset = arena.array<i64>(instance.n);
    if (arena.has_failed) return;
    stop_();
    const LiveBound live = bounds.bound();
    best_.bound = live.end, best_.is_infeasible = !live.fits();
    best_.goal = is_within_ ? ceiling_of(instance) : best_.bound;
    if (!best_.is_infeasible && instance.n > 0) find_plan(arena, instance, shares ? &*shares : nullptr);
    if (best_.peak > instance.capacity) best_.peak = kMost;
    if (problem_.price_count > 0 && !best_.is_infeasible && options_.work > 0 && instance.n > 0)
      pay_less(instance, offsets);
    tell(instance, offsets);
  }

  void find_plan(Arena &arena, const OnePool &instance, const Shares *shares) {
    std::optional<BodyPacker> packer;
    if (!instance.is_plain) {
      packer.emplace(arena, instance, problem_, shares);
      if (arena.has_failed) return;
      best_.is_infeasible = !packer->can_fit(stop_) && !stop_.is_over();
      if (best_.is_infeasible || stop_.is_over() || arena.has_failed) return;
    }
    const i64 lifetimes = std::max(instance.n, instance.start.size);
    is_open_ = !is_within_ && *std::max_element(instance.page.begin(), instance.page.end()) == 0;
    const i64 ceiling = is_open_ ? 0 : ceiling_of(instance);
    i64 borders = 0;
    for (i64 i = 0; i < instance.n && borders <= kMostBorders; ++i)
      borders += instance.page[i] > 0 ? ceiling / instance.page[i] : 0;
    i64 slots = 0;
    for (i64 r = 0; r < instance.start.size; ++r) slots += instance.end[r] - instance.start[r];
    const bool is_exact = options_.work > 0 && !instance.has_joins && borders <= kMostBorders && slots <= kMostSlots &&
                          lifetimes <= (instance.is_plain ? kMostLifetimes : kMostWithRules);
    pack_in_orders(arena, instance, packer ? &*packer : nullptr, is_exact);
    if (best_.peak <= best_.goal || stop_.is_over() || arena.has_failed) return;
    if (is_exact) search_exactly(instance);
  }

  // Pack in quick orders; if no search follows, also in orders near the best ones.
  void pack_in_orders(Arena &arena, const OnePool &instance, BodyPacker *packer, bool is_exact_next) {
    Array<i64> start = instance.start, end = instance.end, tried = arena.array<i64>(1);
    const i64 n_sets = std::max<i64>(1, instance.n_sets);
    if (!instance.is_plain) {
      start = arena.array<i64>(instance.n), end = arena.array<i64>(instance.n);
      if (arena.has_failed) return;
      for (i64 i = 0; i < instance.n; ++i) {
        const bool has_life = instance.first[i] < instance.first[i + 1];
        start[i] = has_life ? instance.start[instance.first[i]] : 0;
        end[i] = has_life ? instance.end[instance.first[i + 1] - 1] : n_sets;
      }
    }
    const quick::OrderTask task{instance.size, start, end, instance.step, n_sets,
                                is_exact_next && is_open_ ? kMost : instance.capacity, best_.goal,
                                is_first_ ? 1 : is_exact_next ? kFirst : kMost, is_first_ ? 0 : kNear, best_.offset, tried};
    quick::QuickOrders orders(arena, task);
    if (arena.has_failed) return;
    const auto fit = [&](const quick::Rule &, const u32 *order, i64 limit, i64 *offset) {
      return packer->pack(order, limit, offset, stop_);
    };
    result_.order = static_cast<int32_t>(instance.is_plain ? orders.pack(stop_) : orders.pack_by(stop_, fit));
    result_.orders = static_cast<int32_t>(tried[0]);
    best_.peak = orders.peak();
    if (!is_exact_next && !instance.is_plain && options_.work > 0 && best_.peak > best_.goal)
      pack_at_random(arena, instance, *packer);
  }

  void pack_at_random(Arena &arena, const OnePool &instance, BodyPacker &packer) {
    Random random(options_.seed);
    Array<u32> order = arena.uncleared<u32>(instance.n);
    Array<double> key = arena.uncleared<double>(instance.n);
    Array<i64> offset = arena.array<i64>(instance.n);
    if (arena.has_failed) return;
    i64 left = std::min(kRandomOrders, options_.work / instance.n + 1);
    for (; left > 0 && best_.peak > best_.goal && !stop_(); --left) {
      for (i64 i = 0; i < instance.n; ++i) {
        order[i] = static_cast<u32>(i);
        key[i] = static_cast<double>(instance.size[i]) * random.uniform();
      }
      std::sort(order.begin(), order.end(), [&](u32 a, u32 b) {
        return key.data[a] > key.data[b] || (key.data[a] == key.data[b] && a < b);
      });
      const i64 peak = packer.pack(order.data, std::min(instance.capacity, best_.peak - 1), offset.data, stop_);
      if (peak == kAbsent) continue;
      best_.peak = peak, result_.order = -1;
      std::copy(offset.begin(), offset.end(), best_.offset.data);
    }
  }

  // Search as if there were no capacity, because a capacity close to the least peak would make plans harder to find.
  // If no quick order keeps the capacity, also search within it in turn, which proves sooner that nothing fits.
  // If page borders are listed up to the capacity, or prices count, search only within it.
  void search_exactly(const OnePool &instance) {
    OnePool open = instance;
    if (is_open_) open.capacity = kMost;
    Parts parts[] = {{allocator_, open}, {allocator_, instance}};
    ExactSearch searches[] = {{allocator_, parts[0], options_.seed, true}, {allocator_, parts[1], options_.seed, true}};
    const int count = is_open_ && best_.peak > instance.capacity && best_.goal < instance.capacity ? 2 : 1;
    const i64 work = problem_.price_count > 0 ? options_.work / 2 + 1 : options_.work, pause = count > 1 ? kTurn : work;
    for (int k = 0; k < count; ++k) {
      best_.has_failed = best_.has_failed || !parts[k].begin() || !searches[k].begin();
      searches[k].bound = best_.goal;
    }
    stop_();
    if (best_.has_failed) return;
    if (best_.peak != kMost) searches[0].look(best_.offset.data);
    Arena arena(allocator_);
    Array<i64> whole = arena.array<i64>(instance.n);
    bool is_going[] = {true, count > 1};
    for (int k = count - 1; is_going[0] || is_going[1]; k = (k + 1) % count) {
      if (!is_going[k]) continue;
      const TurnOutcome outcome = searches[k].turn(work, pause, stop_);
      best_.has_failed = outcome == TurnOutcome::kFailed;
      best_.is_searched |= outcome == TurnOutcome::kRaised || outcome == TurnOutcome::kInfeasible;
      if (!is_within_) best_.bound = std::max(best_.bound, searches[k].bound);
      best_.is_infeasible =
          (outcome == TurnOutcome::kInfeasible && parts[k].ceiling() < kLargest) || best_.bound > instance.capacity;
      is_going[k] = outcome == TurnOutcome::kPaused || outcome == TurnOutcome::kBetter || outcome == TurnOutcome::kRaised;
      if (is_going[1] && k == 0 && !arena.has_failed) {  // if it fits, the second search is not needed
        const i64 peak = searches[0].collect(whole.data);
        is_going[1] = peak == kAbsent || peak > instance.capacity;
      }
      if (best_.is_infeasible || (!is_going[k] && outcome != TurnOutcome::kSpent)) break;
    }
    for (int k = 0; k < count; ++k) {
      result_.nodes += searches[k].nodes;
      const i64 peak = arena.has_failed ? kAbsent : searches[k].collect(whole.data);
      if (peak == kAbsent || peak >= best_.peak || peak > instance.capacity) continue;
      best_.peak = peak, result_.order = -1;
      std::copy(whole.begin(), whole.end(), best_.offset.data);
    }
  }

  // Search for a plan that costs less than the known one, if there is one.
  void pay_less(const OnePool &instance, i64 *offsets) {
    const i64 step = price_step(problem_);
    i64 cost = kNoPlan;
    if (best_.peak != kMost) {
      write(instance, offsets);
      cost = cost_of(problem_, offsets) / step;
    }
    const Paid paid = memplan::pay_less(allocator_, problem_, instance, options_.seed, stop_,
                                        options_.work - result_.nodes, cost, best_.offset.data);
    if (paid.is_less) {
      best_.peak = 0, result_.order = -1;
      for (i64 i = 0; i < instance.n; ++i) best_.peak = std::max(best_.peak, best_.offset[i] + instance.size[i]);
    }
    best_.cost = paid.bound * step, best_.is_infeasible = paid.is_infeasible;
    best_.has_failed = best_.has_failed || paid.has_failed;
    result_.nodes += paid.spent;
  }

  void write(const OnePool &instance, i64 *offsets) const {
    for (std::size_t row = 0; row < problem_.count; ++row)
      offsets[row] = problem_.buffers[row].pin == MEMPLAN_FREE ? 0 : problem_.buffers[row].pin;
    for (i64 i = 0; i < instance.n; ++i) offsets[instance.source[i]] = best_.offset[i] * instance.unit;
  }

  // If nothing fits, name a misaligned pin or two pins that overlap, unless the pairs are too many to examine.
  void name_pins(const OnePool &instance) {
    i64 left = 1'000'000;
    for (i64 i = 0; i < instance.n && left > 0; ++i) {
      if (instance.pin[i] == kAbsent) continue;
      if (instance.pin[i] % instance.step[i] != instance.residue[i])
        result_.buffer = result_.other = static_cast<std::size_t>(instance.source[i]);
      for (i64 j = 0; j < i && --left > 0; ++j) {
        const bool is_apart = instance.pin[j] == kAbsent || instance.pin[j] >= instance.pin[i] + instance.size[i] ||
                              instance.pin[j] + instance.size[j] <= instance.pin[i];
        if (is_apart || !instance.conflict(i, j) || (problem_.share_count > 0 && instance.pin[i] == instance.pin[j])) continue;
        result_.buffer = static_cast<std::size_t>(instance.source[j]);
        result_.other = static_cast<std::size_t>(instance.source[i]);
        return;
      }
    }
  }

  void tell(const OnePool &instance, i64 *offsets) {
    result_.bound = best_.bound * instance.unit;
    result_.proof = best_.is_searched ? MEMPLAN_PROOF_SEARCH : MEMPLAN_PROOF_LIVE_SET;
    if (instance.n == 0) best_.peak = 0;
    if (best_.is_infeasible) {
      result_.status = MEMPLAN_INFEASIBLE;
      name_pins(instance);
    } else if (best_.peak == kMost) {
      result_.status = MEMPLAN_UNKNOWN, result_.order = -1;
    } else {
      result_.peak = best_.peak * instance.unit;
      write(instance, offsets);
      result_.cost = cost_of(problem_, offsets);
      const bool is_best = problem_.price_count > 0 ? result_.cost <= best_.cost : best_.peak <= best_.bound;
      result_.status = is_best ? MEMPLAN_OPTIMAL : MEMPLAN_FEASIBLE;
    }
    result_.cost_bound = best_.cost;
  }
};

// Plan memory by memory, each with an equal share of the work that is left.
void plan_memories(const memplan_problem &problem, const memplan_options &given, memplan_result &whole,
                   Allocator &allocator, Stop &stop, i64 *offsets, bool only_first) {
  Arena arena(allocator);
  const Memories memories(arena, problem);
  Array<i64> offset = arena.uncleared<i64>(static_cast<i64>(problem.count));
  if (arena.has_failed) return;
  const memplan_result begun = whole;
  const i64 count = static_cast<i64>(problem.memory_count);
  i64 peak = 0;
  whole.status = MEMPLAN_OPTIMAL;
  for (i64 q = 0; q < count && whole.status != MEMPLAN_INFEASIBLE && whole.status != MEMPLAN_OUT_OF_MEMORY; ++q) {
    memplan_options options = given;
    options.work = std::max<i64>(0, given.work - whole.nodes) / (count - q);
    memplan_result part = begun;
    const memplan_problem own = memories.problem(q);
    Plan(own, options, part, allocator, stop, false, only_first).run(offset.data + memories.first(q));
    whole.nodes += part.nodes, whole.orders += part.orders, whole.bound += part.bound, peak += part.peak;
    if (part.proof == MEMPLAN_PROOF_SEARCH || whole.proof == MEMPLAN_PROOF_NONE) whole.proof = part.proof;
    if (part.status == MEMPLAN_INFEASIBLE)
      whole.status = part.status, whole.bound = part.bound, whole.other = static_cast<std::size_t>(q);
    else
      whole.status = std::max(whole.status, part.status);
  }
  if (whole.status > MEMPLAN_FEASIBLE) return;
  whole.peak = peak, whole.cost = 0;
  for (i64 k = 0; k < offset.size; ++k) offsets[memories.rows()[k]] = offset[k];
}

// Plan memories of equal use as one memory.
void plan_as_one(const memplan_problem &problem, const memplan_options &options, memplan_result &result,
                 Allocator &allocator, Stop &stop, i64 *offsets, bool only_first) {
  Arena arena(allocator);
  OneMemory one(arena, problem);
  Array<i64> offset = arena.uncleared<i64>(static_cast<i64>(problem.count));
  if (arena.has_failed) return;
  if (one.first_at_odds != MEMPLAN_NONE) {
    result.status = MEMPLAN_INFEASIBLE, result.bound = 0;
    result.buffer = one.first_at_odds, result.other = one.other_at_odds;
    return;
  }
  Plan(one.problem(), options, result, allocator, stop, false, only_first).run(offset.data);
  if (result.buffer != MEMPLAN_NONE)
    result.buffer = one.source(result.buffer), result.other = one.source(result.other);
  else if (result.status == MEMPLAN_INFEASIBLE && problem.memory_count > 0)
    result.other = one.smallest();
  for (std::size_t i = 0; i < problem.count && result.status <= MEMPLAN_FEASIBLE; ++i) offsets[i] = offset[one.place(i)];
}

// Plan, and return whether the answer may leave: a plan that keeps all rules, or none because none fits or memory ran out.
bool plan_once(const memplan_problem &problem, const memplan_options &options, memplan_result &result, Allocator &allocator,
               Stop &stop, i64 *offsets, bool only_first = false) {
  if (problem.same_offset != nullptr)
    plan_as_one(problem, options, result, allocator, stop, offsets, only_first);
  else if (problem.memory_count == 0)
    Plan(problem, options, result, allocator, stop, false, only_first).run(offsets);
  else
    plan_memories(problem, options, result, allocator, stop, offsets, only_first);
  if (result.status > MEMPLAN_FEASIBLE) return result.status != MEMPLAN_UNKNOWN;
  const memplan_result seen = check_plan(problem, problem.memory_of, offsets, allocator);
  if (seen.status != MEMPLAN_FEASIBLE) return false;
  result.moved = 0, result.least = result.peak = seen.peak, result.cost = seen.cost;
  if (problem.price_count > 0 ? seen.cost > result.cost_bound : seen.peak > result.bound) result.status = MEMPLAN_FEASIBLE;
  return true;
}

// Return whether no buffer is in a memory with a capacity.
bool is_unlimited(const memplan_problem &problem) {
  for (std::size_t i = 0; i < problem.count; ++i)
    if (memory_of(problem, i).capacity != MEMPLAN_UNLIMITED) return false;
  return true;
}

// Finds plans with pins, in which each buffer stays in its memory.
class PinnedPlan {
 public:
  PinnedPlan(Allocator &allocator, Stop &stop, const memplan_problem &problem, const memplan_options &options)
      : allocator_(allocator), stop_(stop), problem_(problem), options_(options) {}

  bool may_be_in(std::size_t buffer, std::size_t memory) const {
    return problem_.memory_count == 0 || problem_.memory_of[buffer] == memory;
  }
  Fits operator()(const Pins &pins, bool, const Array<std::size_t> &memory, const Array<i64> &offset) const {
    for (i64 i = 0; i < memory.size; ++i) memory[i] = problem_.memory_count > 0 ? problem_.memory_of[i] : 0;
    return fit_memories(allocator_, stop_, problem_, options_, pins, memory, offset);
  }

 private:
  Allocator &allocator_;
  Stop &stop_;
  const memplan_problem &problem_;
  const memplan_options &options_;
};

// Plan without old places first, and then keep as many places as fit with ends near those of the first plan.
void plan_and_keep(const memplan_problem &problem, Asked &asked, i64 *offsets) {
  Stop stop(asked.options);
  memplan_problem bare = problem;
  bare.places = nullptr, bare.place_count = 0;
  memplan_options half = asked.options;
  half.seconds /= 2;
  memplan_result &result = asked.result = memplan_plan(&bare, &half, offsets);
  if (result.status > MEMPLAN_FEASIBLE) return;
  Allocator allocator = asked.allocator();
  count_moves(problem, problem.memory_of, offsets, allocator, result);
  {
    Arena arena(allocator);
    const i64 n = static_cast<i64>(problem.count), p = static_cast<i64>(problem.memory_count);
    const Array<memplan_memory> memories = arena.uncleared<memplan_memory>(p);
    const Array<std::size_t> memory_of = arena.array<std::size_t>(n);
    const Array<i64> ends = arena.array<i64>(p + 1);
    if (arena.has_failed) return void(result.ran_out = 1);
    for (i64 i = 0; i < n; ++i) {
      memory_of[i] = p > 0 ? problem.memory_of[i] : 0;
      i64 &end = ends[static_cast<i64>(memory_of[i])];
      if (problem.buffers[i].size > 0) end = std::max(end, offsets[i] + problem.buffers[i].size);
    }
    for (i64 q = 0; q < p; ++q)
      memories[q] = problem.memories[q], memories[q].capacity = std::min(memories[q].capacity, raised_by(ends[q], asked.options.accept));
    memplan_problem limited = problem;
    limited.memories = memories.data, limited.capacity = std::min(problem.capacity, raised_by(ends[0], asked.options.accept));
    PinnedPlan fit(allocator, stop, limited, asked.options);
    Keeping(arena, limited, memory_of.data, offsets, fit, stop, result).run();
    if (result.peak > result.bound) result.status = MEMPLAN_FEASIBLE;
  }
  result.memory = std::max(result.memory, allocator.most), result.ran_out |= allocator.has_refused;
}

}  // namespace

Fits fit_memories(Allocator &allocator, Stop &stop, const memplan_problem &problem, const memplan_options &given, const Pins &pins,
                  const Array<std::size_t> &memory_of, const Array<i64> &offset) {
  constexpr i64 kMostNodes = 10'000;
  Arena arena(allocator);
  const Array<memplan_buffer> buffers = arena.uncleared<memplan_buffer>(pins.size);
  const Array<i64> found = arena.uncleared<i64>(pins.size);
  if (arena.has_failed) return Fits::kUnknown;
  for (i64 i = 0; i < pins.size; ++i) {
    buffers[i] = problem.buffers[i];
    if (pins[i] != nullptr && buffers[i].size > 0) buffers[i].pin = pins[i]->offset;
  }
  memplan_options options = given;
  options.work = std::min(options.work, kMostNodes);
  memplan_problem whole = problem;
  whole.buffers = buffers.data, whole.memory_of = memory_of.data, whole.places = nullptr, whole.place_count = 0;
  Fits answer = Fits::kYes;
  const auto plan = [&](const memplan_problem &own, i64 *to) {
    memplan_result part{};
    part.status = MEMPLAN_OUT_OF_MEMORY, part.buffer = part.other = MEMPLAN_NONE;
    Plan(own, options, part, allocator, stop, true).run(to);
    if (part.status > MEMPLAN_FEASIBLE) answer = part.status == MEMPLAN_INFEASIBLE ? Fits::kNo : Fits::kUnknown;
  };
  if (problem.memory_count == 0) return plan(whole, offset.data), answer;
  const Memories split(arena, whole);
  if (arena.has_failed) return Fits::kUnknown;
  for (i64 q = 0; q < static_cast<i64>(problem.memory_count) && answer == Fits::kYes; ++q)
    plan(split.problem(q), found.data + split.first(q));
  for (i64 k = 0; k < found.size && answer == Fits::kYes; ++k) offset[static_cast<i64>(split.rows()[k])] = found[k];
  return answer;
}

memplan_result plan_with_residues(const memplan_problem &problem, const memplan_options &options, const i64 *residue, i64 *offsets) {
  Asked asked(&problem, &options, false);
  if (asked.result.rule != MEMPLAN_FINE) return asked.result;
  Allocator allocator = asked.allocator();
  Stop stop(asked.options);
  Plan(problem, asked.options, asked.result, allocator, stop, false, false, residue).run(offsets);
  asked.result.memory = allocator.most;
  return asked.result;
}

}  // namespace memplan

extern "C" memplan_result memplan_plan(const memplan_problem *problem, const memplan_options *options,
                                       int64_t *offsets) {
  memplan::Asked asked(problem, options, offsets == nullptr && problem != nullptr && problem->count > 0);
  if (asked.result.rule == MEMPLAN_FINE && problem->price_count > 0) asked.refuse(memplan::fault_of_prices(*problem));
  if (asked.result.rule != MEMPLAN_FINE) return asked.result;
  if (problem->place_count > 0) return memplan::plan_and_keep(*problem, asked, offsets), asked.result;
  memplan::Allocator allocator = asked.allocator();
  memplan::Stop stop(asked.options);
  memplan_result again = asked.result;
  const bool is_right = memplan::plan_once(*problem, asked.options, asked.result, allocator, stop, offsets);
  const bool is_refused = !is_right && asked.result.status <= MEMPLAN_FEASIBLE;
  if (is_refused || (!is_right && memplan::is_unlimited(*problem))) {
    // Without a capacity, one order finds a plan, whatever the remaining time is. A refused plan is replaced by that of
    // quick orders, or of one order if no time is left.
    memplan_options quick = asked.options;
    quick.work = 0, quick.seconds = 0, quick.cancel = nullptr;
    memplan::Stop never(quick);
    const bool only_first = !is_refused || stop();
    again.nodes = asked.result.nodes;
    if (!memplan::plan_once(*problem, quick, again, allocator, only_first ? never : stop, offsets, only_first))
      again.status = MEMPLAN_UNKNOWN, again.peak = again.cost = -1;
    asked.result = again;
  }
  asked.result.memory = allocator.most, asked.result.ran_out = allocator.has_refused;
  return asked.result;
}

extern "C" const char *memplan_version(void) { return "1.0.0"; }
