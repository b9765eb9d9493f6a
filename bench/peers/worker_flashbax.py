"""flashbax, jitted, on the CPU; XLA may use every core."""

import flashbax as fbx
import jax
import jax.numpy as jnp
import numpy as np
from _worker import (
    BETA,
    EPISODE,
    SIDE,
    Opened,
    Peer,
    Turns,
    action,
    chunks,
    frame,
    learner_turns,
    reward,
    serve,
    spread_indices,
    state,
    steps,
)

PAIRS = "It stores obs once, and takes the obs stored next as next obs. So the last next obs of an episode is the first obs of the next episode."


def timestep(chunk):
    return {name: chunk[name] for name in ("obs", "act", "rew", "done")}


class Held:
    """A buffer's state and key, and the jitted functions that change them."""

    def __init__(self, buffer, example):
        self.buffer = buffer
        self.state = buffer.init(example)
        self.key = jax.random.PRNGKey(1)
        self.jit_add = jax.jit(buffer.add, donate_argnums=0)

    def add(self, batch):
        self.state = self.jit_add(self.state, batch)
        self.state.current_index.block_until_ready()

    def sampler(self, buffer, weighted=False):
        def draw(held, key):
            key, used = jax.random.split(key)
            sample = buffer.sample(held, used)
            if not weighted:
                return key, sample
            weight = sample.probabilities**-BETA
            return key, (sample, weight / weight.max())

        jitted = jax.jit(draw)

        def call():
            self.key, sample = jitted(self.state, self.key)
            return jax.block_until_ready(sample)

        return call

    def setter(self):
        jitted = jax.jit(self.buffer.set_priorities, donate_argnums=0)

        def call(indices, priorities):
            self.state = jitted(self.state, indices, priorities)
            self.state.sum_tree_state.nodes.block_until_ready()

        return call


