// The table of a graph whose operations may run again.
#pragma once
#include "stack.hpp"

namespace memplan::order {

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

}  // namespace memplan::order
