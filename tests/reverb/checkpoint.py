"""Fills the tables of `_checkpoints.ts` with all kinds of items, lets some be sampled, changed and deleted, and takes a checkpoint.

Argument: the port of a real server. Prints the checkpoint's folder.
"""

import sys

import numpy as np
import reverb

address = f"localhost:{sys.argv[1]}"
client = reverb.Client(address)

# All dtypes, and items in several tables that share their data.
for at in range(4):
    row = {
        "half": np.float16([at, 0.5]),
        "single": np.float32([[at, 1], [2, at]]),
        "double": np.float64(at / 3),
        "i8": np.int8(-at),
        "i16": np.int16([-at, at]),
        "i32": np.int32(at),
        "i64": np.int64(-at) * 2**40,
        "u8": np.arange(5, dtype=np.uint8) + at,
        "u16": np.uint16(at),
        "u32": np.uint32(2**32 - 1 - at),
        "u64": np.uint64(2**64 - 1 - at),
        "bool": np.array([at % 2 == 0, True]),
        "complex": np.complex64(at + 1j),
        "wide": np.complex128([at - 2j]),
        "text": np.array([f"step {at}".encode(), b""], dtype=object),
    }
    client.insert(row, {"uniform": 1.0 + at, "lifo": 0.5})

# Rows in chunks of two, each the difference to the one before; windows that overlap.
with client.writer(max_sequence_length=4, delta_encoded=True, chunk_length=2) as writer:
    for at in range(9):
        writer.append([np.arange(6, dtype=np.int32) * at, np.float32(at)])
        if at >= 2:
            writer.create_item("fifo", 3, at / 2)
            writer.create_item("prioritized", 3, 0.0 if at == 4 else float(at))

# Columns of different lengths, squeezed ones, and steps that are left out.
with client.trajectory_writer(num_keep_alive_refs=5) as writer:
    writer.configure(("image",), num_keep_alive_refs=5, max_chunk_length=2)
    for episode in range(2):
        for at in range(6):
            writer.append({"image": np.full((4, 4), at + 10 * episode, np.uint8), "act": np.int32(at), "reward": np.float32(-at)})
            if at >= 4:
                history = writer.history
                trajectory = {
                    "stack": history["image"][-4:],
                    "last": history["act"][-1],
                    "rewards": history["reward"][-3:],
                    "picked": history["act"][[-5, -2]],
                }
                for table, priority in (("heap", at % 5 + episode / 4), ("queue", 1.0), ("stack", 2.0)):
                    writer.create_item(table, priority, trajectory)
                    writer.flush()
        writer.end_episode()

# Patterns, into a table with a signature.
pattern = reverb.structured_writer.pattern_from_transform(
    {"a": None, "b": None}, lambda one: {"window": one["a"][-3:], "last": one["b"][-1]}
)
config = reverb.structured_writer.create_config(
    pattern=pattern, table="signed", conditions=[reverb.structured_writer.Condition.step_index() >= 2]
)
writer = client.structured_writer([config])
for at in range(6):
    writer.append({"a": np.float32([at, -at]), "b": np.int64(at)})
writer.end_episode()
writer.flush()

# Samples count; the fourth of an item of `fifo` and the only one of `queue` delete it.
for table, count in (("fifo", 9), ("lifo", 3), ("heap", 2), ("queue", 1), ("stack", 1), ("prioritized", 2)):
    list(client.sample(table, count, emit_timesteps=False))

# A changed priority, and a deleted item.
sample = next(iter(client.sample("heap", 1, emit_timesteps=False)))
client.mutate_priorities("heap", {sample.info.key: 0.125})
sample = next(iter(client.sample("lifo", 1, emit_timesteps=False)))
client.mutate_priorities("lifo", deletes=[sample.info.key])
print(client.checkpoint())
