/** Unpacks single tensors of messages, as the only column of a sample. */
import { create, toBinary } from "@bufbuild/protobuf";
import { bytesOf } from "../../base/typed_arrays.ts";
import type { Kernel } from "../../ffi/library.ts";
import { SampleStreamResponseSchema } from "../../reverb/messages/reverb_pb.ts";
import type { TensorProto } from "../../reverb/messages/tensorflow_pb.ts";
import { SampleDecoder } from "../../reverb/sample_decoder.ts";

/** The elements of a tensor of numbers, little-endian. Its first dimension counts the rows. */
export function decodeTensor(
  kernel: Kernel,
  tensor: TensorProto,
  deltaEncoded: boolean,
): Uint8Array<ArrayBuffer> {
  const length = Number(tensor.tensorShape?.dim[0]?.size);
  const message = create(SampleStreamResponseSchema, {
    entries: [{
      info: {
        item: { flatTrajectory: { columns: [{ chunkSlices: [{ chunkKey: 1n, length }] }] } },
      },
      data: [{ chunkKey: 1n, deltaEncoded, data: { tensors: [tensor] } }],
      endOfSequence: true,
    }],
  });
  const { columns } = new SampleDecoder(kernel).decode(
    toBinary(SampleStreamResponseSchema, message),
  );
  const [column] = columns;
  if (!ArrayBuffer.isView(column?.data)) throw new Error("a tensor of strings");
  return bytesOf(column.data).slice();
}
