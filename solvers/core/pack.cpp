#include "pack.hpp"

using namespace memplan;

MEMPLAN_KERNEL memplan_pack(const packing::PackRules *rules, const packing::PackWorkspace *workspace,
                            const packing::PackOrder *wanted) {
  return packing::Packer(*rules, *workspace, *wanted).pack([wanted] { return is_set(wanted->flag); });
}
