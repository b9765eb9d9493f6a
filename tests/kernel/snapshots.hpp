// Saves and loads replays through the C ABI, all sections in pieces that fit no block.
//
// A Failure reports an error, with the line of its EXRP_REQUIRE. Nothing here prints.
#pragma once

#include <cstring>
#include <vector>

#include "kernel/exrp.h"

namespace exrp::test {

/// A failure ends the run of its seed and is printed with it.
struct Failure {
  const char* what = nullptr;
  const char* file = nullptr;
  int line = 0;
  explicit operator bool() const { return what != nullptr; }
};

#define EXRP_REQUIRE(condition)                                        \
  do {                                                                 \
    if (!(condition)) return Failure{#condition, __FILE__, __LINE__};  \
  } while (false)
#define EXRP_CARRY(call)                                                \
  do {                                                                  \
    if (const Failure carried = (call); carried) return carried;        \
  } while (false)

/// Everything a replay would save, by section.
using Snapshot = std::vector<std::vector<uint8_t>>;

inline Failure takeSnapshot(uint32_t replay, uint32_t selectorCount, Snapshot* snapshot) {
  snapshot->clear();
  EXRP_REQUIRE(exrp_replay_save_begin(replay) == 0);
  // The last one, after those of the selectors, is that of the transforms.
  for (uint32_t section = 0; section <= EXRP_SECTION_SELECTOR + 2 * selectorCount; ++section) {
    double info[2] = {};
    EXRP_REQUIRE(exrp_section_info(replay, section, info, 2) == 0);
    std::vector<uint8_t> bytes(static_cast<size_t>(info[0] * info[1]));
    // In pieces of 7 items, which fit no block.
    for (double first = 0; first < info[0]; first += 7) {
      const double count = info[0] - first < 7 ? info[0] - first : 7;
      EXRP_REQUIRE(exrp_section_read(replay, section, first, static_cast<uint32_t>(count),
                                     bytes.data() + static_cast<size_t>(first * info[1]), count * info[1]) == 0);
    }
    snapshot->push_back(std::move(bytes));
  }
  EXRP_REQUIRE(exrp_replay_save_end(replay) == 0);
  return {};
}

/// Loads what `snapshot` says; the status of the call that failed, or 0. Every buffer has exactly the size that the call receives.
inline int32_t loadSnapshot(uint32_t replay, const Snapshot& snapshot) {
  for (uint32_t section = 0; section < snapshot.size(); ++section) {
    double info[2] = {};
    int32_t status = exrp_section_info(replay, section, info, 2);
    if (status != 0) return status;
    if (info[0] == 0 || info[1] == 0) continue;
    const std::vector<uint8_t>& bytes = snapshot[section];
    const auto itemBytes = static_cast<size_t>(info[1]);
    for (double first = 0; first < info[0]; first += 5) {
      const double count = info[0] - first < 5 ? info[0] - first : 5;
      const size_t from = static_cast<size_t>(first) * itemBytes;
      const size_t needed = static_cast<size_t>(count) * itemBytes;
      std::vector<uint8_t> items(needed);
      if (from < bytes.size()) memcpy(items.data(), &bytes[from], needed < bytes.size() - from ? needed : bytes.size() - from);
      status = exrp_section_write(replay, section, first, static_cast<uint32_t>(count), items.data(), static_cast<double>(needed));
      if (status != 0) return status;
    }
  }
  return exrp_snapshot_end(replay);
}

}  // namespace exrp::test
