"""ElegantRL: its replay buffer, one thread."""

import torch
from _worker import Absent, Opened, Peer, Turns, chunks, learner_turns, serve, spread_indices, steps
from elegantrl.train.replay_buffer import ReplayBuffer

torch.set_num_threads(1)

PAIRS = "It stores obs once, and takes the obs stored next as next obs. So the last next obs of an episode is the first obs of the next episode."


def items(chunk):
    obs, act, rew, undone = chunk["obs"], chunk["act"], chunk["rew"], 1 - chunk["done"]
    return tuple(torch.from_numpy(column[:, None]) for column in (obs, act, rew, undone))


def plain(batch):
    obs, act, rew, undone, after = batch[:5]
    return {
        "obs": obs.numpy(),
        "act": act.numpy(),
        "rew": rew.numpy(),
        "next_obs": after.numpy(),
        "done": 1 - undone.numpy(),
    }


class ElegantRL(Peer):
    packages = ("elegantrl", "torch", "numpy")

    def why(self, kind):
        return "its states are vectors of float32" if kind == "images" else "it has no sequences"

    def open_uniform(self, dataset):
        capacity = dataset["capacity"]
        buffer = ReplayBuffer(capacity, 15, 3, gpu_id=-1)
        for chunk in chunks(capacity):
            buffer.update(items(chunk))
        calls = {f"sample {n}": lambda n=n: buffer.sample(n) for n in dataset["batches"]}
        for count in dataset["adds"]:
            chunk = items({k: v.astype(dataset["dtype"]) for k, v in steps(0, count).items()})
            calls[f"add {count}"] = lambda chunk=chunk: buffer.update(chunk)
        return Opened(calls, lambda: plain(buffer.sample(256)), note=PAIRS, pairs=True)

    def open_prioritized(self, dataset):
        # One more than a power of two: at the power itself it fails its own assertion.
        capacity = dataset["capacity"] + 1
        if capacity > 2**21:
            raise Absent("a batch of 5000 takes seconds, so this size was not run")
        buffer = ReplayBuffer(capacity, 15, 3, gpu_id=-1, if_use_per=True)
        for chunk in chunks(capacity):
            buffer.update(items(chunk))
        try:
            for _ in range(3):
                buffer.sample_for_per(256)
        except Exception as error:
            raise Absent(f"sample_for_per() fails: {type(error).__name__}") from error
        calls = {f"sample {n}": lambda n=n: buffer.sample_for_per(n) for n in dataset["batches"]}
        for size in dataset["updates"]:
            indices, priorities = spread_indices(capacity, size)
            indices = Turns([torch.from_numpy(one) for one in indices])
            priorities = Turns([torch.from_numpy(one) for one in priorities])
            calls[f"update {size}"] = lambda i=indices, p=priorities: buffer.td_error_update_for_per(i(), p())

        def draw(size):
            batch = buffer.sample_for_per(size)
            return batch, batch[-1]

        calls |= learner_turns(dataset["updates"], draw, buffer.td_error_update_for_per, torch.from_numpy)
        absent = {f"add {n}": "a write that wraps fails" for n in dataset["adds"]}
        note = PAIRS + " It has one record more than the table says, because at a power of two it fails its own assertion."
        return Opened(calls, lambda: plain(buffer.sample_for_per(256)), absent, note=note, pairs=True)


if __name__ == "__main__":
    serve(ElegantRL())
