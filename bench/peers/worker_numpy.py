"""numpy as a careful user writes it: a ring of plain arrays, written by slices, and read by one gather for each column.

It also has the three forms of seed 001 (a list of tuples, a list of named tuples, one array), and a vectorized sum tree.
"""

import random
from collections import namedtuple

import numpy as np
from _worker import (
    ACT,
    BETA,
    EPISODE,
    OBS,
    SIDE,
    STACK,
    Opened,
    Peer,
    Turns,
    chunks,
    frame,
    learner_turns,
    serve,
    spread_indices,
    steps,
)

COLUMNS = ("obs", "act", "rew", "next_obs", "done")


class Ring:
    """Columns of `capacity` rows, filled."""

    def __init__(self, capacity, columns=COLUMNS):
        self.capacity = capacity
        self.at = 0
        first = steps(0, 1)
        self.columns = {name: np.empty((capacity, *first[name].shape[1:]), np.float32) for name in columns}
        for chunk in chunks(capacity):
            self.add(chunk)

    def add(self, chunk):
        count = len(chunk["obs"])
        if self.at + count <= self.capacity:
            to = slice(self.at, self.at + count)
            for name, column in self.columns.items():
                column[to] = chunk[name]
        else:
            to = np.arange(self.at, self.at + count) % self.capacity
            for name, column in self.columns.items():
                column[to] = chunk[name]
        self.at = (self.at + count) % self.capacity

    def add_one(self, row):
        at = self.at
        for name, column in self.columns.items():
            column[at] = row[name]
        self.at = (at + 1) % self.capacity

    def gather(self, indices):
        return {name: column.take(indices, axis=0) for name, column in self.columns.items()}


class Tree:
    """A binary sum tree in float64, all draws of a batch descending together."""

    def __init__(self, leaves, alpha):
        self.alpha = alpha
        self.size = 1 << (len(leaves) - 1).bit_length()
        self.sums = np.zeros(2 * self.size)
        self.sums[self.size : self.size + len(leaves)] = leaves
        for level in range(self.size.bit_length() - 2, -1, -1):
            low = 1 << level
            pairs = self.sums[2 * low : 4 * low].reshape(-1, 2)
            self.sums[low : 2 * low] = pairs[:, 0] + pairs[:, 1]

    def draw(self, rng, count):
        mass = (np.arange(count) + rng.random(count)) * (self.sums[1] / count)
        node = np.ones(count, np.int64)
        for _ in range(self.size.bit_length() - 1):
            node *= 2
            left = self.sums.take(node)
            right = mass >= left
            mass -= left * right
            node += right
        return node - self.size, self.sums.take(node)

    def update(self, indices, priorities):
        node = indices + self.size
        self.sums[node] = priorities**self.alpha
        for _ in range(self.size.bit_length() - 1):
            node = node >> 1
            self.sums[node] = self.sums.take(2 * node) + self.sums.take(2 * node + 1)


def weights(probabilities, count):
    found = (count * probabilities) ** -BETA
    return found / found.max()


