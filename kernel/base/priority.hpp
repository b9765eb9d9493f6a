// isPriority: what a user may set as a priority, or as an option that is added to one.
//
// Thread safety: a pure function. Cost: two comparisons.
#pragma once

namespace exrp {

/// Whether `value` is a finite number that is not negative. NaN is none.
inline bool isPriority(double value) { return value >= 0 && value <= 0x1.fffffffffffffp1023; }

}  // namespace exrp
