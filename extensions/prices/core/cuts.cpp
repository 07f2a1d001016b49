// Cuts from cliques: buffers of which every two must not meet, or cost something, and which are larger than the pool
// together, must share the bytes that they have too many. Which cliques say most, and how much all of them say.
#include "random.hpp"
#include "stack.hpp"

namespace memplan::prices {
namespace {

// See `Cliques` and `Packing` in kernels.py.
struct Cliques {
  Array<i64> size;
  i64 capacity;
  Rows<i64> pair;
  Array<double> saved;
  i64 starts;
  i64 rounds;
  i64 seed;
  double least;
  Array<i64> found;
};

struct Packing {
  Array<double> price;
  Array<double> gain;
  Array<i64> first;
  Array<i64> row;
  Array<double> value;
  Array<i64> basis;
  Array<double> level;
  Array<double> dual;
  i64 most_pivots;
  Array<i64> flag;
};

// Tabu search for a clique whose bytes, less the capacity and what its pairs save already, are the most.
class CliqueSearch {
 public:
  CliqueSearch(const Cliques &run, Arena &arena) : run_(run), n_(run.size.size), random_(static_cast<u64>(run.seed)) {
    lost_ = arena.array<double>(n_), strangers_ = arena.array<i64>(n_);
    is_in_ = arena.array<i64>(n_), free_from_ = arena.array<i64>(n_), best_ = arena.array<i64>(n_);
  }

  i64 run() {
    i64 count = 0, used = 0;
    for (i64 start = 0; start < run_.starts; ++start) {
      const i64 members = climb();
      if (members == 0 || used + members + 1 > run_.found.size) continue;
      run_.found[used++] = members;
      for (i64 k = 0; k < members; ++k) run_.found[used++] = best_[k];
      ++count;
    }
    return count;
  }

 private:
  // Return how many the best clique of one climb has; 0 where it says nothing new.
  i64 climb() {
    lost_.fill(0.0), strangers_.fill(0), is_in_.fill(0), free_from_.fill(-1);
    value_ = -static_cast<double>(run_.capacity);
    double top = run_.least;
    i64 members = 0;
    flip(below(n_));
    for (i64 round = 0; round < run_.rounds; ++round) {
      i64 chosen = kAbsent;
      double most = -1e300;
      for (i64 v = 0; v < n_; ++v) {
        if (free_from_[v] > round || (is_in_[v] == 0 && strangers_[v] > 1)) continue;
        double gain = is_in_[v] != 0 ? -worth(v) : worth(v);
        if (is_in_[v] == 0 && strangers_[v] == 1) gain -= worth(stranger(v));
        gain *= random_.uniform(1.0, 1.1);
        if (gain > most) most = gain, chosen = v;
      }
      if (chosen == kAbsent) break;
      if (is_in_[chosen] == 0 && strangers_[chosen] == 1) leave(stranger(chosen), round);
      if (is_in_[chosen] != 0) {
        leave(chosen, round);
      } else {
        free_from_[chosen] = round + 2;
        flip(chosen);
      }
      if (value_ > top) {
        top = value_, members = 0;
        for (i64 v = 0; v < n_; ++v)
          if (is_in_[v] != 0) best_[members++] = v;
      }
    }
    return members;
  }

  i64 below(i64 most) { return static_cast<i64>(random_.next() % static_cast<u64>(most)); }
  double worth(i64 v) const { return static_cast<double>(run_.size[v]) - lost_[v]; }

  // The one member that a buffer is in no pair with.
  i64 stranger(i64 v) const {
    for (i64 u = 0; u < n_; ++u)
      if (is_in_[u] != 0 && run_.pair[v][u] == 0) return u;
    return v;
  }

  void leave(i64 v, i64 round) {
    flip(v);
    free_from_[v] = round + 5 + below(5);
  }

  void flip(i64 v) {
    const i64 sign = is_in_[v] != 0 ? -1 : 1;
    value_ += static_cast<double>(sign) * worth(v);
    is_in_[v] ^= 1;
    const i64 *const pair = run_.pair[v];
    for (i64 u = 0; u < n_; ++u) {
      if (u == v) continue;
      if (pair[u] == 0)
        strangers_[u] += sign;
      else if (pair[u] > 0)
        lost_[u] += static_cast<double>(sign) * run_.saved[pair[u] - 1];
    }
  }

  const Cliques &run_;
  const i64 n_;
  Random random_;
  double value_ = 0.0;
  Array<double> lost_;
  Array<i64> strangers_, is_in_, free_from_, best_;
};

// The simplex method for: maximise gain * level - overpaid, where the sum over columns of value * level, less what is
// overpaid, is at most the price in each row. Further columns are the slack of the rows, then their overpaid amounts.
class Simplex {
 public:
  Simplex(const Packing &run, Arena &arena)
      : run_(run), rows_(run.price.size), columns_(run.gain.size), inverse_(arena.rows<double>(rows_, rows_)) {
    level_ = arena.array<double>(rows_), entering_ = arena.array<double>(rows_);
    is_basic_ = arena.array<i64>(columns_ + 2 * rows_);
  }

