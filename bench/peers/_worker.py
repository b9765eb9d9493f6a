"""What all workers share: the messages between worker and driver, the stored records, and the clock.

A worker is one process with one peer in it. The driver writes one JSON object a line to its standard input, and reads one a line from
its standard output:

    {"op": "hello"}                             -> {"version", "python", "packages"}
    {"op": "open", "dataset": {...}}            -> {"calls": [names], "absent": {name: why}, "note", "bytes", "records"}
    {"op": "check"}                             -> {"columns": {name: {dtype, shape, base64}}, "crosses", "pairs"}
    {"op": "time", "call": name, "seconds": s}  -> {"seconds": of one call, "calls": how many were made}
    {"op": "close"}                             -> {}

An answer is {"ok": {...}}, or {"error": text}; the worker goes on after an error. Whatever a library prints goes to standard error.

Record g of a dataset is the one at position p = g % EPISODE of episode e = g // EPISODE, and all its values follow from e and p: see
`state`, `action`, `reward`. The driver knows the same formulas, so it can tell what a drawn row should be.
"""

import base64
import ctypes
import gc
import importlib.metadata
import json
import os
import sys
import time
import traceback

import numpy as np

EPISODE = 256
OBS = 15
ACT = 3
ALPHA = 0.6
BETA = 0.4
SIDE = 84
STACK = 4


class Absent(Exception):
    """The peer has no such operation; the text says why."""


def state(e, p):
    """float32 [n, 15]: the episode, the position, then numbers below 97 made of both."""
    k = np.arange(2, OBS)
    rest = (e[:, None] + 31 * p[:, None] + 7 * k[None, :]) % 97
    return np.concatenate([e[:, None], p[:, None], rest], axis=1).astype(np.float32)


def action(e, p):
    """float32 [n, 3]"""
    return ((e[:, None] + p[:, None] + np.arange(ACT)[None, :]) % 5).astype(np.float32)


def reward(e, p):
    """float32 [n]"""
    return (e % 7 + p % 11).astype(np.float32)


def steps(first, count):
    """Records `first` to `first + count - 1`: obs, act, rew, next_obs and done, all float32 with a row each."""
    g = np.arange(first, first + count)
    e, p = g // EPISODE, g % EPISODE
    return {
        "obs": state(e, p),
        "act": action(e, p),
        "rew": reward(e, p),
        "next_obs": state(e, p + 1),
        "done": (p == EPISODE - 1).astype(np.float32),
    }


def chunks(count, size=2**12):
    """Chunks of `steps` that make `count` records; small ones, as the memory that they take is measured too."""
    for first in range(0, count, size):
        yield steps(first, min(size, count - first))


def frame(p):
    """uint8 [n, 84, 84]: every byte is the position modulo 251."""
    return np.broadcast_to((p % 251).astype(np.uint8)[:, None, None], (len(p), SIDE, SIDE))


def stacks(p):
    """uint8 [n, 4, 84, 84]: the frames at p - 3 to p, the episode's first one where there are none."""
    back = np.maximum(0, p[:, None] - np.arange(STACK - 1, -1, -1)[None, :])
    shape = (len(p), STACK, SIDE, SIDE)
    return np.broadcast_to((back % 251).astype(np.uint8)[:, :, None, None], shape)


def spread_indices(capacity, count, seed=1):
    """Sets of indices all over the buffer, and fewer sets of priorities. So an index does not get the same priority again soon,
    because that may cost nothing."""
    rng = np.random.default_rng(seed)
    indices = [rng.integers(0, capacity, count) for _ in range(16)]
    return indices, [np.abs(rng.standard_normal(count)).astype(np.float32) + 0.01 for _ in range(15)]


def learner_turns(sizes, draw, update, convert=lambda priorities: priorities):
    """Calls of a learner's turn: `draw(size)` gives a batch and where its records are, `update` sets the priorities of these."""

    def turn(size):
        priorities = Turns([convert(one) for one in spread_indices(8, size)[1]])

        def call():
            batch, indices = draw(size)
            update(indices, priorities())
            return batch

        return call

    return {f"turn {size}": turn(size) for size in sizes}


