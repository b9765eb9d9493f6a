"""cpprb: ReplayBuffer and PrioritizedReplayBuffer."""

import numpy as np
from _worker import (
    BETA,
    EPISODE,
    SIDE,
    STACK,
    Opened,
    Peer,
    Turns,
    chunks,
    learner_turns,
    serve,
    spread_indices,
    stacks,
    steps,
)
from cpprb import PrioritizedReplayBuffer, ReplayBuffer

COLUMNS = {"obs": {"shape": 15}, "act": {"shape": 3}, "next_obs": {"shape": 15}, "rew": {}, "done": {}}
NAMES = tuple(COLUMNS)


class Cpprb(Peer):
    packages = ("cpprb", "numpy")

    def why(self, kind):
        return "it has no sequences" if "equences" in kind else "it has no such operation"

    def columns(self):
        return {name: dict(column) for name, column in COLUMNS.items()}

    def adds(self, buffer, dataset):
        calls = {}
        for count in dataset["adds"]:
            chunk = {name: column.astype(dataset["dtype"]) for name, column in steps(0, count).items()}
            calls[f"add {count}"] = lambda chunk=chunk: buffer.add(**chunk)
        return calls

    def check(self, buffer, **options):
        batch = buffer.sample(256, **options)
        return {name: batch[name] if name[-3:] in ("obs", "act") else batch[name][:, 0] for name in NAMES}

    def open_uniform(self, dataset):
        buffer = ReplayBuffer(dataset["capacity"], self.columns())
        for chunk in chunks(dataset["capacity"]):
            buffer.add(**chunk)
        calls = {f"sample {n}": lambda n=n: buffer.sample(n) for n in dataset["batches"]}
        return Opened(calls | self.adds(buffer, dataset), lambda: self.check(buffer))

    def open_prioritized(self, dataset):
        buffer = PrioritizedReplayBuffer(dataset["capacity"], self.columns(), alpha=dataset["alpha"])
        for chunk in chunks(dataset["capacity"]):
            buffer.add(**chunk)
        calls = {f"sample {n}": lambda n=n: buffer.sample(n, beta=BETA) for n in dataset["batches"]}
        for size in dataset["updates"]:
            indices, priorities = (Turns(sets) for sets in spread_indices(dataset["capacity"], size))
            calls[f"update {size}"] = lambda i=indices, p=priorities: buffer.update_priorities(i(), p())

        def draw(size):
            batch = buffer.sample(size, beta=BETA)
            return batch, batch["indexes"]

        calls |= learner_turns(dataset["updates"], draw, buffer.update_priorities)
        return Opened(calls | self.adds(buffer, dataset), lambda: self.check(buffer, beta=BETA))

    def open_images(self, dataset):
        columns = {"obs": {"shape": (SIDE, SIDE, STACK), "dtype": np.uint8}, "act": {}, "rew": {}, "done": {}}
        buffer = ReplayBuffer(dataset["capacity"], columns, next_of="obs", stack_compress="obs")
        shown = np.moveaxis(stacks(np.arange(EPISODE + 1)), 1, -1)
        rest = {"act": 0.0, "rew": 0.0}
        for _ in range(dataset["capacity"] // EPISODE):
            for p in range(EPISODE):
                buffer.add(obs=shown[p], next_obs=shown[p + 1], done=float(p == EPISODE - 1), **rest)
            buffer.on_episode_end()

        def check():
            batch = buffer.sample(256)
            obs, after = batch["obs"], batch["next_obs"]
            return {
                "obs": obs[:, 0, 0],
                "obs_last": obs[:, -1, -1],
                "next_obs": after[:, 0, 0],
                "next_obs_last": after[:, -1, -1],
            }

        one = np.ascontiguousarray(shown[9])
        calls = {f"sample {n}": lambda n=n: buffer.sample(n) for n in dataset["batches"]}
        calls["add 1"] = lambda: buffer.add(obs=one, next_obs=one, done=0.0, **rest)
        note = "It stores frames once (next_of and stack_compress). Stacks come as strided arrays, frames last."
        return Opened(calls, check, note=note)


if __name__ == "__main__":
    serve(Cpprb())
