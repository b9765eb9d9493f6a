// The field numbers of Reverb's messages and TensorFlow's, as far as the kernel reads or writes them. A test compares them with the .proto files in
// reverb/, and with those of wire/fields.ts.
#pragma once

#include <cstdint>

namespace exrp::reverb {

struct InsertStreamRequest {
  static constexpr uint32_t chunks = 1, items = 2, keepChunkKeys = 3;
};
struct InsertStreamResponse {
  static constexpr uint32_t keys = 1;
};
struct ChunkData {
  static constexpr uint32_t chunkKey = 1, sequenceRange = 2, deltaEncoded = 4, data = 5, dataTensorsLen = 6, dataUncompressedSize = 7;
};
/// ChunkData.Data
struct Data {
  static constexpr uint32_t tensors = 1;
};
struct SequenceRange {
  static constexpr uint32_t episodeId = 1, start = 2, end = 3, sparse = 4;
};
struct PrioritizedItem {
  static constexpr uint32_t key = 1, table = 2, priority = 5, timesSampled = 6, insertedAt = 7, flatTrajectory = 8;
  /// Ours: a priority for the remover alone.
  static constexpr uint32_t removerPriority = 100;
};
struct FlatTrajectory {
  static constexpr uint32_t columns = 1;
};
struct Column {
  static constexpr uint32_t chunkSlices = 1, squeeze = 2;
};
struct ChunkSlice {
  static constexpr uint32_t chunkKey = 1, offset = 2, length = 3, index = 4;
};
struct Timestamp {
  static constexpr uint32_t seconds = 1, nanos = 2;
};
struct MutatePrioritiesRequest {
  static constexpr uint32_t table = 1, updates = 2, deleteKeys = 3;
};
struct KeyWithPriority {
  static constexpr uint32_t key = 1, priority = 2;
  /// Ours: a priority for the remover alone.
  static constexpr uint32_t removerPriority = 100;
};
struct SampleStreamResponse {
  static constexpr uint32_t entries = 1;
};
struct SampleEntry {
  static constexpr uint32_t info = 1, data = 2, endOfSequence = 3;
};
struct SampleInfo {
  static constexpr uint32_t item = 1, probability = 2, tableSize = 3, rateLimited = 4;
};
struct TensorProto {
  static constexpr uint32_t dtype = 1, tensorShape = 2, tensorContent = 4, stringVal = 8;
};
struct TensorShapeProto {
  static constexpr uint32_t dim = 2, unknownRank = 3;
};
/// TensorShapeProto.Dim
struct Dim {
  static constexpr uint32_t size = 1;
};

}  // namespace exrp::reverb
