// SimulatedDisk: a disk in memory that does all that a real one may do.
//
//   - What is written, made, renamed or removed and not synced is kept apart. crash() keeps any part of it: each sector of 512 bytes is as it was after
//     any of the writes since the last sync, whatever the others are. The file is as long as it was at any time since then. Each change of a
//     name is there or not. A sector that was never written has zeros, or what another file once had there.
//   - A call may fail: the nth from now that changes something, or the nth that reads, with any number, and a write may be short. After a sync that failed, what was written and not synced stays in
//     the system's memory, as if it were on the disk, and never gets there.
//   - It may lie: sync() says that all is well, and does nothing.
//   - flip() changes a bit on the disk.
//
// After crash(), all calls fail until restart(). Thread safety: any thread may make the calls of Disk; no other call may be under way beside one of the test.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernel/base/random.hpp"
#include "kernel/base/sync.hpp"
#include "kernel/log/disk.hpp"

namespace exrp::test {

class SimulatedDisk final : public Disk {
 public:
  static constexpr uint64_t sectorBytes = 512;
  using Bytes = std::vector<uint8_t>;

  explicit SimulatedDisk(uint64_t seed) : random_(seed, 17) {}

  /// The nth call from now fails, if it may change anything; 0 is the next one. `partBytes` of a write are written then.
  void failAt(uint64_t calls, int32_t system) {
    failAt_ = calls;
    failSystem_ = system;
  }
  /// The same, of calls that change nothing.
  void failReadAt(uint64_t calls, int32_t system) {
    failReadAt_ = calls;
    failSystem_ = system;
  }
  bool hasFailed() const { return hasFailed_; }
  uint64_t callCount() const { return callCount_; }
  /// How often a sync of a file returned well.
  uint64_t syncCount() const { return syncCount_; }
  /// In `share` of cases, a sync lies.
  void lie(double share) { lying_ = share; }
  bool hasLied() const { return hasLied_; }

  /// The power is gone. Any part of what was not synced stays.
  void crash() { crash(random_.below(5) * 0.25); }
  /// In `share` of cases, at least a part of what was not synced stays. 0: nothing.
  void crash(double share) {
    isDown_ = true;
    std::map<std::string, Node> names = durableNames_;
    for (const Rename& change : changes_) {
      if (random_.uniform() >= share) continue;
      change.apply(names);
    }
    durableNames_ = names;
    changes_.clear();
    for (auto& [name, node] : durableNames_) crashFile(*node, share);
    names_ = durableNames_;
  }

  /// The system runs again. Files of before are closed.
  void restart() {
    isDown_ = false;
    failAt_ = UINT64_MAX;
    failReadAt_ = UINT64_MAX;
    hasFailed_ = false;
    open_.clear();
  }

  /// The process ended, and the system goes on.
  void kill() { restart(); }

  size_t openCount() const { return open_.size(); }

  // What a test looks at, and changes.
  bool has(const std::string& name) const { return names_.contains(name); }
  Bytes& content(const std::string& name) { return names_.at(name)->cache; }
  std::vector<std::string> fileNames() const {
    std::vector<std::string> found;
    for (const auto& [name, node] : names_) found.push_back(name);
    return found;
  }
  void flip(const std::string& name, uint64_t byte, uint32_t bit) {
    File& file = *names_.at(name);
    const auto mask = static_cast<uint8_t>(1u << bit);
    file.cache.at(byte) = static_cast<uint8_t>(file.cache.at(byte) ^ mask);
    if (byte < file.durable.size()) file.durable[byte] = static_cast<uint8_t>(file.durable[byte] ^ mask);
  }
  void put(const std::string& name, const Bytes& bytes) {
    const Node node = std::make_shared<File>();
    node->cache = bytes;
    node->durable = bytes;
    names_[name] = node;
    durableNames_[name] = node;
  }

  /// All files, as after a restart.
  std::map<std::string, Bytes> files() const {
    std::map<std::string, Bytes> found;
    for (const auto& [name, node] : names_) found[name] = node->cache;
    return found;
  }
  /// These files and no others, all of them synced.
  void setFiles(const std::map<std::string, Bytes>& files) {
    names_.clear();
    durableNames_.clear();
    changes_.clear();
    open_.clear();
    for (const auto& [name, bytes] : files) put(name, bytes);
  }

  DiskError open(const char* name, OpenFile how, FileId* file) override {
    const Lock lock(mutex_);
    *file = noFile;
    if (const DiskError error = call(DiskCall::open, how == OpenFile::fresh); error.isError()) return error;
    const auto found = names_.find(name);
    if (how == OpenFile::fresh) {
      if (found != names_.end()) return {DiskCall::open, EEXIST};
      change({name, std::make_shared<File>(), {}});
    } else if (found == names_.end()) {
      return {DiskCall::open, ENOENT};
    }
    *file = nextId_++;
    open_[*file] = names_.at(name);
    return {};
  }