class Flashbax(Peer):
    packages = ("flashbax", "jax", "jaxlib", "numpy")

    def flat(self, dataset, make, **options):
        capacity = dataset["capacity"]

        def build(size):
            return make(max_length=capacity, min_length=1, sample_batch_size=size, add_sequences=True, **options)

        example = jax.tree.map(lambda column: jnp.asarray(column[0]), timestep(steps(0, 1)))
        held = Held(build(min(256, capacity)), example)
        for chunk in chunks(capacity):
            held.add(timestep(chunk))
        adds = {}
        for count in dataset["adds"]:
            chunk = timestep({k: v.astype(dataset["dtype"]) for k, v in steps(0, count).items()})
            adds[f"add {count}"] = lambda chunk=chunk: held.add(chunk)
        return held, build, adds

    def absent_batches(self, dataset):
        return {
            f"sample {n}": "a batch may not be larger than the buffer" for n in dataset["batches"] if n > dataset["capacity"]
        }

    def turns(self, sizes, draws, update):
        def draw(size):
            sample = draws[size]()
            return sample, sample[0].indices

        return learner_turns(sizes, draw, update)

    def pairs(self, sample):
        first, second = sample.experience.first, sample.experience.second
        batch = {name: np.asarray(first[name]) for name in ("obs", "act", "rew", "done")}
        return {**batch, "next_obs": np.asarray(second["obs"])}

    def open_uniform(self, dataset):
        held, build, adds = self.flat(dataset, fbx.make_flat_buffer)
        absent = self.absent_batches(dataset)
        calls = {
            f"sample {n}": held.sampler(build(n)) for n in dataset["batches"] if f"sample {n}" not in absent
        }
        draw = held.sampler(build(256))
        return Opened(calls | adds, lambda: self.pairs(draw()), absent, note=PAIRS, pairs=True)

    def open_prioritized(self, dataset):
        held, build, adds = self.flat(
            dataset, fbx.make_prioritised_flat_buffer, priority_exponent=dataset["alpha"]
        )
        absent = self.absent_batches(dataset)
        calls = {
            f"sample {n}": held.sampler(build(n), weighted=True)
            for n in dataset["batches"]
            if f"sample {n}" not in absent
        }
        update = held.setter()
        for size in dataset["updates"]:
            indices, priorities = spread_indices(dataset["capacity"], size)
            indices = Turns([one.astype(np.int32) for one in indices])
            calls[f"update {size}"] = lambda i=indices, p=Turns(priorities): update(i(), p())
        able = [n for n in dataset["updates"] if n <= dataset["capacity"]]
        absent |= {
            f"turn {n}": absent[f"sample {n}"] for n in dataset["updates"] if n not in able
        }
        calls |= self.turns(able, {n: calls[f"sample {n}"] for n in able}, update)
        draw = held.sampler(build(256))
        note = PAIRS + " Its sum tree is float32."
        return Opened(calls | adds, lambda: self.pairs(draw()), absent, note=note, pairs=True)

    def rows(self, dataset, make, **options):
        """Each episode a row, so that no sequence crosses an episode's end."""
        rows = dataset["capacity"] // EPISODE

        def build(size, length):
            return make(
                add_batch_size=rows,
                sample_batch_size=size,
                sample_sequence_length=length,
                period=1,
                min_length_time_axis=length,
                max_length_time_axis=EPISODE,
                **options,
            )

        example = jax.tree.map(lambda column: jnp.asarray(column[0]), timestep(steps(0, 1)))
        held = Held(build(dataset["batches"][0], dataset["length"]), example)
        width = 32
        e = np.repeat(np.arange(rows), width)
        for first in range(0, EPISODE, width):
            p = np.tile(np.arange(first, first + width), rows)
            chunk = {"obs": state(e, p), "act": action(e, p), "rew": reward(e, p)}
            chunk["done"] = (p == EPISODE - 1).astype(np.float32)
            held.add({name: column.reshape(rows, width, *column.shape[1:]) for name, column in chunk.items()})
        return held, build

    def sequence_check(self, draw):
        def check():
            sample = draw()
            return {name: np.asarray(column)[:256] for name, column in sample.experience.items()}

        return check

    def open_sequences(self, dataset):
        size, length = dataset["batches"][0], dataset["length"]
        held, build = self.rows(dataset, fbx.make_trajectory_buffer)
        draw = held.sampler(held.buffer)
        calls = {
            f"sample {size}": draw,
            f"sample {size} with next obs": held.sampler(build(size, length + 1)),
        }
        absent = {f"add 1, sample {size}": "with a row for each episode, a write is a step of every row"}
        note = "Each episode has a row, and all rows have one length. Next obs are one more step of every column."
        return Opened(calls, self.sequence_check(draw), absent, note=note)

    def open_prioritizedSequences(self, dataset):
        size = dataset["batches"][0]
        held, _ = self.rows(dataset, fbx.make_prioritised_trajectory_buffer, priority_exponent=dataset["alpha"])
        draw, update = held.sampler(held.buffer), held.setter()
        indices = Turns([np.asarray(draw().indices) for _ in range(16)])
        priorities = Turns(spread_indices(8, size)[1])
        calls = {
            f"sample {size}": held.sampler(held.buffer, weighted=True),
            f"update {size}": lambda: update(indices(), priorities()),
        }
        calls |= self.turns(dataset["updates"], {size: calls[f"sample {size}"]}, update)
        return Opened(calls, self.sequence_check(draw), note="Each episode has a row. Its sum tree is float32.")

    def open_images(self, dataset):
        capacity = dataset["capacity"]

        def build(size):
            return fbx.make_trajectory_buffer(
                add_batch_size=1,
                sample_batch_size=size,
                sample_sequence_length=5,
                period=1,
                min_length_time_axis=5,
                max_length_time_axis=capacity,
            )

        held = Held(build(256), {"obs": jnp.zeros((SIDE, SIDE), jnp.uint8)})
        chunk = {"obs": np.ascontiguousarray(frame(np.arange(EPISODE)))[None]}
        for _ in range(capacity // EPISODE):
            held.add(chunk)
        one = {"obs": chunk["obs"][:, :1]}
        calls = {f"sample {n}": held.sampler(build(n)) for n in dataset["batches"]}
        calls |= {f"{name}, frames once": call for name, call in calls.items()}
        calls["add 1"] = lambda: held.add(one)
        draw = held.sampler(build(256))

        def check():
            obs = np.asarray(draw().experience["obs"])
            first, last = obs[:, :, 0, 0], obs[:, :, -1, -1]
            return {
                "obs": first[:, :4],
                "obs_last": last[:, :4],
                "next_obs": first[:, 1:],
                "next_obs_last": last[:, 1:],
            }

        note = "It gives five consecutive frames instead of two stacks of four: 62 % of the bytes. They may cross an episode's end."
        return Opened(calls, check, note=note, crosses=True)


if __name__ == "__main__":
    serve(Flashbax())
