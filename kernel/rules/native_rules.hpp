// The native rules, each known by its number in exrp.h. kernel/rules/native_rules.cpp, the only file that names rules, has the list.
#pragma once

#include <memory>

#include "kernel/rules/eviction_policy.hpp"
#include "kernel/rules/pick_selector.hpp"

namespace exrp {

/// How draws come: a whole batch in one select(), or in a stream of requests, of which a rule can't know where a batch ends.
enum class Draws { inBatches, inStreams };

/// Makes the selector of this kind for up to `countMax` picks. Its options are numbers, as exrp.h lists them for each kind.
Status createPickSelector(uint32_t kind, const double* options, uint32_t optionCount, Random random, uint32_t countMax, Draws draws,
                          std::unique_ptr<PickSelector>* made);

/// Makes the eviction policy of this kind for up to `countMax` episodes; none for EXRP_EVICTION_EXTERNAL.
Status createEvictionPolicy(uint32_t kind, uint32_t option, Random random, uint32_t countMax,
                            std::unique_ptr<EvictionPolicy>* made);

}  // namespace exrp
