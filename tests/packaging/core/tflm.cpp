// The bytes of the fast arena, then buffers of a line each, `size first last`; writes their offsets.
#include <iostream>

#include "tflm_planner.h"

int main() {
  int fast, size, first, last;
  std::cin >> fast;
  static tflite::TwoArenaPlanner planner(fast, fast);
  while (std::cin >> size >> first >> last)
    if (planner.AddBuffer(size, first, last) != kTfLiteOk) return 1;
  for (int i = 0, offset; i < planner.GetBufferCount(); ++i) {
    if (planner.GetOffsetForBuffer(i, &offset) != kTfLiteOk) return 1;
    std::cout << offset << '\n';
  }
}
