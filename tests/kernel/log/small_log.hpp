// A small log of texts on a simulated disk, in one thread, for tests of single cases.
#pragma once

#include <string>

#include "kernel/log/log.hpp"
#include "tests/kernel/check.hpp"
#include "tests/kernel/log/log_listener.hpp"
#include "tests/kernel/log/simulated_disk.hpp"

namespace exrp::test {

inline LogOptions smallOptions() {
  LogOptions options;
  options.isThreaded = false;
  options.segmentBytes = 4096;
  options.bufferBytes = 512;
  options.queueBytes = 4096;
  return options;
}

inline LogStatus put(Log& log, const std::string& text, LogPlace* place = nullptr) {
  LogPlace ignored;
  return log.append(1, text.data(), static_cast<uint32_t>(text.size()), place == nullptr ? &ignored : place);
}

inline std::string numbered(int number, size_t size = 300) {
  std::string text = "frame " + std::to_string(number) + " ";
  text.resize(size, 'x');
  return text;
}

/// A log of so many frames, in several segments, all synced.
inline void fill(SimulatedDisk& disk, int count, LogOptions options = smallOptions()) {
  Log log;
  CHECK_EQUAL(log.create(&disk, options), LogStatus::ok);
  for (int k = 0; k < count; ++k) CHECK_EQUAL(put(log, numbered(k)), LogStatus::ok);
  CHECK_EQUAL(log.close(), LogStatus::ok);
}

inline LogStatus scanAll(SimulatedDisk& disk, LogListener& listener, LogScan* scan, LogPosition from = {}) {
  return scanLog(disk, from, listener, scan);
}

}  // namespace exrp::test
