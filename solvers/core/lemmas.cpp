// The lemma search, as Python calls it.
#include "handles.hpp"
#include "lemma_proof.hpp"

using namespace memplan;
using namespace memplan::lemmas;

namespace {

// See the tables of the same names in lemmas.py.
struct LemmaQuestion {
  i64 instance;
  Array<i64> capacity;
  i64 seed;
};
struct LemmaTurn {
  i64 most;
  Array<i64> flag;
  Array<i64> offset;
  Array<i64> answer;
};
enum Turned : i64 { kNodes, kSets, kMembers };
struct LemmaSets {
  Array<i64> first;
  Array<i64> member;
  Array<i64> live;
  Array<i64> free;
};
struct LemmaLines {
  i64 sets;
  i64 lemmas;
  Array<i64> need;
  Array<i64> answer;
};
enum Line : i64 { kAddress, kBytes, kLemmas };

struct Proof {
  explicit Proof(const LemmaQuestion &asked) : proof(allocator), arena(allocator), text(arena) {
    instance = *reinterpret_cast<const LemmaInstance *>(asked.instance);
  }
  Allocator allocator;
  LemmaInstance instance;
  LemmaProof proof;
  Arena arena;
  Text text;
};

template <class Use>
void for_each_set(const LemmaProof &proof, Use &&use) {
  for (const LemmaRounds *part : proof.parts())
    for (i64 t = 0; t < part->tables().set_live.size; ++t) use(*part, part->tables(), t);
}

}  // namespace

MEMPLAN_KERNEL memplan_open_lemmas(const LemmaQuestion *asked) {
  return opened<Proof>(*asked, [asked](Proof &made) {
    return made.proof.begin(made.instance, asked->capacity, static_cast<u64>(asked->seed), [] { return false; });
  });
}

MEMPLAN_KERNEL memplan_run_lemmas(Proof *opened, const LemmaTurn *turn) {
  const i64 outcome = opened->proof.run(turn->most, [turn] { return is_set(turn->flag); });
  turn->answer[kNodes] = opened->proof.nodes, turn->answer[kSets] = turn->answer[kMembers] = 0;
  for_each_set(opened->proof, [turn](const LemmaRounds &, const LemmaTables &tables, i64 t) {
    ++turn->answer[kSets], turn->answer[kMembers] += tables.set_first[t + 1] - tables.set_first[t];
  });
  for (const LemmaRounds *part : opened->proof.parts())
    for (i64 x = 0; x < part->offset().size && outcome == kFound; ++x)
      turn->offset[part->tables().buffers[x]] = part->offset()[x];
  return opened->proof.has_failed() ? kNoMemory : outcome;
}

MEMPLAN_KERNEL memplan_lemma_sets(Proof *opened, const LemmaSets *sets) {
  i64 count = 0, members = 0;
  for_each_set(opened->proof, [&](const LemmaRounds &part, const LemmaTables &tables, i64 t) {
    for (i64 q = 0; q < tables.problem.pools; ++q) sets->free[count * tables.problem.pools + q] = part.free_of(t, q);
    sets->live[count] = tables.set_live[t];
    for (i64 a = tables.set_first[t]; a < tables.set_first[t + 1]; ++a) sets->member[members++] = tables.set_member[a];
    sets->first[++count] = members;
  });
  return 0;
}

MEMPLAN_KERNEL memplan_lemma_lines(Proof *opened, const LemmaLines *lines) {
  const LemmaRounds &part = opened->proof.proved();
  const i64 p = opened->instance.pools;
  opened->text.clear();
  lines->answer[kLemmas] = opened->proof.write(opened->text, lines->sets, lines->lemmas, [] { return false; });
  if (opened->arena.has_failed || opened->proof.has_failed()) return kNoMemory;
  lines->need.fill(kGone);
  for (i64 e = 0; e < part.need().size; ++e) lines->need[part.tables().buffers[e / p] * p + e % p] = part.need()[e];
  lines->answer[kAddress] = static_cast<i64>(reinterpret_cast<std::intptr_t>(opened->text.bytes().data));
  lines->answer[kBytes] = opened->text.bytes().size;
  return 0;
}

MEMPLAN_KERNEL memplan_close_lemmas(Proof *proof) { return closed(proof); }
