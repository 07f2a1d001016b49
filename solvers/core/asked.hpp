// The validated arguments of a call of memplan.h, and the conditions that may end the call early.
#pragma once
#include <time.h>

#include "arena.hpp"
#include "door.hpp"

#ifdef _WIN32  // Declare these functions as <windows.h> does, so that the header need not be included.
extern "C" __declspec(dllimport) int __stdcall QueryPerformanceCounter(union _LARGE_INTEGER *);
extern "C" __declspec(dllimport) int __stdcall QueryPerformanceFrequency(union _LARGE_INTEGER *);
#endif

namespace memplan {

// Return the time of a monotonic clock in seconds.
inline double now() {
#ifdef _WIN32
  i64 ticks = 0, a_second = 1;
  QueryPerformanceCounter(reinterpret_cast<_LARGE_INTEGER *>(&ticks));
  QueryPerformanceFrequency(reinterpret_cast<_LARGE_INTEGER *>(&a_second));
  return static_cast<double>(ticks) / static_cast<double>(a_second);
#else
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
#endif
}

// Return true if the clock or the caller ends the search.
class Stop {
 public:
  explicit Stop(const memplan_options &options) : options_(options), end_(options.seconds > 0 ? now() + options.seconds : 0) {}

  bool operator()() {
    if (!is_over_ && options_.cancel != nullptr && options_.cancel(options_.context) != 0) is_over_ = true;
    if (!is_over_ && options_.seconds > 0 && now() >= end_) is_over_ = true;
    return is_over_;
  }
  bool is_over() const { return is_over_; }
  double left() const { return end_ - now(); }

 private:
  const memplan_options &options_;
  const double end_;
  bool is_over_ = false;
};

// The options of a call and its initial result; if an argument breaks a rule, this is also the final result.
struct Asked {
  memplan_options options{};
  memplan_result result{};

  Asked(const memplan_problem *problem, const memplan_options *given, bool has_null, bool is_choice = false) {
    result.status = MEMPLAN_INVALID, result.order = -1, result.peak = result.cost = result.moved = -1;
    result.buffer = result.other = MEMPLAN_NONE;
    options.work = kDefaultWork;
    if (given != nullptr) options = *given;
    if (problem == nullptr || has_null) {
      result.rule = MEMPLAN_NULL_POINTER;
      return;
    }
    result.rule = Door(*problem, is_choice).fault(result.buffer);
    if (result.rule == MEMPLAN_FINE && !is_right()) result.rule = MEMPLAN_OPTION_WRONG;
    if (result.rule == MEMPLAN_FINE) result.status = MEMPLAN_OUT_OF_MEMORY;
    if (result.rule == MEMPLAN_FINE || result.rule == MEMPLAN_OPTION_WRONG) result.buffer = MEMPLAN_NONE;
  }

  void refuse(memplan_rule rule) {
    if ((result.rule = rule) != MEMPLAN_FINE) result.status = MEMPLAN_INVALID;
  }

  Allocator allocator() const {
    Allocator made;
    made.allocate = options.allocate, made.release = options.release, made.context = options.arena;
    return made;
  }

 private:
  static constexpr i64 kDefaultWork = 100'000;

  bool is_right() const {
    return options.work >= 0 && options.seconds >= 0 && options.accept >= 0 && (options.allocate == nullptr) == (options.release == nullptr);
  }
};

}  // namespace memplan
