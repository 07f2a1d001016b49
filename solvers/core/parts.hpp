// The components of an instance, arranged once for all search threads.
#pragma once
#include <atomic>

#include "layout.hpp"
#include "random.hpp"

namespace memplan {

enum class Ready { kReady, kWaits, kOver, kFailed };

class Parts {
 public:
  // The instance must exist longer than the parts.
  Parts(Allocator &allocator, const OnePool &instance)
      : arena_(allocator), instance_(instance) {}

  // Find the components; if this returns false, memory has run out, and nothing else may be called.
  bool begin() {
    ceiling_ = ceiling_of(instance_);
    lives_ = lives_of(arena_, instance_);
    if (!arena_.has_failed) rows_ = split(arena_, instance_, lives_);
    i64 largest = 1;
    for (const Component &part : rows_) largest = std::max(largest, part.n);
    code_ = arena_.rows<u64>(largest + largest / 8 + 1, 4);  // also for dummy buffers
    laid_out_ = arena_.uncleared<LaidOut>(rows_.size);
    is_laid_out_ = arena_.array<i64>(rows_.size);
    if (arena_.has_failed) return false;
    Random codes(20261120);
    for (i64 x = 0; x < 4 * code_.size; ++x) code_.data[x] = codes.next();
    return true;
  }

  const OnePool &instance() const { return instance_; }
  i64 ceiling() const { return ceiling_; }  // an end that no plan needs to exceed
  i64 size() const { return rows_.size; }
  const Component &operator[](i64 c) const { return rows_[c]; }
  const LaidOut &laid_out(i64 c) const { return laid_out_[c]; }

  // Arrange the data of a component for the search, unless that is done; only one thread at a time does this.
  template <class IsOver>
  Ready lay_out(i64 c, IsOver &&is_over) {
    const std::atomic_ref<i64> is_laid_out(is_laid_out_[c]);
    if (is_laid_out.load(std::memory_order_acquire)) return Ready::kReady;
    if (is_busy_.test_and_set(std::memory_order_acquire)) return Ready::kWaits;
    Ready ready = Ready::kReady;
    if (!is_laid_out.load(std::memory_order_relaxed)) {
      laid_out_[c] = Layout(arena_, instance_, lives_, rows_[c], code_, ceiling_).laid_out(is_over);
      ready = arena_.has_failed ? Ready::kFailed : laid_out_[c].is_over ? Ready::kOver : Ready::kReady;
      if (ready == Ready::kReady) is_laid_out.store(1, std::memory_order_release);
    }
    is_busy_.clear(std::memory_order_release);
    return ready;
  }

  // Arrange some buffers, followed by dummy buffers, in the caller's memory.
  template <class IsOver>
  LaidOut laid_out(Arena &arena, const Component &component, IsOver &&is_over, Array<Dummy> dummies = {nullptr, 0}) const {
    return Layout(arena, instance_, lives_, component, code_, ceiling_, dummies).laid_out(is_over);
  }

 private:
  Arena arena_;
  const OnePool &instance_;
  i64 ceiling_ = 0;
  Lives lives_{};
  Array<Component> rows_{nullptr, 0};
  Array<LaidOut> laid_out_{nullptr, 0};
  Array<i64> is_laid_out_{nullptr, 0};
  Rows<u64> code_{nullptr, 0, 4};
  std::atomic_flag is_busy_ = ATOMIC_FLAG_INIT;
};

}  // namespace memplan
