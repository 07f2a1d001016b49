#include "ejection.hpp"

MEMPLAN_KERNEL memplan_eject(const memplan::ejection::Homes *homes, const memplan::ejection::Ejection *run) {
  return memplan::ejection::Search(*homes, *run).eject();
}