  i64 run() {
    for (i64 r = 0; r < rows_; ++r) {
      run_.basis[r] = columns_ + r;
      is_basic_[columns_ + r] = 1;
      inverse_[r][r] = 1.0;
      level_[r] = run_.price[r];
    }
    i64 pivots = 0;
    for (; pivots < run_.most_pivots && !is_set(run_.flag) && pivot(); ++pivots) {
    }
    run_.level.fill(0.0);
    for (i64 r = 0; r < rows_; ++r)
      if (run_.basis[r] < columns_) run_.level[run_.basis[r]] = level_[r];
    find_duals();
    return pivots;
  }

 private:
  static constexpr double kNear = 1e-9;

  double gain(i64 column) const {
    return column < columns_ ? run_.gain[column] : column < columns_ + rows_ ? 0.0 : -1.0;
  }

  void find_duals() {
    run_.dual.fill(0.0);
    for (i64 r = 0; r < rows_; ++r) {
      const double mine = gain(run_.basis[r]);
      if (mine == 0.0) continue;
      const double *const row = inverse_[r];
      for (i64 k = 0; k < rows_; ++k) run_.dual[k] += mine * row[k];
    }
  }

  // What a column's level would add, by which it enters.
  double reduced(i64 column) const {
    if (column >= columns_ + rows_) return run_.dual[column - columns_ - rows_] - 1.0;
    if (column >= columns_) return -run_.dual[column - columns_];
    double found = run_.gain[column];
    for (i64 k = run_.first[column]; k < run_.first[column + 1]; ++k) found -= run_.value[k] * run_.dual[run_.row[k]];
    return found;
  }

  bool pivot() {
    find_duals();
    i64 column = kAbsent;
    double most = kNear;
    // Where many steps gained nothing, the first column that may enter, which ends every circle (Bland 1977).
    const bool is_stuck = stalled_ > 2 * rows_;
    for (i64 c = 0; c < columns_ + 2 * rows_; ++c) {
      if (is_basic_[c] != 0) continue;
      if (const double found = reduced(c); found > most) {
        most = found, column = c;
        if (is_stuck) break;
      }
    }
    if (column == kAbsent) return false;
    entering_.fill(0.0);
    auto add = [this](i64 row, double value) {
      for (i64 r = 0; r < rows_; ++r) entering_[r] += value * inverse_[r][row];
    };
    if (column >= columns_)
      add((column - columns_) % rows_, column < columns_ + rows_ ? 1.0 : -1.0);
    else
      for (i64 k = run_.first[column]; k < run_.first[column + 1]; ++k) add(run_.row[k], run_.value[k]);
    i64 leaving = kAbsent;
    double least = 1e300;
    for (i64 r = 0; r < rows_; ++r) {
      if (entering_[r] <= kNear) continue;
      const double ratio = level_[r] / entering_[r];
      const bool is_tie = leaving != kAbsent && ratio < least + 1e-12 && ratio > least - 1e-12;
      if (ratio < least - 1e-12 || (is_tie && run_.basis[r] < run_.basis[leaving])) least = std::min(least, ratio), leaving = r;
    }
    if (leaving == kAbsent) return false;
    stalled_ = least * most > 1e-12 ? 0 : stalled_ + 1;
    const double by = 1.0 / entering_[leaving];
    double *const out = inverse_[leaving];
    for (i64 k = 0; k < rows_; ++k) out[k] *= by;
    level_[leaving] *= by;
    for (i64 r = 0; r < rows_; ++r) {
      const double part = entering_[r];
      if (r == leaving || part == 0.0) continue;
      double *const row = inverse_[r];
      for (i64 k = 0; k < rows_; ++k) row[k] -= part * out[k];
      level_[r] = std::max(0.0, level_[r] - part * level_[leaving]);
    }
    is_basic_[run_.basis[leaving]] = 0;
    is_basic_[column] = 1;
    run_.basis[leaving] = column;
    return true;
  }

  const Packing &run_;
  const i64 rows_, columns_;
  i64 stalled_ = 0;
  Rows<double> inverse_;
  Array<double> level_, entering_;
  Array<i64> is_basic_;
};

}  // namespace
}  // namespace memplan::prices

MEMPLAN_KERNEL memplan_find_cliques(const memplan::prices::Cliques *run) {
  return memplan::run_in_arena<memplan::prices::CliqueSearch>(*run);
}

MEMPLAN_KERNEL memplan_pack_prices(const memplan::prices::Packing *run) {
  return memplan::run_in_arena<memplan::prices::Simplex>(*run);
}
