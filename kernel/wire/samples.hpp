// Samples: from SampleStreamResponse messages to columns of numbers, [sample, row, ...], in one buffer.
//
// A message has entries. A sample is one entry or several in a row, of which the last says so. Its chunks come with it. Its item says, for each
// column, which rows of which chunks it is made of. Several messages one after another are a message too, as protobuf has it.
//
// Two calls: scanSamples() says where each column will stand, and decodeSamples() puts it there. Both read the whole message and believe nothing
// in it; the second also checks that it is the one that was scanned.
//
// Thread safety: pure functions; memory is that of the caller, and for parts of chunks a buffer that lives as long as the call.
// Cost: each about 0.1 us for a column of a sample, and what Snappy takes. A chunk of which only later rows are wanted is decoded up to them.
#pragma once

#include <cstdint>

#include "kernel/base/status.hpp"
#include "kernel/wire/proto_reader.hpp"

namespace exrp {

/// Writes the numbers of EXRP_SAMPLES_* for at most `samplesMax` samples into `layout`. `flags`: EXRP_SCAN_*.
Status scanSamples(ByteSpan message, uint32_t samplesMax, uint32_t flags, double* layout, uint32_t layoutCount);

/// Decodes the samples of a message as its scan has laid them out. After a failure `out` holds anything.
Status decodeSamples(ByteSpan message, const double* layout, uint32_t layoutCount, uint8_t* out, double outBytes);

}  // namespace exrp
