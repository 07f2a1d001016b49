// What the complete searches share: the graph whose operations may run again, and the bytes that may be away meanwhile.
#pragma once
#include "graph.hpp"

namespace memplan::order {

constexpr i64 kEndless = i64{1} << 60;
constexpr i64 kCompared = 128;  // states that are alike and are compared with a new one
constexpr i64 kLooksPerNode = 32, kLooksBetweenFlags = 1024;
constexpr double kRounding = 1e-12;

enum Outcome : i64 { kLeast = 1, kNone = 0, kStopped = -1 };

// Bytes that may be away while an operation runs, and what it takes to make them again.
struct Freed {
  i64 maker, bytes;
  double per_byte;
};

}  // namespace memplan::order
