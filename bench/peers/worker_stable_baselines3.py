"""Stable-Baselines3: ReplayBuffer, one thread. It is filled through its arrays, as adding one by one would take long."""

import numpy as np
import torch
from _worker import EPISODE, STACK, SIDE, Opened, Peer, chunks, serve, stacks, steps
from gymnasium.spaces import Box
from stable_baselines3.common.buffers import ReplayBuffer

torch.set_num_threads(1)


def vectors(size):
    return Box(-np.inf, np.inf, (size,), np.float32)


class StableBaselines3(Peer):
    packages = ("stable_baselines3", "torch", "numpy")

    def why(self, kind):
        return "it has no prioritized replay" if kind == "prioritized" else "it has no sequences"

    def open_uniform(self, dataset):
        capacity = dataset["capacity"]
        buffer = ReplayBuffer(capacity, vectors(15), vectors(3), device="cpu")
        at = 0
        for chunk in chunks(capacity):
            to = slice(at, at + len(chunk["obs"]))
            at = to.stop
            buffer.observations[to, 0] = chunk["obs"]
            buffer.next_observations[to, 0] = chunk["next_obs"]
            buffer.actions[to, 0] = chunk["act"]
            buffer.rewards[to, 0] = chunk["rew"]
            buffer.dones[to, 0] = chunk["done"]
        buffer.timeouts[:] = 0
        buffer.full = True

        def check():
            batch = buffer.sample(256)
            return {
                "obs": batch.observations.numpy(),
                "act": batch.actions.numpy(),
                "rew": batch.rewards.numpy()[:, 0],
                "next_obs": batch.next_observations.numpy(),
                "done": batch.dones.numpy()[:, 0],
            }

        calls = {f"sample {n}": lambda n=n: buffer.sample(n) for n in dataset["batches"]}
        for count in dataset["adds"]:
            into = buffer
            if count > 1:
                into = ReplayBuffer(capacity, vectors(15), vectors(3), device="cpu", n_envs=count)
            chunk = {name: column.astype(dataset["dtype"]) for name, column in steps(0, count).items()}
            infos = [{}] * count
            row = (chunk["obs"], chunk["next_obs"], chunk["act"], chunk["rew"], chunk["done"], infos)
            calls[f"add {count}"] = lambda into=into, row=row: into.add(*row)
        note = "Here add n is one step of each of n environments, in a buffer for n environments." if dataset["adds"] else ""
        return Opened(calls, check, note=note)

    def open_images(self, dataset):
        capacity = dataset["capacity"]
        space = Box(0, 255, (STACK, SIDE, SIDE), np.uint8)
        buffer = ReplayBuffer(capacity, space, vectors(1), device="cpu")
        shown = stacks(np.arange(EPISODE + 1))
        for first in range(0, capacity, EPISODE):
            buffer.observations[first : first + EPISODE, 0] = shown[:-1]
            buffer.next_observations[first : first + EPISODE, 0] = shown[1:]
        buffer.full = True

        def check():
            batch = buffer.sample(256)
            obs, after = batch.observations.numpy(), batch.next_observations.numpy()
            return {
                "obs": obs[:, :, 0, 0],
                "obs_last": obs[:, :, -1, -1],
                "next_obs": after[:, :, 0, 0],
                "next_obs_last": after[:, :, -1, -1],
            }

        one = np.ascontiguousarray(shown[9])[None]
        row = (one, one, np.zeros((1, 1), np.float32), np.zeros(1), np.zeros(1), [{}])
        calls = {f"sample {n}": lambda n=n: buffer.sample(n) for n in dataset["batches"]}
        calls["add 1"] = lambda: buffer.add(*row)
        return Opened(calls, check, note="It stores whole stacks twice, which takes eight times the memory of single frames.")


if __name__ == "__main__":
    serve(StableBaselines3())