  DiskError close(FileId file) override {
    const Lock lock(mutex_);
    return open_.erase(file) == 1 ? DiskError{} : DiskError{DiskCall::close, EBADF};
  }

  DiskError size(FileId file, uint64_t* bytes) override {
    const Lock lock(mutex_);
    if (const DiskError error = call(DiskCall::size, false); error.isError()) return error;
    *bytes = at(file).cache.size();
    return {};
  }

  DiskError read(FileId file, uint64_t offset, uint8_t* bytes, size_t size, size_t* readBytes) override {
    const Lock lock(mutex_);
    *readBytes = 0;
    if (const DiskError error = call(DiskCall::read, false); error.isError()) return error;
    const Bytes& cache = at(file).cache;
    if (offset >= cache.size() || size == 0) return {};
    *readBytes = std::min<size_t>(size, cache.size() - static_cast<size_t>(offset));
    memcpy(bytes, cache.data() + offset, *readBytes);
    return {};
  }

  DiskError write(FileId file, uint64_t offset, const uint8_t* bytes, size_t size) override {
    const Lock lock(mutex_);
    const DiskError error = call(DiskCall::write, true);
    if (error.isError()) {
      if (isDown_ || size == 0) return error;
      size = random_.below(static_cast<uint32_t>(size));
    }
    if (size > 0) {
      change(at(file), {offset, {bytes, bytes + size}, UINT64_MAX});
      keepOld(at(file).cache, offset);
    }
    return error;
  }

  DiskError sync(FileId file) override {
    const Lock lock(mutex_);
    const DiskError error = call(DiskCall::sync, true);
    if (isDown_) return error;
    File& synced = at(file);
    if (error.isError()) {
      // What could not be written is given up, whole or in part.
      crashDurable(synced, 0.5);
      synced.changes.clear();
      return error;
    }
    if (random_.uniform() < lying_) {
      hasLied_ = true;
      return {};
    }
    ++syncCount_;
    for (const Change& each : synced.changes) each.apply(synced.durable);
    synced.changes.clear();
    return {};
  }

  DiskError truncate(FileId file, uint64_t bytes) override {
    const Lock lock(mutex_);
    if (const DiskError error = call(DiskCall::truncate, true); error.isError()) return error;
    change(at(file), {0, {}, bytes});
    return {};
  }

  DiskError rename(const char* from, const char* to) override {
    const Lock lock(mutex_);
    if (const DiskError error = call(DiskCall::rename, true); error.isError()) return error;
    const auto found = names_.find(from);
    if (found == names_.end()) return {DiskCall::rename, ENOENT};
    change({to, found->second, from});
    return {};
  }

  DiskError remove(const char* name) override {
    const Lock lock(mutex_);
    if (const DiskError error = call(DiskCall::remove, true); error.isError()) return error;
    if (!names_.contains(name)) return {DiskCall::remove, ENOENT};
    change({{}, nullptr, name});
    return {};
  }

  DiskError list(DiskFiles* files) override {
    const Lock lock(mutex_);
    if (const DiskError error = call(DiskCall::list, false); error.isError()) return error;
    for (const auto& [name, node] : names_) {
      if (!files->add(name.c_str(), node->cache.size())) return {DiskCall::list, 0};
    }
    return {};
  }

  DiskError syncFolder() override {
    const Lock lock(mutex_);
    if (const DiskError error = call(DiskCall::syncFolder, true); error.isError()) return error;
    if (random_.uniform() < lying_) {
      hasLied_ = true;
      return {};
    }
    for (const Rename& each : changes_) each.apply(durableNames_);
    changes_.clear();
    return {};
  }

  DiskError findFolder() override {
    const Lock lock(mutex_);
    return call(DiskCall::check, false);
  }

  DiskError freeBytes(uint64_t* bytes) override {
    *bytes = uint64_t{1} << 40;
    return {};
  }

  DiskError lock(const char*, bool* isTaken) override {
    *isTaken = isLocked_;
    isLocked_ = true;
    return {};
  }

 private:
  /// A write, or the file's new length.
  struct Change {
    uint64_t offset;
    Bytes bytes;
    uint64_t length;

    void apply(Bytes& to) const { apply(to, 0, UINT64_MAX); }
    /// What it does to the bytes from `begin` on and before `end`. The length changes anyway.
    void apply(Bytes& to, uint64_t begin, uint64_t end) const {
      if (length != UINT64_MAX) {
        to.resize(length);
        return;
      }
      if (to.size() < offset + bytes.size()) to.resize(offset + bytes.size());
      const uint64_t first = std::max(begin, offset);
      const uint64_t last = std::min<uint64_t>(end, offset + bytes.size());
      if (first < last) memcpy(to.data() + first, bytes.data() + (first - offset), last - first);
    }
    bool isWithin(uint64_t begin, uint64_t end) const { return length != UINT64_MAX || (offset < end && offset + bytes.size() > begin); }
  };

