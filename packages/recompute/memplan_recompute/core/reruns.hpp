// What the complete searches share: the graph whose operations may run again, and the bytes that may be away meanwhile.
#pragma once
#include "stack.hpp"

namespace memplan::order {

constexpr i64 kEndless = i64{1} << 60;
constexpr i64 kCompared = 128;  // states that are alike and are compared with a new one
constexpr i64 kLooksPerNode = 32, kLooksBetweenFlags = 1024;
constexpr double kRounding = 1e-12;

enum Outcome : i64 { kLeast = 1, kNone = 0, kStopped = -1 };

// See `Reruns` in kernels.py.
struct Reruns {
  Array<i64> input_first;
  Array<i64> input;
  Array<i64> output_first;
  Array<i64> output;
  Array<i64> before_first;
  Array<i64> before;
  Array<i64> behind_first;
  Array<i64> behind;
  Array<i64> is_again;
  Array<i64> work;
  Array<i64> cost;
  Array<i64> size;
  Array<i64> maker;
  Array<i64> is_there;
  Array<i64> is_kept;
};

// Bytes that may be away while an operation runs, and what it takes to make them again.
struct Freed {
  i64 maker, bytes;
  double per_byte;
};

}  // namespace memplan::order