class Numpy(Peer):
    packages = ("numpy",)

    def __init__(self):
        self.rng = np.random.default_rng(1)

    def adds(self, ring, dataset, after=lambda first, count: None):
        calls = {}
        for count in dataset["adds"]:
            chunk = {name: column.astype(dataset["dtype"]) for name, column in steps(0, count).items()}
            if count == 1:
                row = {name: column[0] for name, column in chunk.items()}
                calls["add 1"] = lambda row=row: (after(ring.at, 1), ring.add_one(row))
            else:
                calls[f"add {count}"] = lambda chunk=chunk, n=count: (after(ring.at, n), ring.add(chunk))
        return calls

    def open_uniform(self, dataset):
        ring = Ring(dataset["capacity"])
        n, rng = ring.capacity, self.rng
        calls = {
            f"sample {size}": lambda size=size: ring.gather(rng.integers(0, n, size))
            for size in dataset["batches"]
        }
        calls |= self.adds(ring, dataset)
        return Opened(calls, lambda: ring.gather(rng.integers(0, n, 256)))

    def open_prioritized(self, dataset):
        ring = Ring(dataset["capacity"])
        n, rng = ring.capacity, self.rng
        tree = Tree(np.ones(n), dataset["alpha"])

        def sample(size):
            indices, leaf = tree.draw(rng, size)
            batch = ring.gather(indices)
            batch["weight"] = weights(leaf / tree.sums[1], n)
            return batch, indices

        calls = {f"sample {size}": lambda size=size: sample(size) for size in dataset["batches"]}
        for size in dataset["updates"]:
            indices, priorities = (Turns(sets) for sets in spread_indices(n, size))
            calls[f"update {size}"] = lambda i=indices, p=priorities: tree.update(i(), p())
        calls |= learner_turns(dataset["updates"], sample, tree.update)

        def new_priority(first, count):
            tree.update(np.arange(first, first + count) % n, np.ones(count))

        calls |= self.adds(ring, dataset, new_priority)

        def check():
            batch, _ = sample(256)
            del batch["weight"]
            return batch

        return Opened(calls, check, note="It has a binary sum tree, and all draws of a batch descend together.")

    def sequence_ring(self, dataset):
        ring = Ring(dataset["capacity"])
        plain = [name for name in COLUMNS if name != "next_obs"]
        span = np.arange(dataset["length"])

        def gather(starts, names):
            rows = starts[:, None] + span
            return {name: ring.columns[name].take(rows, axis=0) for name in names}

        return ring, gather, plain

    def open_sequences(self, dataset):
        ring, gather, plain = self.sequence_ring(dataset)
        size, rng = dataset["batches"][0], self.rng
        episodes, starts = ring.capacity // EPISODE, EPISODE - dataset["length"] + 1
        row = {name: column[0] for name, column in steps(0, 1).items()}

        def draw():
            return rng.integers(0, episodes, size) * EPISODE + rng.integers(0, starts, size)

        def after_write():
            ring.add_one(row)
            return gather(draw(), plain)

        calls = {
            f"sample {size}": lambda: gather(draw(), plain),
            f"sample {size} with next obs": lambda: gather(draw(), COLUMNS),
            f"add 1, sample {size}": after_write,
        }
        return Opened(
            calls,
            lambda: {k: v[:256] for k, v in gather(draw(), COLUMNS).items()},
            note="It knows where sequences may begin, because all episodes have one length.",
        )

    def open_prioritizedSequences(self, dataset):
        ring, gather, plain = self.sequence_ring(dataset)
        size, rng = dataset["batches"][0], self.rng
        leaves = np.ones(ring.capacity)
        leaves.reshape(-1, EPISODE)[:, EPISODE - dataset["length"] + 1 :] = 0
        tree = Tree(leaves, dataset["alpha"])

        def sample(names):
            starts, leaf = tree.draw(rng, size)
            batch = gather(starts, names)
            batch["weight"] = weights(leaf / tree.sums[1], ring.capacity)
            return batch, starts

        sets = [tree.draw(rng, size)[0] for _ in range(16)]
        indices, priorities = Turns(sets), Turns(spread_indices(8, size)[1])
        calls = {
            f"sample {size}": lambda: sample(plain),
            f"update {size}": lambda: tree.update(indices(), priorities()),
        }
        calls |= learner_turns(dataset["updates"], lambda _: sample(plain), tree.update)
        return Opened(calls, lambda: {k: v[:256] for k, v in sample(plain)[0].items() if k != "weight"})

    def open_images(self, dataset):
        capacity, rng = dataset["capacity"], self.rng
        length = EPISODE + 1
        episodes = capacity // EPISODE
        frames = np.empty((episodes * length, SIDE, SIDE), np.uint8)
        frames.reshape(episodes, length, SIDE, SIDE)[:] = frame(np.arange(length))
        back = np.arange(STACK - 1, -1, -1)
        one = np.zeros((SIDE, SIDE), np.uint8)
        at = [0]

        def sample(size):
            e, p = rng.integers(0, episodes, size), rng.integers(0, EPISODE, size)
            now = (e * length)[:, None] + np.maximum(0, p[:, None] - back)
            then = (e * length)[:, None] + np.maximum(0, p[:, None] + 1 - back)
            return frames.take(now, axis=0), frames.take(then, axis=0)

        def add():
            frames[at[0]] = one
            at[0] = (at[0] + 1) % len(frames)

        def check():
            obs, after = sample(256)
            return corners(obs, after)

        calls = {f"sample {size}": lambda size=size: sample(size) for size in dataset["batches"]}
        calls["add 1"] = add
        return Opened(calls, check, note="It stores one frame a step, and gathers the stacks.")

    def open_comparison(self, dataset):
        """Seed 001: one record appended to, and 256 drawn from, a full memory in each of three forms."""
        capacity, size = dataset["capacity"], dataset["batches"][0]
        Transition = namedtuple("Transition", ("reward", "mask", "state", "action", "next_state"))
        rows, named = [], []
        matrix = np.empty((capacity, 2 + OBS + ACT + OBS), np.float32)
        for first, chunk in zip(range(0, capacity, 2**12), chunks(capacity, 2**12)):
            parts = [chunk["rew"], 1 - chunk["done"], chunk["obs"], chunk["act"], chunk["next_obs"]]
            stop = first + len(parts[0])
            matrix[first:stop] = np.hstack([part.reshape(len(part), -1) for part in parts])
            for k in range(stop - first):
                row = (parts[0][k], parts[1][k], parts[2][k].copy(), parts[3][k].copy(), parts[4][k].copy())
                rows.append(row)
                named.append(Transition(*row))
        row, at = rows[0], [0]

        def add_list():
            rows.append(row)
            del rows[:1]

        def add_named():
            named.append(Transition(*row))
            del named[:1]

        def add_array():
            matrix[at[0]] = np.hstack(row)
            at[0] = (at[0] + 1) % capacity

        def sample_list():
            drawn = [rows[i] for i in random.choices(range(capacity), k=size)]
            return [np.array(column, np.float32) for column in zip(*drawn)]

        def sample_named():
            drawn = Transition(*zip(*[named[i] for i in random.choices(range(capacity), k=size)]))
            return [np.array(column, np.float32) for column in drawn]

        def sample_array():
            block = matrix[np.random.randint(capacity, size=size)]
            end = 2 + OBS
            return block[:, 0:1], block[:, 1:2], block[:, 2:end], block[:, end : end + ACT], block[:, end + ACT :]

        def check():
            batches = [sample_list(), sample_named(), sample_array()]
            rew, mask, obs, act, after = (
                np.concatenate([np.asarray(b[k]).reshape(size, -1) for b in batches]) for k in range(5)
            )
            return {"obs": obs, "act": act, "rew": rew[:, 0], "next_obs": after, "done": 1 - mask[:, 0]}

        calls = {
            "Python list/add 1": add_list,
            "Python named tuple/add 1": add_named,
            "numpy, one array/add 1": add_array,
            f"Python list/sample {size}": sample_list,
            f"Python named tuple/sample {size}": sample_named,
            f"numpy, one array/sample {size}": sample_array,
        }
        note = "The list drops its oldest record by del list[:1], as in the comparison that ElegantRL's buffer came from. The one array gives views of one gathered block."
        return Opened(calls, check, note=note)


def corners(obs, after):
    """The first and the last byte of each frame: what the driver checks of images."""
    return {
        "obs": obs[:, :, 0, 0],
        "obs_last": obs[:, :, -1, -1],
        "next_obs": after[:, :, 0, 0],
        "next_obs_last": after[:, :, -1, -1],
    }


if __name__ == "__main__":
    serve(Numpy())