  struct File {
    Bytes durable;
    Bytes cache;  // what the system shows
    std::vector<Change> changes;
  };
  using Node = std::shared_ptr<File>;

  /// A name that comes, goes or changes.
  struct Rename {
    std::string to;  // empty: none
    Node node;
    std::string from;  // empty: none

    void apply(std::map<std::string, Node>& names) const {
      if (!from.empty()) names.erase(from);
      if (!to.empty()) names[to] = node;
    }
  };

  void change(File& file, Change made) {
    made.apply(file.cache);
    file.changes.push_back(std::move(made));
  }
  void change(Rename made) {
    made.apply(names_);
    changes_.push_back(std::move(made));
  }

  File& at(FileId file) {
    const auto found = open_.find(file);
    if (found != open_.end()) return *found->second;
    std::printf("a file is used that is not open\n");
    std::abort();
  }

  DiskError call(DiskCall call, bool isChanging) {
    if (isDown_) return {call, EIO};
    if (isChanging) ++callCount_;
    uint64_t& left = isChanging ? failAt_ : failReadAt_;
    if (left == UINT64_MAX) return {};
    if (left-- > 0) return {};
    left = UINT64_MAX;
    hasFailed_ = true;
    return {call, failSystem_};
  }

  void crashFile(File& file, double share) {
    crashDurable(file, share);
    file.changes.clear();
    file.cache = file.durable;
  }

  /// Lets a part of what was not synced get to the disk.
  void crashDurable(File& file, double share) {
    const auto count = static_cast<uint32_t>(file.changes.size());
    if (count == 0) return;
    // Of how many changes, from the oldest on, a thing shows the outcome.
    const auto seen = [&] {
      const double chance = random_.uniform();
      return chance < share * 0.7 ? count : chance < share ? random_.below(count + 1) : 0;
    };
    const uint32_t sized = seen();
    Bytes whole = file.durable;
    uint64_t size = whole.size();
    uint64_t most = size;
    for (uint32_t k = 0; k < count; ++k) {
      file.changes[k].apply(whole);
      if (k < sized) size = whole.size();
      most = std::max<uint64_t>(most, whole.size());
    }
    Bytes made = file.durable;
    made.resize(most);
    for (uint64_t sector = 0; sector < most; sector += sectorBytes) {
      const uint64_t end = std::min(most, sector + sectorBytes);
      const uint32_t until = seen();
      if (until == 0 && sector >= file.durable.size()) leaveOld(made, sector, end);
      for (uint32_t k = 0; k < until; ++k) {
        const Change& each = file.changes[k];
        if (!each.isWithin(sector, end)) continue;
        if (each.length != UINT64_MAX) {
          for (uint64_t at = std::max(each.length, sector); at < end; ++at) made[at] = 0;
        } else {
          const uint64_t first = std::max(sector, each.offset);
          const uint64_t last = std::min<uint64_t>(end, each.offset + each.bytes.size());
          if (first < last) memcpy(made.data() + first, each.bytes.data() + (first - each.offset), last - first);
        }
      }
    }
    made.resize(size);
    file.durable = made;
  }

  struct Old {
    uint64_t sector;
    Bytes bytes;
  };

  /// Remembers a sector that was written, for a file that will take its place.
  void keepOld(const Bytes& cache, uint64_t offset) {
    const uint64_t sector = offset / sectorBytes * sectorBytes;
    if (cache.size() < sector + sectorBytes) return;
    const auto first = cache.begin() + static_cast<ptrdiff_t>(sector);
    const Old made = {sector, {first, first + sectorBytes}};
    if (old_.size() < 32) old_.push_back(made);
    else old_[random_.below(32)] = made;
  }
  void leaveOld(Bytes& made, uint64_t sector, uint64_t end) {
    if (old_.empty() || random_.below(2) == 0) return;
    const Old* chosen = &old_[random_.below(static_cast<uint32_t>(old_.size()))];
    for (int turn = 0; turn < 8 && chosen->sector != sector && random_.below(8) > 0; ++turn) {
      chosen = &old_[random_.below(static_cast<uint32_t>(old_.size()))];
    }
    for (uint64_t at = sector; at < end; ++at) made[at] = chosen->bytes[at - sector];
  }

  Mutex mutex_;  // the second thread reads beside the caller
  Random random_;
  std::vector<Old> old_;
  std::map<std::string, Node> names_;
  std::map<std::string, Node> durableNames_;
  std::vector<Rename> changes_;
  std::map<FileId, Node> open_;
  FileId nextId_ = 3;
  uint64_t failAt_ = UINT64_MAX;
  uint64_t failReadAt_ = UINT64_MAX;
  int32_t failSystem_ = EIO;
  bool hasFailed_ = false;
  bool isDown_ = false;
  bool isLocked_ = false;
  double lying_ = 0;
  bool hasLied_ = false;
  uint64_t callCount_ = 0;
  uint64_t syncCount_ = 0;
};

}  // namespace exrp::test
