"""Prints samples as Reverb's own server sends them, with what was inserted, as JSON.

Each case has the messages of a SampleStream in hexadecimal, and for each sample its columns: dtype, shape, and bytes in hexadecimal.
"""

import json
import sys

import grpc
import numpy as np
import reverb

SEED = 20261122
rng = np.random.default_rng(SEED)
DTYPES = [np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
# Its writers take no bfloat16.
DTYPES += [np.float16, np.float32, np.float64, np.complex64, np.complex128, np.object_]


def random_array(dtype, shape):
    """Values of a dtype. Strings are bytes, in an array of objects."""
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if dtype == np.object_:
        return np.array([rng.bytes(int(rng.integers(1, 5))) for _ in range(int(np.prod(shape)))], object).reshape(shape)
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    if np.issubdtype(dtype, np.complexfloating):
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return np.asarray(rng.normal(size=shape)).astype(dtype)


def described(array):
    """A column of one sample."""
    array = np.asarray(array)
    if array.dtype == np.object_:
        return {"dtype": "string", "shape": list(array.shape), "strings": [x.hex() for x in array.reshape(-1)]}
    return {"dtype": array.dtype.name, "shape": list(array.shape), "hex": np.ascontiguousarray(array).tobytes().hex()}


def fields(message):
    """The fields of a protobuf message: numbers, and bytes as bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        elif tag & 7 == 2:
            size = varint()
            at += size
            yield tag >> 3, message[at - size : at]
        else:
            at += 8 if tag & 7 == 1 else 4


def sample(port, table, count):
    """The messages of `count` samples: each entry (field 1) that ends a sample says so (field 3)."""
    timeout = bytes([0x1A, 3, 0x08, 0x88, 0x27])
    request = bytes([0x0A, len(table)]) + table.encode() + bytes([0x10, count]) + timeout
    messages = []
    seen = 0
    with grpc.insecure_channel(f"localhost:{port}", options=[("grpc.max_receive_message_length", -1)]) as channel:
        stream = channel.stream_stream("/deepmind.reverb.ReverbService/SampleStream")(iter([request]))
        for message in stream:
            messages.append(message)
            seen += sum(dict(fields(entry)).get(3, 0) for _, entry in fields(message))
            if seen == count:
                stream.cancel()
                return messages
    raise RuntimeError(f"{seen} of {count} samples of {table} came")


def one_step(client):
    """One step of all dtypes, by the writer that puts all columns into one chunk."""
    rows = [[random_array(dtype, (2, 3) if k % 2 else ()) for k, dtype in enumerate(DTYPES)] for _ in range(2)]
    for row in rows:
        with client.writer(max_sequence_length=1) as writer:
            writer.append(row)
            writer.create_item("one_step", 1, 1.5)
    return [[described(np.asarray(x)[None]) for x in row] for row in rows]


def delta(client):
    """Sequences over several chunks, delta-encoded."""
    dtypes = [dtype for dtype in DTYPES if dtype != np.object_]
    steps = [[random_array(dtype, (3,)) for dtype in dtypes] + [np.int64(k)] for k in range(9)]
    expected = []
    with client.writer(max_sequence_length=6, chunk_length=3, delta_encoded=True) as writer:
        for k, step in enumerate(steps):
            writer.append(step)
            if k >= 5 and k % 2:
                writer.create_item("delta", 5, 2.0)
                expected.append([described(np.stack(column)) for column in zip(*steps[k - 4 : k + 1])])
    return expected


def trajectory(client):
    """Columns of different lengths, squeezed ones, strings, and rows out of the middle of chunks."""
    expected = []
    with client.trajectory_writer(num_keep_alive_refs=8) as writer:
        dtypes = {"a": (np.float32, (4,)), "b": (np.int32, ()), "c": (np.object_, (2,))}
        steps = [{name: random_array(*kind) for name, kind in dtypes.items()} for _ in range(8)]
        for k, step in enumerate(steps):
            writer.append(step)
            if k == 0:
                writer.configure(("a",), num_keep_alive_refs=8, max_chunk_length=4)
            if k < 3:
                continue
            n = 1 + k % 3
            items = {"many": writer.history["a"][-n:], "one": writer.history["b"][-1], "text": writer.history["c"][-2:]}
            writer.create_item("trajectory", 0.5, items)
            many = np.stack([s["a"] for s in steps[k - n + 1 : k + 1]])
            text = np.stack([s["c"] for s in steps[k - 1 : k + 1]])
            expected.append([described(many), described(step["b"]), described(text)])
        writer.flush()
    return expected


def large(client):
    """A sample that the server splits into several messages."""
    images = rng.integers(0, 256, (6, 700_000), dtype=np.uint8)
    with client.trajectory_writer(num_keep_alive_refs=6) as writer:
        for image in images:
            writer.append([image])
        writer.create_item("large", 1.0, [writer.history[0][-6:]])
        writer.flush()
    return [[described(images)]]


CASES = {"one_step": one_step, "delta": delta, "trajectory": trajectory, "large": large}

if __name__ == "__main__":
    names = sys.argv[1:] or list(CASES)
    fifo = reverb.selectors.Fifo
    limiter = reverb.rate_limiters.MinSize
    server = reverb.Server([reverb.Table(n, fifo(), fifo(), 1000, limiter(1), max_times_sampled=1) for n in names])
    client = reverb.Client(f"localhost:{server.port}")
    found = {}
    for name in names:
        expected = CASES[name](client)
        messages = sample(server.port, name, len(expected))
        found[name] = {"messages": [m.hex() for m in messages], "samples": expected}
    print(json.dumps({"seed": SEED, "cases": found}))
