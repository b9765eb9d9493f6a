// PrioritizedSelector: proportional prioritization and nothing else; all of it stands in _proportional_selector.hpp.
#pragma once

#include "selectors/_proportional_selector.hpp"

namespace exrp {

using PrioritizedOptions = ProportionalOptions;

class PrioritizedSelector final : public ProportionalSelector {
 public:
  using ProportionalSelector::ProportionalSelector;
};

}  // namespace exrp
