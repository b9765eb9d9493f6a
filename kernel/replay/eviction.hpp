// Eviction: tells the eviction policy of a replay, where it has one, what happens to episodes.
//
// A policy hears of an episode's picks in the first pick view, and knows no other number of it.
//
// Thread safety: none of its own. Invariants: the policy's.
#pragma once

#include <memory>
#include <utility>

#include "kernel/rules/eviction_policy.hpp"
#include "kernel/store/episode_listener.hpp"

namespace exrp {

class Eviction final : public EpisodeListener {
 public:
  /// `policy` is null where the caller chooses what to forget; `picks` is that of the first pick view.
  void create(std::unique_ptr<EvictionPolicy> policy, const PickPolicy& picks) {
    policy_ = std::move(policy);
    picks_ = picks;
  }
  EvictionPolicy* policy() const { return policy_.get(); }

  // ---- what it hears ----

  Status prepare(const StoredEpisodes&, const Growth& growth) {
    const bool isTaken = policy_ == nullptr || policy_->prepare(growth.episodeEnd);
    return isTaken ? Status::ok : fail(Status::memory, 32.0 * growth.episodeEnd);
  }
  void begun(const StoredEpisodes&, uint32_t episode) {
    if (policy_ != nullptr) policy_->created(episode);
  }
  void ended(const StoredEpisodes& stored, uint32_t episode, uint32_t) {
    if (policy_ != nullptr) policy_->ended(episode, pickCount(stored, episode));
  }
  void trimmed(const StoredEpisodes& stored, uint32_t episode, uint32_t) {
    if (policy_ != nullptr && stored.episodes()[episode].ended()) policy_->trimmed(episode, pickCount(stored, episode));
  }
  void removing(const StoredEpisodes&, uint32_t episode, bool) {
    if (policy_ != nullptr) policy_->removed(episode);
  }
  void restored(const StoredEpisodes& stored, uint32_t episode) {
    if (stored.episodes()[episode].ended()) ended(stored, episode, 0);
  }
  double memoryBytes() const { return policy_ == nullptr ? 0 : policy_->memoryBytes(); }
  int32_t check(const StoredEpisodes&) const { return policy_ == nullptr ? 0 : policy_->check(); }

 private:
  /// The picks that an ended episode has in the first view.
  uint32_t pickCount(const StoredEpisodes& stored, uint32_t episode) const {
    const EpisodeList& episodes = stored.episodes();
    return stored.hasPicks(picks_, episode) ? picks_.validCount(episodes.first(episode), episodes[episode].count, true) : 0;
  }

  std::unique_ptr<EvictionPolicy> policy_;
  PickPolicy picks_;
};

}  // namespace exrp
