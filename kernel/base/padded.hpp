// padded(): what begins behind so many bytes begins at a multiple of 8, so that every element is aligned.
#pragma once

#include <concepts>

namespace exrp {

/// The next multiple of 8. It may wrap around: a number of 32 bits that a file says is made wide first.
template <std::unsigned_integral Number>
constexpr Number padded(Number bytes) {
  return (bytes + 7) & ~Number{7};
}

}  // namespace exrp
