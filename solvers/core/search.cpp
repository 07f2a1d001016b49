// The exact search that memplan_plan runs, compiled as a separate source.
#include "asked.hpp"
#include "search.hpp"

namespace memplan {

template TurnOutcome ExactSearch::turn<Stop &>(i64, i64, Stop &);

}  // namespace memplan
