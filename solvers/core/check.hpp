// The check of memplan_check, which every plan of memplan_plan and memplan_choose passes before it is returned.
#pragma once
#include "arena.hpp"
#include "memplan.h"

namespace memplan {

// Return what memplan_check returns for a problem with these memories of the buffers. Takes O(n log n) with up to 70 bytes
// per buffer of the allocator, or O(n^2) if the allocator refuses them.
memplan_result check_plan(memplan_problem problem, const std::size_t *memory_of, const i64 *offsets, Allocator &allocator);

}  // namespace memplan
