// The text of a certificate, `memplan-lemmas/1`: sets, lemmas, and the refutation of the claim; see
// docs/certificates.md.
#pragma once
#include "lemma_rounds.hpp"

namespace memplan::lemmas {

// A text that grows by words and numbers.
class Text {
 public:
  explicit Text(Arena &arena) : bytes_(arena) {}

  Text &operator<<(const char *word) {
    for (; *word != '\0'; ++word) bytes_.push(*word);
    return *this;
  }
  Text &operator<<(i64 number) {
    char digits[20];
    int count = 0;
    for (u64 left = number < 0 ? -static_cast<u64>(number) : static_cast<u64>(number); left > 0 || count == 0; left /= 10)
      digits[count++] = static_cast<char>('0' + left % 10);
    if (number < 0) bytes_.push('-');
    while (count > 0) bytes_.push(digits[--count]);
    return *this;
  }
  Array<char> bytes() const { return bytes_.array(); }
  void clear() { bytes_.size = 0; }

 private:
  Growing<char> bytes_;
};

// Writes the lemmas that an exhausted search has learnt, as far as its final refutation needs them.
class LemmaText {
 public:
  LemmaText(Arena &arena, const LemmaInstance &instance, const LemmaRounds &rounds)
      : arena_(arena), instance_(instance), tables_(rounds.tables()), store_(rounds.store()), rounds_(rounds) {}

  // Mark the lemmas that the final refutation needs, and return their number.
  i64 count() {
    number_ = arena_.uncleared<i64>(store_.size);
    Growing<i64> waiting(arena_);
    i64 lemmas = 0;
    if (arena_.has_failed) return 0;
    number_.fill(kAbsent);
    const auto need = [&](i64 k) {
      if (k < 0 || number_[k] != kAbsent) return;
      number_[k] = 0;
      waiting.push(k);
    };
    for (need(rounds_.root()); waiting.size > 0; ++lemmas) {
      const i64 k = waiting.end()[-1];
      --waiting.size;
      for (i64 x = 0; x < refs_of(k); ++x) need(store_.refs[k][x]);
    }
    return lemmas;
  }

  // Write the lines of the proof, or a part if time is over; the claim already has `sets` sets and `lemmas` lemmas.
  template <class IsOver>
  void write(Text &text, i64 sets, i64 lemmas, IsOver &&is_over) {
    Pace pace(is_over);
    set_ = arena_.uncleared<i64>(tables_.set_live.size);
    if (arena_.has_failed) return;
    set_.fill(kAbsent);
    for (i64 k = 0; k < store_.size; ++k) {
      if (number_[k] == kAbsent) continue;
      number_[k] = lemmas++;
      for (i64 x = 0; x < refs_of(k); ++x) name_set(text, store_.refs[k][x], sets);
    }
    name_set(text, rounds_.root(), sets);
    for (i64 k = 0; k < store_.size && !pace(1); ++k) {
      if (number_[k] == kAbsent) continue;
      write_lemma(text, k);
      pace(kPerEntry * (store_.first[k + 1] - store_.first[k]));
    }
    text << "end ";
    if (rounds_.root() == kAlone)
      text << "!" << row_of(std::max_element(rounds_.need().begin(), rounds_.need().end()) - rounds_.need().begin());
    else
      write_ref(text, rounds_.root());
    text << "\n";
  }

 private:
  static constexpr i64 kPerEntry = 16;
  Arena &arena_;
  const LemmaInstance &instance_;
  const LemmaTables &tables_;
  const LemmaStore &store_;
  const LemmaRounds &rounds_;
  Array<i64> number_{nullptr, 0};  // the numbers of the needed lemmas, in the order in which they were found
  Array<i64> set_{nullptr, 0};     // the number of each set, once the set is named

  i64 pools() const { return tables_.problem.pools; }
  i64 refs_of(i64 k) const { return store_.branch[k] < 0 ? pools() : 2; }
  i64 row_of(i64 entry) const { return instance_.source[tables_.buffers[entry / pools()]]; }

  // A reference to a set, with a granule and a group of pools.
  struct Leaf {
    i64 set, granule, group;
  };
  Leaf leaf_of(i64 ref) const {
    const i64 code = -3 - ref, groups = i64{1} << pools(), granules = tables_.problem.granule.size;
    return {code / groups / granules, code / groups % granules, code % groups};
  }

  void name_set(Text &text, i64 ref, i64 &sets) {
    if (ref >= kAlone) return;
    const i64 t = leaf_of(ref).set;
    if (set_[t] != kAbsent) return;
    set_[t] = sets++;
    text << "set ";
    if (tables_.set_live[t] != kAbsent) {
      text << "time " << instance_.time[tables_.set_live[t]];
    } else {
      text << "of";
      for (i64 a = tables_.set_first[t]; a < tables_.set_first[t + 1]; ++a)
        text << " " << instance_.source[tables_.set_member[a]];
    }
    text << "\n";
  }

  void write_ref(Text &text, i64 ref) const {
    if (ref >= 0) {
      text << number_[ref];
    } else if (ref >= kAlone) {
      text << "-";
    } else {
      const Leaf leaf = leaf_of(ref);
      const LemmaProblem &problem = tables_.problem;
      const bool is_one = (leaf.group & (leaf.group - 1)) == 0;
      i64 q = 0, granule = 1, remainder = 0;
      while (leaf.group >> q > 1) ++q;
      if (leaf.granule > 0 || !is_one) granule = problem.granule[leaf.granule] * instance_.unit;
      if (leaf.granule > 0 && is_one) remainder = problem.remainder[leaf.granule * pools() + q] * instance_.unit;
      text << "@" << set_[leaf.set];
      if (granule != 1 || remainder != 0 || leaf.group != 1) text << ":" << granule << ":" << remainder << ":" << leaf.group;
    }
  }

  void write_lemma(Text &text, i64 k) {
    const i64 branch = store_.branch[k], p = pools();
    text << (branch < 0 ? "s " : "l ") << (branch < 0 ? row_of((-1 - branch) * p) : row_of(branch));
    for (i64 x = 0; x < refs_of(k); ++x) write_ref(text << " ", store_.refs[k][x]);
    // A search changes the order of a lemma's entries, so sort them before they are written.
    const i64 first = store_.first[k], count = store_.first[k + 1] - first;
    Range *rows = scratch(count);
    if (rows == nullptr) return;
    for (i64 x = 0; x < count; ++x) rows[x] = {store_.entry[first + x], store_.value[first + x]};
    std::sort(rows, rows + count, [](const Range &a, const Range &b) { return a.low < b.low; });
    for (i64 x = 0; x < count;) {
      const i64 i = rows[x].low / p;
      text << " " << row_of(rows[x].low);
      for (i64 q = 0; q < p; ++q) {
        const bool is_said = x < count && rows[x].low == i * p + q;
        const i64 low = is_said ? rows[x++].high : kFar;
        text << (q == 0 ? ":" : ",");
        if (low >= kFar) text << "-";
        else text << low * instance_.unit;
      }
    }
    text << "\n";
  }

  Range *scratch(i64 count) {
    if (scratch_.size < count) scratch_ = arena_.uncleared<Range>(2 * count);
    return scratch_.data;
  }
  Array<Range> scratch_{nullptr, 0};
};

}  // namespace memplan::lemmas
