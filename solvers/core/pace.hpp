// A check whether time is over, made after each piece of work of about a tenth of a millisecond.
#pragma once
#include "tables.hpp"

namespace memplan {

template <class IsOver>
class Pace {
 public:
  explicit Pace(IsOver &is_asked) : is_asked_(is_asked) {}

  bool operator()(i64 work) {
    if ((left_ -= work) <= 0 && !is_over_) left_ = kWork, is_over_ = is_asked_();
    return is_over_;
  }
  bool is_over() const { return is_over_; }

 private:
  static constexpr i64 kWork = 1 << 16;
  IsOver &is_asked_;
  i64 left_ = kWork;
  bool is_over_ = false;
};

}  // namespace memplan
