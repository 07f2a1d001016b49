// Random numbers that are equal on every machine, because they use no distributions of a library and no logarithms.
#pragma once
#include "tables.hpp"

namespace memplan {

// Return a hash of a number: the step of splitmix64 that mixes its bits (Steele, Lea and Flood 2014).
inline u64 mixed(u64 value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

class Random {
 public:
  explicit Random(u64 seed) : state_(seed) {}

  // Return the next number of splitmix64.
  u64 next() {
    state_ += 0x9e3779b97f4a7c15U;
    return mixed(state_);
  }

  double uniform(double low = 0.0, double high = 1.0) {
    return low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53);
  }

  // Return a sum of twelve uniform numbers, with mean 0 and deviation 1: near enough to a normal distribution.
  double noise() {
    double sum = -6.0;
    for (int k = 0; k < 12; ++k) sum += uniform();
    return sum;
  }

 private:
  u64 state_;
};

}  // namespace memplan
