// Times: the clock of the probes, and what they say of repeats.
//
// Thread safety: whatever; no state.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace probe {

inline double nowNs() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double nowUs() { return nowNs() / 1e3; }

struct Times {
  double least;
  double median;
};

/// Of at least one time.
inline Times summary(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return Times{times[0], times[times.size() / 2]};
}

}  // namespace probe
