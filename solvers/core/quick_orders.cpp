#include "quick_orders.hpp"

using namespace memplan;

MEMPLAN_KERNEL memplan_pack_in_orders(const quick::OrderTask *task) {
  Allocator allocator;
  Arena arena(allocator);
  quick::QuickOrders orders(arena, *task);
  return arena.has_failed ? kAbsent : orders.pack([task] { return is_set(task->flag); });
}
