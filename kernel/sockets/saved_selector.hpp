// SavedSelector: a PickSelector that is saved as plain data: a Header, and an Item for each pick. It makes bytes of them, and back.
// CountingSelector: one that keeps nothing but how many picks there are, and its random numbers.
//
// A Rule that derives from SavedSelector<Rule, Header, Item> has these functions, which are not virtual:
//
//   uint32_t count() const;                           how many picks there are
//   Header header() const;
//   Status restore(const Header& header);             Status::dataCorrupt, with nothing changed, where it can't be
//   Item item(uint32_t index) const;                  only where there are Items, as for the next
//   Status restoreItem(uint32_t index, const Item&);
//
// Neither Header nor Item has a pointer, or padding. A rule that derives something from its Items does it in loadEnd().
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "kernel/sockets/pick_selector.hpp"

namespace exrp {

/// Of rules that save nothing for a pick.
struct NoItem {};

template <typename Rule, typename Header, typename Item = NoItem>
class SavedSelector : public PickSelector {
 public:
  uint32_t headerBytes() const final { return sizeof(Header); }
  uint32_t itemBytes() const final { return hasItems ? sizeof(Item) : 0; }
  void saveHeader(uint8_t* bytes) const final {
    const Header header = static_cast<const Rule*>(this)->header();
    std::memcpy(bytes, &header, sizeof header);
  }
  void saveItems(uint32_t first, uint32_t count, uint8_t* bytes) const final {
    if constexpr (hasItems) {
      for (uint32_t k = 0; k < count; ++k) {
        const Item item = static_cast<const Rule*>(this)->item(first + k);
        std::memcpy(bytes + sizeof item * k, &item, sizeof item);
      }
    }
  }
  Status loadHeader(const uint8_t* bytes) final { return static_cast<Rule*>(this)->restore(read<Header>(bytes)); }
  Status loadItems(uint32_t first, uint32_t count, const uint8_t* bytes) final {
    auto* const rule = static_cast<Rule*>(this);
    if (first > rule->count() || count > rule->count() - first) return Status::dataCorrupt;
    if constexpr (hasItems) {
      for (uint32_t k = 0; k < count; ++k) {
        const Status status = rule->restoreItem(first + k, read<Item>(bytes + sizeof(Item) * k));
        if (status != Status::ok) return status;
      }
    }
    return Status::ok;
  }
  Status loadEnd() override { return Status::ok; }

 private:
  static constexpr bool hasItems = !std::is_empty_v<Item>;

  /// By way of an array, as not all of them can be made without a value.
  template <typename T>
  static T read(const uint8_t* bytes) {
    std::array<uint8_t, sizeof(T)> copy = {};
    std::memcpy(copy.data(), bytes, sizeof(T));
    return std::bit_cast<T>(copy);
  }
};

class CountingSelector : public SavedSelector<CountingSelector, Random> {
 public:
  explicit CountingSelector(Random random) : random_(random) {}

  void pushed(uint32_t) override { ++count_; }
  void moved(uint32_t, uint32_t) override {}
  void popped(uint32_t) override { --count_; }
  void pushedRun(uint32_t, uint32_t count) override { count_ += count; }
  void movedBlock(uint32_t, uint32_t, uint32_t count) override { count_ -= count; }

  uint32_t count() const { return count_; }
  Random header() const { return random_; }
  Status restore(const Random& random) {
    if (!random.isPossible()) return Status::dataCorrupt;
    random_ = random;
    return Status::ok;
  }
  int32_t check() const override { return 0; }

 protected:
  Random random_;
  uint32_t count_ = 0;
};

}  // namespace exrp
