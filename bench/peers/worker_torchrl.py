"""TorchRL: TensorDictReplayBuffer on a LazyTensorStorage, one thread."""

import numpy as np
import torch
from _worker import BETA, EPISODE, Opened, Peer, Turns, chunks, learner_turns, serve, spread_indices, stacks, steps
from tensordict import TensorDict
from torchrl.data import (
    LazyTensorStorage,
    PrioritizedSampler,
    PrioritizedSliceSampler,
    SliceSampler,
    TensorDictReplayBuffer,
)

torch.set_num_threads(1)


def tensors(chunk):
    columns = {name: torch.from_numpy(np.ascontiguousarray(column)) for name, column in chunk.items()}
    return TensorDict(columns, batch_size=[len(chunk["obs"])])


def numpy(batch, names=("obs", "act", "rew", "next_obs", "done")):
    return {name: batch[name].numpy() for name in names}


class TorchRL(Peer):
    packages = ("torchrl", "tensordict", "torch", "numpy")

    def fill(self, capacity, sampler=None, convert=lambda chunk: chunk):
        buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(capacity), sampler=sampler, batch_size=32)
        for chunk in chunks(capacity):
            buffer.extend(tensors(convert(chunk)))
        return buffer

    def adds(self, buffer, dataset):
        calls = {}
        for count in dataset["adds"]:
            # Of the storage's own dtype: it takes no other.
            chunk = tensors(steps(0, count))
            if count == 1:
                calls["add 1"] = lambda row=chunk[0]: buffer.add(row)
            else:
                calls[f"add {count}"] = lambda chunk=chunk: buffer.extend(chunk)
        return calls

    def open_uniform(self, dataset):
        buffer = self.fill(dataset["capacity"])
        calls = {f"sample {n}": lambda n=n: buffer.sample(n) for n in dataset["batches"]}
        return Opened(calls | self.adds(buffer, dataset), lambda: numpy(buffer.sample(256)))

    def open_prioritized(self, dataset):
        capacity = dataset["capacity"]
        buffer = self.fill(capacity, PrioritizedSampler(capacity, alpha=dataset["alpha"], beta=BETA))
        calls = {f"sample {n}": lambda n=n: buffer.sample(n) for n in dataset["batches"]}
        for size in dataset["updates"]:
            indices, priorities = spread_indices(capacity, size)
            indices = Turns([torch.from_numpy(one) for one in indices])
            priorities = Turns([torch.from_numpy(one) for one in priorities])
            calls[f"update {size}"] = lambda i=indices, p=priorities: buffer.update_priority(i(), p())

        def draw(size):
            batch = buffer.sample(size)
            return batch, batch["index"]

        calls |= learner_turns(dataset["updates"], draw, buffer.update_priority, torch.from_numpy)
        return Opened(calls | self.adds(buffer, dataset), lambda: numpy(buffer.sample(256)))

    def slices(self, dataset, sampler):
        def convert(chunk):
            plain = {name: chunk[name] for name in ("obs", "act", "rew")}
            return {**plain, "done": (chunk["done"] > 0)[:, None]}

        buffer = self.fill(dataset["capacity"], sampler, convert)
        size, length = dataset["batches"][0], dataset["length"]

        def check():
            batch = numpy(buffer.sample(256 * length), ("obs", "act", "rew", "done"))
            shaped = {k: v.reshape(256, length, *v.shape[1:]) for k, v in batch.items()}
            return {**shaped, "done": shaped["done"][..., 0].astype(np.float32)}

        return buffer, size, length, check

    def open_sequences(self, dataset):
        length = dataset["length"]
        sampler = SliceSampler(slice_len=length, end_key="done", cache_values=True)
        buffer, size, length, check = self.slices(dataset, sampler)
        row = tensors({"obs": np.zeros((1, 15), np.float32), "act": np.zeros((1, 3), np.float32), "rew": np.zeros(1, np.float32)})
        row["done"] = torch.zeros((1, 1), dtype=torch.bool)
        row = row[0]

        def after_write():
            buffer.add(row)
            return buffer.sample(size * length)

        calls = {
            f"sample {size}": lambda: buffer.sample(size * length),
            f"add 1, sample {size}": after_write,
        }
        absent = {f"sample {size} with next obs": "it would store every obs a second time, so this was not done"}
        note = "It is a SliceSampler with cached bounds. After a write, it looks for the ends of all episodes again."
        return Opened(calls, check, absent, note=note)

    def open_prioritizedSequences(self, dataset):
        sampler = PrioritizedSliceSampler(
            dataset["capacity"],
            alpha=dataset["alpha"],
            beta=BETA,
            slice_len=dataset["length"],
            end_key="done",
            cache_values=True,
        )
        buffer, size, length, check = self.slices(dataset, sampler)
        calls = {f"sample {size}": lambda: buffer.sample(size * length)}
        absent = {
            f"{call} {size}": "its priorities belong to steps, not to sequences" for call in ("update", "turn")
        }
        return Opened(calls, check, absent, note="It is a PrioritizedSliceSampler with cached bounds.")

    def open_images(self, dataset):
        buffer = TensorDictReplayBuffer(storage=LazyTensorStorage(dataset["capacity"]), batch_size=32)
        shown = torch.from_numpy(np.ascontiguousarray(stacks(np.arange(EPISODE + 1))))
        episode = TensorDict({"obs": shown[:-1], "next_obs": shown[1:]}, batch_size=[EPISODE])
        for _ in range(dataset["capacity"] // EPISODE):
            buffer.extend(episode)

        def check():
            batch = buffer.sample(256)
            obs, after = batch["obs"].numpy(), batch["next_obs"].numpy()
            return {
                "obs": obs[:, :, 0, 0],
                "obs_last": obs[:, :, -1, -1],
                "next_obs": after[:, :, 0, 0],
                "next_obs_last": after[:, :, -1, -1],
            }

        row = episode[9].clone()
        calls = {f"sample {n}": lambda n=n: buffer.sample(n) for n in dataset["batches"]}
        calls["add 1"] = lambda: buffer.add(row)
        return Opened(calls, check, note="It stores whole stacks twice, which takes eight times the memory of single frames.")


if __name__ == "__main__":
    serve(TorchRL())
