#include "kernel/tables/streams.hpp"

#include <utility>

namespace exrp {

Status Streams::add(std::unique_ptr<Inserter> inserter, std::unique_ptr<Sampler> sampler, uint32_t* id) {
  if (free_ == none && count_ == EXRP_LIMIT_TABLES_STREAMS) return fail(Status::limit, EXRP_LIMIT_TABLES_STREAMS);
  const size_t open = size_t{inserterCount_} + samplerCount_ + 1;
  if (!streams_.commit(size_t{count_} + 1) || !awake_.prepare(2 * open)) return fail(Status::memory, sizeof(Stream));
  uint32_t place = free_;
  if (place != none) free_ = streams_[place].nextFree;
  else place = count_++;
  Stream& stream = streams_[place];
  ++stream.generation;
  // No id is a small number by chance, or `none`.
  while (stream.generation == 0 || stream.generation == UINT16_MAX) ++stream.generation;
  ++(inserter != nullptr ? inserterCount_ : samplerCount_);
  stream.inserter = inserter.release();
  stream.sampler = sampler.release();
  stream.isAwake = false;
  *id = uint32_t{stream.generation} << 16 | place;
  return Status::ok;
}

void Streams::take(uint32_t id, std::unique_ptr<Inserter>* inserter, std::unique_ptr<Sampler>* sampler) {
  const Stream* const found = find(id);
  if (found == nullptr || (found->inserter == nullptr && found->sampler == nullptr)) return;
  Stream& stream = streams_[id & 0xffff];
  inserter->reset(std::exchange(stream.inserter, nullptr));
  sampler->reset(std::exchange(stream.sampler, nullptr));
  ++stream.generation;
  stream.nextFree = free_;
  free_ = id & 0xffff;
  --(*sampler != nullptr ? samplerCount_ : inserterCount_);
}

void Streams::wake(uint32_t id) {
  if (id == caller_ || find(id) == nullptr) return;
  Stream& stream = streams_[id & 0xffff];
  if (stream.isAwake) return;
  stream.isAwake = true;
  awake_.push(id);
}

uint32_t Streams::takeAwake(uint32_t* streams, uint32_t count) {
  uint32_t taken = 0;
  while (taken < count && !awake_.isEmpty()) {
    const uint32_t id = awake_.front();
    awake_.pop();
    const Stream* const stream = find(id);
    if (stream == nullptr || !stream->isAwake) continue;  // it was closed
    streams_[id & 0xffff].isAwake = false;
    streams[taken++] = id;
  }
  return taken;
}

double Streams::memoryBytes() const {
  double bytes = streams_.memoryBytes() + awake_.memoryBytes();
  forEach([&](uint32_t, const Inserter* inserter, const Sampler* sampler) {
    if (inserter != nullptr) bytes += sizeof(Inserter) + inserter->held.memoryBytes() + inserter->confirmed.memoryBytes();
    else bytes += sizeof(Sampler) + sampler->drawn.memoryBytes();
  });
  return bytes;
}

}  // namespace exrp
