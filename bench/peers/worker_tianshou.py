"""Tianshou: ReplayBuffer and PrioritizedReplayBuffer, one thread.

They are filled by set_batch, which is how the library itself restores data: adding one by one would take minutes.
"""

import numpy as np
import torch
from _worker import EPISODE, Opened, Peer, Turns, chunks, frame, learner_turns, serve, spread_indices, steps
from tianshou.data import Batch, PrioritizedReplayBuffer, ReplayBuffer

torch.set_num_threads(1)

ADDS = "It adds one record a call, so add n is n calls."


def batch_of(chunk):
    done = chunk["done"] > 0
    return Batch(
        obs=chunk["obs"],
        act=chunk["act"],
        rew=chunk["rew"],
        terminated=done,
        truncated=np.zeros_like(done),
        done=done,
        obs_next=chunk["next_obs"],
        info=Batch(),
    )


def restore(buffer, columns, capacity):
    buffer.set_batch(Batch(**columns))
    buffer._size = capacity
    return buffer


def columns_of(capacity, with_next=True):
    """All records, in preallocated arrays."""
    columns = {
        "obs": np.empty((capacity, 15), np.float32),
        "act": np.empty((capacity, 3), np.float32),
        "rew": np.empty(capacity, np.float32),
        "terminated": np.empty(capacity, bool),
        "truncated": np.zeros(capacity, bool),
        "done": np.empty(capacity, bool),
    }
    if with_next:
        columns["obs_next"] = np.empty((capacity, 15), np.float32)
    at = 0
    for chunk in chunks(capacity):
        to = slice(at, at + len(chunk["obs"]))
        at = to.stop
        for name in ("obs", "act", "rew"):
            columns[name][to] = chunk[name]
        columns["terminated"][to] = columns["done"][to] = chunk["done"] > 0
        if with_next:
            columns["obs_next"][to] = chunk["next_obs"]
    return columns


def plain(batch):
    return {
        "obs": batch.obs,
        "act": batch.act,
        "rew": batch.rew,
        "next_obs": batch.obs_next,
        "done": batch.done.astype(np.float32),
    }


class Tianshou(Peer):
    packages = ("tianshou", "torch", "numpy", "numba")

    def why(self, kind):
        return "it has frame stacks only, and no prioritized sequences of all columns" if "equences" in kind else "it has no such operation"

    def adds(self, buffer, dataset):
        calls = {}
        for count in dataset["adds"]:
            whole = batch_of({k: v.astype(dataset["dtype"]) for k, v in steps(0, count).items()})
            rows = [whole[k] for k in range(count)]

            def add(rows=rows):
                for row in rows:
                    buffer.add(row)

            calls[f"add {count}"] = add
        return calls

    def open_uniform(self, dataset):
        capacity = dataset["capacity"]
        buffer = restore(ReplayBuffer(capacity), columns_of(capacity), capacity)
        calls = {f"sample {n}": lambda n=n: buffer.sample(n) for n in dataset["batches"]}
        note = ADDS if dataset["adds"] else ""
        return Opened(calls | self.adds(buffer, dataset), lambda: plain(buffer.sample(256)[0]), note=note)

    def open_prioritized(self, dataset):
        capacity = dataset["capacity"]
        buffer = PrioritizedReplayBuffer(capacity, alpha=dataset["alpha"], beta=0.4)
        restore(buffer, columns_of(capacity), capacity)
        buffer.init_weight(np.arange(capacity))
        calls = {f"sample {n}": lambda n=n: buffer.sample(n) for n in dataset["batches"]}
        for size in dataset["updates"]:
            indices, priorities = (Turns(sets) for sets in spread_indices(capacity, size))
            calls[f"update {size}"] = lambda i=indices, p=priorities: buffer.update_weight(i(), p())
        calls |= learner_turns(dataset["updates"], buffer.sample, buffer.update_weight)
        note = ADDS if dataset["adds"] else ""
        return Opened(calls | self.adds(buffer, dataset), lambda: plain(buffer.sample(256)[0]), note=note)

    def open_sequences(self, dataset):
        capacity, size, length = dataset["capacity"], dataset["batches"][0], dataset["length"]
        buffer = ReplayBuffer(capacity, stack_num=length, ignore_obs_next=True)
        restore(buffer, columns_of(capacity, with_next=False), capacity)
        buffer.last_index = np.array([capacity - 1])

        def check():
            batch = buffer.sample(256)[0]
            return {"obs": batch.obs}

        def obs_alone():
            return buffer.get(buffer.sample_indices(size), "obs")

        calls = {f"sample {size}": obs_alone, f"sample {size} with next obs": lambda: buffer.sample(size)}
        row = batch_of(steps(0, 1))[0]

        def after_write():
            buffer.add(row)
            return obs_alone()

        calls[f"add 1, sample {size}"] = after_write
        note = (
            "With stack_num = 8, only obs come as sequences, or obs and next obs. They end at the drawn step, and repeat the "
            "episode's first obs if there are fewer. Action, reward and done are those of the last step."
        )
        return Opened(calls, check, note=note, crosses=True)

    def open_images(self, dataset):
        capacity = dataset["capacity"]
        buffer = ReplayBuffer(capacity, stack_num=4, ignore_obs_next=True, save_only_last_obs=True)
        episodes = capacity // EPISODE
        done = np.tile(np.arange(EPISODE) == EPISODE - 1, episodes)
        columns = {
            "obs": np.tile(frame(np.arange(EPISODE)), (episodes, 1, 1)),
            "act": np.zeros(capacity, np.float32),
            "rew": np.zeros(capacity),
            "terminated": done.copy(),
            "truncated": np.zeros(capacity, bool),
            "done": done,
        }
        restore(buffer, columns, capacity)
        buffer.last_index = np.array([capacity - 1])

        def check():
            batch = buffer.sample(256)[0]
            return {
                "obs": batch.obs[:, :, 0, 0],
                "obs_last": batch.obs[:, :, -1, -1],
                "next_obs": batch.obs_next[:, :, 0, 0],
                "next_obs_last": batch.obs_next[:, :, -1, -1],
            }

        row = Batch(
            obs=np.ascontiguousarray(np.broadcast_to(frame(np.array([9])), (4, 84, 84))),
            act=0.0,
            rew=0.0,
            terminated=False,
            truncated=False,
            done=False,
            info=Batch(),
        )
        calls = {f"sample {n}": lambda n=n: buffer.sample(n) for n in dataset["batches"]}
        calls["add 1"] = lambda: buffer.add(row)
        note = "It stores the last frame of each stack. After the last step of an episode, the next stack is the same stack."
        return Opened(calls, check, note=note, pairs=True)


if __name__ == "__main__":
    serve(Tianshou())
