// The check of offsets by which memplan_plan and memplan_choose pass each plan before they return it.
#pragma once
#include "arena.hpp"
#include "memplan.h"

namespace memplan {

// Return what memplan_check returns for a problem that keeps all rules: FEASIBLE, or INVALID with the rule that the
// offsets break. Takes O(n log n) and 60 bytes a buffer, or, if there are shares or no memory is left, O(n^2).
memplan_result check_offsets(const memplan_problem &problem, const i64 *offsets, Allocator &allocator);

}  // namespace memplan
