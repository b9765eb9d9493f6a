// SavedSelector: a PickSelector that is saved as plain data: its State, and an Item for each pick. It makes bytes of them, and back.
// CountingSelector: one that keeps nothing but how many picks there are, and its random numbers.
//
// What is in State is all that a rule keeps beside its picks, and stands there while the rule works. If it has a member `random`, that one is
// checked. A Rule that derives from SavedSelector<Rule, State, Item> has these functions, which are not virtual:
//
//   bool restored();                            whether the State that was just loaded can be; only where not every one can
//   Item item(uint32_t index) const;            only where there are Items, as for the next two
//   bool isPossible(const Item&) const;         whether a pick may have this
//   void setItem(uint32_t index, const Item&);  only called with what is possible
//
// Neither State nor Item has a pointer, or padding. A rule that derives something from its Items does it in loadEnd().
#pragma once

#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "kernel/rules/pick_selector.hpp"

namespace exrp {

/// Of rules that save nothing for a pick.
struct NoItem {};

template <typename Rule, typename State, typename Item = NoItem>
class SavedSelector : public PickSelector {
 public:
  /// How many picks there are.
  uint32_t count() const { return count_; }

  uint32_t headerBytes() const final { return sizeof(State); }
  uint32_t itemBytes() const final { return hasItems ? sizeof(Item) : 0; }
  void saveHeader(uint8_t* bytes) const final { std::memcpy(bytes, &state_, sizeof state_); }
  void saveItems(uint32_t first, uint32_t count, uint8_t* bytes) const final {
    if constexpr (hasItems) {
      for (uint32_t k = 0; k < count; ++k) {
        const Item item = static_cast<const Rule*>(this)->item(first + k);
        std::memcpy(bytes + sizeof item * k, &item, sizeof item);
      }
    }
  }
  Status loadHeader(const uint8_t* bytes) final {
    state_ = read<State>(bytes);
    bool possible = static_cast<Rule*>(this)->restored();
    if constexpr (requires(State state) { state.random; }) possible = possible && state_.random.isPossible();
    return possible ? Status::ok : Status::dataCorrupt;
  }
  Status loadItems(uint32_t first, uint32_t count, const uint8_t* bytes) final {
    if (first > count_ || count > count_ - first) return Status::dataCorrupt;
    if constexpr (hasItems) {
      for (uint32_t k = 0; k < count; ++k) {
        const Item item = read<Item>(bytes + sizeof(Item) * k);
        if (!static_cast<Rule*>(this)->isPossible(item)) return Status::dataCorrupt;
        static_cast<Rule*>(this)->setItem(first + k, item);
      }
    }
    return Status::ok;
  }
  Status loadEnd() override { return Status::ok; }
  bool restored() { return true; }

 protected:
  explicit SavedSelector(const State& state) : state_(state) {}

  State state_;
  uint32_t count_ = 0;

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

/// The State of a rule that keeps nothing beside its picks but its random numbers.
struct RandomState {
  Random random;
};

class CountingSelector : public SavedSelector<CountingSelector, RandomState> {
 public:
  explicit CountingSelector(Random random) : SavedSelector({random}) {}

  void pushed(uint32_t) override { ++count_; }
  void moved(uint32_t, uint32_t) override {}
  void popped(uint32_t) override { --count_; }
  void pushedRun(uint32_t, uint32_t count) override { count_ += count; }
  void movedBlock(uint32_t, uint32_t, uint32_t count) override { count_ -= count; }

  int32_t check() const override { return 0; }
};

}  // namespace exrp
