// Rounds on a problem other than the component itself, which is constructed, searched for a while, and given up.
#pragma once
#include <new>

#include "parts.hpp"
#include "rounds.hpp"

namespace memplan {

class InnerRounds {
 public:
  InnerRounds(Allocator &allocator, Random &random, i64 inferences, i64 most_rows)
      : allocator_(allocator), random_(random), inferences_(inferences), most_rows_(most_rows), memory_(allocator) {}
  InnerRounds(const InnerRounds &) = delete;
  InnerRounds &operator=(const InnerRounds &) = delete;
  ~InnerRounds() { end(); }

  // Begin rounds on the component that `laid_out` builds; return false if memory has run out or the search is over.
  template <class LaidOutIn, class IsOver>
  bool begin(LaidOutIn &&laid_out, IsOver &&is_over) {
    end();
    const LaidOut made = laid_out(memory_);
    if (memory_.has_failed || made.is_over) return false;
    new (room_) Rounds(allocator_, random_, inferences_, true, most_rows_);
    is_begun_ = true;
    if (rounds().begin(made, is_over)) return true;
    has_failed_ = rounds().has_failed();
    end();
    return false;
  }

  void end() {
    if (is_begun_) rounds().~Rounds();
    is_begun_ = false;
    memory_.release();
  }

  bool is_begun() const { return is_begun_; }
  bool has_failed() { return has_failed_ || memory_.has_failed || (is_begun_ && rounds().has_failed()); }
  Rounds &rounds() { return *std::launder(reinterpret_cast<Rounds *>(room_)); }

 private:
  Allocator &allocator_;
  Random &random_;
  const i64 inferences_, most_rows_;
  Arena memory_;
  bool is_begun_ = false, has_failed_ = false;
  alignas(Rounds) unsigned char room_[sizeof(Rounds)];
};

}  // namespace memplan
