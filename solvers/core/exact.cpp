#include "exact.hpp"

using namespace memplan;

MEMPLAN_KERNEL memplan_lay_out(const exact::Sections *sections, const exact::SectionFacts *facts) {
  return exact::lay_out(*sections, *facts, [] { return false; });
}

MEMPLAN_KERNEL memplan_search(const exact::Sections *sections, const exact::State *state, const exact::ExactRun *run) {
  return exact::search(*sections, *state, *run, [run] { return is_set(run->flag); });
}
