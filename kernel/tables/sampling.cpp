// How Tables writes a SampleStreamResponse: all sizes first, then every byte once, into the caller's memory.
#include "kernel/base/prefetch.hpp"
#include "kernel/tables/item_record.hpp"
#include "kernel/tables/tables.hpp"
#include "kernel/wire/proto_writer.hpp"
#include "kernel/wire/reverb_fields.hpp"

namespace exrp {
namespace {

/// A sample as an entry of a SampleStreamResponse. Each size is added up once.
class EntryRecord {
 public:
  [[gnu::always_inline]] EntryRecord(const DrawnSample& sample, ByteSpan table)
      : sample_(sample),
        item_(sample.item, table),
        infoBytes_(sizeOfFields([this](auto& out) __attribute__((always_inline)) { this->fillInfo(out); })),
        bytes_(sizeOfFields([this](auto& out) __attribute__((always_inline)) { this->fill(out); })) {}

  size_t wholeBytes() const { return bytesFieldBytes(reverb::SampleStreamResponse::entries, bytes_); }
  [[gnu::always_inline]] void write(ProtoWriter& out) const {
    out.message(reverb::SampleStreamResponse::entries, bytes_, [this](auto& entry) __attribute__((always_inline)) { this->fill(entry); });
  }

 private:
  template <typename Out>
  [[gnu::always_inline]] void fillInfo(Out& info) const {
    using Info = reverb::SampleInfo;
    item_.write(info, Info::item);
    info.realField(Info::probability, sample_.probability);
    info.varintField(Info::tableSize, sample_.tableSize);
    info.presentField(Info::rateLimited, sample_.isLimited ? 1 : 0);
  }
  template <typename Out>
  [[gnu::always_inline]] void fill(Out& entry) const {
    using Fields = reverb::SampleEntry;
    entry.message(Fields::info, infoBytes_, [this](auto& info) __attribute__((always_inline)) { this->fillInfo(info); });
    const ItemBody& body = *sample_.item.body;
    for (uint32_t k = 0; k < body.chunkCount; ++k) entry.bytesField(Fields::data, body.chunks()[k]->data(), body.chunks()[k]->bytes);
    entry.varintField(Fields::endOfSequence, 1);
  }

  const DrawnSample& sample_;
  const ItemRecord item_;
  const size_t infoBytes_;
  const size_t bytes_;
};

}  // namespace

Status Tables::ask(uint32_t id, Sampler& sampler, uint32_t count, uint32_t how) {
  if (loader_ != nullptr) return fail(Status::order);
  if (count == 0) return fail(Status::argument, 3, 0);
  if (how > EXRP_ASK_NOW) return fail(Status::argument, 4, how);
  const bool isIdle = sampler.wanted == 0 && sampler.drawn.isEmpty();
  if (!isIdle && (how != EXRP_ASK_FLOWING || sampler.isWhole)) return fail(Status::order);
  if (how == EXRP_ASK_NOW) {
    if (!tables_[sampler.table]->maySample(count)) return Status::ok;
    if (!sampler.drawn.prepare(count)) return fail(Status::memory, static_cast<double>(count) * sizeof(DrawnSample));
  }
  sampler.isWhole = how != EXRP_ASK_FLOWING;
  if (sampler.wanted == 0) sampler.batch = ++batchCount_;
  sampler.wanted += count;
  if (sampler.isInLine) return Status::ok;
  sampler.isLimited = false;
  ItemTable& table = *tables_[sampler.table];
  table.line().push(id);
  sampler.isInLine = true;
  streams_.beginCall(id);
  run(table);
  streams_.endCall();
  sampler.isLimited = sampler.isInLine;
  return Status::ok;
}

void Tables::readSamples(uint32_t id, Sampler& sampler, uint8_t* to, size_t room, double* info) {
  ItemTable& table = *tables_[sampler.table];
  ProtoWriter out(to);
  size_t left = room;
  double samples = 0;
  double needed = 0;
  const bool isHeld = sampler.isWhole && sampler.wanted > 0;
  streams_.beginCall(id);
  while (!isHeld) {
    while (!sampler.drawn.isEmpty()) {
      constexpr size_t ahead = 4;
      if (sampler.drawn.count() > ahead) {
        const ItemBody* const next = sampler.drawn[ahead].item.body;
        for (uint32_t k = 0; k < next->chunkCount && k < 8; ++k) prefetchSpan(reinterpret_cast<const uint8_t*>(next->chunks()[k]), 256);
      }
      const DrawnSample& sample = sampler.drawn.front();
      const EntryRecord entry(sample, table.name());
      const size_t whole = entry.wholeBytes();
      if (whole > left) {
        needed = samples > 0 ? 0 : static_cast<double>(whole);
        break;
      }
      entry.write(out);
      left -= whole;
      ++samples;
      sampler.drawnBytes -= table.bytesOf(sample.item.body);
      table.release(sample.item.body);
      sampler.drawn.pop();
    }
    if (!sampler.drawn.isEmpty() || sampler.wanted == 0 || sampler.isInLine) break;
    // More were asked for than are drawn at once.
    table.line().push(id);
    sampler.isInLine = true;
    run(table);
    sampler.isLimited = sampler.isInLine;
  }
  streams_.endCall();
  info[EXRP_SAMPLER_BYTES] = static_cast<double>(room - left);
  info[EXRP_SAMPLER_SAMPLES] = samples;
  info[EXRP_SAMPLER_WANTED] = static_cast<double>(sampler.wanted + sampler.drawn.count());
  info[EXRP_SAMPLER_NEEDED] = needed;
  info[EXRP_SAMPLER_WAITS] = sampler.isInLine ? 1 : 0;
  info[EXRP_SAMPLER_HELD] = static_cast<double>(sampler.drawn.count());
}

}  // namespace exrp
