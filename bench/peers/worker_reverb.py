"""dm-reverb: server and client in one process; writes by Client.writer, batches by a dataset that is kept open."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import reverb
from _worker import ACT, OBS, Absent, Opened, Peer, Turns, chunks, learner_turns, serve, spread_indices, steps

CAPACITY_MAX = 2**16
NAMES = ("obs", "act", "rew", "next_obs", "done")
TABLE = "replay"


class Reverb(Peer):
    packages = ("dm-reverb", "tensorflow", "numpy")
    memory_records = CAPACITY_MAX

    def why(self, kind):
        if kind == "images":
            return "it compresses its records, and these images would shrink to nothing, so this was not tried"
        return "each sequence is an item of its own and takes about 160 µs to write, so this was not tried"

    def fill(self, dataset, sampler):
        capacity = dataset["capacity"]
        if capacity > CAPACITY_MAX:
            raise Absent("each record would take more than 4 kB of memory and 50 µs, so it was not filled")
        import tensorflow as tf

        table = reverb.Table(TABLE, sampler, reverb.selectors.Fifo(), capacity, reverb.rate_limiters.MinSize(1))
        server = reverb.Server([table])
        client = reverb.Client(f"localhost:{server.port}")

        def add(rows):
            with client.writer(max_sequence_length=1) as writer:
                for row in rows:
                    writer.append(row)
                    writer.create_item(TABLE, 1, 1.0)

        for chunk in chunks(capacity, 1024):
            add(self.rows(chunk))
        kind = tf.dtypes.as_dtype(dataset["dtype"])
        shapes = [(OBS,), (ACT,), (), (OBS,), ()]
        spec = {"dtypes": (kind,) * 5, "shapes": tuple(tf.TensorShape(shape) for shape in shapes)}

        def batches(size):
            source = reverb.TimestepDataset(
                f"localhost:{server.port}", TABLE, max_in_flight_samples_per_worker=100, **spec
            )
            batched = source.batch(size)
            # Nor may whole batches be made ahead while others are timed.
            options = tf.data.Options()
            options.autotune.enabled = False
            options.experimental_optimization.inject_prefetch = False
            iterator = iter(batched.with_options(options))
            return lambda: next(iterator)

        return server, client, add, batches

    def rows(self, chunk):
        columns = [chunk[name] for name in NAMES]
        return [[column[k] for column in columns] for k in range(len(columns[0]))]

    def open_kind(self, dataset, sampler):
        # What is stored is float32 or float64 as the dataset says: a table takes one dtype.
        server, client, add, batches = self.fill_as(dataset, sampler)
        calls = {f"sample {n}": batches(n) for n in dataset["batches"]}
        for count in dataset["adds"]:
            rows = self.rows({k: v.astype(dataset["dtype"]) for k, v in steps(0, count).items()})
            calls[f"add {count}"] = lambda rows=rows: add(rows)
        draw = batches(256)

        def check():
            data = draw().data
            return {name: np.asarray(column).astype(np.float32) for name, column in zip(NAMES, data)}

        note = "Server and client are in one process, on every core."
        if dataset["batches"]:
            note += (
                " Batches come from an open dataset with up to 100 records ahead, and have no importance weights."
            )
        return Opened(calls, check, note=note, keep=(server, client)), client

    def fill_as(self, dataset, sampler):
        plain_rows = self.rows
        self.rows = lambda chunk: plain_rows({k: v.astype(dataset["dtype"]) for k, v in chunk.items()})
        try:
            return self.fill(dataset, sampler)
        finally:
            self.rows = plain_rows

    def open_uniform(self, dataset):
        return self.open_kind(dataset, reverb.selectors.Uniform())[0]

    def open_prioritized(self, dataset):
        opened, client = self.open_kind(dataset, reverb.selectors.Prioritized(dataset["alpha"]))
        adds = {name: opened.calls.pop(name) for name in list(opened.calls) if name.startswith("add")}
        for size in dataset["updates"]:
            if size > 256:
                for call in (f"update {size}", f"turn {size}"):
                    opened.absent[call] = "it takes keys one by one, so this was not run"
                continue
            _, priorities = spread_indices(8, size)
            keys = [[item.info.key for (item,) in client.sample(TABLE, size)] for _ in range(4)]
            updates = Turns([dict(zip(k, map(float, p))) for p in priorities for k in keys])
            opened.calls[f"update {size}"] = lambda u=updates: client.mutate_priorities(TABLE, updates=u())

        def draw(size):
            sample = opened.calls[f"sample {size}"]()
            return sample, sample.info.key.numpy().tolist()

        def update(keys, priorities):
            client.mutate_priorities(TABLE, updates=dict(zip(keys, priorities)))

        able = [n for n in dataset["updates"] if f"turn {n}" not in opened.absent]
        opened.calls |= learner_turns(able, draw, update, lambda priorities: priorities.tolist())
        opened.calls |= adds
        return opened


if __name__ == "__main__":
    serve(Reverb())
