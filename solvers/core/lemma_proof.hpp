// The proof that buffers do not fit under given capacities, for which one part that does not fit is sufficient.
#pragma once
#include "lemma_text.hpp"

namespace memplan::lemmas {

// the outcome if all parts fit, except for parts with too many buffers to be searched
inline constexpr i64 kTooLarge = -3;

class LemmaProof {
 public:
  explicit LemmaProof(Allocator &allocator) : allocator_(allocator), arena_(allocator), parts_(arena_) {}
  LemmaProof(const LemmaProof &) = delete;
  LemmaProof &operator=(const LemmaProof &) = delete;
  ~LemmaProof() {
    for (LemmaRounds *part : parts_) part->~LemmaRounds();
  }

  // Begin; return false if memory has run out or time is over. Instance and capacities are read until the end.
  template <class IsOver>
  bool begin(const LemmaInstance &instance, const Array<i64> &capacity, u64 seed, IsOver &&is_over) {
    instance_ = &instance, capacity_ = capacity, seed_ = seed;
    Array<i64> part = arena_.array<i64>(instance.size.size);
    Array<bool> kept = arena_.array<bool>(instance.size.size);
    if (arena_.has_failed) return false;
    const i64 count = number_parts(part);
    for (i64 k = 0; k < count && !arena_.has_failed; ++k) {
      if (is_over()) return false;
      i64 size = 0;
      for (i64 i = 0; i < part.size; ++i) kept[i] = part[i] == k, size += kept[i];
      has_large_ = has_large_ || size > kMostBuffers;
      if (size > 0 && size <= kMostBuffers && add(kept, is_over) == nullptr) return false;
    }
    return !arena_.has_failed;
  }

  // Search about `most` more nodes: EXHAUSTED with a proof, FOUND with all offsets, TOO_LARGE, or STOPPED if undecided.
  template <class IsOver>
  i64 run(i64 most, IsOver &&is_over) {
    const i64 end = nodes + most;
    for (bool is_open = true; is_open;) {
      is_open = false;
      // It is unknown which part has a short proof, so search the parts in turn.
      for (LemmaRounds *part : parts_) {
        if (part->outcome == kFound) continue;
        if (nodes >= end || is_over()) return kStopped;
        const i64 before = part->nodes, outcome = part->run(std::min(kTurn, end - nodes), is_over);
        nodes += part->nodes - before, is_open = is_open || outcome == kStopped;
        if (outcome == kExhausted) return shorten(part, is_over), outcome;
        if ((arena_.has_failed = part->has_failed())) return kStopped;
      }
    }
    return has_large_ ? kTooLarge : kFound;
  }

  bool has_failed() const { return arena_.has_failed; }
  const Growing<LemmaRounds *> &parts() const { return parts_; }
  // Return the part that is proved not to fit.
  const LemmaRounds &proved() const { return *proved_; }

  // Write the proof, or a part if time is over; return its number of lemmas. The claim already has `sets` and `lemmas`.
  template <class IsOver>
  i64 write(Text &text, i64 sets, i64 lemmas, IsOver &&is_over) {
    LemmaText lines(arena_, *instance_, *proved_);
    const i64 count = lines.count();
    if (!arena_.has_failed) lines.write(text, sets, lemmas, is_over);
    return count;
  }

  i64 nodes = 0;

 private:
  static constexpr i64 kMostBuffers = 4'000;  // the most buffers of a part, because conflicting pairs are listed
  static constexpr i64 kTurn = 20'000;
  static constexpr i64 kLong = 12'000;  // for proofs with more lemmas (about 0.9 MB), seek shorter ones
  Allocator &allocator_;
  Arena arena_;
  Growing<LemmaRounds *> parts_;
  const LemmaInstance *instance_ = nullptr;
  LemmaRounds *proved_ = nullptr;
  Array<i64> capacity_{nullptr, 0};
  u64 seed_ = 0;
  bool has_large_ = false;

  // Number the parts that no lifetime connects; with named conflicts or several pools, there is only one part.
  i64 number_parts(Array<i64> &part) {
    const LemmaInstance &given = *instance_;
    if (given.pair.size > 0 || given.pools > 1) return 1;
    Array<i64> number = arena_.array<i64>(given.n_sets + 2);
    if (arena_.has_failed) return 0;
    const auto is_alive = [&given](i64 i) { return given.first[i] < given.first[i + 1]; };
    for (i64 i = 0; i < part.size; ++i)
      if (is_alive(i)) ++number[given.start[given.first[i]] + 1], --number[given.end[given.first[i + 1] - 1]];
    i64 crossing = 0, count = 0;
    for (i64 t = 0; t < given.n_sets; ++t) {
      crossing += number[t];
      count += crossing == 0;  // no buffer is alive both before this live set and in it
      number[t] = count;
    }
    for (i64 i = 0; i < part.size; ++i) part[i] = is_alive(i) ? number[given.start[given.first[i]]] : 0;
    return count + 1;
  }

  template <class IsOver>
  LemmaRounds *add(const Array<bool> &kept, IsOver &&is_over) {
    const Array<LemmaRounds> room = arena_.uncleared_objects<LemmaRounds>(1);
    if (arena_.has_failed) return nullptr;
    LemmaRounds *made = new (room.data) LemmaRounds(allocator_, seed_);
    parts_.push(made);
    if (arena_.has_failed) return made->~LemmaRounds(), nullptr;
    if (made->begin(*instance_, kept, capacity_, is_over)) return made;
    arena_.has_failed = made->has_failed();
    return nullptr;
  }

  // Look for a proof with fewer lemmas, among the buffers that the known proof names.
  template <class IsOver>
  void shorten(LemmaRounds *part, IsOver &&is_over) {
    proved_ = part;
    Array<bool> kept = arena_.array<bool>(instance_->size.size);
    while (!arena_.has_failed && !is_over()) {
      const i64 lemmas = LemmaText(arena_, *instance_, *proved_).count(), p = instance_->pools;
      if (lemmas <= kLong) return;
      kept.fill(false);
      for (i64 e = 0; e < proved_->need().size; ++e)
        if (proved_->need()[e] != kGone) kept[proved_->tables().buffers[e / p]] = true;
      LemmaRounds *again = add(kept, is_over);
      // Allow only as many nodes as the first proof took; if memory runs out, the first proof is kept.
      if (again == nullptr || again->run(proved_->nodes, is_over) != kExhausted) break;
      if (LemmaText(arena_, *instance_, *again).count() >= lemmas) break;
      proved_ = again;
    }
    arena_.has_failed = false;
  }
};

}  // namespace memplan::lemmas
