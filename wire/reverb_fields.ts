/**
 * The field numbers of Reverb's messages and TensorFlow's, as far as they are written or read by hand here. Generated code handles all others. A test
 * compares them with the .proto files in `reverb/`.
 *
 * Fields from 100 on are ours. Reverb passes over them.
 *
 * @module
 */

export const InsertStreamRequest = { chunks: 1, items: 2, keepChunkKeys: 3 } as const;
export const InsertStreamResponse = { keys: 1 } as const;
export const ChunkData = { chunkKey: 1, data: 5 } as const;
/** `ChunkData.Data` */
export const Data = { tensors: 1 } as const;
/** Our `removerPriority` is the item's own priority for the remover: Reverb has one priority for both. */
export const PrioritizedItem = {
  key: 1,
  table: 2,
  priority: 5,
  flatTrajectory: 8,
  removerPriority: 100,
} as const;
export const FlatTrajectory = { columns: 1 } as const;
export const Column = { chunkSlices: 1, squeeze: 2 } as const;
export const ChunkSlice = { chunkKey: 1, offset: 2, length: 3, index: 4 } as const;
export const MutatePrioritiesRequest = { table: 1, updates: 2, deleteKeys: 3 } as const;
export const KeyWithPriority = { key: 1, priority: 2, removerPriority: 100 } as const;
/** Our `isWhole` asks for all samples or none. Reverb's server sends each sample as it is drawn. */
export const SampleStreamRequest = {
  table: 1,
  numSamples: 2,
  rateLimiterTimeout: 3,
  isWhole: 100,
} as const;
export const Timeout = { milliseconds: 1 } as const;
export const SampleStreamResponse = { entries: 1 } as const;
export const SampleEntry = { info: 1, data: 2, endOfSequence: 3 } as const;
export const SampleInfo = { item: 1 } as const;
export const TensorProto = { tensorShape: 2, tensorContent: 4, stringVal: 8 } as const;
export const TensorShapeProto = { dim: 2 } as const;
/** `TensorShapeProto.Dim` */
export const Dim = { size: 1 } as const;
