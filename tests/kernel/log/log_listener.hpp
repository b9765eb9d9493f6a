// LogListener: keeps what a scan tells. Frames are texts.
#pragma once

#include <string>
#include <vector>

#include "kernel/log/log_scan.hpp"

namespace exrp::test {

class LogListener final : public LogVisitor {
 public:
  bool frame(const LogFrame& frame) override {
    if (texts.size() == stopAt) return false;
    places.push_back(frame.place);
    texts.emplace_back(reinterpret_cast<const char*>(frame.payload), frame.place.bytes);
    return true;
  }
  bool damage(const LogDamage& damage) override {
    damages.push_back(damage);
    return true;
  }

  std::vector<LogPlace> places;
  std::vector<std::string> texts;
  std::vector<LogDamage> damages;
  size_t stopAt = SIZE_MAX;
};

}  // namespace exrp::test
