// Lower bounds on the peak that follow from sizes, alignments and live sets alone.
#pragma once
#include <numeric>

#include "arena.hpp"
#include "instance.hpp"
#include "shares.hpp"

namespace memplan {

// The reason of a bound: a live set, with sizes in cells of `step` if its buffers are on that grid, or a single buffer.
enum Ground : i64 { kNoGround, kLiveSet, kLargestBuffer };
struct Witness {
  i64 ground = kNoGround;
  i64 at = 0;
  i64 step = 1;
};

// Lower bounds on the peak of every plan, in units.
struct LiveBound {
  i64 end = 0;
  i64 load = 0;     // the largest load of a live set
  i64 missing = 0;  // above 0 if nothing fits
  Witness why;
  Witness overfull;
  bool fits() const { return missing == 0; }

  void raise(i64 to, const Witness &witness) {
    if (to > end) end = to, why = witness;
  }
  void lack(i64 bytes, const Witness &witness) {
    if (bytes > 0) missing = bytes, overfull = witness;
  }
};

// Computes the largest load of a live set, rounded up to grids of alignments, and the largest end of a single buffer.
class Bounds {
 public:
  Bounds(Arena &arena, const OnePool &instance, const Shares *shares = nullptr) : instance_(instance), shares_(shares) {
    load_ = arena.array<i64>(instance.n_sets + 1);
    sorted_ = arena.uncleared<i64>(instance.n);
  }

  LiveBound bound() {
    LiveBound found;
    fill(1);
    for (i64 t = 0; t < instance_.n_sets; ++t) found.raise(load_[t], {kLiveSet, t, 1});
    found.load = found.end;
    found.lack(found.end - instance_.capacity, found.why);
    for (i64 i = 0; i < instance_.n; ++i) {
      const i64 lowest = instance_.pin[i] == kAbsent ? instance_.lowest[i] : instance_.pin[i];
      found.raise(lowest + instance_.size[i], {kLargestBuffer, i, 1});
    }
    if (instance_.is_plain) round_up(found);
    found.lack(found.end - instance_.capacity, found.why);
    return found;
  }

 private:
  static constexpr int kGrids = 4, kPeaks = 8;
  const OnePool &instance_;
  const Shares *const shares_;
  Array<i64> load_, sorted_;

  static i64 rounded(i64 size, i64 step) { return size + floor_mod(-size, step); }

  // Fill `load_` with the load of each live set, counting only buffers on the grid of `step`, in cells of `step`.
  void fill(i64 step) {
    load_.fill(0);
    for (i64 i = 0; i < instance_.n; ++i) {
      if (instance_.step[i] % step != 0) continue;
      const i64 size = rounded(instance_.size[i], step);
      for (i64 r = instance_.first[i]; r < instance_.first[i + 1] && shares_ == nullptr; ++r)
        load_[instance_.start[r]] += size, load_[instance_.end[r]] -= size;
      for (i64 x = shares_ ? shares_->own_first[i] : 0; shares_ && x < shares_->own_end[i]; ++x)
        load_[shares_->own.begin()[x].low] += size, load_[shares_->own.begin()[x].high] -= size;
    }
    for (i64 t = 1; t < load_.size; ++t) load_[t] += load_[t - 1];
  }

  // Raise the bound by grids of offsets: the greatest common divisor of all alignments, and the commonest ones.
  void round_up(LiveBound &found) {
    const auto is_more = [](const Grid &a, const Grid &b) { return a.count > b.count; };
    Grid grids[kGrids + 2] = {};
    int n_grids = 0;
    i64 common = 0;
    std::copy(instance_.step.begin(), instance_.step.end(), sorted_.data);
    std::sort(sorted_.data, sorted_.data + sorted_.size, [](i64 a, i64 b) { return a < b; });
    for (i64 i = 0, j; i < sorted_.size; i = j) {
      for (j = i; j < sorted_.size && sorted_[j] == sorted_[i]; ++j) {
      }
      common = std::gcd(common, sorted_[i]);
      grids[n_grids] = {sorted_[i], j - i};
      for (int at = n_grids; at > 0 && is_more(grids[at], grids[at - 1]); --at) std::swap(grids[at], grids[at - 1]);
      n_grids = std::min(n_grids + 1, kGrids);
    }
    grids[n_grids++] = {common, 0};
    // There are few grids, so sort them by insertion: GCC warns about std::sort here.
    for (int x = 1; x < n_grids; ++x)
      for (int at = x; at > 0 && grids[at].step < grids[at - 1].step; --at) std::swap(grids[at], grids[at - 1]);
    for (int x = 0; x < n_grids; ++x)
      if (grids[x].step > (x > 0 ? grids[x - 1].step : 1)) round_up_to(grids[x].step, found);
  }

  struct Grid {
    i64 step, count;
  };

  void round_up_to(i64 step, LiveBound &found) {
    fill(step);
    i64 top[kPeaks + 1];
    int n_top = 0;
    for (i64 t = 0; t < instance_.n_sets; ++t) {
      top[n_top] = t;
      for (int at = n_top; at > 0 && load_[top[at]] > load_[top[at - 1]]; --at) std::swap(top[at], top[at - 1]);
      n_top = std::min(n_top + 1, kPeaks);
    }
    if (n_top == 0 || load_[top[0]] == 0) return;
    const i64 cells = instance_.capacity / step + (instance_.capacity % step != 0);
    // Report the first of two reasons, unless it only repeats the bound itself.
    if (found.fits() && load_[top[0]] / step > cells) found.lack(load_[top[0]] - cells * step, {kLiveSet, top[0], step});
    for (int x = 0; x < n_top; ++x) {
      i64 waste = 0;  // the topmost buffer's padding does not count, so subtract the largest padding
      for (i64 i = 0; i < instance_.n; ++i)
        if (instance_.start[i] <= top[x] && top[x] < instance_.end[i] && instance_.step[i] % step == 0)
          waste = std::max(waste, rounded(instance_.size[i], step) - instance_.size[i]);
      found.raise(load_[top[x]] - waste, {kLiveSet, top[x], step});
    }
  }
};

}  // namespace memplan