class Turns:
    """Hands out the elements of a list in turns."""

    def __init__(self, values):
        self.values = values
        self.at = 0

    def __call__(self):
        self.at = (self.at + 1) % len(self.values)
        return self.values[self.at]


class Opened:
    """A filled buffer: calls to be timed by name, those that are absent with the reason, and a batch to be checked.

    `check` returns columns of a drawn batch: obs, act, rew, next_obs, done with a leading axis [picks] or [picks, length]; a column may
    be left out where the peer does not return it. `crosses`: a sequence may run on into the next episode. `pairs`: after an episode's
    last record the next obs is whatever was stored next.
    """

    def __init__(self, calls, check=None, absent=None, note="", crosses=False, pairs=False, keep=None):
        self.calls = calls
        self.check = check
        self.absent = absent or {}
        self.note = note
        self.crosses = crosses
        self.pairs = pairs
        self.keep = keep


class Peer:
    """One peer. A worker has a class of its own with a method `open_<kind>` for each kind of dataset that it can do."""

    packages = ()
    # At most so many where only memory is measured.
    memory_records = 2**23

    def open(self, dataset):
        method = getattr(self, "open_" + dataset["kind"], None)
        if method is None:
            raise Absent(self.why(dataset["kind"]))
        return method(dataset)

    def why(self, kind):
        return "it has no such operation"


def encode(array):
    array = np.ascontiguousarray(array)
    return {
        "dtype": str(array.dtype),
        "shape": list(array.shape),
        "base64": base64.b64encode(array.tobytes()).decode(),
    }


def resident_bytes():
    """The physical memory of this process in bytes, after free memory was given back."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        pass
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


class Server:
    def __init__(self, peer):
        self.peer = peer
        self.opened = None
        self.counts = {}

    def hello(self, _):
        packages = {name: importlib.metadata.version(name) for name in self.peer.packages}
        return {
            "version": packages[self.peer.packages[0]] if packages else "",
            "python": ".".join(map(str, sys.version_info[:3])),
            "packages": packages,
        }

    def open(self, command):
        self.close(command)
        before = resident_bytes()
        dataset = command["dataset"]
        if dataset["memory"]:
            dataset = dataset | {"capacity": min(dataset["capacity"], self.peer.memory_records)}
        try:
            self.opened = self.peer.open(dataset)
        except Absent as error:
            return {"calls": [], "absent": {"*": str(error)}, "note": "", "bytes": 0, "records": 0}
        opened = self.opened
        # What is there now is not looked through again after every call that is timed.
        gc.collect()
        gc.freeze()
        return {
            "calls": list(opened.calls),
            "absent": opened.absent,
            "note": opened.note,
            "bytes": resident_bytes() - before,
            "records": dataset["capacity"],
        }

    def check(self, _):
        if self.opened.check is None:
            return {"columns": {}, "crosses": False, "pairs": False}
        columns = {name: encode(column) for name, column in self.opened.check().items()}
        return {"columns": columns, "crosses": self.opened.crosses, "pairs": self.opened.pairs}

    def time(self, command):
        call = self.opened.calls[command["call"]]
        least = command["seconds"]
        key = (command["call"], least)
        gc.disable()
        try:
            if key not in self.counts:
                call()
                call()
                self.counts[key] = calibrated(call, least)
            count = self.counts[key]
            return {"seconds": timed(call, count), "calls": count}
        finally:
            gc.enable()

    def close(self, _):
        self.opened = None
        self.counts = {}
        gc.unfreeze()
        gc.collect()
        return {}


def timed(call, count):
    """Seconds of one call, of `count`."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def calibrated(call, seconds):
    """How many calls take about `seconds`."""
    count = 1
    while True:
        took = timed(call, count) * count
        if took >= seconds / 2 or count >= 10**6:
            return max(1, round(count * seconds / max(took, 1e-9)))
        count *= 4


def serve(peer):
    """Answers the driver until it closes the pipe."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    server = Server(peer)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = {"ok": getattr(server, command["op"])(command)}
        except Exception as error:  # pylint: disable=broad-except
            traceback.print_exc()
            where = traceback.extract_tb(error.__traceback__)[-1].name
            answer = {"error": f"{type(error).__name__} in {where}(): {error}"[:300].strip(" :")}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    # Libraries with threads of their own may hang in their destructors.
    os._exit(0)
