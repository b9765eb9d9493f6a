"""Writers and a learner on cpprb's MPPrioritizedReplayBuffer, for bench/actors.ts.

Arguments: one JSON object. `size`, `writers`, `seconds`, `chunk`, `batch`: prints `records` (a second), `steps` (a second) and `worst`
(the worst learner call, in milliseconds). With `torn`: rows of `width` numbers that are all equal; prints how many drawn rows were not. With
`kill`: kills a writer in the middle, and prints whether the learner drew a batch within `patience` seconds afterwards.
"""

import json
import multiprocessing
import os
import signal
import sys
import threading
import time

import numpy as np
from cpprb import MPPrioritizedReplayBuffer

STATE = 15
ACTION = 3


def columns(options):
    width = options.get("width")
    if width:
        return {"obs": {"shape": width}}
    return {"obs": {"shape": STATE}, "act": {"shape": ACTION}, "next_obs": {"shape": STATE}, "rew": {}, "done": {}}


def rows(options, chunk, value):
    width = options.get("width")
    if width:
        return {"obs": np.full((chunk, width), value, dtype=np.float32)}
    rng = np.random.default_rng(7)
    return {
        "obs": rng.random((chunk, STATE), dtype=np.float32),
        "act": rng.random((chunk, ACTION), dtype=np.float32),
        "next_obs": rng.random((chunk, STATE), dtype=np.float32),
        "rew": rng.random(chunk, dtype=np.float32),
        "done": np.zeros(chunk, dtype=np.float32),
    }


def write(buffer, options, started, stop, counts, index):
    chunk = options["chunk"]
    steps = rows(options, chunk, 0)
    priorities = np.random.default_rng(index).random(chunk).astype(np.float32)
    value = index
    started.wait()
    while not stop.is_set():
        if options.get("width"):
            # Whole numbers that float32 holds.
            value = (value + 7) % 1_000_000
            steps["obs"][:] = (value + np.arange(chunk, dtype=np.float32))[:, None]
        buffer.add(**steps, priorities=priorities)
        counts[index] += chunk


def fill(buffer, options):
    chunk = 1000 if options["size"] >= 1000 else options["size"]
    steps = rows(options, chunk, 1)
    for _ in range(0, options["size"], chunk):
        buffer.add(**steps, priorities=np.ones(chunk, dtype=np.float32))


def learn(buffer, options, seconds):
    batch = options["batch"]
    priorities = np.random.default_rng(3).random(batch).astype(np.float32)
    worst = 0.0
    steps = 0
    torn = 0
    begin = time.perf_counter()
    end = begin + seconds
    now = begin
    while now < end:
        drawn = buffer.sample(batch, beta=0.4)
        after = time.perf_counter()
        worst = max(worst, after - now)
        buffer.update_priorities(drawn["indexes"], priorities)
        done = time.perf_counter()
        worst = max(worst, done - after)
        if options.get("width"):
            torn += int((drawn["obs"].min(axis=1) != drawn["obs"].max(axis=1)).sum())
        steps += 1
        now = time.perf_counter()
    return steps, worst, torn, now - begin


def end_with_parent(writers, patience):
    """Gives up on a learner that waits for good."""
    time.sleep(patience)
    for each in writers:
        each.kill()
    os._exit(0)


def main():
    options = json.loads(sys.argv[1])
    context = multiprocessing.get_context("fork")
    buffer = MPPrioritizedReplayBuffer(options["size"], columns(options), ctx=context)
    fill(buffer, options)
    started = context.Event()
    stop = context.Event()
    counts = context.Array("Q", options["writers"] + 1, lock=False)
    writers = [
        context.Process(target=write, args=(buffer, options, started, stop, counts, index), daemon=True)
        for index in range(options["writers"])
    ]
    for each in writers:
        each.start()
    time.sleep(0.3)
    started.set()
    time.sleep(0.2)
    if options.get("kill"):
        time.sleep(options["killAfter"])
        os.kill(writers[0].pid, signal.SIGKILL)
        # Whoever waits for good is ended by its parent.
        print(json.dumps({"killed": True}), flush=True)
        # The other writers go too once this process is ended.
        threading.Thread(target=end_with_parent, args=(writers, options["patience"]), daemon=True).start()
        buffer.sample(options["batch"], beta=0.4)
        buffer.update_priorities(np.arange(4), np.ones(4, dtype=np.float32))
        print(json.dumps({"alive": True}), flush=True)
        for each in writers:
            each.kill()
        os._exit(0)
    # As long as ours, before the clock runs.
    learn(buffer, options, 0.3)
    before = sum(counts)
    steps, worst, torn, took = learn(buffer, options, options["seconds"])
    records = sum(counts) - before
    print(
        json.dumps(
            {"records": records / took, "steps": steps / took, "worst": worst * 1e3, "torn": torn, "drawn": steps * options["batch"]}
        ),
        flush=True,
    )
    # A writer may wait for a lock for good, and would keep this process's output open.
    for each in writers:
        each.kill()
    os._exit(0)


main()
