#include "lemmas.hpp"

using namespace memplan::lemmas;

MEMPLAN_KERNEL memplan_prove_unfit(const LemmaProblem *problem, const LemmaState *state, const LemmaStore *store,
                                   const LemmaRun *run) {
  return Search(*problem, *state, *store, *run).prove([run] { return memplan::is_set(run->flag); });
}
