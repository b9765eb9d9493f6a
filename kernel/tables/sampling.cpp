// How Tables writes a SampleStreamResponse: all sizes first, then every byte once, into the caller's memory.
#include <cstring>

#include "kernel/base/prefetch.hpp"
#include "kernel/tables/tables.hpp"
#include "kernel/wire/proto_writer.hpp"
#include "kernel/wire/reverb_fields.hpp"

namespace exrp {
namespace {

/// The sizes of one sample's entry, and what has to be reckoned for them.
struct EntrySizes {
  uint64_t seconds;
  uint32_t nanos;
  size_t insertedAt;
  size_t item;
  size_t info;
  size_t data;
  size_t entry;  // without tag and size

  EntrySizes(const DrawnSample& sample, ByteSpan table) {
    using Item = reverb::PrioritizedItem;
    using Info = reverb::SampleInfo;
    const double now = sample.body->insertedAt;
    seconds = static_cast<uint64_t>(now / 1000);
    nanos = static_cast<uint32_t>((now - static_cast<double>(seconds) * 1000) * 1000) * 1000;  // to the microsecond, as a double is exact to
    insertedAt = presentFieldBytes(reverb::Timestamp::seconds, seconds) + presentFieldBytes(reverb::Timestamp::nanos, nanos);
    item = varintFieldBytes(Item::key, sample.key) + bytesFieldBytes(Item::table, table.size) + fixed64FieldBytes(Item::priority) +
           varintFieldBytes(Item::timesSampled, sample.timesSampled) + bytesFieldBytes(Item::insertedAt, insertedAt) +
           bytesFieldBytes(Item::flatTrajectory, sample.body->trajectoryBytes);
    info = bytesFieldBytes(Info::item, item) + fixed64FieldBytes(Info::probability) + varintFieldBytes(Info::tableSize, sample.tableSize) +
           presentFieldBytes(Info::rateLimited, sample.isLimited ? 1 : 0);
    data = 0;
    for (uint32_t k = 0; k < sample.body->chunkCount; ++k) {
      data += bytesFieldBytes(reverb::SampleEntry::data, sample.body->chunks()[k]->bytes);
    }
    entry = bytesFieldBytes(reverb::SampleEntry::info, info) + data + varintFieldBytes(reverb::SampleEntry::endOfSequence, 1);
  }
};

void writeEntry(ProtoWriter& out, const DrawnSample& sample, const EntrySizes& sizes, ByteSpan table) {
  using Item = reverb::PrioritizedItem;
  using Info = reverb::SampleInfo;
  out.bytesBegin(reverb::SampleStreamResponse::entries, sizes.entry);
  out.bytesBegin(reverb::SampleEntry::info, sizes.info);
  out.bytesBegin(Info::item, sizes.item);
  out.varintField(Item::key, sample.key);
  out.bytesField(Item::table, table.data, table.size);
  out.realField(Item::priority, sample.priority);
  out.varintField(Item::timesSampled, sample.timesSampled);
  out.bytesBegin(Item::insertedAt, sizes.insertedAt);
  out.presentField(reverb::Timestamp::seconds, sizes.seconds);
  out.presentField(reverb::Timestamp::nanos, sizes.nanos);
  out.bytesField(Item::flatTrajectory, sample.body->trajectory(), sample.body->trajectoryBytes);
  out.realField(Info::probability, sample.probability);
  out.varintField(Info::tableSize, sample.tableSize);
  out.presentField(Info::rateLimited, sample.isLimited ? 1 : 0);
  for (uint32_t k = 0; k < sample.body->chunkCount; ++k) {
    const Chunk* const chunk = sample.body->chunks()[k];
    out.bytesField(reverb::SampleEntry::data, chunk->data(), chunk->bytes);
  }
  out.varintField(reverb::SampleEntry::endOfSequence, 1);
}

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
  caller_ = id;
  run(table);
  caller_ = none;
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
  caller_ = id;
  while (!isHeld) {
    while (!sampler.drawn.isEmpty()) {
      constexpr size_t ahead = 4;
      if (sampler.drawn.count() > ahead) {
        const ItemBody* const next = sampler.drawn[ahead].body;
        for (uint32_t k = 0; k < next->chunkCount && k < 8; ++k) prefetchSpan(reinterpret_cast<const uint8_t*>(next->chunks()[k]), 256);
      }
      const DrawnSample& sample = sampler.drawn.front();
      const EntrySizes sizes(sample, table.name());
      const size_t whole = bytesFieldBytes(reverb::SampleStreamResponse::entries, sizes.entry);
      if (whole > left) {
        needed = samples > 0 ? 0 : static_cast<double>(whole);
        break;
      }
      writeEntry(out, sample, sizes, table.name());
      left -= whole;
      ++samples;
      sampler.drawnBytes -= table.bytesOf(sample.body);
      table.release(sample.body);
      sampler.drawn.pop();
    }
    if (!sampler.drawn.isEmpty() || sampler.wanted == 0 || sampler.isInLine) break;
    // More were asked for than are drawn at once.
    table.line().push(id);
    sampler.isInLine = true;
    run(table);
    sampler.isLimited = sampler.isInLine;
  }
  caller_ = none;
  info[EXRP_SAMPLER_BYTES] = static_cast<double>(room - left);
  info[EXRP_SAMPLER_SAMPLES] = samples;
  info[EXRP_SAMPLER_WANTED] = static_cast<double>(sampler.wanted + sampler.drawn.count());
  info[EXRP_SAMPLER_NEEDED] = needed;
  info[EXRP_SAMPLER_WAITS] = sampler.isInLine ? 1 : 0;
  info[EXRP_SAMPLER_HELD] = static_cast<double>(sampler.drawn.count());
}

}  // namespace exrp
